"""``python -m tests.faults``: what ``deploy/faults`` hands over to."""

from __future__ import annotations

import argparse
import secrets
import signal
import sys
from collections.abc import Sequence

from tests.faults.acts import KINDS
from tests.faults.run import Run


def main(arguments: Sequence[str] | None = None) -> int:
    """Faults until the time is over. 1 where an invariant was broken, 130 after a Ctrl-C."""
    options = _read(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    kinds = [kind for kind in KINDS if not options.only or kind.name in options.only]
    run = Run(kinds, streams=options.streams, seed=seed)
    code = 0
    try:
        run.for_minutes(options.minutes)
    except KeyboardInterrupt:
        code = 130
    sys.stdout.write(f"{run.table()}\n")
    return code or int(bool(run.broken))


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="deploy/faults",
        description="Kills, freezes and cuts a house of its own while answers stream, and checks "
        "that nothing is lost. Faults: " + ", ".join(kind.name for kind in KINDS),
    )
    add = parser.add_argument
    add("--minutes", type=float, default=10.0, metavar="M", help="how long (10)")
    add("--streams", type=int, default=50, metavar="N", help="answers at once (50)")
    add("--seed", type=int, metavar="S", help="what gives the order of everything; it is told")
    add("--only", action="append", metavar="FAULT", choices=[kind.name for kind in KINDS],
        help="only this one; may be given more than once")  # fmt: skip
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

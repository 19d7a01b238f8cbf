"""``python -m tests.faults``: what ``deploy/faults`` hands over to."""

from __future__ import annotations

import argparse
import secrets
import signal
import sys
from collections.abc import Sequence

from tests.faults.acts import HANGS, KINDS, REAL
from tests.faults.run import Run


def main(arguments: Sequence[str] | None = None) -> int:
    """Faults until the time is over. 1 where an invariant was broken, 130 after a Ctrl-C."""
    options = _read(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    known = REAL if options.real else (*KINDS, *HANGS)
    kinds = [kind for kind in known if not options.only or kind.name in options.only]
    if not kinds:
        sys.stderr.write("None of these faults is one of a real engine's.\n")
        return 2
    run = Run(kinds, streams=options.streams, seed=seed, real=options.real)
    code = 0
    try:
        run.for_minutes(options.minutes)
    except KeyboardInterrupt:
        code = 130
    finally:
        sys.stdout.write(f"{run.table()}\n")
    return code or int(bool(run.broken))


def _read(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="deploy/faults",
        description="Kills, freezes and cuts a house of its own while answers stream, and checks "
        "that nothing is lost. Faults: " + ", ".join(kind.name for kind in (*KINDS, *HANGS)),
    )
    add = parser.add_argument
    add("--minutes", type=float, default=10.0, metavar="M", help="how long (10)")
    add("--streams", type=int, default=50, metavar="N", help="answers at once (50)")
    add("--seed", type=int, metavar="S", help="what gives the order of everything; it is told")
    add("--real", action="store_true", help="the bundled engine with the starter model instead of "
        "a script, and its own faults: " + ", ".join(kind.name for kind in REAL))  # fmt: skip
    every = {kind.name for kind in (*KINDS, *HANGS, *REAL)}
    add("--only", action="append", metavar="FAULT", choices=every,
        help="only this one; may be given more than once")  # fmt: skip
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

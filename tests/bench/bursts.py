"""``python -m tests.bench.bursts``: computes a little now and then, as a web process does, and
prints after each time how many seconds lay between when it was due and when it was done."""

from __future__ import annotations

import random
import signal
import sys
import time

APART_S = 0.04, 0.06  # by chance, so that several do not march in step
ROUNDS = 80_000  # some 4 ms of processor


def burst() -> int:
    """The work of one burst."""
    total = 0
    for number in range(ROUNDS):
        total += number & 7
    return total


def main() -> None:
    """Until SIGTERM."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    due = time.monotonic()
    while True:
        due = max(due, time.monotonic()) + random.uniform(*APART_S)
        time.sleep(max(0.0, due - time.monotonic()))
        burst()
        print(time.monotonic() - due, flush=True)


if __name__ == "__main__":
    main()

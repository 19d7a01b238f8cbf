"""The short run: each fault once while ten answers stream; ``deploy/faults`` is the long one."""

from __future__ import annotations

import secrets
import sys

import pytest

from tests.faults.acts import KINDS
from tests.faults.run import Run


@pytest.mark.timeout(420)
def test_nothing_is_lost_whatever_dies() -> None:
    run = Run(KINDS, streams=10, seed=secrets.randbits(32))
    run.once()
    sys.stdout.write(f"\n{run.table()}\n")
    assert {row.kind for row in run.rows.values()} == {kind.name for kind in KINDS}
    assert run.broken == [], run.table()

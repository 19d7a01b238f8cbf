"""What a run measured, a row for each kind of fault. Knows the log, not the house."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.faults.checker import Broken, Joined, lost_seconds
from tests.faults.record import Fault, Log, Sight


@dataclass
class Row:
    """One kind of fault. Seconds, one value for each reader, page or fault that was hit."""

    kind: str
    allowed_s: float
    count: int = 0
    lost_s: list[float] = field(default_factory=list)
    silences_s: list[float] = field(default_factory=list)
    reconnects_s: list[float] = field(default_factory=list)
    questions_s: list[float] = field(default_factory=list)

    @property
    def late(self) -> int:
        """Readers who heard nothing for longer than TRUST.md allows."""
        return sum(silence > self.allowed_s for silence in self.silences_s)


def add(rows: dict[str, Row], it: Joined, allowed_s: Mapping[str, float]) -> None:
    """Add what one lap measured."""
    deeds = {post.id for post in it.log.posts if post.deed == "stop"}
    for fault in it.log.faults:
        row = rows.setdefault(fault.kind, Row(fault.kind, allowed_s[fault.kind]))
        row.count += 1
        row.lost_s += lost_seconds(fault.generated, fault.stored, it).values()
        silences = (silence(s, fault) for s in it.log.sights if s.answer not in deeds)
        row.silences_s += [s for s in silences if s is not None]
        row.reconnects_s += _reconnects(it.log, fault)
        if fault.well_after_s is not None:
            row.questions_s.append(fault.well_after_s)


def silence(sight: Sight, fault: Fault) -> float | None:
    """The longest a reader of a running answer heard nothing because of ``fault``.

    While a process is frozen that is our doing: what is counted then begins when it is let go on.
    """
    times = [at for at, _ in sight.grew]
    if not times or not times[0] < fault.began_at < times[-1]:
        return None
    found = []
    for before, after in itertools.pairwise(times):
        # What begins in the last half second may be the next fault's.
        if after > fault.began_at and before < fault.over_at - 0.5:
            begin = max(before, fault.healed_at) if after > fault.healed_at else before
            found.append(after - begin)
    return max(found, default=None)


def _reconnects(log: Log, fault: Fault) -> Iterator[float]:
    for away in log.absences:
        if fault.began_at <= away.lost_at < fault.over_at and away.back_at is not None:
            begin = max(away.lost_at, fault.healed_at)
            yield max(0.0, away.back_at - begin)


HEADS = (
    "fault", "times", "lost text, most", "silence p50", "p95", "allowed", "late",
    "reconnect p50", "p95", "new question p50", "p95",
)  # fmt: skip


def render(rows: Mapping[str, Row], broken: Sequence[Broken]) -> str:
    """Markdown, with a last line that says whether anything is broken."""
    lines = [HEADS, ("---",) * len(HEADS), *(_cells(row) for row in rows.values())]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    faults = sum(row.count for row in rows.values())
    verdict = f"{faults} faults, {len(broken)} broken invariants"
    return "\n".join([table, "", verdict, *map(str, broken[:20])])


def _cells(row: Row) -> tuple[str, ...]:
    half, most = _quantile(0.5), _quantile(0.95)
    return (
        row.kind,
        str(row.count),
        f"{max(row.lost_s):.2f}" if row.lost_s else "–",
        half(row.silences_s), most(row.silences_s), f"{row.allowed_s:g}",
        f"{row.late} of {len(row.silences_s)}",
        half(row.reconnects_s), most(row.reconnects_s),
        half(row.questions_s), most(row.questions_s),
    )  # fmt: skip


def _quantile(share: float) -> Callable[[Sequence[float]], str]:
    def words(values: Sequence[float]) -> str:
        if not values:
            return "–"
        if len(values) == 1:
            return f"{values[0]:.2f}"
        return (
            f"{statistics.quantiles(values, n=100, method='inclusive')[round(share * 100) - 1]:.2f}"
        )

    return words

"""Results for people, as a table, and for machines, as one JSON object. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict

from tests.bench.client import Json
from tests.bench.figures import Spread
from tests.bench.measuring import CLIENT, IDLE, LOAD, Column, Row

NOT_COMPARED = {CLIENT, IDLE, LOAD}
NAME_WIDTH = 44


def render(rows: Sequence[Row], machine: Json) -> str:
    """One block a case: a line a figure, a column a server, and how the first compares."""
    head = (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"load average {machine['load_average'][0]:.2f}\n"
        "median (least to most) of the runs; ratios are the first column's to the other's\n"
    )
    return "\n".join([head, *(_block(row) for row in rows)])


def ratios(row: Row) -> dict[str, dict[str, float]]:
    """Other column → figure → the first column's median as a multiple of the other's."""
    first, *others = row.columns
    found: dict[str, dict[str, float]] = {}
    for other in others:
        both = [name for name in first.figures if name in other.figures]
        found[other.name] = {
            name: first.figures[name].median / other.figures[name].median
            for name in both
            if name not in NOT_COMPARED
            and first.figures[name].median >= 0
            and 0 < other.figures[name].median < math.inf
        }
    return found


def as_json(rows: Sequence[Row], **more: object) -> Json:
    """Everything, for a machine to read. What could not be measured is not there."""
    return {
        **more,
        "rows": [
            {
                "load": row.load,
                "case": row.case,
                "servers": [asdict(column) for column in row.columns],
                "ratios": ratios(row),
            }
            for row in rows
        ],
    }


def _block(row: Row) -> str:
    compared = ratios(row)
    names = list(dict.fromkeys(name for column in row.columns for name in column.figures))
    titles = [f"{row.load}: {row.case}", *(column.name for column in row.columns)]
    titles += [f"to {name}" for name in compared]
    lines = [titles]
    for name in names:
        cells = [_cell(column.figures.get(name)) for column in row.columns]
        multiples = [other.get(name) for other in compared.values()]
        lines.append([f"  {name}", *cells, *("" if m is None else f"{m:.2f}" for m in multiples)])
    widths = [max(len(line[at]) for line in lines) for at in range(len(titles))]
    widths[0] = max(widths[0], NAME_WIDTH)
    text = [_line(line, widths) for line in lines]
    return "\n".join([*text, *(word for column in row.columns for word in _remarks(column))]) + "\n"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
    return "  ".join([first, *rest]).rstrip()


def _remarks(column: Column) -> list[str]:
    words = [f"  {column.name}: {note}" for note in column.notes]
    if column.failed:
        told = "; ".join(column.errors)
        words.append(f"  {column.name}: {column.failed} of {column.requests} failed: {told}")
    return words


def _cell(figure: Spread | None) -> str:
    if figure is None:
        return "-"
    if figure.least == figure.most:
        return number(figure.median)
    return f"{number(figure.median)} ({number(figure.least)} to {number(figure.most)})"


def number(value: float) -> str:
    """Three digits that mean something."""
    if not math.isfinite(value):
        return "never"
    size = abs(value)
    return f"{value:.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.3g}"

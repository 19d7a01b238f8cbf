"""Plots as SVG, drawn by the server: bars over time, and two lines that cross."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template

register = template.Library()

WIDTH, HEIGHT = 720, 160


@register.inclusion_tag("chat/_bars.html")
def bars(values: Sequence[float], labels: Sequence[str], name: str) -> dict[str, Any]:
    """One bar a value, from zero up to the greatest."""
    most = max(values, default=0) or 1
    drawn = _drawn(values, labels, most)
    ends = [label.rpartition(": ")[0] for label in [*(labels[:1] or [""]), *(labels[-1:] or [""])]]
    return {"bars": drawn, "name": name, "most": most, "ends": ends,
            "width": WIDTH, "height": HEIGHT}  # fmt: skip


@register.inclusion_tag("chat/_hour.html")
def hour(plot: Any) -> dict[str, Any]:
    """The bars of one ``load_page.Plot``, up to its top; a minute of which nothing is known has
    none."""
    drawn = _drawn([value or 0.0 for value in plot.values], plot.labels, plot.top)
    known = [bar for bar, value in zip(drawn, plot.values, strict=True) if value is not None]
    return {"bars": known, "plot": plot, "width": WIDTH, "height": HEIGHT}


def _drawn(values: Sequence[float], labels: Sequence[str], most: float) -> list[dict[str, str]]:
    step = WIDTH / max(1, len(values))
    return [
        {
            "x": f"{place * step:.1f}", "width": f"{max(1.0, step - 2):.1f}",
            "y": f"{HEIGHT - HEIGHT * min(1.0, float(value) / float(most)):.1f}",
            "height": f"{HEIGHT * min(1.0, float(value) / float(most)):.1f}", "label": label,
        }
        for place, (value, label) in enumerate(zip(values, labels, strict=True))
    ]  # fmt: skip


@register.inclusion_tag("chat/_lines.html")
def lines(
    points: Sequence[tuple[float, float, float]], names: Sequence[str], name: str
) -> dict[str, Any]:
    """Two lines over the same ``x``: ``points`` are ``(x, one, other)``. Zero is where it is."""
    most = max((max(one, other) for _, one, other in points), default=0) or 1
    last = points[-1][0] if points else 1

    def at(x: float, y: float) -> str:
        return (
            f"{WIDTH * float(x) / float(last or 1):.1f},{HEIGHT * (1 - float(y) / float(most)):.1f}"
        )

    drawn = [
        {
            "points": " ".join(at(x, ys[which]) for x, *ys in points),
            "name": names[which],
            "y": at(last, points[-1][which + 1]).split(",")[1],
        }
        for which in (0, 1)
    ]  # fmt: skip
    return {"lines": drawn, "name": name, "width": WIDTH, "height": HEIGHT, "last": last}

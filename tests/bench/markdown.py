"""``deploy/bench markdown``: what it costs to show an answer while it grows, against once.

Both are processor time of this process, so that a busy machine disturbs them little. Starts
nothing and asks nothing of the database.
"""

from __future__ import annotations

import json
import time
from argparse import Namespace
from collections.abc import Callable
from typing import Final

from chat.markdown import Live, mathml, render
from tests.bench import machine, markdown_texts
from tests.bench.client import Json

LIMIT: Final = 3.0  # streaming, as a multiple of once


def run(options: Namespace) -> int:
    """Measure and print. 1 where a shape ends otherwise than it is rendered at once."""
    facts = machine.facts()
    rows = [
        _row(shape, language, text, options.piece, options.runs)
        for shape, language, text in markdown_texts.answers(options.characters)
    ]
    whole: Json = {"machine": facts, "versions": machine.versions(), "limit": LIMIT,
                   "piece": options.piece, "runs": options.runs, "rows": rows}  # fmt: skip
    print(json.dumps(whole, ensure_ascii=False) if options.json else _table(whole))
    return 0 if all(row["same"] for row in rows) else 1


def _row(shape: str, language: str, text: str, piece: int, runs: int) -> Json:
    once_ms = _spent_ms(lambda: render(text), runs)
    streaming_ms = _spent_ms(lambda: _grow(text, piece), runs)
    return {
        "shape": shape,
        "language": language,
        "characters": len(text),
        "once_ms": once_ms,
        "streaming_ms": streaming_ms,
        "ratio": streaming_ms / once_ms,
        "us_a_piece": streaming_ms * 1000 / -(-len(text) // piece),
        "same": _grow(text, piece) == render(text),
    }


def _grow(text: str, piece: int) -> str:
    """As the hub does: each piece is fed, and what is open then is put into a frame."""
    live = Live()
    for begin in range(0, len(text), piece):
        live.feed(text[begin : begin + piece])
        _ = live.open
    return live.finish()


def _spent_ms(act: Callable[[], object], runs: int) -> float:
    """The least of the runs: whatever else the machine does only adds to it."""
    return min(_once_ms(act) for _ in range(runs))


def _once_ms(act: Callable[[], object]) -> float:
    mathml.mathml.cache_clear()  # a formula that was just seen would be free
    begin = time.process_time()
    act()
    return (time.process_time() - begin) * 1000


def _table(whole: Json) -> str:
    facts = whole["machine"]
    lines = [
        f"{facts['cpu']}, {facts['cores']} cores; pieces of {whole['piece']} characters, "
        f"processor time, least of {whole['runs']} runs; at most {whole['limit']:g} times",
        f"{'answer':<24}{'characters':>11}{'once ms':>10}{'streamed ms':>13}{'times':>8}"
        f"{'µs a piece':>12}",
    ]
    for row in whole["rows"]:
        remark = "" if row["ratio"] <= whole["limit"] else "   over"
        remark += "" if row["same"] else "   ENDS OTHERWISE"
        lines.append(
            f"{row['shape'] + ', ' + row['language']:<24}{row['characters']:>11}"
            f"{row['once_ms']:>10.1f}{row['streaming_ms']:>13.1f}{row['ratio']:>8.2f}"
            f"{row['us_a_piece']:>12.1f}{remark}"
        )
    return "\n".join(lines)

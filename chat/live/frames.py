"""The frames that are sent for every word: put together here, since a template costs ten times as
much. Whatever goes in is clean HTML of ``chat.markdown``, an id, or a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.utils.html import escape
from django.utils.safestring import SafeString

# From so many characters on an open block travels as what is new at its end.
LONG: Final = 1024


def growth(
    answer_id: str, since: int, blocks: Sequence[SafeString], *, had: str, open_: SafeString,
    first: bool,
) -> str:  # fmt: skip
    """The blocks from ``since`` on and the open one, for a page that has ``had`` as its open one.

    With ``first`` it has no words yet, but a line that says so.
    """
    name = f"m-{answer_id}"
    fresh = "".join(blocks[since:])
    gone = f'<p id="{name}-wait" hx-swap-oob="delete"></p>' if first else ""
    return (
        f'<div id="{name}-blocks" data-from="{since}" data-blocks="{len(blocks)}"'
        f' hx-swap-oob="beforeend">{fresh}</div>{_open(name, had, open_)}{gone}'
    )


def thoughts(answer_id: str, fresh: str) -> str:
    """What the model has thought since the last frame; plain text until it has thought enough."""
    return f'<div id="m-{answer_id}-thoughts" hx-swap-oob="beforeend">{escape(fresh)}</div>'


def _open(name: str, had: str, open_: SafeString) -> str:
    if len(open_) < LONG:
        return f'<div id="{name}-open" hx-swap-oob="innerHTML">{open_}</div>'
    # As text: cut anywhere, it is no HTML by itself. Counted as the page counts, in UTF-16.
    kept = _common(had, open_) if len(had) >= LONG else 0
    units = kept if had.isascii() else len(had[:kept].encode("utf-16-le")) // 2
    return (
        f'<div id="{name}-open" data-keep="{units}" hx-swap-oob="innerHTML">'
        f"{escape(open_[kept:])}</div>"
    )


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low

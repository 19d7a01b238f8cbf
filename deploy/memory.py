"""How a long-lived process keeps its memory. Called when everything is loaded."""

from __future__ import annotations

import gc

# Looked through after so many new objects: a page makes some ten thousand and leaves none behind.
YOUNG = 20_000


def settle() -> None:
    """What is loaded by now stays: looked through again and again it costs time, in the middle of
    somebody's answer."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 10, 20)

"""Growth frames: what a page puts together from them is what the server has."""

from __future__ import annotations

import re
from html import unescape

from django.utils.safestring import mark_safe
from hypothesis import given
from hypothesis import strategies as st

from chat.live import frames

OPEN = re.compile(
    r'<div id="m-x-open"( data-keep="(\d+)")? hx-swap-oob="innerHTML">(.*?)</div>', re.S
)
LETTERS = st.text(st.sampled_from('ab<>&"é🙂'), max_size=40)


def put_together(before: str, frame: str) -> str:
    """As the page's script does it, which counts in UTF-16."""
    found = OPEN.search(frame)
    assert found
    if found[1] is None:
        return found[3]
    kept = before.encode("utf-16-le")[: 2 * int(found[2])].decode("utf-16-le")
    return kept + unescape(found[3])


@given(st.lists(st.tuples(st.integers(0, 30), LETTERS), min_size=1, max_size=8), st.booleans())
def test_a_long_block_is_whole_however_it_changes(steps: list[tuple[int, str]], long: bool) -> None:
    """Each step cuts something off the end and adds something else."""
    page, told = "", ""
    html = "<b>é🙂&amp;</b>" * (100 if long else 1)
    for cut, more in steps:
        html = html[: len(html) - cut] + more
        frame = frames.growth("x", 0, [], had=told, open_=mark_safe(html), first=False)
        page = put_together(page, frame)
        assert page == html
        told = html


def test_of_a_long_block_only_its_end_travels() -> None:
    had = mark_safe("<p>" + "word " * 2000 + "</p>")
    now = mark_safe("<p>" + "word " * 2001 + "</p>")
    assert len(frames.growth("x", 0, [], had=had, open_=now, first=False)) < 300
    assert len(frames.growth("x", 0, [], had="", open_=now, first=False)) > 10_000


def test_blocks_are_counted_and_the_first_words_take_the_line_away() -> None:
    blocks = [mark_safe(f"<p>{n}</p>") for n in range(5)]
    first = frames.growth("x", 0, blocks[:1], had="", open_=mark_safe("<p>a</p>"), first=True)
    assert 'id="m-x-wait" hx-swap-oob="delete"' in first
    later = frames.growth("x", 3, blocks, had="<p>a</p>", open_=mark_safe("<p>b</p>"), first=False)
    assert 'data-from="3" data-blocks="5" hx-swap-oob="beforeend"><p>3</p><p>4</p></div>' in later
    assert "-wait" not in later

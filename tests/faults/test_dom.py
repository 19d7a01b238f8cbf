"""Frames change a page here as htmx changes it in a browser."""

from __future__ import annotations

from tests.faults import dom

PAGE = (
    '<main><article id="m-1" class="answer" aria-busy="true"><p id="m-1-wait">Reading</p>'
    '<div class="prose"><div id="m-1-blocks" data-blocks="1"><p>one<br>1</p></div>'
    '<div id="m-1-open">two</div></div></article></main>'
)


def changed(*parts: str) -> dom.Element:
    page = dom.parse(PAGE)
    for part in parts:
        assert page.swap(dom.parse(part).elements[0])
    return page


def test_text_in_the_order_of_the_page() -> None:
    assert dom.parse(PAGE).text == "Readingone1two"
    assert dom.parse("a &amp; b").text == "a & b"


def test_what_is_new_comes_to_the_end() -> None:
    part = (
        '<div id="m-1-blocks" data-from="1" data-blocks="2" hx-swap-oob="beforeend"><p>2</p></div>'
    )
    blocks = changed(part).find("m-1-blocks")
    assert blocks and blocks.text == "one12"
    assert blocks.attributes == {"id": "m-1-blocks", "data-blocks": "2"}


def test_inner_whole_and_gone() -> None:
    page = changed(
        '<div id="m-1-open" hx-swap-oob="innerHTML">three</div>',
        '<p id="m-1-wait" hx-swap-oob="delete"></p>',
    )
    assert page.text == "one1three" and page.find("m-1-wait") is None
    page = changed('<article id="m-1" hx-swap-oob="keep">all</article>')
    assert page.text == "all"
    assert page.elements[0].elements[0].attributes == {"id": "m-1"}


def test_a_part_without_its_place() -> None:
    assert not dom.parse(PAGE).swap(dom.parse('<p id="m-2" hx-swap-oob="keep">x</p>').elements[0])

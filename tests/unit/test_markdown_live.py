"""A text that grows ends as what it would have been at once, however it came, and on the way shows
what it has: harmless, complete, and for a small multiple of the work."""

from __future__ import annotations

import re
import sys
from html import unescape
from itertools import pairwise
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it.parser_block import ParserBlock
from markdown_it.parser_inline import ParserInline

from chat.markdown import Live, render
from tests.html_audit import ATTACKS, harm

ORDINARY = """# Why the sky is blue

Light is **scattered** by air; see [the law](https://example.org/rayleigh) and [more][m].
A second line of the same paragraph, with `code`, *emphasis* and $x^2$.[^1]

1. Blue light
2. Red light
   - less of it

   A paragraph in the item.

Next comes code:

```python
def f(x):
    \"\"\"Of many
    lines.\"\"\"

    return x < 1
```

| colour | length |
|:--|--:|
| blue | 450 |
| **red** | `700` |

> A quote
> of two lines

1 is a number, not a list.
***Bold*** and more — “quoted”. ışık, 🌊, שלום

$$
\\frac{a}{b} = c
$$

Setext heading
--------------

- [x] loose

- [ ] list

\\[ a = b \\]
[m]: https://example.org/more
[^1]: A note with *emphasis*.

    And a second paragraph.

The end, as seen before.[^1]"""

LINES = [
    "# Heading", "## Closed ##", "Setext\n===", "Setext\n---", "- a", "- b", "  - deeper", "* c",
    "1. one", "2. two", "   1. in it", "- [ ] open", "- [x] done", "> quote", "> > deeper", "lazy",
    "1020.", "7)", "- 12.", "   and on",
    "```py\nx = 1\n```", "```\nnever closed", "~~~\ny\n~~~", "    indented", "| 1 | 2 |",
    "| a | b |\n|---|:-:|", "a | b\n--|--\n1 | 2", "| lone |", "--|--", "[r]: http://r.example",
    "[x]: <http://x.example> 'title'", "[x]:\nhttp://y.example\n\"ti", "tle\"", "[^1]: a note",
    "[^n]: note *n* of[^1]\n\n    with more", "    going on", "$$\na=b\n$$", "$$\nnever",
    "\\[\nx\n\\]", "\\[ a=b \\]", "end$$", "***", "---", "- - -", "2020 was", "para\n***bold***",
    '"quoted"', "[^1] and[^n] and [r] and [x][x]", "  two", "1986\\. A", "<div>", "say [r][x] `c`",
]  # fmt: skip
PIECES = [
    "word", "two words", "**bold**", "*it*", "`code`", "``a`b``", "[l](http://a.b/c)", "[r]",
    "$x^2$", "$5 and $6", "$$a$$", "\\(a\\)", "\\[a=b\\]", "\\[1\\]", "\\*", "&amp;", "<b>",
    "~~s~~", "1", "#", "|", ">", "-", "*", "_", "+", "1.", "[ ]", "(", ")", "[", "]", "$", "\\",
    "[^1]", "é", "שלום", "\t", "  ", "    ", ":", "`", "```", "**", "\ue000",
]  # fmt: skip
ENDS = ["\n", "\n\n", "\r\n", "\r\n\r\n", "\r", "\n\n\n", "\n \n", "\n\t\n"]

line = st.sampled_from(LINES) | st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
texts = st.lists(st.tuples(line, st.sampled_from(ENDS)), max_size=14).map(
    lambda lines: "".join(text + end for text, end in lines)
)


def grow(text: str, cuts: list[int]) -> Live:
    """Fed in pieces, with what must hold after each of them."""
    grown = Live()
    kept: list[str] = []
    for begin, end in pairwise([0, *sorted(cuts), len(text)]):
        grown.feed(text[begin:end])
        assert grown.blocks[: len(kept)] == kept
        kept = list(grown.blocks)
        assert grown.open is not None
    return grown


def every(text: str, step: int) -> list[int]:
    return list(range(step, len(text), step))


@settings(deadline=None)
@given(st.lists(st.integers(0, len(ORDINARY)), max_size=40))
def test_an_ordinary_answer_grows_into_what_it_would_have_been(cuts: list[int]) -> None:
    assert grow(ORDINARY, cuts).finish() == render(ORDINARY)


@pytest.mark.parametrize("step", [1, 2, 3, 5, 8, 20])
def test_in_steps_of_any_size_too(step: int) -> None:
    grown = grow(ORDINARY, every(ORDINARY, step))
    assert len(grown.blocks) >= 10
    assert grown.finish() == render(ORDINARY)


@settings(deadline=None, max_examples=400)
@given(texts, st.data())
def test_every_text_in_every_split(text: str, data: st.DataObject) -> None:
    cuts = data.draw(
        st.integers(1, 9).map(lambda step: every(text, step))
        | st.lists(st.integers(0, len(text)), max_size=20)
    )
    assert grow(text, cuts).finish() == render(text)


@settings(deadline=None)
@given(texts, texts)
def test_long_before_and_after_makes_no_difference(first: str, second: str) -> None:
    """Where the credit for showing well is spent, the result is the same."""
    filling = "*a* [b] `c` $d$ " * 200
    text = f"{first}\n\n{filling}\n\n{second}"
    assert grow(text, every(text, 7)).finish() == render(text)


@pytest.mark.parametrize("mark", ["\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\r", "\r\n"])
def test_what_only_python_takes_for_a_line_is_none(mark: str) -> None:
    text = f"one{mark}two\n\n{mark}three{mark}\n\nfour\n\nfive{mark}"
    assert grow(text, every(text, 1)).finish() == render(text)


@pytest.mark.parametrize(
    "text",
    [
        "para\n***bold***",
        "para\n#hash",
        "para\n-x",
        "1. one\n\n2. two",
        "- one\n\n-not a list",
        "> quote\nlazy\n\npara\n1) x",
        "```\ncode\n```\n***bold***",
        "para\n```not `a fence",
        "a\n\n    code\n\nb",
        "- a\n\n      code\n\n  b\n\nc",
        "[a]: http://a.example\n'a title\nof two lines'\n\n[a]",
        "words\n| a |\n--|--\n",
        "| a |\n|---|\n| b |\n\n| c |",
        "$$\na\n\n$$\nb\n$$",
        "[^1]: a\n\n    b\n\n  c[^1]",
        "1020.",
        "1020.\n\n1021. A year.",
        "1020.\n     A year.",
        "12.\n15.\n\nwords\n\n- 7)\n\n  and on",
    ],
)
def test_a_line_that_turns_out_to_be_something_else(text: str) -> None:
    for step in (1, 2, 3):
        assert grow(text, every(text, step)).finish() == render(text)


def test_links_and_notes_that_are_explained_later_are_put_right_at_the_end() -> None:
    grown = Live()
    grown.feed("See [this][a] and[^1] and[^n] and [^2].\n\nMore [a].\n\n")
    assert "[this][a]" in grown.blocks[0]
    assert '<sup class="note">1</sup>' in grown.blocks[0]
    grown.feed("[a]: https://a.example/\n\n[^1]: one\n\n[^n]: two\n\nAt once: [a].\n\n")
    assert '<a href="https://a.example/"' in grown.blocks[-1]
    html = grown.finish()
    assert html.count('<a href="https://a.example/"') == 3
    assert "[^2]" in html
    assert html == render(
        "See [this][a] and[^1] and[^n] and [^2].\n\nMore [a].\n\n"
        "[a]: https://a.example/\n\n[^1]: one\n\n[^n]: two\n\nAt once: [a].\n\n"
    )


@pytest.mark.parametrize("text", ATTACKS)
def test_nothing_acts_while_it_grows(text: str) -> None:
    for cut in range(1, len(text)):
        grown = Live()
        for part in (text[:cut], text[cut:]):
            grown.feed(part)
            assert harm("".join([*grown.blocks, grown.open])) == []


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([*ATTACKS, "\n", "\n\n", "> ", "- ", "`", "<", "](", "$"]), max_size=9)
)
def test_nothing_acts_in_any_company_nor_where_the_credit_is_spent(parts: list[str]) -> None:
    text = "*a* [b] `c` $d$ " * 150 + "".join(parts)
    grown = Live()
    for begin in range(0, len(text), 40):
        grown.feed(text[begin : begin + 40])
    assert harm("".join([*grown.blocks, grown.open])) == []


SHAPES = {
    "prose": "Light is **scattered** by air, and so the sky looks blue; see `this` and *that*. " * 5
    + "\n\n",
    "paragraph": "Light is **scattered** by air, and so the sky looks blue; see `this` and $x$. ",
    "code": "def f(x):\n    return [y for y in range(x) if y % 2 == 0]  # even\n\n",
    "table": "| one | **two** | three and `four` |\n",
    "list": "- an item with **bold** words and `code` in it\n",
    "nested list": "- an item\n  - with **bold** words\n    - and `code` in it\n\n",
    "quote": "> with **bold** words and `code` in it\n",
    "maths": "The sum $x_i^2$ is \\(a<b\\).\n\n$$\n\\frac{a}{b} = c\n$$\n\n",
    "stars": "*",
    "brackets": "[",
    "dollars": "$a ",
}
HEADS = {"code": "```python\n", "table": "| a | b | c |\n|---|---|---|\n"}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_work_is_a_small_multiple_of_doing_it_once(shape: str) -> None:
    text = HEADS.get(shape, "") + (SHAPES[shape] * 5_000)[:12_000]
    once = read_by_the_parser(lambda: render(text))
    grown = Live()

    def stream() -> None:
        for begin in range(0, len(text), 20):
            grown.feed(text[begin : begin + 20])

    assert read_by_the_parser(stream) <= 3 * once + 4_000
    assert grown.finish() == render(text)


def read_by_the_parser(act: object) -> int:
    """How many characters the parser is given while this is done."""
    codes = {ParserBlock.parse.__code__, ParserInline.parse.__code__}
    read = 0

    def watch(frame: FrameType, event: str, _: object) -> None:
        nonlocal read
        if event == "call" and frame.f_code in codes:
            read += len(frame.f_locals["src"])

    sys.setprofile(watch)
    try:
        act()  # type: ignore[operator]  # a function without arguments
    finally:
        sys.setprofile(None)
    return read


@pytest.mark.parametrize("shape", ["prose", "paragraph", "list", "nested list", "table", "code"])
def test_all_of_it_is_shown_at_any_time_and_nearly_all_as_it_will_be(shape: str) -> None:
    text = HEADS.get(shape, "") + (SHAPES[shape] * 200)[:8_000]
    grown = Live()
    for begin in range(0, len(text), 20):
        grown.feed(text[begin : begin + 20])
        shown = unescape(re.sub(r"<[^>]*>", "", "".join([*grown.blocks, grown.open])))
        so_far = text[: begin + 20].removeprefix(HEADS.get(shape, ""))
        assert letters(shown).endswith(letters(so_far)[-60:])
        assert len(letters(shown)) >= len(letters(so_far))
        if shape != "code":
            assert not re.search(r"\*\*\w[^*]*\*\*|`\w", shown[:-500])


def letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


def test_a_number_is_read_as_soon_as_it_is_there() -> None:
    grown = Live()
    for piece in ("Then:\n\n", "10", "20", "."):
        grown.feed(piece)
    assert grown.open == '<p dir="auto">1020.</p>\n'
    grown.feed("\n1021. A year.\n")
    assert "<ol" in grown.open


def test_what_is_bold_or_code_is_so_before_it_ends() -> None:
    grown = Live()
    grown.feed("So **this is")
    assert grown.open == '<p dir="auto">So <strong>this is</strong></p>\n'
    grown.feed(" it")
    assert grown.open == '<p dir="auto">So <strong>this is it</strong></p>\n'
    grown.feed("** and `x")
    assert "<strong>this is it</strong> and <code>x</code>" in grown.open

"""Markdown becomes HTML that is safe on any page, reads well, and grows as it would have been."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.markdown import Live, render

TAGS = {
    "a", "blockquote", "br", "code", "del", "div", "em", "figcaption", "figure", "h3", "h4", "h5",
    "h6", "hr", "li", "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th",
    "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"class", "dir", "href", "rel", "start", "tabindex"}

ATTACKS = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example></SCRIPT>",
    "<scr<script>ipt>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<a href='javascript:alert(1)'>x</a>",
    "<div style='background:url(//evil.example)'>x</div>",
    "<form action=//evil.example><button>x</button></form>",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<link rel=stylesheet href=//evil.example>",
    "<div hx-get='/accounts/sign-out/' hx-trigger='load'>x</div>",
    "<div data-hx-on:load='alert(1)' hx-vals='js:alert(1)'>x</div>",
    "<div id='composer' class='composer'>x</div>",
    "<template><script>alert(1)</script></template>",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](vbscript:msgbox)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](file:///etc/passwd)",
    "[x](blob:http://evil.example/1)",
    "[x](//evil.example)",
    "[x](/accounts/sign-out/)",
    "[x](?next=//evil.example)",
    "[x](#composer)",
    '[x](http://evil.example" onclick="alert(1))',
    "[x](<javascript:alert(1)>)",
    "[x][1]\n\n[1]: javascript:alert(1)",
    "<javascript:alert(1)>",
    '<http://evil.example/"onmouseover=alert(1)>',
    "![x](https://evil.example/pixel.png)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "![x][1]\n\n[1]: https://evil.example/pixel.png",
    "[![x](https://evil.example/pixel.png)](https://evil.example)",
    "# <img src=x onerror=alert(1)>",
    "| <script>alert(1)</script> | b |\n|---|---|\n| <img src=x onerror=alert(1)> | ` <b> ` |",
    "```html\n<script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "```x onload=alert(1) class=y\nx\n```",
    "`<script>alert(1)</script>`",
    "- <details open ontoggle=alert(1)>\n  - > <script>alert(1)</script>",
    '*[x](javascript:alert(1) "t")*',
    "a\0b<script>alert(1)</script>",
    "\u202e<script>alert(1)</script>",
]


class Audit(HTMLParser):
    """What a browser would find that must not be there."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.links: list[dict[str, str]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.found.append(tag)
        self.found += [name for name, _ in attrs if name not in ATTRIBUTES]
        if tag == "a":
            self.links.append({name: value or "" for name, value in attrs})

    def handle_comment(self, data: str) -> None:
        self.found.append("comment")


def harm(html: str) -> list[str]:
    found = Audit(html)
    schemes = [
        a["href"] for a in found.links if not re.match(r"https?:|mailto:|$", a.get("href", ""))
    ]
    return found.found + schemes


@pytest.mark.parametrize("text", ATTACKS)
def test_nothing_in_an_answer_acts(text: str) -> None:
    assert harm(render(text)) == []


def test_markup_is_shown_as_it_was_written() -> None:
    assert "use &lt;b&gt;bold&lt;/b&gt; here" in render("use <b>bold</b> here")
    assert "&lt;div id=" in render('<div id="x">\n\nwords\n\n</div>')


@pytest.mark.parametrize("text", ATTACKS)
def test_nothing_acts_while_it_grows(text: str) -> None:
    for cut in range(1, len(text)):
        grown = Live()
        for part in (text[:cut], text[cut:]):
            grown.feed(part)
            assert harm("".join([*grown.blocks, grown.open])) == []


@settings(deadline=None)
@given(st.lists(st.sampled_from([*ATTACKS, "\n", "\n\n", "> ", "- ", "`", "<", "]("]), max_size=6))
def test_nothing_acts_in_any_company(parts: list[str]) -> None:
    assert harm(render("".join(parts))) == []


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_at_all_is_rendered(text: str) -> None:
    assert harm(render(text)) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[the law](https://example.org/law)", "(example.org)"),
        ("[https://bank.example](https://evil.example/x)", "(evil.example)"),
        ("[bank.example](https://bank.example.evil.example/)", "(bank.example.evil.example)"),
        ("[x](https://user:pw@evil.example:8443/)", "(evil.example)"),
    ],
)
def test_a_link_shows_where_it_leads(text: str, shown: str) -> None:
    html = render(text)
    assert f'<span class="host">{shown}</span>' in html
    [link] = Audit(html).links
    assert set(link["rel"].split()) == {"noopener", "noreferrer", "nofollow"}


@pytest.mark.parametrize(
    "text", ["<https://example.org/a>", "[see example.org](https://example.org/a)"]
)
def test_a_link_whose_words_say_it_does_not_say_it_twice(text: str) -> None:
    assert "host" not in render(text)


def test_an_image_is_only_its_words() -> None:
    html = render("Look: ![a chart](https://evil.example/p.png)")
    assert "<img" not in html
    assert "a chart" in html


def test_headings_stand_below_the_pages_own() -> None:
    html = render("# One\n\n## Two\n\n### Three\n\n#### Four\n\n###### Six\n\nSet\n===")
    assert re.findall(r"<h(\d)", html) == ["3", "4", "5", "6", "6", "3"]
    assert html.count("</h3>") == 2


def test_a_table_is_one_and_can_be_scrolled() -> None:
    html = render("| a | b | c |\n|:--|:-:|--:|\n| 1 | **2** | 3 |")
    assert html.startswith('<div class="table" tabindex="0"><table>')
    assert html.rstrip().endswith("</table></div>")
    assert re.findall(r'<t[hd] class="(align-\w+)"', html) == [
        "align-left", "align-center", "align-right",
    ] * 2  # fmt: skip
    assert "<strong>2</strong>" in html


def test_lists_quotes_emphasis_and_breaks() -> None:
    html = render("3. three\n4. four\n   - *deep*\n\n> said\n\n~~gone~~ a  \nb\n\n---")
    assert '<ol start="3">' in html
    for part in ("<em>deep</em>", "<blockquote", "<s>gone</s>", "<br>", "<hr>"):
        assert part in html


def test_code_of_a_known_language_is_coloured() -> None:
    html = render("```python\ndef f(x):\n    return '<b>'\n```")
    assert "<figcaption>python</figcaption>" in html
    assert '<span class="k">def</span>' in html
    assert "&lt;b&gt;" in html


@pytest.mark.parametrize("language", ["", "no-such-language", "ÇÖ", "x" * 500, "{.python}", "-"])
def test_code_of_an_unknown_language_is_plain(language: str) -> None:
    html = render(f"```{language}\na < b\n```")
    assert "<code>a &lt; b\n</code>" in html
    assert "<span" not in html


def test_very_long_code_is_not_coloured() -> None:
    code = "x = 1\n" * 10_000
    html = render(f"```python\n{code}```")
    assert f"<code>{code}</code>" in html


def test_a_dollar_is_a_dollar_and_a_bracket_a_bracket() -> None:
    assert "costs $5 and a[0] is $6" in render("It costs $5 and a[0] is $6")


def test_each_paragraph_finds_its_own_direction() -> None:
    assert render("שלום\n\nHello").count('dir="auto"') == 2


ORDINARY = """# Why the sky is blue

Light is **scattered** by air; see [the law](https://example.org/rayleigh).
A second line of the same paragraph, with `code` and *emphasis*.

1. Blue light
2. Red light
   - less of it

   A paragraph in the item.

Next comes code:

```python
def f(x):

    return x < 1
```

| colour | length |
|:--|--:|
| blue | 450 |

> A quote
> of two lines

1 is a number, not a list.
***Bold*** and more — “quoted”. ışık, 🌊, שלום

Setext heading
--------------

- loose

- list

The end."""


def text_of(live: Live) -> str:
    return "".join([*live.blocks, live.open])


@settings(deadline=None)
@given(st.lists(st.integers(0, len(ORDINARY)), max_size=40))
def test_an_ordinary_answer_grows_into_what_it_would_have_been(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(ORDINARY)]
    grown = Live()
    kept: list[str] = []
    for begin, end in pairwise(places):
        grown.feed(ORDINARY[begin:end])
        assert grown.blocks[: len(kept)] == kept
        kept = list(grown.blocks)
    assert text_of(grown) == render(ORDINARY)


def test_letter_by_letter_too() -> None:
    grown = Live()
    for letter in ORDINARY:
        grown.feed(letter)
    assert text_of(grown) == render(ORDINARY)
    assert len(grown.blocks) > 8


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(ORDINARY.split("\n\n")), min_size=1, max_size=6),
    st.integers(1, 7),
    st.sampled_from(["\n\n", "\n", "\r\n\r\n", "\n\n\n"]),
)
def test_its_parts_in_any_order_too(parts: list[str], step: int, between: str) -> None:
    text = between.join(parts)
    grown = Live()
    for begin in range(0, len(text), step):
        grown.feed(text[begin : begin + step])
    assert text_of(grown) == render(text)


@pytest.mark.parametrize("mark", ["\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\r", "\r\n"])
def test_what_only_python_takes_for_a_line_is_none(mark: str) -> None:
    text = f"one{mark}two\n\n{mark}three{mark}\n\nfour\n\nfive"
    grown = Live()
    for letter in text:
        grown.feed(letter)
    assert text_of(grown) == render(text)


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
    ],
)
def test_a_line_that_turns_out_to_be_something_else(text: str) -> None:
    for step in (1, 2, 3):
        grown = Live()
        for begin in range(0, len(text), step):
            grown.feed(text[begin : begin + step])
        assert text_of(grown) == render(text)


def test_finished_blocks_are_few_times_rendered() -> None:
    """The cost of a long answer is that of its blocks: what is finished is not looked at again."""
    grown = Live()
    for n in range(300):
        grown.feed(f"Paragraph {n} has some words.\n\n")
        assert len(grown._tail) < 100

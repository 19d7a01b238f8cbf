"""Markdown becomes HTML that is safe on any page, reads well, and grows as it would have been."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.markdown import render
from tests.html_audit import ATTACKS, Audit, harm


@pytest.mark.parametrize("text", ATTACKS)
def test_nothing_in_an_answer_acts(text: str) -> None:
    assert harm(render(text)) == []


def test_markup_is_shown_as_it_was_written() -> None:
    assert "use &lt;b&gt;bold&lt;/b&gt; here" in render("use <b>bold</b> here")
    assert "&lt;div id=" in render('<div id="x">\n\nwords\n\n</div>')


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1020.", '<p dir="auto">1020.</p>\n'),
        ("007)", '<p dir="auto">007)</p>\n'),
        ("12.\n15.\n18.", '<p dir="auto">12.<br>\n15.<br>\n18.</p>\n'),
        ("Year:\n\n1453.\n\nEnd.", '<p dir="auto">1453.</p>\n<p dir="auto">End.</p>\n'),
    ],
)
def test_numbers_without_a_word_are_text(text: str, shown: str) -> None:
    assert render(text).endswith(shown)
    assert "<ol" not in render(text)


@pytest.mark.parametrize("text", ["- 1020.", "> 1020.", "1. 1020.", "- a\n- 7)\n"])
def test_numbers_without_a_word_are_text_within_a_block_too(text: str) -> None:
    assert re.search(r'<p dir="auto">(?:1020\.|7\))</p>', render(text))


@pytest.mark.parametrize("text", ["1.\n2. two", "1. one\n2.", "1.\n   one", "1. - x", "1. ```\n"])
def test_a_list_that_says_something_stays_one(text: str) -> None:
    assert render(text).startswith("<ol>")


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


def test_very_long_code_is_coloured_to_its_end() -> None:
    html = render("```python\n" + "x = 1\n" * 10_000 + "```")
    assert html.count('<span class="mi">1</span>') == 10_000


def test_very_long_lines_are_not_coloured() -> None:
    code = "x = [" + "1, " * 30_000 + "]\n"
    assert f"<code>{code}</code>" in render(f"```python\n{code}```")


def test_tasks_are_shown_with_their_boxes_and_are_no_controls() -> None:
    html = render("- [ ] open\n- [x] done\n- [X] done too\n- [y] none\n- [link][ ]\n")
    task = r'<li class="task" dir="auto"><span class="box">(.)</span> (.*)</li>'
    assert re.findall(task, html) == [("☐", "open"), ("☑", "done"), ("☑", "done too")]
    assert '<li dir="auto">[y] none</li>' in html


def test_notes_are_numbered_as_they_are_read_and_stand_at_the_end() -> None:
    html = render(
        "One[^b], two[^a], one again[^b], none[^c].\n\n"
        "[^a]: said *a*\n[^unread]: x\n[^b]: said b, see[^d]\n\n    and more\n\n[^d]: deep\n\nEnd."
    )
    text, _, notes = html.partition('<section class="notes">')
    assert re.findall(r'<sup class="note">(\d)</sup>', text) == ["1", "2", "1"]
    assert "none[^c]." in text
    assert '<p dir="auto">End.</p>' in text
    assert re.findall(r'<li dir="auto"><p dir="auto">(.*?)</p>', notes) == [
        'said b, see<sup class="note">3</sup>', "said <em>a</em>", "deep",
    ]  # fmt: skip
    assert "and more" in notes
    assert "unread" not in html


def test_nesting_does_not_swallow_what_is_inside() -> None:
    assert "deep words" in render(
        "".join("  " * n + "- x\n" for n in range(20)) + "  " * 20 + "- deep words"
    )
    assert "deep words" in render("> " * 30 + "deep words")


def test_each_paragraph_finds_its_own_direction() -> None:
    assert render("שלום\n\nHello").count('dir="auto"') == 2

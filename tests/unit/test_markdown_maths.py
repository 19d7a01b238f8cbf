"""What is maths becomes MathML, what is money stays money, and what is broken shows its source."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.markdown import render
from chat.markdown.mathml import LIMIT
from tests.html_audit import harm


def formulas(html: str) -> list[str]:
    return re.findall(r'<math display="\w+" alttext="(.*?)">', html, re.DOTALL)


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $6.",
        "It costs $5 and a[0] is $6",
        "from $5-$10, or $1,000 a month ($12,000 a year)",
        "US$5 and US$6, 5$ and 6$",
        "$5 (or 5$)",
        "$20/month, $30/month",
        "echo $HOME and $PATH; echo $HOME:$PATH",
        "the $ sign and the $ sign",
        r"\$x$ and $x\$",
        "`$x$` and $`x`$",
        "a $ b$ and $c $",
        "$",
        "$$",
        "$$ is the shell's number",
    ],
)
def test_money_and_shells_are_no_maths(text: str) -> None:
    assert "<math" not in render(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Let $x$ be, $x^2$, ($y$), $z$.", ["x", "x^2", "y", "z"]),
        ("It costs $5, but $x_1$ and $6$.", ["x_1", "6"]),
        ("$2x + 3y = 5$ and $2 + 2$", ["2x + 3y = 5", "2 + 2"]),
        (r"\(a + b\) and \[c = d\] in line", ["a + b", "c = d"]),
        ("so $$e = mc^2$$ in line", ["e = mc^2"]),
        ("$a$-th, $b$: *$c$*, **$d * e * f$**", ["a", "b", "c", "d * e * f"]),
        ("| $a$ | b |\n|---|---|\n| 1 | \\(c\\) |", ["a", "c"]),
        ("- $a$\n  1. \\(b\\)\n\n> $c$", ["a", "b", "c"]),
        ("$a\nb$", ["a\nb"]),
        ("$\\text{costs \\$5}$", ["\\text{costs \\$5}"]),
    ],
)
def test_maths_in_a_text(text: str, found: list[str]) -> None:
    assert formulas(render(text)) == found


@pytest.mark.parametrize(
    "text",
    [
        "$$\na = b\n$$",
        "$$a = b$$",
        "\\[\na = b\n\\]",
        "\\[ a = b \\]",
        "So it is:\n$$\na = b\n$$\nas said.",
        "- item\n\n  $$\n  a = b\n  $$",
        "> $$\n> a = b\n> $$",
        "1. so:\n   \\[\n   a = b\n   \\]",
    ],
)
def test_maths_on_lines_of_its_own(text: str) -> None:
    html = render(text)
    assert '<div class="math" tabindex="0"><math display="block" alttext="a = b">' in html
    assert "$" not in html


def test_a_sentence_may_end_behind_a_formula() -> None:
    assert formulas(render("$$a = b$$.\n\n\\[\nc = d\n\\],")) == ["a = b.", "c = d,"]


@pytest.mark.parametrize(
    "text", [r"\[1\] Smith", r"\[not a link\](http://a.example)", r"see \[2\]", "\\[x\n\ny\\]"]
)
def test_an_escaped_bracket_is_a_bracket(text: str) -> None:
    html = render(text)
    assert "<math" not in html
    assert "[" in html


def test_what_never_closes_is_text() -> None:
    html = render("$$\na **b**\n\n# Heading\n\n\\(c and $d")
    assert "<strong>b</strong>" in html
    assert "<h3" in html
    assert "<math" not in html


@pytest.mark.parametrize(
    "source",
    [
        r"\frac{a",
        r"\frac{1}",
        "x_",
        "x^2^3",
        r"\left( x",
        r"\begin{matrix} a",
        r"\newcommand{\a}{\a\a}\a",
        r"\def\a{b}\a",
        "{" * 100 + "x" + "}" * 100,
        r"\sqrt" * 390,
        "x+" * LIMIT,
    ],
)
def test_a_broken_formula_shows_its_source(source: str) -> None:
    html = render(f"$$\n{source}\n$$\n\nThe end.")
    assert "<math" not in html
    assert f"<code>$${source}$$</code>" in html
    assert "The end." in html


def test_symbols_are_characters_and_markup_is_text() -> None:
    html = render(r"$\alpha \le \sum_{i=1}^n \text{a <b> & &lt; c}$")
    assert "<mi>α</mi><mo>≤</mo>" in html
    assert "<mtext>a&nbsp;&lt;b&gt;&nbsp;&amp;&nbsp;&amp;lt;&nbsp;c</mtext>" in html


def test_equations_of_an_answer_have_no_numbers() -> None:
    assert "(1)" not in render("$$\n\\begin{align}a&=b\\\\c&=d\\end{align}\n$$")


LATEX = st.lists(
    st.sampled_from(
        [
            "a", "1", "x", " ", "{", "}", "^", "_", "&", "\\\\", "\\frac", "\\sqrt", "[", "]", "(",
            ")", "\\left", "\\right", "\\begin{matrix}", "\\end{matrix}", "\\text{<b>}", "'", "<",
            ">", "\\over", "\\color{red}", "\\not", "\\href{x}", "\\style{y}", "\\unicode{3c}",
            "\\operatorname{<}", "&#x3c;", "\\overset", "\\limits", "\\mathbb", "%", "#", "\\",
            "\\genfrac", "\\rule", "\\hspace{1em}", "\\substack", "\\middle", "ş", "\\mbox{$<$}",
        ]
    ),
    max_size=20,
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(LATEX)
def test_no_source_fails_or_harms(parts: list[str]) -> None:
    source = "".join(parts)
    html = render(f"$$\n{source}\n$$\n\n\\({source}\\) The end.")
    assert harm(html) == []
    assert "The end." in html

"""Grammars are read and followed; broken, hostile and endless ones end in a refusal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.bundled.llama.grammar import parse
from engine_adapter.bundled.llama.lexicon import Lexicon
from engine_adapter.bundled.llama.matcher import Matcher
from engine_adapter.errors import Broken, Refused


def whole(grammar: str, text: str | bytes) -> bool:
    """Whether the text as a whole fulfils the grammar."""
    matcher = Matcher(parse(grammar))
    data = text.encode() if isinstance(text, str) else text
    if data:
        if not matcher.allows(data):
            return False
        matcher.take(data)
    return matcher.complete


@pytest.mark.parametrize(
    ("grammar", "good", "bad"),
    [
        ('root ::= "a" | "bc"', ["a", "bc"], ["", "b", "ab", "abc"]),
        ('root ::= [a-c]+ "."', ["a.", "cab."], [".", "d.", "a", "a.."]),
        ('root ::= [^a-c"]*', ["", "xyz", "ğ🌊"], ["a", '"']),
        ('root ::= "a"{2,3} [0-9]{2}', ["aa12", "aaa00"], ["a12", "aaaa12", "aa1"]),
        ('root ::= "a"{2,}', ["aa", "aaaaa"], ["a"]),
        ('root ::= ("ab" | "c"){0,2}', ["", "ab", "cab", "cc"], ["ccc", "a"]),
        ('root ::= "x"? . # any\n', ["x", "xy", "🌊"], ["", "yxz"]),
        ('root ::= list\nlist ::= "(" (list ","?)* ")"', ["()", "((),())"], ["(", ")", "(,)"]),
        (r'root ::= "\x41\u00e7\U0001F30A\n\"\\" [\]\-x-]', ['Aç🌊\n"\\]', 'Aç🌊\n"\\-'], ["A"]),
        ('root ::= a b\n\na ::= (\n "x"?)\nb ::= "y"', ["y", "xy"], ["x", "xyy"]),
        ('root ::= ("a"?)* "b"', ["b", "aab"], ["a"]),
        ('root ::= one | "a" root\none ::= "b"\n', ["b", "aab"], ["a"]),
        ('root ::= "old"\nroot ::= "new"', ["new"], ["old"]),
    ],
)
def test_texts_are_told_apart(grammar: str, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if not whole(grammar, text)] == []
    assert [text for text in bad if whole(grammar, text)] == []


REFUSED = {
    "left recursion": 'root ::= root "a" | "a"',
    "hidden left recursion": 'root ::= "x" a\na ::= b a "y" | "z"\nb ::= c\nc ::= "w"?',
    "mutual left recursion": 'root ::= a\na ::= b "x" | "q"\nb ::= a "y" | "r"',
    "endless": 'root ::= "a" root',
    "itself": "root ::= root",
    "no character": 'root ::= "a" []',
    "no root": 'start ::= "a"',
    "undefined": "root ::= other",
    "nothing": "",
    "unclosed": 'root ::= ("a"',
    "unopened": 'root ::= "a")',
    "open text": 'root ::= "a',
    "open set": "root ::= [a",
    "escape": r'root ::= "\q"',
    "no such character": r'root ::= "\UFFFFFFFF"',
    "repeats nothing": "root ::= *",
    "backwards": 'root ::= "a"{3,2}',
    "too often": 'root ::= "a"{999999999}',
    "too many digits": 'root ::= "a"{' + "9" * 5000 + "}",
    "too often in all": "root ::= a{60000} b{60000} c{60000} d{60000} e{60000}\n"
    + "\n".join(f'{name} ::= "x"' for name in "abcde"),
    "deep": "root ::= " + "(" * 5000 + '"a"' + ")" * 5000,
    "long": "root ::= " + '"a" ' * (1 << 19),
    "token": "root ::= <[7]>",
    "exponential for llama.cpp": "\n".join(
        ["root ::= r0", *(f"r{i} ::= r{i + 1} | r{i + 1}" for i in range(60)), 'r60 ::= r60 "a"']
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_followed_is_refused(name: str) -> None:
    with pytest.raises(Refused, match=r"^The grammar cannot be used: .{5,200}\.$"):
        parse(REFUSED[name])


@given(st.text(alphabet='root:=| ()[]"\\a-z{},0123*+?.^#\n', max_size=60))
def test_any_text_is_a_grammar_or_refused(text: str) -> None:
    for source in (text, "root ::= " + text):
        try:
            grammar = parse(source)
        except Refused:
            continue
        Matcher(grammar).allows(b"az")


@given(st.binary(max_size=6))
def test_bytes_are_taken_exactly_where_they_are_text(data: bytes) -> None:
    try:
        valid = "\0" not in data.decode()
    except UnicodeDecodeError:
        valid = False
    assert whole("root ::= .*", data) == valid


def test_a_character_may_come_in_pieces_but_only_one_that_fits() -> None:
    matcher = Matcher(parse('root ::= "🌊" [ğ-ş]'))
    wave = "🌊".encode()
    assert matcher.allows(wave[:1]) and not matcher.allows(b"\xf1")
    matcher.take(wave[:2])
    assert not matcher.complete and not matcher.allows(b"\x80")
    matcher.take(wave[2:])
    assert matcher.allows(b"\xc4") and matcher.allows(b"\xc5") and not matcher.allows(b"\xc3")
    assert matcher.openings().nonzero()[0].tolist() == [0xC4, 0xC5]


def test_what_can_become_no_character_is_refused_at_its_second_byte() -> None:
    matcher = Matcher(parse("root ::= ."))
    for bad in (b"\xe0\x80", b"\xed\xa0", b"\xf4\x90", b"\xf0\x80", b"\xc1", b"\xf5", b"\x80"):
        assert not matcher.allows(bad)
    for good in (b"\xe0\xa0", b"\xed\x9f", b"\xf4\x8f", b"\xf0\x90", b"\xc2"):
        assert matcher.allows(good)


def test_ambiguity_costs_its_own_text_only() -> None:
    bomb = parse('root ::= e\ne ::= "a" (e "x" | e "y" | e "z")*\n')
    with pytest.raises(Broken, match="ambiguous"):
        matcher = Matcher(bomb)
        for _ in range(100):
            matcher.allows(b"a" * 64)
            matcher.take(b"a")


def test_long_texts_of_an_ordinary_grammar_cost_little() -> None:
    matcher = Matcher(parse('root ::= "[" (item ("," item)*)? "]"\nitem ::= [0-9]+ | root'))
    matcher.take(b"[")
    for number in range(20_000):
        matcher.take(b"[" * (number % 50) + b"%d" % number + b"]" * (number % 50) + b",")
    matcher.take(b"1]")
    assert matcher.complete


PIECES = [b"", b"a", b"ab", b"b", b"\xc4", b"\xc4\x9f", b"\x9f", b"\xff", b"abc", b"c", b"\xff\xff"]


@given(
    st.sampled_from(
        ['root ::= "ab" "c"?', "root ::= [a-c]*", 'root ::= "ğ"+ | "a"', "root ::= .*"]
    ),
    st.lists(st.sampled_from(PIECES), max_size=4),
)
def test_the_lexicon_finds_what_is_allowed_one_by_one(grammar: str, text: list[bytes]) -> None:
    matcher = Matcher(parse(grammar))
    for piece in text:
        if matcher.allows(piece):
            matcher.take(piece)
    fitting = Lexicon(PIECES).fitting(matcher)
    assert fitting is not None
    assert sorted(fitting) == [n for n, piece in enumerate(PIECES) if matcher.allows(piece)]
    openings = matcher.openings()
    assert all(openings[PIECES[number][0]] for number in fitting)

"""How words are folded: what a query finds, what it does not, and that folding comes to rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.domain import folding, queries
from chat.domain.excerpts import Marker


def finds(asked: str, text: str) -> bool:
    """Whether the index and a look at the text would say that ``text`` is meant."""
    query = queries.read(asked)
    words = folding.words(text)
    there = all(any(term.fits(word) for word in words) for term in query.terms)
    unwanted = any(term.fits(word) for term in query.without for word in words)
    return bool(query.terms) and there and not unwanted and query.fits(text)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        # PRODUCT.md's four, and their kin
        ("istanbul", "İSTANBUL"),
        ("dilekçe", "DİLEKÇE"),
        ("muvekkil", "Müvekkil"),
        ("ışık", "IŞIK"),
        ("ışık", "ışık"),
        ("ışık", "Işık"),
        ("istanbul", "ISTANBUL"),
        ("istanbul", "Istanbul"),
        ("İSTANBUL", "istanbul"),
        ("ISTANBUL", "İstanbul'un"),
        ("isik", "IŞIK"),
        ("IŞIK", "ışık"),
        ("ISPARTA", "ısparta"),
        ("ısparta", "ISPARTA"),
        ("ısparta", "Isparta"),
        ("isparta", "Isparta"),
        ("isparta", "ısparta"),
        ("kılıç", "KILIÇ"),
        ("kilic", "Kılıç"),
        ("KILIÇ", "kılıç"),
        ("iğne", "İĞNE"),
        ("İĞNE", "iğne"),
        ("igne", "İğne"),
        ("kağıt", "KÂĞIT"),
        ("kâğıt", "kağıdı kağıt"),
        ("it", "It is so"),
        ("ÇAĞRI", "çağrı"),
        ("dilek", "dilekçeniz"),
        # German
        ("strasse", "Straße"),
        ("straße", "STRASSE"),
        ("strasse", "STRAẞE"),
        ("fuer", "für"),
        ("für", "fuer"),
        ("fur", "für"),
        ("MÜLLER", "Mueller"),
        # Others in Latin letters
        ("ecole", "École"),
        ("école", "ECOLE"),
        ("angstrom", "Ångström"),
        ("lodz", "Łódź"),
        ("smorrebrod", "smørrebrød"),
        ("oeuvre", "œuvre"),
        # Greek and Cyrillic
        ("αθηνα", "Αθήνα"),
        ("Αθήνα", "ΑΘΗΝΑ"),
        ("λόγος", "ΛΟΓΟΣ"),
        ("λογοσ", "λόγος"),
        ("елка", "ёлка"),
        ("ЁЛКА", "елка"),
        ("йод", "ЙОД"),
        # Scripts without spaces
        ("京都", "東京都に住む"),
        ("都に住", "東京都に住む"),
        ("む", "東京都に住む"),
        ("猫", "吾輩は猫である"),
        ("がく", "ががく"),
        ("カタカナ", "ｶﾀｶﾅ"),
        ("국어", "한국어를"),
        ("ไทย", "ภาษาไทย"),
        # Marks, signs, forms
        ("cafe\u0301", "café"),
        ("café", "cafe\u0301"),
        ("İ", "I\u0307"),
        ("🎉", "party🎉🎉!"),
        ("👍", "👍🏽"),
        ("file", "ﬁle"),
        ("abc", "ＡＢＣ"),
        ("hyphen", "hy\u00adphen"),
        ("سلام", "سَلَام"),
        ("שלום", "שָׁלוֹם"),
        ("e-posta", "E-Posta adresi"),
        ('"mavi gök"', "Mavi gök yüzü"),
        ("“mavi gök”", "MAVİ GÖK"),
        ("mavi -kırmızı", "mavi sarı"),
    ],
)
def test_what_is_found(asked: str, text: str) -> None:
    assert finds(asked, text)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("ışık", "isik"),
        ("ışık", "işik"),
        ("ışık", "ısık"),
        ("ışık", "ISIK"),
        ("ışık", "İŞİK"),
        ("ısparta", "isparta"),
        ("ısparta", "İsparta"),
        ("dilekçe", "dilekce"),
        ("kılıç", "kilic"),
        ("iğne", "igne"),
        ("müvekkil", "muvekkil"),
        ("йод", "иод"),
        ("год", "гоd"),
        ("京都", "東京の都"),
        ("東京都", "東京と京都"),
        ('"gök mavi"', "mavi gök"),
        ('"mavi"', "mavili"),
        ("mavi -sarı", "mavi sarı"),
        ("kart", "akart"),
        ("mavi sarı", "mavi"),
    ],
)
def test_what_is_not_found(asked: str, text: str) -> None:
    assert not finds(asked, text)


@pytest.mark.parametrize(
    "asked", ["", " ", '""', '"', "-", "- -", "& | !", ":*", "'\\'", "\0", "\ud800", "()<->", "-a"]
)
def test_operators_and_quotes_alone_ask_for_nothing(asked: str) -> None:
    assert queries.read(asked).terms == ()


@given(st.text())
def test_folding_comes_to_rest(text: str) -> None:
    for word in folding.words(text):
        if folding.is_run(word):
            assert folding.words(word) == [word]
        for form in () if folding.is_run(word) else folding.kept(word):
            again = {kept for one in folding.words(form) for kept in folding.kept(one)}
            assert form in again or len(form) == folding.LONGEST


@given(st.text(min_size=1))
def test_every_word_of_a_text_finds_it(text: str) -> None:
    for _, piece in folding.pieces(text):
        for word in folding.words(piece):
            if not folding.is_run(word):
                assert any(form in folding.kept(word) for form in folding.sought(word))


@given(st.text(alphabet="東京都に住むかがハ猫🎉", min_size=1), st.data())
def test_every_part_of_a_run_finds_it(run: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(run) - 1))
    end = data.draw(st.integers(start + 1, len(run)))
    assert finds(run[start:end], f"x {run} y")


@given(st.text(alphabet=st.characters(codec="utf-8")), st.text(max_size=40))
def test_an_excerpt_never_fails_and_never_invents(text: str, asked: str) -> None:
    parts = Marker(queries.read(asked).terms).around(text)
    for part in parts:
        assert all(letter in text or letter in "… " for letter in part.text)


def test_an_excerpt_marks_the_words_as_they_are_written() -> None:
    text = "x " * 400 + "DİLEKÇENİZ **hazır**, <b>dilekçe</b> numarası 7. " + "y " * 400
    parts = Marker(queries.read("dilekçe").terms).around(text)
    assert [part.text for part in parts if part.found] == ["DİLEKÇENİZ", "dilekçe"]
    whole = "".join(part.text for part in parts)
    assert "DİLEKÇENİZ hazır , <b>dilekçe</b>" in whole
    assert whole.startswith("… x") and whole.endswith("y …") and len(whole) < 240


def test_an_excerpt_shows_where_most_of_the_words_stand() -> None:
    text = "mavi " + "x " * 300 + "mavi gök"
    parts = Marker(queries.read("mavi gök").terms).around(text)
    assert [part.text for part in parts if part.found] == ["mavi", "gök"]


def test_an_excerpt_of_a_table_is_what_stands_in_it() -> None:
    text = "| Birim | 2025 |\n| :--- | ---: |\n| Eczane[^1] | 12 |\n\n- [x] bitti"
    parts = Marker(queries.read("eczane").terms).around(text)
    assert "".join(part.text for part in parts) == " Birim 2025 Eczane 12 - [x] bitti"

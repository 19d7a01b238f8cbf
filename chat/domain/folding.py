"""How words are folded for search: a text and a query meet in the forms made here.

The index is built by the same rule inside the database (``konak_words``, in the migrations); a test
holds the two together over all of Unicode. Knows no query and no database.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

LONGEST: Final = 32  # characters of a word that count

_CAPITAL_I: Final = "\ufdd0"  # no character of any text: stands for an I until it is decided
_DROPPED: Final = re.compile(
    r"[\u00ad\u0300-\u0302\u0304\u0305\u0309\u030d-\u031a\u031c-\u0325\u0329-\u036f"
    r"\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u061c\u0640"
    r"\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u180e"
    r"\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20d0-\u20ff\ufdd0"
    r"\ufe00-\ufe0f\ufe20-\ufe2f\ufeff\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]+"
)
_BETWEEN: Final = (
    r"\u0000-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00a9\u00ab-\u00b4\u00b6-\u00b9"
    r"\u00bb-\u00bf\u00d7\u00f7\u02bc\u055a-\u055f\u0589\u058a\u05be\u05c0\u05c3\u05c6"
    r"\u05f3\u05f4\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964\u0965\u1361-\u1368\u1680"
    r"\u2000-\u206f\u20a0-\u20cf\u2e00-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\ufff9-\uffff"
)
_UNSPACED: Final = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2190-\u2bff\u3005-\u3007\u3021-\u3029"
    r"\u3031-\u3035\u3038-\u303c\u3041-\u309f\u30a1-\u30fa\u30fc-\u312f\u3131-\ua4cf"
    r"\uac00-\ud7a3\uf900-\ufaff\U0001f000-\U0003ffff"
)
_PIECES: Final = re.compile(rf"[^{_BETWEEN}\ud800-\udfff]+")
_RUNS: Final = re.compile(rf"([{_UNSPACED}]+)")
_MARKS: Final = re.compile(
    r"[\u0303\u0307\u030a-\u030c\u031b\u0326-\u0328]|(?<![иу])\u0306|(?<!і)\u0308"
)
_Pairs = tuple[tuple[str, str], ...]
_LETTERS: Final[_Pairs] = (("ё", "е"), ("ϊ", "ι"), ("ϋ", "υ"), ("ș", "ş"), ("ț", "ţ"))
_PLAIN: Final[_Pairs] = (
    *(("ı", "i"), ("ø", "o"), ("đ", "d"), ("ł", "l"), ("ħ", "h"), ("ð", "d")),
    *(("æ", "ae"), ("œ", "oe"), ("þ", "th")),
)
_GERMAN: Final[_Pairs] = (("ae", "ä"), ("oe", "ö"), ("ue", "ü"))


def words(text: str) -> list[str]:
    """The words of ``text`` in their order, folded but for what a capital I may be.

    Case is gone, and ß is ss. Compatibility forms (ﬁ, Ａ, ²) are what they stand for, invisible
    characters are none. Accents that stress or lengthen (acute, grave, circumflex, macron, dots
    below) never count: ``kâğıt`` is ``kağıt``. Greek has neither tonos nor dialytika nor a final
    sigma; Cyrillic ё is е, while й, ў and ї stay; Hebrew and Arabic points are left out. Runs of
    scripts without spaces (Chinese, Japanese, Korean, Thai …), of emoji and of signs are words.
    """
    plain = text.isascii()
    if not plain:
        text = unicodedata.normalize("NFKD", text).replace("I\u0307", "i")
        text = _DROPPED.sub("", text)
    text = text.replace("I", _CAPITAL_I).casefold()
    if not plain:
        text = _replaced(unicodedata.normalize("NFC", text), _LETTERS)
        text = _RUNS.sub(r" \1 ", text)
    return _PIECES.findall(text)


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """Where something stands in ``text`` that is a word, or several without a gap; and that."""
    for piece in _PIECES.finditer(text):
        yield piece.start(), piece[0]


def has_run(piece: str) -> bool:
    """Whether some of the piece is a run of a script without spaces, or of signs."""
    return not piece.isascii() and _RUNS.search(piece) is not None


def is_run(word: str) -> bool:
    """Whether the word is a run of a script without spaces, or of signs."""
    return _RUNS.match(word) is not None


def kept(word: str) -> set[str]:
    """What a text's word is found under: as it is written, and without any marks.

    A capital I may be either letter, so its word is kept under both. A run is kept as its pairs of
    characters and its last one, so that any part of it is found. ``word`` is one of ``words``.
    """
    if word.isascii():
        return {word[:LONGEST]}
    if is_run(word):
        return {*map("".join, pairwise(word)), word[-1]}
    found = _readings(word)
    return {form[:LONGEST] for form in (*found, *map(plain, found)) if form}


def sought(word: str) -> tuple[str, ...]:
    """The forms that a query's word stands for. ``word`` is one of ``words`` and no run.

    Asymmetric, as in UTS #10 §8.2: plain letters stand for the marked ones too, a word with a mark
    that makes another letter (ç ğ ı ş ö ü, å, ñ, č, ø …) insists on all of them. ``muvekkil`` finds
    ``Müvekkil``; ``dilekçe`` does not find ``dilekce``. So i (and İ, and I in a word that is plain
    but for it) finds i, İ, I and ı, for keyboards without Turkish letters; ı finds ı and I only.
    ä, ö and ü may be written ae, oe and ue, on either side.
    """
    small, *others = _readings(word)
    if plain(small) == small:
        forms = [small, _replaced(small, _GERMAN)]
    else:
        german = tuple((letter, spelt) for spelt, letter in _GERMAN)
        forms = [form for one in (small, *others) for form in (one, _replaced(one, german))]
    return tuple(dict.fromkeys(form[:LONGEST] for form in forms))


def plain(word: str) -> str:
    """Folded words without the marks that make another letter, and with every I an i."""
    word = word.replace(_CAPITAL_I, "i")
    if word.isascii():
        return word
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", word))
    return unicodedata.normalize("NFC", _replaced(bare, _PLAIN))


def pairs(run: str) -> list[str]:
    """What a text has that contains ``run``; of a single character it is a beginning only."""
    return [*map("".join, pairwise(run))] or [run]


def _readings(word: str) -> list[str]:
    """The word with its capital I's as i, and as ı where it has any."""
    if _CAPITAL_I not in word:
        return [word]
    dotted = unicodedata.normalize("NFC", word.replace(_CAPITAL_I, "i"))
    return [dotted, word.replace(_CAPITAL_I, "ı")]


def _replaced(word: str, pairs: _Pairs) -> str:
    """Far faster than ``str.translate``, as most letters are of another kind."""
    for old, new in pairs:
        word = word.replace(old, new)
    return word

"""What a person typed to search for, as terms. Knows the database's syntax, but no database."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from chat.domain import folding

MOST_TERMS: Final = 12
MOST_CHARACTERS: Final = 1000
_QUOTES: Final = str.maketrans(dict.fromkeys("“”„‟«»＂", '"'))
_PARTS: Final = re.compile(r'(?P<without>-?)(?:"(?P<quoted>[^"]*)"?|(?P<bare>[^\s"]+))')


@dataclass(frozen=True, slots=True)
class Term:
    """A word that may stand in any of ``forms``, or a run of a script without spaces.

    A word stands for all that begin with it, unless it is ``whole``.
    """

    forms: tuple[str, ...]
    is_run: bool = False
    whole: bool = False

    def fits(self, word: str) -> bool:
        """Whether this word of a text (one of ``folding.words``) is meant."""
        if self.is_run or folding.is_run(word):
            return self.is_run and self.forms[0] in word
        kept = folding.kept(word)
        if self.whole:
            return not kept.isdisjoint(self.forms)
        return any(form.startswith(self.forms) for form in kept)

    def lexemes(self, key: str, *, whole: bool) -> str:
        """The term in the syntax of a tsquery, among the words of the owner with this key."""
        if self.is_run:
            [run] = self.forms
            found = folding.pairs(run)
            return " & ".join(f"'{key}{pair}'{'' if len(pair) > 1 else ':*'}" for pair in found)
        beginning = "" if whole or self.whole else ":*"
        return "(" + " | ".join(f"'{key}{form}'{beginning}" for form in self.forms) + ")"


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that stand together. ``pattern`` says where they do, but for their marks."""

    terms: tuple[Term, ...]
    pattern: re.Pattern[str]
    has_marks: bool

    @classmethod
    def of(cls, terms: Sequence[Term]) -> Phrase:
        """The phrase of these words."""
        parts = []
        for term in terms:
            forms = "|".join(map(_spelt, term.forms))
            parts.append(rf"\S*(?:{forms})\S*" if term.is_run else f"(?:{forms})")
        has_marks = any(folding.plain(form) != form for term in terms for form in term.forms)
        pattern = re.compile(rf"(?<!\S){' '.join(parts)}(?!\S)")
        return cls(tuple(terms), pattern, has_marks)

    def stands_in(self, words: Sequence[str], plain: str) -> bool:
        """Whether it does in a text of these words, which are ``plain`` without their marks."""
        if not self.pattern.search(plain):
            return False
        if not self.has_marks:
            return True
        return any(
            all(term.fits(words[at + offset]) for offset, term in enumerate(self.terms))
            for at in range(len(words) - len(self.terms) + 1)
        )


@dataclass(frozen=True, slots=True)
class Query:
    """All of ``terms`` and none of ``without``; the words of each phrase stand together."""

    terms: tuple[Term, ...] = ()
    without: tuple[Term, ...] = ()
    phrases: tuple[Phrase, ...] = ()

    @property
    def must_be_read(self) -> bool:
        """Whether the index alone cannot say that a text fits."""
        return bool(self.phrases) or any(t.is_run and len(t.forms[0]) > 2 for t in self.terms)

    def tsquery(self, owner_key: str, *, whole: bool) -> str:
        """For the index. ``whole``: words as they are, without those that begin with them."""
        wanted = [term.lexemes(owner_key, whole=whole) for term in self.terms]
        unwanted = [f"!({term.lexemes(owner_key, whole=True)})" for term in self.without]
        return " & ".join([*wanted, *unwanted])

    def fits(self, text: str) -> bool:
        """Whether the phrases and runs are really there; the index has said the rest."""
        words = folding.words(text)
        plain = folding.plain(" ".join(words))
        runs = [term for term in self.terms if term.is_run]
        return all(run.forms[0] in plain for run in runs) and all(
            phrase.stands_in(words, plain) for phrase in self.phrases
        )


def read(text: str) -> Query:
    """Words, "phrases", and -words that must not be there. What is more than twelve is left out."""
    terms: list[Term] = []
    without: list[Term] = []
    phrases: list[Phrase] = []
    for part in _PARTS.finditer(text[:MOST_CHARACTERS].translate(_QUOTES)):
        quoted = part["quoted"] is not None
        found = [
            Term((word,), is_run=True)
            if folding.is_run(word)
            else Term(folding.sought(word), whole=quoted)
            for word in folding.words(part["quoted"] if quoted else part["bare"])
        ][:MOST_TERMS]
        if part["without"]:
            without += found
        else:
            terms += found
            if quoted and len(found) > 1:
                phrases.append(Phrase.of(found))
    return Query(tuple(terms[:MOST_TERMS]), tuple(without[:MOST_TERMS]), tuple(phrases))


def _spelt(form: str) -> str:
    """The form without marks, as a pattern; a word that is too long is cut."""
    cut = r"\S*" if len(form) == folding.LONGEST else ""
    return re.escape(folding.plain(form)) + cut

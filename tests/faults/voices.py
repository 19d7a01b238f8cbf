"""What the scripted engine says in the fault harness: every word tells whose it is and its place.

So a lost, doubled, reordered or strange piece is seen from the text alone. Knows no process.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

MODEL = "scripted"
LETTERS = "abcdefgh"
SHORT = "z"  # the voice of the question that asks whether the house is well again
TAG = re.compile(r"\bq[0-9a-f]{12}\b")
WORDS_A_PARAGRAPH = 24
_SPLIT_EVERY = 7


@dataclass(frozen=True)
class Voice:
    """One answer of the script. ``pieces`` come ``pace`` a second."""

    letter: str
    pieces: tuple[str, ...]
    pace: float

    @property
    def text(self) -> str:
        """The whole answer, as it is stored."""
        return "".join(self.pieces)

    @property
    def letters(self) -> str:
        """The whole answer without its blanks, as a page's text is compared."""
        return squeezed(self.text)

    def seconds(self, letters: float) -> float:
        """How long it takes to say so many letters."""
        return letters * len(self.pieces) / (self.pace * len(self.letters))


def squeezed(text: str) -> str:
    """The text without blanks: what Markdown makes of them is not the question here."""
    return "".join(text.split())


def voice(letter: str, *, words: int, pace: float) -> Voice:
    """An answer of ``words`` numbered words; some come in two pieces."""
    pieces: list[str] = []
    for number in range(words):
        last = number % WORDS_A_PARAGRAPH == WORDS_A_PARAGRAPH - 1
        blank = "\n\n" if last else " "
        if number % _SPLIT_EVERY == _SPLIT_EVERY - 1:
            pieces += [f"{letter}{number // 10:02d}", f"{number % 10}{blank}"]
        else:
            pieces.append(f"{letter}{number:03d}{blank}")
    return Voice(letter, tuple(pieces), pace)


def question(letter: str, tag: str) -> str:
    """What a person writes to hear the voice; ``tag`` tells the questions apart."""
    return f"Voice {letter}, please: {tag}"


def choir(*, words: int, pace: float) -> dict[str, Voice]:
    """All voices by letter."""
    voices = {letter: voice(letter, words=words, pace=pace) for letter in LETTERS}
    return {**voices, SHORT: voice(SHORT, words=4, pace=pace)}


def write(path: Path, voices: dict[str, Voice]) -> None:
    """The script of ``voices`` as the scripted engine reads it."""
    rules = [
        {"when": question(v.letter, ""), "pieces": list(v.pieces), "pace": v.pace}
        for v in voices.values()
    ]
    script = {"default": {"pieces": ["nobody asked for this"]}, "rules": rules, "model": MODEL}
    path.write_text(json.dumps(script))

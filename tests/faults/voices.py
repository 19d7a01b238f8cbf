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
# What a real model is asked instead: nothing of a tag, so that its answer is always the same.
TOPICS = {
    "a": "Describe a river from its spring to the sea, in detail.",
    "b": "Explain how bread is baked, step by step.",
    "c": "Tell the story of a lighthouse keeper.",
    "d": "What should a gardener do in each season?",
    "e": "Explain how a bicycle works.",
    "f": "Describe a day in the life of a nurse.",
    "g": "Write a letter to a friend about a journey by train.",
    "h": "Explain how a library is organised.",
    "z": "Say hello.",
}
REHEARSAL = "Rehearse. "
SHORT = "z"  # the voice of the question that asks whether the house is well again
ASKED = re.compile(r"Voice (\w), please")
TAG = re.compile(r"\bq[0-9a-f]{12}\b")
WORDS_A_PARAGRAPH = 24
# The second half speak in one long paragraph, for which pages get only what is new at its end.
LONG_WINDED = {"e": "evlerimizden", "f": "odalarımızdan", "g": "pencereler", "h": "çatı🏠katı"}
_SPLIT_EVERY = 7


@dataclass(frozen=True)
class Voice:
    """One answer of the script. ``pieces`` come ``pace`` a second.

    Of one that is not ``is_whole`` an answer may be any beginning: a real model's, cut by length.
    """

    letter: str
    pieces: tuple[str, ...]
    pace: float
    is_whole: bool = True

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
    rest = LONG_WINDED.get(letter, "")
    for number in range(words):
        last = number % WORDS_A_PARAGRAPH == WORDS_A_PARAGRAPH - 1
        blank = "\n\n" if last and letter not in LONG_WINDED else " "
        if number % _SPLIT_EVERY == _SPLIT_EVERY - 1:
            pieces += [f"{letter}{number // 10:02d}", f"{number % 10}{rest}{blank}"]
        else:
            pieces.append(f"{letter}{number:03d}{rest}{blank}")
    return Voice(letter, tuple(pieces), pace)


def question(letter: str, tag: str) -> str:
    """What a person writes to hear the voice; ``tag`` tells the questions apart."""
    return f"Voice {letter}, please: {tag}"


def asked_for(text: str) -> str:
    """The letter of the voice that the question ``text`` asks for, or nothing."""
    found = ASKED.search(text)
    return found[1] if found else ""


def recited(letter: str, text: str, seconds: float) -> Voice:
    """The voice of a real model, as it was heard once in ``seconds``."""
    return Voice(letter, (text,), 1 / max(seconds, 0.1), is_whole=False)


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

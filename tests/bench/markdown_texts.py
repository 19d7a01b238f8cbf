"""The answers of ``deploy/bench markdown``: one of each shape, in English and Turkish.

No two blocks are the same, since a cache for one of them would flatter the whole.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Final

_ENGLISH: Final = """
the committee met again and looked at light water budget spring patient letter court river engine
window morning because which never slowly carefully between answer measured table number heart
blood pressure contract paragraph evening colour
"""
_TURKISH: Final = """
kurul yeniden toplandı ve ışık su bütçe bahar hasta mektup mahkeme ırmak motor pencere sabah çünkü
hangi asla yavaşça dikkatle arasında yanıt ölçülen çizelge sayı kalp kan basıncı sözleşme paragraf
akşam renk görüşülürken değerlendirildiğinde
"""
Block = Callable[[random.Random, list[str]], str]


def answers(characters: int) -> Iterator[tuple[str, str, str]]:
    """``(shape, language, text)`` of some ``characters`` each, the same every time."""
    for shape, (head, block, foot) in _SHAPES.items():
        for language, said in (("English", _ENGLISH), ("Turkish", _TURKISH)):
            rng = random.Random(f"{shape} {language}")
            text, words = head, said.split()
            while len(text) < characters:
                text += block(rng, words)
            yield shape, language, text + foot


def _sentence(rng: random.Random, words: list[str], *, marked: bool = False) -> str:
    said = rng.choices(words, k=rng.randint(8, 18))
    if marked:
        said[2], said[5] = f"**{said[2]}**", rng.choice((f"`{said[5]}`", f"*{said[5]}*"))
    return f"{' '.join(said).capitalize()}."


def _words(rng: random.Random, words: list[str]) -> str:
    return " ".join(_sentence(rng, words) for _ in range(5)) + "\n\n"


def _prose(rng: random.Random, words: list[str]) -> str:
    return " ".join(_sentence(rng, words, marked=True) for _ in range(5)) + "\n\n"


def _endless(rng: random.Random, words: list[str]) -> str:
    return _sentence(rng, words) + " "


def _code(rng: random.Random, words: list[str]) -> str:
    one, two, three = rng.sample([word for word in words if word.isidentifier()], k=3)
    return (
        f"def {one}_{rng.randint(1, 999)}({two}: int) -> list[int]:\n"
        f'    """{_sentence(rng, words)}"""\n'
        f"    {three} = [{two} * {rng.randint(2, 99)} for {two} in range({two})]  # {one}\n"
        f'    return sorted({three}, key=lambda {one}: -{one}) or ["{two}"]\n\n'
    )


def _fences(rng: random.Random, words: list[str]) -> str:
    lines = "".join(_code(rng, words) for _ in range(rng.randint(1, 4)))
    return f"{_sentence(rng, words)}\n\n```python\n{lines}```\n\n"


def _row(rng: random.Random, words: list[str]) -> str:
    one, two, three = rng.sample(words, k=3)
    return f"| {one} {two} | **{rng.randint(1, 9999)}** | {three} and `{one}` |\n"


def _nested(rng: random.Random, words: list[str]) -> str:
    one, two, three = (_sentence(rng, words, marked=True) for _ in range(3))
    return f"- {one}\n  - {two}\n    1. {three}\n    2. {rng.choice(words)}\n"


def _maths(rng: random.Random, words: list[str]) -> str:
    a, b, n = (rng.randint(2, 99) for _ in range(3))
    return (
        f"{_sentence(rng, words)} $x_{{{a}}}^{b} + y$ {rng.choice(words)} \\(a < {b}\\).\n\n"
        f"$$\n\\frac{{{a}}}{{{b}}} = \\sum_{{i=1}}^{{{n}}} i^{a}\n$$\n\n"
    )


def _mixed(rng: random.Random, words: list[str]) -> str:
    table = "| a | b | c |\n|---|--:|---|\n" + "".join(_row(rng, words) for _ in range(4))
    return "".join(
        (f"## {' '.join(rng.sample(words, k=3))}\n\n", _prose(rng, words), _nested(rng, words),
         "\n", _fences(rng, words), table, "\n", _maths(rng, words))
    )  # fmt: skip


_SHAPES: Final[dict[str, tuple[str, Block, str]]] = {
    "words": ("", _words, ""),
    "one paragraph": ("", _endless, ""),
    "prose": ("", _prose, ""),
    "code in fences": ("", _fences, ""),
    "one code block": ("```python\n", _code, "```\n"),
    "code, no language": ("```\n", _code, "```\n"),
    "table": ("| a | b | c |\n|---|--:|---|\n", _row, ""),
    "nested lists": ("", _nested, ""),
    "maths": ("", _maths, ""),
    "mixed": ("", _mixed, ""),
}

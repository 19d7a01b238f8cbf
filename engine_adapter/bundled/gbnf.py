"""Pieces of grammar text in GBNF: literals, sets, choices, whole numbers. Knows no schema."""

from __future__ import annotations

from collections.abc import Iterable

from engine_adapter.errors import Refused

MOST_DIGITS = 18  # of a whole number; all of these fit a signed 64-bit one
Ranges = list[tuple[int, int]]

ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def literal(text: str) -> str:
    """Exactly this text."""
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(char: str) -> str:
    if 0xD800 <= ord(char) < 0xE000:
        raise Refused("The schema names half a character (a lone surrogate).")
    return ESCAPED.get(char) or (char if char.isprintable() else f"\\U{ord(char):08X}")


def charset(ranges: Iterable[tuple[int, int]]) -> str:
    """One character of these ranges."""
    parts = [_code(low) if low == high else f"{_code(low)}-{_code(high)}" for low, high in ranges]
    return f"[{''.join(parts)}]"


def _code(code: int) -> str:
    char = chr(code)
    return char if char.isascii() and char.isalnum() else f"\\U{code:08X}"


def either(choices: Iterable[str]) -> str:
    """Any of the choices."""
    unique = list(dict.fromkeys(choices))
    return unique[0] if len(unique) == 1 else f"({' | '.join(unique)})"


def repeat(item: str, least: int, most: int | None) -> str:
    """The item so many times."""
    if (least, most) == (0, None):
        return f"{item}*"
    if (least, most) == (1, 1):
        return item
    upper = "" if most is None else most
    return f"{item}{{{least}}}" if least == most else f"{item}{{{least},{upper}}}"


def words(texts: Iterable[str]) -> str:
    """Any of the texts. What they begin with in common is written once, so that following the
    grammar does not compare them all with every character."""
    return _words(sorted(set(texts)), 0)


def _words(texts: list[str], depth: int) -> str:
    if len(texts) == 1:
        return literal(texts[0])
    if depth == 40:
        return either(map(literal, texts))
    groups: dict[str, list[str]] = {}
    for text in texts:
        groups.setdefault(text[:1], []).append(text)
    choices = []
    for first, group in groups.items():
        shared = _shared(group)
        rest = [text[len(shared) :] for text in group]
        choices.append(
            literal(shared) if not first or len(group) == 1
            else f"{literal(shared)} {_words(rest, depth + 1)}"
        )  # fmt: skip
    return either(choices)


def _shared(texts: list[str]) -> str:
    first, last = texts[0], texts[-1]  # they are sorted
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    return first[: min(len(first), len(last)) if length is None else length]


def other_than(texts: Iterable[str], char: str, excluded: Iterable[tuple[int, int]]) -> str:
    """Any text of characters ``char`` that is none of the texts. ``excluded`` are the characters
    that are none."""
    return _other_than(sorted(set(texts)), char, list(excluded), 0)


def _other_than(texts: list[str], char: str, excluded: Ranges, depth: int) -> str:
    if depth == 60:
        raise Refused("The schema's names are too long to be told from others.")
    groups: dict[str, list[str]] = {}
    for text in texts:
        if text:
            groups.setdefault(text[0], []).append(text[1:])
    known = [(ord(first), ord(first)) for first in groups]
    choices = [f"[^{charset([*excluded, *known])[1:]} {char}*"]
    choices += [
        f"{literal(first)} {_other_than(rest, char, excluded, depth + 1)}"
        for first, rest in groups.items()
    ]
    return either(choices) if "" in texts else f"{either(choices)}?"


def integer(low: int | None, high: int | None) -> str | None:
    """A whole number between the two, both included; None where there is none."""
    limit = 10**MOST_DIGITS - 1
    low = -limit if low is None else max(-limit, low)
    high = limit if high is None else min(limit, high)
    choices = []
    if low < 0 and low <= high:
        choices.append(f'"-" {natural(max(1, -high), -low)}')
    if high >= 0 and low <= high:
        choices.append(natural(max(0, low), high))
    return either(choices) if choices else None


def natural(low: int, high: int) -> str:
    """A whole number without a sign between the two, both included."""
    choices = []
    for length in range(len(str(low)), len(str(high)) + 1):
        least = max(low, 10 ** (length - 1) if length > 1 else 0)
        choices.append(_span(str(least), str(min(high, 10**length - 1))))
    return either(choices)


def _span(low: str, high: str) -> str:
    """Digits between two numbers of the same length."""
    if not low:
        return '""'
    first, last, rest = int(low[0]), int(high[0]), len(low) - 1
    if first == last:
        return f'"{first}" {_span(low[1:], high[1:])}' if rest else f'"{first}"'
    choices = []
    if low[1:].strip("0"):
        choices.append(f'"{first}" {_span(low[1:], "9" * rest)}')
        first += 1
    if high[1:].strip("9"):
        choices.append(f'"{last}" {_span("0" * rest, high[1:])}')
        last -= 1
    if first <= last:
        choices.append(f"[{first}-{last}]" + " [0-9]" * rest)
    return either(choices)


def number(low: int | None, high: int | None, *, above: bool, below: bool) -> str | None:
    """A decimal number between the two whole numbers, without them where it must lie ``above`` or
    ``below``; None where there is none."""
    limit = 10**MOST_DIGITS - 1
    first, last = -limit if low is None else low, limit if high is None else high
    choices = []
    if first < 0:
        top = max(0, -last)
        choices.append(_signless(top, -first, above=top == 0 or below, below=above))
        choices = [f'"-" {choice}' for choice in choices if choice]
    if last >= 0:
        least = max(0, first)
        choices.append(_signless(least, last, above=above and first >= 0, below=below))
    found = [choice for choice in choices if choice]
    return either(found) if found else None


def _signless(low: int, high: int, *, above: bool, below: bool) -> str | None:
    more, none = '("." [0-9]{1,17})?', '("." "0"{1,17})?'
    choices = []
    if low < high:
        some = '"." "0"{0,16} [1-9] [0-9]{0,16}'
        choices.append(f"{natural(low, low)} {some if above else more}")
        if low + 1 < high:
            choices.append(f"{natural(low + 1, high - 1)} {more}")
    if not below and (low < high or (low == high and not above)):
        choices.append(f"{natural(high, high)} {none}")
    return either(choices) if choices else None

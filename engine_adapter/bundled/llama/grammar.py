"""Grammars in GBNF, llama.cpp's notation, read into tables. Knows no tokens.

They are read here and not in C because a bad one ends the process there: left recursion through a
rule that is empty only by way of another is not found and fills the memory, deep nesting
overflows the stack, and finding left recursion takes exponential time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine_adapter.errors import Refused

LONGEST = 1 << 19  # characters; reading the worst such takes 0.6 s
DEEPEST = 100  # parentheses within each other
MOST_SYMBOLS = 1 << 17

Ranges = tuple[tuple[int, int], ...]
Symbol = Ranges | int  # what one character may be, or the number of a rule
Line = tuple[Symbol, ...]

LAST = 0x10FFFF
SCANNER = re.compile(
    r"""
      (?P<space> [ \t\r\n]+ | \#[^\r\n]* )
    | (?P<define> [A-Za-z0-9-]+ (?=[ \t]*::=) )
    | (?P<is> ::= )
    | (?P<name> [A-Za-z0-9-]+ )
    | (?P<text> "(?:[^"\\]|\\.)*" )
    | (?P<set> \[(?:[^\]\\]|\\.)*\] )
    | (?P<times> [*+?] | \{[ \t]*[0-9]+[ \t]*(?:,[ \t]*[0-9]*[ \t]*)?\} )
    | (?P<mark> [().|] )
    """,
    re.VERBOSE | re.DOTALL,
)
CHARACTER = re.compile(
    r"""\\x([0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})|\\([trn"\\\[\]-])|([^\\])""",
    re.DOTALL,
)
CONTROL = {"t": "\t", "r": "\r", "n": "\n"}


@dataclass(frozen=True, slots=True)
class Grammar:
    """``symbols`` are all lines of all rules, one after the other, each closed by None;
    ``starts`` tells where each rule's lines begin. Rule ``root`` is what a text must be."""

    symbols: tuple[Symbol | None, ...]
    starts: tuple[tuple[int, ...], ...]
    root: int


def parse(text: str) -> Grammar:
    """Read a grammar. Raises ``Refused`` for one that is broken or that no text fulfils."""
    if len(text) > LONGEST:
        raise _no(f"it has more than {LONGEST} characters")
    reader = _Reader(text)
    reader.read()
    rules, names = reader.rules, reader.names
    if missing := [name for name, number in names.items() if rules[number] is None]:
        raise _no(f"rule {missing[0][:60]!r} is used and nowhere defined")
    if "root" not in names:
        raise _no("it has no rule 'root'")
    lines = _useful([rule or [] for rule in rules])
    if not lines[names["root"]]:
        raise _no("no text can ever fulfil it")
    if (looping := _left_recursive(lines)) is not None:
        name = next((name for name, number in names.items() if number == looping), "in it")
        raise _no(f"rule {name[:60]!r} begins with itself (left recursion)")
    return _flatten(lines, names["root"])


def _no(reason: str) -> Refused:
    return Refused(f"The grammar cannot be used: {reason}.")


class _Reader:
    """The text, token by token. ``rules`` has one list of lines a rule, None until defined."""

    def __init__(self, text: str) -> None:
        self._tokens = _scan(text)
        self._at = 0
        self._size = 0
        self.names: dict[str, int] = {}
        self.rules: list[list[Line] | None] = []

    def read(self) -> None:
        """All rules. A name that is defined twice means the later definition, as in llama.cpp."""
        while self._peek()[0] != "end":
            kind, name = self._next()
            if kind != "define":
                raise _no(f"a rule must begin where {name[:20]!r} stands")
            self._next()
            self.rules[self._number(name)] = self._lines(0)

    def _peek(self) -> tuple[str, str]:
        return self._tokens[self._at]

    def _next(self) -> tuple[str, str]:
        self._at += 1
        return self._tokens[self._at - 1]

    def _number(self, name: str) -> int:
        if name not in self.names:
            self.names[name] = len(self.rules)
            self.rules.append(None)
        return self.names[name]

    def _new(self, lines: list[Line]) -> int:
        self.rules.append(lines)
        self._size += sum(map(len, lines)) + len(lines)
        if self._size > MOST_SYMBOLS:
            raise _no("it is too large")
        return len(self.rules) - 1

    def _lines(self, depth: int) -> list[Line]:
        lines = [self._line(depth)]
        while self._peek() == ("mark", "|"):
            self._next()
            lines.append(self._line(depth))
        self._size += sum(map(len, lines)) + len(lines)
        if self._size > MOST_SYMBOLS:
            raise _no("it is too large")
        return lines

    def _line(self, depth: int) -> Line:
        symbols: list[Symbol] = []
        item: list[Symbol] | None = None  # what a repetition that follows would repeat
        while True:
            kind, value = self._peek()
            if kind == "times":
                if item is None:
                    raise _no(f"nothing stands before {value[:20]!r}")
                item = self._repeat(item, value)
            elif (found := self._item(kind, value, depth)) is not None:
                symbols += item or []
                item = found
            else:
                return (*symbols, *(item or []))
            self._next()

    def _item(self, kind: str, value: str, depth: int) -> list[Symbol] | None:
        """The symbols of one item; its last token is left to be passed over."""
        if kind == "text":
            return [((ord(c), ord(c)),) for c in _characters(value[1:-1])]
        if kind == "set":
            return [_set(value[1:-1])]
        if kind == "name":
            return [self._number(value)]
        if value == "." and kind == "mark":
            return [((0, LAST),)]
        if value != "(" or kind != "mark":
            return None
        if depth == DEEPEST:
            raise _no(f"more than {DEEPEST} parentheses stand within each other")
        self._next()
        inner = self._new(self._lines(depth + 1))
        if self._peek() != ("mark", ")"):
            raise _no(f"a ')' is missing before {self._peek()[1][:20]!r}")
        return [inner]

    def _repeat(self, item: list[Symbol], times: str) -> list[Symbol]:
        least, most = _bounds(times)
        if len(item) != 1:
            item = [self._new([tuple(item)])]
        if max(least, most or 0) > MOST_SYMBOLS // 4:
            raise _no(f"it repeats something too often: {times[:30]}")
        one = item[0]
        needed: list[Symbol] = [one] * least
        self._size += least
        if most is None:
            loop = self._new([(), ()])
            self.rules[loop] = [(one, loop), ()]
            return [*needed, loop]
        rest: Line = ()
        for _ in range(most - least):
            rest = (self._new([(one, *rest), ()]),)
        return [*needed, *rest]


def _scan(text: str) -> list[tuple[str, str]]:
    tokens = []
    at = 0
    while at < len(text):
        match = SCANNER.match(text, at)
        if match is None:
            raise _no(f"{text[at : at + 20]!r} is not GBNF that this engine reads")
        if match.lastgroup != "space":
            tokens.append((str(match.lastgroup), match.group()))
        at = match.end()
    return [*tokens, ("end", "its end")]


def _bounds(times: str) -> tuple[int, int | None]:
    if times in "*+?":
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[times]
    least, comma, most = times[1:-1].partition(",")
    if len(times) > 40:
        raise _no("it repeats something too often")
    low = int(least)
    high = (int(most) if most.strip() else None) if comma else low
    if high is not None and high < low:
        raise _no(f"{times} asks for more than it allows")
    return low, high


def _characters(text: str) -> list[str]:
    found = []
    at = 0
    while at < len(text):
        match = CHARACTER.match(text, at)
        if match is None:
            raise _no(f"{text[at : at + 6]!r} is no escape of GBNF")
        *codes, sign, plain = match.groups()
        code = next(filter(None, codes), None)
        if code and int(code, 16) > LAST:
            raise _no(f"{match.group()} is no character")
        found.append(chr(int(code, 16)) if code else plain or CONTROL.get(sign, sign))
        at = match.end()
    return found


def _set(text: str) -> Ranges:
    negated = text.startswith("^")
    found = []
    at = int(negated)
    while at < len(text):
        low, at = _next_character(text, at)
        high = low
        if text[at : at + 1] == "-" and at + 1 < len(text):
            high, at = _next_character(text, at + 1)
        found.append((ord(low), ord(high)))
    return inverse(found) if negated else tuple(pair for pair in found if pair[0] <= pair[1])


def _next_character(text: str, at: int) -> tuple[str, int]:
    match = CHARACTER.match(text, at)
    if match is None:
        raise _no(f"{text[at : at + 6]!r} is no escape of GBNF")
    return _characters(match.group())[0], match.end()


def inverse(ranges: list[tuple[int, int]]) -> Ranges:
    """All characters that lie in none of the ranges."""
    found = []
    low = 0
    for first, last in sorted(ranges):
        if first > low:
            found.append((low, first - 1))
        low = max(low, last + 1)
    return tuple([*found, (low, LAST)] if low <= LAST else found)


def _useful(rules: list[list[Line]]) -> list[list[Line]]:
    """The rules without lines that no text can ever finish."""
    users: list[list[tuple[int, int]]] = [[] for _ in rules]
    missing: dict[tuple[int, int], int] = {}
    ready: list[tuple[int, int]] = []
    for number, lines in enumerate(rules):
        for index, line in enumerate(lines):
            key = number, index
            missing[key] = sum(isinstance(symbol, int) for symbol in line)
            if any(symbol == () for symbol in line):
                missing[key] += 1  # a set of no characters: never finished
            for symbol in line:
                if isinstance(symbol, int):
                    users[symbol].append(key)
            if not missing[key]:
                ready.append(key)
    done = [False] * len(rules)
    while ready:
        number, _ = ready.pop()
        if done[number]:
            continue
        done[number] = True
        for key in users[number]:
            missing[key] -= 1
            if not missing[key]:
                ready.append(key)
    return [
        [line for index, line in enumerate(lines) if not missing[number, index]]
        for number, lines in enumerate(rules)
    ]


def _left_recursive(rules: list[list[Line]]) -> int | None:
    """A rule that can begin with itself while more is to follow, so that what is to follow grows
    without end. (One that is nothing but itself again does no harm.)"""
    empty = _may_be_empty(rules)
    edges: list[list[tuple[int, bool]]] = [[] for _ in rules]
    for number, lines in enumerate(rules):
        for line in lines:
            for index, symbol in enumerate(line):
                if not isinstance(symbol, int):
                    break
                edges[number].append((symbol, index + 1 < len(line)))
                if symbol not in empty:
                    break
    groups = _groups([[target for target, _ in found] for found in edges])
    for number, found in enumerate(edges):
        if any(more and groups[target] == groups[number] for target, more in found):
            return number
    return None


def _may_be_empty(rules: list[list[Line]]) -> set[int]:
    empty: set[int] = set()
    users: list[set[int]] = [set() for _ in rules]
    for number, lines in enumerate(rules):
        for line in lines:
            for symbol in line:
                if isinstance(symbol, int):
                    users[symbol].add(number)
    todo = list(range(len(rules)))
    while todo:
        number = todo.pop()
        if number not in empty and any(
            all(isinstance(symbol, int) and symbol in empty for symbol in line)
            for line in rules[number]
        ):
            empty.add(number)
            todo += users[number]
    return empty


def _groups(edges: list[list[int]]) -> list[int]:
    """For each rule the number of its group, where rules that reach each other are one group."""
    order: list[int] = []
    seen = [False] * len(edges)
    for first in range(len(edges)):
        path = [(first, iter(edges[first]))] if not seen[first] else []
        seen[first] = True
        while path:
            number, rest = path[-1]
            if (target := next(rest, None)) is None:
                order.append(number)
                path.pop()
            elif not seen[target]:
                seen[target] = True
                path.append((target, iter(edges[target])))
    back: list[list[int]] = [[] for _ in edges]
    for number, targets in enumerate(edges):
        for target in targets:
            back[target].append(number)
    group = [-1] * len(edges)
    for first in reversed(order):
        todo = [first]
        while todo:
            number = todo.pop()
            if group[number] < 0:
                group[number] = first
                todo += [user for user in back[number] if group[user] < 0]
    return group


def _flatten(rules: list[list[Line]], root: int) -> Grammar:
    symbols: list[Symbol | None] = []
    starts = []
    for lines in rules:
        begins = []
        for line in lines:
            begins.append(len(symbols))
            symbols += [*line, None]
        starts.append(tuple(begins))
    return Grammar(tuple(symbols), tuple(starts), root)

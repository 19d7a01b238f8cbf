"""Follows one text through a grammar, byte by byte, and tells what may come next.

Knows no vocabulary. Everything is counted, so that an ambiguous grammar ends its own answer and
holds nobody else up. States and their steps are kept: of an answer's states most come again, and
then a byte costs one look into a table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from engine_adapter.bundled.llama.grammar import LAST, Grammar, Ranges
from engine_adapter.errors import Broken

FIRST_COST = 200_000  # operations, about 0.2 s
TOKEN_COST = 3_000  # more for each token that was taken
MOST_STATES = 10_000  # kept at once, about 6 MB
MOST_NODES = 300_000  # ever, about 60 MB

# One place in the grammar: a position of ``Grammar.symbols`` and the node to go on with after its
# line; node 0 is the text's end.
Node = tuple[int, int]
Partial = tuple[int, int, int]  # bytes missing of a character, its bits so far, its least value
WHOLE: Partial = (0, 0, 0)
LEAST = {1: 0x80, 2: 0x800, 3: 0x10000}  # by bytes that follow the first


class State:
    """All places where the text may be. ``fitting`` is for who looks for tokens: a list that is
    worth keeping."""

    __slots__ = ("fitting", "nodes", "partial", "steps")

    def __init__(self, nodes: frozenset[int], partial: Partial) -> None:
        self.nodes = nodes
        self.partial = partial
        self.fitting: list[int] | None = None
        self.steps: dict[int, State | None] = {}


class Matcher:
    """One text's way through ``grammar``; ``here`` is where it is. Everything may raise ``Broken``,
    when the grammar has cost too much."""

    def __init__(self, grammar: Grammar) -> None:
        self._symbols = grammar.symbols
        self._starts = grammar.starts
        self._left = FIRST_COST
        self._nodes: list[Node] = [(-1, -1)]
        self._numbers: dict[Node, int] = {}
        self._states: dict[tuple[frozenset[int], Partial], State] = {}
        begin = [(start, 0) for start in grammar.starts[grammar.root]]
        self.here = self._intern(self._close(begin), WHOLE)

    @property
    def complete(self) -> bool:
        """Whether the text may end here."""
        return 0 in self.here.nodes and not self.here.partial[0]

    def allows(self, piece: bytes) -> bool:
        """Whether the text may go on with these bytes; with none it may not."""
        return bool(piece) and self._walk(piece) is not None

    def take(self, piece: bytes) -> None:
        """The text goes on with bytes that are allowed."""
        state = self._walk(piece)
        if state is None:
            raise Broken("The engine wrote what the grammar does not allow.")
        self.here = state
        self._left += TOKEN_COST

    def follow(self, state: State, byte: int) -> State | None:
        """Where one byte leads from a state, None where it may not come next."""
        if byte not in state.steps:
            state.steps[byte] = self._step(state, byte)
        return state.steps[byte]

    def openings(self) -> NDArray[np.bool_]:
        """For each byte whether it may come next. Some that may not are told to."""
        found = np.zeros(256, np.bool_)
        if self.here.partial[0]:
            found[0x80:0xC0] = True
            return found
        for node in self.here.nodes:
            for low, high in self._ranges(node):
                self._pay(1)
                found[_lead(low) : _lead(high) + 1] = True
        return found

    def _walk(self, piece: bytes) -> State | None:
        state: State | None = self.here
        for byte in piece:
            if state is None:
                return None
            state = state.steps[byte] if byte in state.steps else self.follow(state, byte)
        return state

    def _step(self, state: State, byte: int) -> State | None:
        partial = _continue(state.partial, byte)
        if partial is None:
            return None
        missing, bits, _ = partial
        if missing:
            low, high = _reach(partial)
            self._pay(len(state.nodes))
            possible = any(
                first <= high and low <= last
                for node in state.nodes
                for first, last in self._ranges(node)
            )
            return self._intern(state.nodes, partial) if possible else None
        after = []
        for node in state.nodes:
            if any(first <= bits <= last for first, last in self._ranges(node)):
                position, parent = self._nodes[node]
                after.append((position + 1, parent))
        self._pay(len(state.nodes))
        return self._intern(self._close(after), WHOLE) if after else None

    def _ranges(self, node: int) -> Ranges:
        symbol = self._symbols[self._nodes[node][0]] if node else ()
        return symbol if isinstance(symbol, tuple) else ()

    def _close(self, todo: list[Node]) -> frozenset[int]:
        """The nodes where a character is next, or the end, behind these."""
        found = set()
        seen = set(todo)
        while todo:
            position, parent = todo.pop()
            self._pay(1)
            symbol = self._symbols[position]
            more: list[Node] = []
            if symbol is None:
                if parent:
                    more.append(self._nodes[parent])
                else:
                    found.add(0)
            elif isinstance(symbol, int):
                # Behind a line's last rule nothing is to be remembered.
                last = self._symbols[position + 1] is None
                after = parent if last else self._number((position + 1, parent))
                more += [(start, after) for start in self._starts[symbol]]
            else:
                found.add(self._number((position, parent)))
            fresh = [node for node in more if node not in seen]
            seen.update(fresh)
            todo += fresh
        return frozenset(found)

    def _number(self, node: Node) -> int:
        number = self._numbers.get(node)
        if number is None:
            if len(self._nodes) == MOST_NODES:
                raise _too_costly()
            number = self._numbers[node] = len(self._nodes)
            self._nodes.append(node)
        return number

    def _intern(self, nodes: frozenset[int], partial: Partial) -> State:
        state = self._states.get((nodes, partial))
        if state is None:
            if len(self._states) == MOST_STATES:
                for old in self._states.values():
                    old.steps.clear()
                self._states.clear()
            state = self._states[nodes, partial] = State(nodes, partial)
        return state

    def _pay(self, cost: int) -> None:
        self._left -= cost
        if self._left < 0:
            raise _too_costly()


def _too_costly() -> Broken:
    return Broken("The answer's grammar is too ambiguous to be followed; make it simpler.")


def _continue(partial: Partial, byte: int) -> Partial | None:
    """The character so far and one byte more; None where that is not UTF-8, or is a zero, which no
    text holds in llama.cpp or a database."""
    missing, bits, least = partial
    if not missing:
        if 0 < byte < 0x80:
            return 0, byte, 0
        if 0xC2 <= byte < 0xF5:
            follow = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
            return follow, byte & (0x3F >> follow), LEAST[follow]
        return None
    if byte >> 6 != 2:
        return None
    partial = missing - 1, bits << 6 | byte & 0x3F, least
    low, high = _reach(partial)
    return partial if low <= high and not 0xD800 <= low <= high < 0xE000 else None


def _reach(partial: Partial) -> tuple[int, int]:
    """The first and the last character that it may become."""
    missing, bits, least = partial
    first = bits << 6 * missing
    return max(first, least), min(first + (1 << 6 * missing) - 1, LAST)


def _lead(code: int) -> int:
    """The first byte of a character in UTF-8."""
    if code < 0x80:
        return code
    if code < 0x800:
        return 0xC0 | code >> 6
    return 0xE0 | code >> 12 if code < 0x10000 else 0xF0 | code >> 18

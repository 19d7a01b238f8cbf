"""A prefix tree over token ids: where the states of known prefixes are found. Pure bookkeeping.

As SGLang's radix tree, but a node holds the state of *all* tokens from the root to it, since a
lane's state is copied as a whole. Knows neither what a state is nor where it lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

S = TypeVar("S")


def common_length(one: list[int], other: list[int], at: int = 0) -> int:
    """How many tokens ``other`` has in common with ``one`` from position ``at`` of ``one`` on."""
    least, most = 0, min(len(one) - at, len(other))
    if one[at : at + most] == other[:most]:
        return most
    while least < most:  # the first difference lies in least..most
        middle = (least + most + 1) // 2
        if one[at + least : at + middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


@dataclass(slots=True, eq=False)
class Node(Generic[S]):
    """``edge`` leads here from ``parent``; ``state`` is of all tokens from the root on."""

    edge: list[int]
    parent: Node[S] | None
    state: S | None = None
    children: dict[int, Node[S]] = field(default_factory=dict)

    def below(self) -> Iterator[Node[S]]:
        """This node and those under it, depth first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.children.values())


@dataclass(frozen=True, slots=True)
class Found(Generic[S]):
    """A state whose first ``length`` tokens are those that were looked for."""

    state: S
    length: int


class PrefixTree(Generic[S]):
    """The known prefixes of one domain. Every leaf but the root has a state."""

    def __init__(self) -> None:
        self._root: Node[S] = Node([], None)

    def __bool__(self) -> bool:
        return bool(self._root.children)

    def put(self, tokens: list[int], state: S) -> tuple[Node[S], S | None]:
        """Keep ``state`` of ``tokens`` (at least one); return its node and what it replaces."""
        node, at = self._root, 0
        while at < len(tokens):
            child = node.children.get(tokens[at])
            if child is None:
                child = node.children[tokens[at]] = Node(tokens[at:], node)
                node, at = child, len(tokens)
                break
            length = common_length(tokens, child.edge, at)
            if length < len(child.edge):
                child = _split(child, length)
            node, at = child, at + length
        replaced, node.state = node.state, state
        return node, replaced

    def find(self, tokens: list[int], most: int, *, cuts: bool) -> Found[S] | None:
        """The state that knows most of ``tokens``, at most their first ``most``.

        With ``cuts`` a state may know more than is asked for, and is then cut to ``length``.
        """
        node, at = self._root, 0
        best: Found[S] | None = None
        while at < most:
            child = node.children.get(tokens[at])
            if child is None:
                break
            length = min(common_length(tokens, child.edge, at), most - at)
            node, at = child, at + length
            if length < len(child.edge):
                break
            if child.state is not None:
                best = Found(child.state, at)
        if cuts and at and (best is None or best.length < at):
            longer = next(n.state for n in node.below() if n.state is not None)
            return Found(longer, at)
        return best

    def above(self, node: Node[S]) -> Iterator[Node[S]]:
        """The nodes on the way to the root that have a state, nearest first."""
        step = node.parent
        while step is not None:
            if step.state is not None:
                yield step
            step = step.parent

    def drop(self, node: Node[S]) -> None:
        """Forget the node's state and what of the tree only led to it."""
        node.state = None
        while node.parent is not None and node.state is None and not node.children:
            del node.parent.children[node.edge[0]]
            node = node.parent
        if node.parent is not None and node.state is None and len(node.children) == 1:
            _join(node)

    def count(self) -> int:
        """How many states there are."""
        return sum(node.state is not None for node in self._root.below())

    def check_integrity(self) -> None:
        """Raise ``RuntimeError`` unless every edge and every leaf is as it must be."""
        for node in self._root.below():
            if node.parent is None:
                continue
            if not node.edge or node.parent.children.get(node.edge[0]) is not node:
                raise RuntimeError("a node of the prefix tree is not where its edge says")
            if node.state is None and len(node.children) < 2:
                raise RuntimeError("a node of the prefix tree leads to nothing")


def _split(node: Node[S], length: int) -> Node[S]:
    """Put a node into the edge after ``length`` tokens; return it."""
    parent = node.parent
    if parent is None:
        raise ValueError("the root has no edge")
    middle: Node[S] = Node(node.edge[:length], parent)
    parent.children[middle.edge[0]] = middle
    node.edge, node.parent = node.edge[length:], middle
    middle.children[node.edge[0]] = node
    return middle


def _join(node: Node[S]) -> None:
    """Take a node without state and with one child out of the way to that child."""
    (child,) = node.children.values()
    child.edge = node.edge + child.edge
    child.parent = node.parent
    if node.parent is not None:
        node.parent.children[child.edge[0]] = child

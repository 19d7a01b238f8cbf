"""The prefix tree against a plain dictionary of everything that was put into it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.bundled.prefixes import Node, PrefixTree, common_length

tokens = st.lists(st.integers(0, 2), min_size=1, max_size=8)


@given(st.lists(st.integers(0, 1)), st.lists(st.integers(0, 1)), st.integers(0, 4))
def test_the_common_length_is_that_of_the_longest_common_beginning(
    one: list[int], other: list[int], at: int
) -> None:
    at = min(at, len(one))
    length = common_length(one, other, at)
    rest = one[at:]
    assert rest[:length] == other[:length]
    assert length == min(len(rest), len(other)) or rest[length] != other[length]


def test_a_longer_state_serves_where_it_can_be_cut() -> None:
    tree: PrefixTree[str] = PrefixTree()
    tree.put([1, 2, 3, 4, 5], "long")
    tree.put([1, 2], "short")
    for cuts, expected in ((True, ("long", 4)), (False, ("short", 2))):
        found = tree.find([1, 2, 3, 4, 9], 5, cuts=cuts)
        assert found is not None
        assert (found.state, found.length) == expected
    assert tree.find([2, 1], 2, cuts=True) is None


@given(st.data())
def test_the_tree_finds_what_a_search_through_all_would_find(data: st.DataObject) -> None:
    tree: PrefixTree[tuple[int, ...]] = PrefixTree()
    nodes: dict[tuple[int, ...], Node[tuple[int, ...]]] = {}
    for _ in range(data.draw(st.integers(1, 20))):
        if nodes and data.draw(st.integers(0, 3)) == 0:
            tree.drop(nodes.pop(data.draw(st.sampled_from(sorted(nodes)))))
        else:
            new = data.draw(tokens)
            node, replaced = tree.put(new, tuple(new))
            assert replaced == (tuple(new) if tuple(new) in nodes else None)
            nodes[tuple(new)] = node
        tree.check_integrity()
        assert tree.count() == len(nodes)
        assert bool(tree) == bool(nodes)
        asked = data.draw(tokens)
        most = data.draw(st.integers(0, len(asked)))
        for cuts in (True, False):
            found = tree.find(asked, most, cuts=cuts)
            useful = {
                known: length
                for known in nodes
                if (length := min(common_length(asked, list(known)), most))
                and (cuts or length == len(known))
            }
            if found is None:
                assert not useful
            else:
                assert found.length == max(useful.values()) == useful[found.state]

"""Schemas become grammars: values that fulfil them are written, others are not, and what cannot be
held to is refused."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_adapter.bundled.llama.grammar import parse
from engine_adapter.bundled.llama.matcher import Matcher
from engine_adapter.bundled.schemas import to_grammar
from engine_adapter.errors import Refused


def accepts(grammar: str, text: str) -> bool:
    matcher = Matcher(parse(grammar))
    if not matcher.allows(text.encode()):
        return False
    matcher.take(text.encode())
    return matcher.complete


def grammar_of(schema: Any) -> str:
    return to_grammar(json.dumps(schema))


def texts(value: Any) -> list[str]:
    """The value as different programs write it."""
    return [
        json.dumps(value, ensure_ascii=False),
        json.dumps(value, ensure_ascii=False, separators=(",", ":")),
        json.dumps(value, ensure_ascii=False, indent=2),
    ]


PERSON = {
    "type": "object",
    "properties": {"ad": {"type": "string"}, "yaş": {"type": "integer"}, 'a"\\b': {}},
    "required": ["yaş"],
}
TREE = {
    "$ref": "#/$defs/a~1b%20c",
    "$defs": {
        "a/b c": {
            "type": "object",
            "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/a~1b%20c"}}},
            "required": ["kids"],
        }
    },
}
SHAPES = {"anyOf": [{"properties": {"r": {"type": "number"}}, "required": ["r"]}, {"type": "null"}]}

CASES: dict[str, tuple[Any, list[Any], list[Any]]] = {
    "anything": ({}, [None, 1, -2.5e10, "x", [1, [2]], {"a": {"b": []}}], []),
    "true": (True, [0, {}], []),
    "object": ({"type": "object"}, [{}, {"a": 1}], [[], 1]),
    "members": (
        PERSON,
        [{"yaş": 1}, {"ad": "ğ", "yaş": 2}, {"yaş": 1, 'a"\\b': [1]}],
        [{}, {"ad": "x"}, {"yaş": "1"}, {"yaş": 1, "x": 1}, {"yaş": 1.5}],
    ),
    "all optional": (
        {"properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}}},
        [{}, {"a": 1}, {"b": 2}, {"a": 1, "c": 3}, {"a": 1, "b": 2, "c": 3}],
        [{"a": 2}, {"d": 1}],
    ),
    "more members": (
        {"properties": {"ab": {"type": "null"}}, "additionalProperties": {"type": "integer"}},
        [{}, {"ab": None}, {"ab": None, "x": 1, "abc": 2}, {"a": 1}, {"": 1}],
        [{"ab": 1}, {"x": None}, {"x": 1, "ab": 2}],
    ),
    "map": (
        {"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 2},
        [{}, {"a": True}, {"a": True, "b": False}],
        [{"a": 1}, {"a": True, "b": True, "c": True}],
    ),
    "names": (
        {"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}, "minProperties": 1},
        [{"abc": 1}],
        [{}, {"A": 1}],
    ),
    "required and unnamed": ({"type": "object", "required": ["x"]}, [{"x": 1}], [{}]),
    "nothing else": ({"type": "object", "additionalProperties": False}, [{}], [{"a": 1}]),
    "array": ({"type": "array"}, [[], [1, "a"]], [{}]),
    "items": (
        {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
        [[1], [1, 2, 3]],
        [[], [1, 2, 3, 4], ["a"]],
    ),
    "one item": ({"items": {"type": "null"}, "minItems": 1, "maxItems": 1}, [[None]], [[], [1]]),
    "no item": ({"type": "array", "maxItems": 0}, [[]], [[1]]),
    "tuple": (
        {"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "items": {"const": 3}},
        [[], [1], [1, 2], [1, 2, 3, 3]],
        [[2], [1, 3], [1, 2, 4]],
    ),
    "closed tuple": (
        {"prefixItems": [{"const": 1}, {"const": 2}], "items": False, "minItems": 2},
        [[1, 2]],
        [[], [1], [1, 2, 3]],
    ),
    "long tuple": (
        {"prefixItems": [{"const": 1}], "items": {"const": 2}, "minItems": 3, "maxItems": 4},
        [[1, 2, 2], [1, 2, 2, 2]],
        [[1, 2], [1, 2, 2, 2, 2]],
    ),
    "enum": (
        {"enum": ["dog", "dogs", "do", 1, None, {"a": [1]}, "ç\n"]},
        ["dog", "dogs", "do", 1, None, {"a": [1]}, "ç\n"],
        ["d", "dogss", 2, {}, {"a": [2]}],
    ),
    "enum and type": ({"type": "string", "enum": ["a", 1]}, ["a"], [1]),
    "const": ({"const": {"a": "b"}}, [{"a": "b"}], [{"a": "c"}]),
    "types": ({"type": ["string", "null"]}, ["x", None], [1, []]),
    "any of": (SHAPES, [None, {"r": 1.5}], [{}, 1]),
    "any of beside": (
        {"type": "object", "properties": {"k": {}}, "anyOf": [{"required": ["k"]}]},
        [{"k": 1}],
        [{}],
    ),
    "all of": (
        {"allOf": [{"$ref": "#/$defs/a"}, {"properties": {"b": {"const": 2}}}],
         "$defs": {"a": {"properties": {"a": {"const": 1}}, "required": ["a"]}}},
        [{"a": 1}, {"a": 1, "b": 2}],
        [{}, {"b": 2}],
    ),
    "both bounds": (
        {"allOf": [{"type": "number", "minimum": 2}, {"type": "integer", "minimum": 5},
                   {"maximum": 7}]},
        [5, 6, 7],
        [4, 8, 5.5],
    ),
    "reference": (
        TREE,
        [{"kids": []}, {"kids": [{"kids": []}, {"kids": []}]}],
        [{}, {"kids": [1]}],
    ),
    "reference with words": (
        {"items": {"$ref": "#/$defs/t", "description": "x"}, "$defs": {"t": {"const": 1}}},
        [[1]],
        [[2]],
    ),
    "lengths": (
        {"type": "string", "minLength": 2, "maxLength": 3},
        ["ab", "ğşü", "\n\t"],
        ["a", "abcd"],
    ),
    "date": ({"type": "string", "format": "date"}, ["2026-11-30"], ["2026-13-01", "x"]),
    "moment": (
        {"type": "string", "format": "date-time"},
        ["2026-11-30T08:20:00Z", "2026-11-30T08:20:00.5+03:00"],
        ["2026-11-30"],
    ),
    "uuid": ({"format": "uuid"}, ["123e4567-e89b-12d3-a456-426614174000"], ["123"]),
    "address": ({"format": "ipv4"}, ["127.0.0.1"], ["256.0.0.1", "1.2.3"]),
    "mail": ({"format": "email"}, ["a.b@example.org"], ["a.b"]),
    "unknown format": ({"type": "string", "format": "colour"}, ["x"], [1]),
    "half open": ({"type": "integer", "exclusiveMinimum": 0}, [1, 10, 99999], [0, -1]),
    "negative": ({"type": "integer", "minimum": -12, "maximum": -3}, [-12, -3], [-13, -2, 0, 3]),
    "share": ({"type": "number", "minimum": 0, "maximum": 1}, [0, 1, 0.5, 0.25], [1.5, -0.5, 2]),
    "above": (
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 2},
        [0.5, 1, 1.75],
        [0, 2, 2.5, -1],
    ),
    "temperature": ({"type": "number", "minimum": -40}, [-40, -3.5, 0, 12.25], [-40.5, -41]),
    "pattern": (
        {"type": "string", "pattern": r"^(\d{3}|[^\d\s]+\.)[a-c\]-]?$"},
        ["123", "ğx.", '".', "\\.a", "123]", "123-"],
        ["12", "1 .", "123d"],
    ),
    "pattern within": ({"type": "string", "pattern": "b+c"}, ["abcd", "bc"], ["b", "acb"]),
    "pattern choice": ({"type": "string", "pattern": "^a|b$"}, ["ax", "xb"], ["xa", "bx"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_fulfils_a_schema_is_written_and_nothing_else(name: str) -> None:
    schema, good, bad = CASES[name]
    grammar = grammar_of(schema)
    assert [v for v in good if not all(accepts(grammar, text) for text in texts(v))] == []
    assert [v for v in bad if any(accepts(grammar, text) for text in texts(v))] == []


def test_a_value_may_stand_between_texts() -> None:
    grammar = to_grammar('{"const": 1}', "<tool_call>\n", '\n"</tool_call>')
    assert accepts(grammar, '<tool_call>\n1\n"</tool_call>')
    assert not accepts(grammar, "1")


def deep(count: int) -> Any:
    schema: Any = {"type": "integer"}
    for _ in range(count):
        schema = {"type": "array", "items": schema}
    return schema


REFUSED: dict[str, str] = {
    "no json": "{",
    "deep json": "[" * 100_000,
    "no schema": "[]",
    "nothing": "false",
    "long": json.dumps({"description": "x" * 300_000}),
    "deep": json.dumps(deep(200)),
    "wide": json.dumps({"anyOf": [{"minLength": n} for n in range(6000)]}),
    "itself": '{"$ref": "#"}',
    "a circle": json.dumps(
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}
    ),
    "a circle of all": json.dumps(
        {"$ref": "#/$defs/a", "minLength": 1, "$defs": {"a": {"$ref": "#/$defs/a", "pattern": "x"}}}
    ),
    "without end": '{"properties": {"x": {"$ref": "#"}}, "required": ["x"]}',
    "elsewhere": '{"$ref": "https://example.org/x"}',
    "nowhere": '{"$ref": "#/$defs/x"}',
    "unknown type": '{"type": "colour"}',
    "type of a wrong type": '{"type": 1}',
    "not": '{"not": {}}',
    "unique": '{"type": "array", "uniqueItems": true}',
    "wrong members": '{"properties": 3}',
    "wrong required": '{"required": 3}',
    "wrong count": '{"type": "array", "minItems": "x"}',
    "huge count": '{"type": "string", "maxLength": 99999999}',
    "crossed": '{"type": "integer", "minimum": 3, "maximum": 2}',
    "crossed counts": '{"type": "array", "minItems": 3, "maxItems": 2}',
    "not a number": '{"type": "integer", "minimum": NaN}',
    "fraction": '{"type": "number", "minimum": 0.5}',
    "no value": '{"type": "string", "enum": [1]}',
    "empty enum": '{"enum": []}',
    "two types": '{"allOf": [{"type": "string"}, {"type": "null"}]}',
    "half a character": '{"const": "\\ud800"}',
    "look ahead": '{"type": "string", "pattern": "(?=a)"}',
    "back reference": '{"type": "string", "pattern": "(a)\\\\1"}',
    "unclosed group": '{"type": "string", "pattern": "(a"}',
    "unclosed set": '{"type": "string", "pattern": "[a"}',
    "nothing to repeat": '{"type": "string", "pattern": "*"}',
    "deep pattern": json.dumps({"type": "string", "pattern": "(" * 500 + ")" * 500}),
    "much repeated": json.dumps({"type": "string", "pattern": "((a{99999}){99999}){99999}"}),
    "doubling": json.dumps(
        {"$ref": "#/$defs/d0", "$defs": {
            f"d{i}": {"type": "object", "allOf": [{"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2}]}
            for i in range(30)} | {"d30": {}}}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_grammar_can_hold_to_is_refused(name: str) -> None:
    with pytest.raises(Refused, match=r"^The (schema|grammar).{5,250}\.$|^[A-Z].{5,250}\.$"):
        parse(to_grammar(REFUSED[name]))


def test_a_hostile_pattern_is_followed_without_harm() -> None:
    grammar = grammar_of({"type": "string", "pattern": "^((a|a)*)*(a?){40}a{40}$"})
    assert accepts(grammar, '"' + "a" * 60 + '"')
    assert not accepts(grammar, '"' + "a" * 39 + '"')


def test_a_large_enum_is_followed_at_little_cost() -> None:
    names = [f"city-{number:05}" for number in range(8000)]
    grammar = grammar_of({"enum": names})
    assert accepts(grammar, '"city-07999"') and not accepts(grammar, '"city-08000"')


@given(st.integers(-2000, 2000), st.integers(0, 1500), st.integers(-4000, 4000))
def test_whole_numbers_lie_exactly_within_their_bounds(low: int, span: int, value: int) -> None:
    grammar = grammar_of({"type": "integer", "minimum": low, "maximum": low + span})
    assert accepts(grammar, str(value)) == (low <= value <= low + span)


@given(
    st.integers(-30, 30), st.integers(0, 40), st.booleans(), st.booleans(),
    st.decimals(-40, 80, places=2),
)  # fmt: skip
def test_numbers_lie_exactly_within_their_bounds(
    low: int, span: int, above: bool, below: bool, value: Any
) -> None:
    high = low + span
    schema = {
        "type": "number",
        "exclusiveMinimum" if above else "minimum": low,
        "exclusiveMaximum" if below else "maximum": high,
    }
    if span == 0 and (above or below):
        with pytest.raises(Refused, match="leave no number"):
            grammar_of(schema)
        return
    inside = (low < value if above else low <= value) and (value < high if below else value <= high)
    if value or not str(value).startswith("-"):
        assert accepts(grammar_of(schema), str(value)) == inside


KEYS = st.text(min_size=1, max_size=4)


def with_value(depth: int) -> st.SearchStrategy[tuple[Any, Any, Any]]:
    """A schema, a value that fulfils it and one that does not."""
    leaves = st.one_of(
        st.text(max_size=5).map(lambda v: ({"type": "string"}, v, 1)),
        st.integers(-(10**9), 10**9).map(lambda v: ({"type": "integer"}, v, "x")),
        st.booleans().map(lambda v: ({"type": "boolean"}, v, None)),
        st.none().map(lambda v: ({"type": ["null", "boolean"]}, v, "null")),
        st.lists(st.text(max_size=3), min_size=1, max_size=4, unique=True).map(
            lambda v: ({"enum": v}, v[0], "".join(v) + "~~")
        ),
        st.text(max_size=4).map(
            lambda v: ({"type": "string", "minLength": len(v), "maxLength": len(v)}, v, v + "a")
        ),
    )
    if depth == 0:
        return leaves
    inner = with_value(depth - 1)
    arrays = st.tuples(inner, st.integers(1, 3)).map(
        lambda pair: (
            {"type": "array", "items": pair[0][0], "maxItems": 3, "minItems": 1},
            [pair[0][1]] * pair[1],
            [pair[0][1]] * pair[1] + [pair[0][2]],
        )
    )
    objects = st.dictionaries(KEYS, st.tuples(inner, st.booleans()), min_size=1, max_size=4).map(
        lambda members: (
            {
                "type": "object",
                "properties": {key: triple[0] for key, (triple, _) in members.items()},
                "required": [key for key, (_, needed) in members.items() if needed],
                "additionalProperties": False,
            },
            {key: triple[1] for key, (triple, needed) in members.items() if needed},
            {key: triple[2] for key, (triple, _) in members.items()},
        )
    )
    return st.one_of(leaves, arrays, objects)


@settings(max_examples=150, deadline=None)
@given(with_value(2))
def test_generated_values_are_told_apart(found: tuple[Any, Any, Any]) -> None:
    schema, good, bad = found
    grammar = grammar_of(schema)
    for text in texts(good):
        assert accepts(grammar, text)
    for text in texts(bad):
        assert not accepts(grammar, text)


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["type", "properties", "items", "anyOf", "allOf", "$ref", "enum", "pattern",
                         "minLength", "maxItems", "required", "additionalProperties", "minimum"]),
        inner, max_size=4),
    max_leaves=12,
))  # fmt: skip
def test_any_json_is_a_schema_or_refused(schema: Any) -> None:
    with contextlib.suppress(Refused):
        parse(grammar_of(schema))

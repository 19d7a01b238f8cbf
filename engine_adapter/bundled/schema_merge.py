"""Two JSON schemas that must both be fulfilled, as one. Knows no grammar."""

from __future__ import annotations

from typing import Any

from engine_adapter.errors import Refused

Schema = dict[str, Any]

TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
HELD_BY_NO_GRAMMAR = (
    "not", "if", "contains", "uniqueItems", "multipleOf", "patternProperties", "dependencies",
    "dependentRequired", "dependentSchemas", "unevaluatedItems", "$dynamicRef", "$recursiveRef",
)  # fmt: skip
SAY_NOTHING = {
    "$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "title", "description",
    "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "strict", "then",
    "else", "contentMediaType", "contentEncoding", "discriminator", "unevaluatedProperties",
}  # fmt: skip
IMPLIED = {
    "object": ("properties", "required", "additionalProperties", "propertyNames", "minProperties",
               "maxProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}  # fmt: skip
GREATER = {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}
LESSER = {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"}


def types_of(schema: Schema) -> list[str]:
    """The types of the schema's values: those it names, or those its keywords speak of."""
    named = schema.get("type")
    if named is None:
        return [kind for kind, keys in IMPLIED.items() if any(key in schema for key in keys)]
    return list(named) if isinstance(named, list) else [named]


def fits(value: Any, kind: str) -> bool:
    """Whether a JSON value is of the type."""
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, int):
        return kind in ("integer", "number")
    if isinstance(value, float):
        return kind == "number" or (kind == "integer" and value.is_integer())
    known = {str: "string", dict: "object", list: "array", type(None): "null"}
    return kind == known[type(value)]


def merge(first: Any, second: Any) -> Any:
    """A schema for what fulfils both. Raises ``Refused`` where none can be written."""
    if first is True or second is True:
        return second if first is True else first
    if not isinstance(first, dict) or not isinstance(second, dict):
        raise Refused("The schema allows no value, or has something that is no schema in it.")
    merged = {key: value for key, value in first.items() if key not in SAY_NOTHING}
    for key, value in second.items():
        if key in SAY_NOTHING:
            continue
        merged[key] = _both(key, merged[key], value) if key in merged else value
    return merged


def _both(key: str, one: Any, other: Any) -> Any:
    if one == other and type(one) is type(other):
        return one
    if key in GREATER:
        return max(one, other)
    if key in LESSER:
        return min(one, other)
    if key == "required":
        return list(dict.fromkeys([*one, *other]))
    if key == "properties":
        return {
            name: merge(one.get(name, True), other.get(name, True)) for name in {**one, **other}
        }
    if key == "type":
        return _types(one, other)
    if key == "enum":
        return [value for value in one if value in other]
    if key == "allOf":
        return [*one, *other]
    if key in ("items", "additionalProperties", "propertyNames"):
        return False if False in (one, other) else {"allOf": [one, other]}
    raise Refused(f"The schema asks for two different {key!r} at once.")


def _types(one: Any, other: Any) -> list[str]:
    first = one if isinstance(one, list) else [one]
    second = other if isinstance(other, list) else [other]
    both = [kind for kind in first if kind in second]
    if "integer" in {*first, *second} and "number" in {*first, *second} and "integer" not in both:
        both.append("integer")
    if not both:
        raise Refused("The schema asks for two types at once.")
    return both

"""JSON schemas as grammars in GBNF: what a model then writes is a value the schema allows.

Members are written in the schema's own order, and only those it names where it says nothing of
others. What a grammar cannot hold to is refused, not passed over in silence. Everything is
counted, so that a hostile schema ends in a refusal.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any
from urllib.parse import unquote

from engine_adapter.bundled import gbnf, patterns
from engine_adapter.bundled.schema_merge import HELD_BY_NO_GRAMMAR, TYPES, fits, merge, types_of
from engine_adapter.errors import Refused

LONGEST = 1 << 18  # characters of a schema
MOST_SCHEMAS = 5000
DEEPEST = 60
LONGEST_GRAMMAR = 1 << 19

Schema = dict[str, Any]

RULES = dict(
    line.split(" ::= ", 1)
    for line in r"""
ws ::= (" " | "\n" [ \t]{0,20})?
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)* ws)? "}"
array ::= "[" ws (value ("," ws value)* ws)? "]"
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" hex{4})
hex ::= [0-9a-fA-F]
digits ::= "0" | [1-9] [0-9]{0,17}
integer ::= "-"? digits
number ::= "-"? digits ("." [0-9]{1,17})? ([eE] [+-]? [0-9]{1,3})?
date ::= [0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])
time ::= ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,6})? zone
zone ::= "Z" | [+-] ([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]
uuid ::= hex{8} "-" hex{4} "-" hex{4} "-" hex{4} "-" hex{12}
octet ::= "25" [0-5] | "2" [0-4] [0-9] | "1" [0-9] [0-9] | [1-9]? [0-9]
label ::= [a-zA-Z0-9] ([a-zA-Z0-9-]{0,61} [a-zA-Z0-9])?
hostname ::= label ("." label)*
email ::= [a-zA-Z0-9._+-]{1,64} "@" hostname
""".strip().splitlines()
)
FORMATS = {
    "date": "date", "time": "time", "date-time": '(date "T" time)', "uuid": "uuid",
    "ipv4": '(octet "." octet "." octet "." octet)', "hostname": "hostname", "email": "email",
}  # fmt: skip
NOT_IN_NAMES = [(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C)]
PRIMITIVES = {"boolean": '("true" | "false")', "null": '"null"'}


def to_grammar(schema_json: str, before: str = "", after: str = "") -> str:
    """A grammar for the texts that are ``before``, a value that fulfils the schema, and ``after``.
    Raises ``Refused`` where the schema is broken, too large or nothing a grammar can hold to."""
    if len(schema_json) > LONGEST:
        raise Refused(f"The schema has more than {LONGEST} characters.")
    try:
        schema = json.loads(schema_json)
    except (ValueError, RecursionError) as error:
        raise Refused(f"The schema is no JSON: {str(error)[:100]}.") from None
    writer = _Writer(schema)
    value = writer.visit(schema, 0)
    root = " ".join([*filter(None, [before and gbnf.literal(before)]), value])
    root += f" {gbnf.literal(after)}" if after else ""
    lines = [f"root ::= {root}", *(f"{name} ::= {rule}" for name, rule in writer.rules.items())]
    return _with_rules("\n".join(lines))


def _with_rules(text: str) -> str:
    """The text and those of ``RULES`` that it uses."""
    lines, used = [text], set[str]()
    todo = [text]
    while todo:
        names = set(re.findall("[a-z]+", todo.pop())) & RULES.keys() - used
        used |= names
        todo += [RULES[name] for name in names]
    return "\n".join([*lines, *(f"{name} ::= {RULES[name]}" for name in sorted(used))])


class _Writer:
    """Writes the rules of one schema."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._visits = 0
        self._size = 0
        self._targets: dict[str, str] = {}
        self._known: dict[str, str] = {}
        self.rules: dict[str, str] = {}

    def visit(self, schema: Any, depth: int) -> str:
        """An expression for the values of the schema."""
        self._visits += 1
        if self._visits > MOST_SCHEMAS or depth > DEEPEST:
            raise Refused("The schema is too large or too deep.")
        if schema is True:
            return "value"
        if not isinstance(schema, dict):
            raise Refused("The schema allows no value, or has something that is no schema in it.")
        if held := [name for name in HELD_BY_NO_GRAMMAR if schema.get(name) not in (None, False)]:
            raise Refused(f"The schema's {held[0]!r} is nothing a grammar can hold to.")
        try:
            return self._visit(schema, depth)
        except (TypeError, AttributeError, ValueError, KeyError, OverflowError):
            raise Refused("The schema breaks the rules of JSON schemas.") from None

    def _visit(self, schema: Schema, depth: int) -> str:
        if "$ref" in schema:
            target = schema["$ref"]
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            merged = merge(rest, {})
            if not merged:
                return self._reference(target, depth)
            return self.visit(merge(self._find(target), rest), depth + 1)
        if "allOf" in schema:
            merged = {key: value for key, value in schema.items() if key != "allOf"}
            for part in schema["allOf"]:
                merged = merge(merged, self._resolved(part))
            return self.visit(merged, depth + 1)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                rest = {name: value for name, value in schema.items() if name != key}
                plain = not merge(rest, {})
                return self._rule(
                    gbnf.either(
                        self.visit(part if plain else merge(rest, self._resolved(part)), depth + 1)
                        for part in schema[key]
                    )
                )
        if "const" in schema:
            return self._values([schema["const"]], schema)
        if "enum" in schema:
            return self._values(schema["enum"], schema)
        kinds = types_of(schema)
        if not kinds:
            return "value"
        return gbnf.either(self._kind(kind, schema, depth) for kind in kinds)

    def _rule(self, text: str) -> str:
        """The name of a rule with this text."""
        if text not in self._known:
            self._size += len(text)
            if self._size > LONGEST_GRAMMAR:
                raise Refused("The schema makes too large a grammar.")
            name = self._known[text] = f"r{len(self.rules)}"
            self.rules[name] = text
        return self._known[text]

    # ---- references ------------------------------------------------------------------------

    def _reference(self, target: str, depth: int) -> str:
        if target not in self._targets:
            name = self._targets[target] = f"d{len(self._targets)}"
            self.rules[name] = ""
            self.rules[name] = self.visit(self._find(target), depth + 1)
        return self._targets[target]

    def _find(self, target: str) -> Any:
        if not isinstance(target, str) or not target.startswith("#"):
            raise Refused("The schema's '$ref' must point into the schema itself: '#/…'.")
        found = self._root
        for step in unquote(target[1:]).split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            try:
                found = found[int(key)] if isinstance(found, list) else found[key]
            except (LookupError, ValueError, TypeError):
                raise Refused(f"The schema has nothing at {target[:80]!r}.") from None
        return found

    def _resolved(self, schema: Any) -> Any:
        seen = 0
        while isinstance(schema, dict) and "$ref" in schema:
            seen += 1
            if seen > DEEPEST:
                raise Refused("The schema's references lead round in a circle.")
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = merge(self._find(schema["$ref"]), rest)
        return schema

    # ---- values that are written out -------------------------------------------------------

    def _values(self, values: list[Any], schema: Schema) -> str:
        kinds = types_of(schema)
        allowed = [value for value in values if not kinds or any(fits(value, k) for k in kinds)]
        if not allowed:
            raise Refused("The schema's 'enum' or 'const' names no value that its 'type' allows.")
        plain = [value for value in allowed if not isinstance(value, dict | list)]
        choices = [gbnf.words(map(_text, plain))] if plain else []
        choices += [self._value(value, 0) for value in allowed if isinstance(value, dict | list)]
        return self._rule(gbnf.either(choices))

    def _value(self, value: Any, depth: int) -> str:
        self._visits += 1
        if depth > DEEPEST or self._visits > MOST_SCHEMAS:
            raise Refused("A value of the schema's 'enum' or 'const' is too large or too deep.")
        if isinstance(value, dict) and value:
            pairs = (
                f"{gbnf.literal(_text(name) + ':')} ws {self._value(inner, depth + 1)}"
                for name, inner in value.items()
            )
            return f'"{{" ws {_comma(pairs)} ws "}}"'
        if isinstance(value, list) and value:
            return f'"[" ws {_comma(self._value(one, depth + 1) for one in value)} ws "]"'
        return gbnf.literal(_text(value))

    # ---- by type ---------------------------------------------------------------------------

    def _kind(self, kind: str, schema: Schema, depth: int) -> str:
        if kind in PRIMITIVES:
            return PRIMITIVES[kind]
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind == "string":
            return self._string(schema)
        if kind in ("integer", "number"):
            return self._number(kind, schema)
        raise Refused(f"The schema's type {str(kind)[:40]!r} is none of {', '.join(TYPES)}.")

    def _string(self, schema: Schema) -> str:
        least, most = schema.get("minLength", 0), schema.get("maxLength")
        if "pattern" in schema:
            if least or most is not None:
                raise Refused("A schema's 'pattern' and length cannot be held to both at once.")
            return self._rule(f'"\\"" {patterns.to_gbnf(schema["pattern"])} "\\""')
        if schema.get("format") in FORMATS:
            return f'"\\"" {FORMATS[schema["format"]]} "\\""'
        if not least and most is None:
            return "string"
        return self._rule(f'"\\"" {gbnf.repeat("char", *_counts(least, most))} "\\""')

    def _number(self, kind: str, schema: Schema) -> str:
        low, above = _bound(schema, "minimum", "exclusiveMinimum", max)
        high, below = _bound(schema, "maximum", "exclusiveMaximum", min)
        if low is None and high is None:
            return kind
        if kind == "integer":
            least = None if low is None else math.floor(low) + 1 if above else math.ceil(low)
            most = None if high is None else math.ceil(high) - 1 if below else math.floor(high)
            found = gbnf.integer(least, most)
        else:
            if any(bound is not None and bound != int(bound) for bound in (low, high)):
                raise Refused("Bounds of the schema's numbers must be whole for a grammar.")
            found = gbnf.number(
                None if low is None else int(low),
                None if high is None else int(high),
                above=above,
                below=below,
            )
        if found is None:
            raise Refused("The schema's 'minimum' and 'maximum' leave no number.")
        return self._rule(found)

    def _array(self, schema: Schema, depth: int) -> str:
        first = [self.visit(item, depth + 1) for item in schema.get("prefixItems", [])]
        items = schema.get("items", not first)
        least, most = _counts(schema.get("minItems", 0), schema.get("maxItems"))
        if items is False or most == 0:
            most = min(len(first), len(first) if most is None else most)
            item = ""
        else:
            item = self.visit(items, depth + 1)
        if most is not None and most < least:
            raise Refused("The schema's 'minItems' asks for more than it allows.")
        # From the back: what may stand from each place on, where something stands before it.
        rest = ""
        if item and (most is None or most > len(first)):
            many = None if most is None else most - len(first)
            rest = gbnf.repeat(f'("," ws {item})', max(0, least - len(first)), many)
        for index in reversed(range(1, len(first) if most is None else min(len(first), most))):
            text = f'"," ws {first[index]} {rest}'
            rest = self._rule(text if index < least else f"({text})?")
        return self._rule(self._whole_array(first, item, rest, least, most))

    def _whole_array(
        self, first: list[str], item: str, rest: str, least: int, most: int | None
    ) -> str:
        if most == 0:
            return '"[" ws "]"'
        if not first:
            many = None if most is None else most - 1
            rest = gbnf.repeat(f'("," ws {item})', max(0, least - 1), many) if many != 0 else ""
        inner = f"{first[0] if first else item} {rest} ws"
        return f'"[" ws {inner if least else f"({inner})?"} "]"'

    def _object(self, schema: Schema, depth: int) -> str:
        members = dict(schema.get("properties", {}))
        required = set(schema.get("required", []))
        others = schema.get("additionalProperties", not members and not required)
        for name in schema.get("required", []):
            members.setdefault(name, True if others is False else others or True)
        least, most = _counts(schema.get("minProperties", 0), schema.get("maxProperties"))
        if members and (least > len(required) or (most is not None and most < len(members))):
            raise Refused("The schema's count of properties is nothing a grammar can hold to.")
        if others is True and not members and not least and most is None and (
            "propertyNames" not in schema
        ):  # fmt: skip
            return "object"
        pair = "" if others is False else self._pair(schema, others, members, depth)
        if not members:
            return self._rule(_map(pair, least, most))
        # From the back: what may stand from each member on, ``begun`` where one stands before it.
        fresh = f'({pair} ("," ws {pair})* ws)?' if pair else ""
        begun = f'("," ws {pair})* ws' if pair else "ws"
        for name, inner in reversed(members.items()):
            text = f"{gbnf.literal(_text(name) + ':')} ws {self.visit(inner, depth + 1)}"
            after = self._rule(begun)
            optional = name not in required
            otherwise = f" | {self._rule(fresh or gbnf.literal(''))}" if optional else ""
            fresh = f"{text} {after}{otherwise}"
            begun = f'"," ws {text} {after}' + (f" | {after}" if optional else "")
        return self._rule(f'"{{" ws {self._rule(fresh)} "}}"')

    def _pair(self, schema: Schema, others: Any, members: Schema, depth: int) -> str:
        if "propertyNames" in schema:
            if members:
                raise Refused("The schema's 'propertyNames' beside 'properties' cannot be held to.")
            names = merge({"type": "string"}, self._resolved(schema["propertyNames"]))
            name = self.visit(names, depth + 1)
        elif members:
            plain = gbnf.charset(NOT_IN_NAMES).replace("[", "[^", 1)
            inside = gbnf.other_than(members, plain, NOT_IN_NAMES)
            name = f'"\\"" {self._rule(inside)} "\\""'
        else:
            name = "string"
        return self._rule(f'{name} ":" ws {self.visit(others, depth + 1)}')


def _map(pair: str, least: int, most: int | None) -> str:
    if not pair or most == 0:
        if least:
            raise Refused("The schema's 'minProperties' asks for more than it allows.")
        return '"{" ws "}"'
    many = gbnf.repeat(f'("," ws {pair})', max(0, least - 1), None if most is None else most - 1)
    inner = f"{pair} {many} ws"
    return f'"{{" ws {inner if least else f"({inner})?"} "}}"'


def _comma(items: Any) -> str:
    return ' "," ws '.join(items)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _counts(least: Any, most: Any) -> tuple[int, int | None]:
    for count in (least, most):
        if count is not None and not (isinstance(count, int) and 0 <= count <= 1 << 16):
            raise Refused(f"A count of the schema must lie between 0 and {1 << 16}.")
    if most is not None and most < least:
        raise Refused("A count of the schema asks for more than it allows.")
    return least, most


def _bound(schema: Schema, plain: str, strict: str, tighter: Any) -> tuple[float | None, bool]:
    """The bound, and whether it is itself left out."""
    bounds = [(schema[name], name == strict) for name in (plain, strict) if name in schema]
    for value, _ in bounds:
        if not (fits(value, "number") and math.isfinite(value)):
            raise Refused(f"The schema's {plain!r} must be a number.")
    if not bounds:
        return None, False
    bound = tighter(value for value, _ in bounds)
    return bound, (bound, True) in bounds

"""Typed readers over the JSON of a body. A value of the wrong kind is refused where it stands."""

from __future__ import annotations

import json
import math
from typing import Any

MOST_BYTES = 64 << 10  # of one JSON schema or grammar
DEEPEST = 64  # levels of one JSON schema
SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1
Json = dict[str, Any]


class BadRequest(Exception):
    """The body cannot be understood; the text says why, ``param`` where."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


def load(body: bytes) -> object:
    """The JSON value of a body. Raises ``BadRequest``."""

    def refuse(name: str) -> None:
        raise BadRequest(f"The body is not JSON: {name} is no number.")

    try:
        return json.loads(body, parse_constant=refuse)
    except RecursionError:
        raise BadRequest("The body is nested too deeply.") from None
    except ValueError:
        raise BadRequest("The body is not JSON.") from None


def clean(text: str) -> str:
    """Half a surrogate pair, as cut JavaScript strings have it, is no character: U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def compact(value: Json, param: str) -> str:
    """A schema as JSON text of bounded size and depth."""
    level: list[object] = [value]
    for _ in range(DEEPEST):
        if not level:
            break
        level = [
            below
            for outer in level
            if isinstance(outer, dict | list)
            for below in (outer.values() if isinstance(outer, dict) else outer)
        ]
    if level:
        raise BadRequest(f"'{param}' is nested more than {DEEPEST} levels deep.", param)
    text = clean(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return within(text, param)


def within(text: str, param: str) -> str:
    """The text, unless it passes ``MOST_BYTES``."""
    if len(text.encode()) > MOST_BYTES:
        raise BadRequest(f"'{param}' is larger than {MOST_BYTES} bytes.", param)
    return text


class Fields:
    """Typed readers over a JSON object; null is the same as absent.

    ``path`` is where the object stands in the body, empty for the body itself.
    """

    def __init__(self, data: object, path: str = "") -> None:
        if not isinstance(data, dict):
            name = f"'{path}'" if path else "The body"
            raise BadRequest(f"{name} must be a JSON object.", path or None)
        self.data: Json = data
        self._path = path

    def path(self, name: str) -> str:
        """Where the field stands in the body."""
        return f"{self._path}.{name}" if self._path else name

    def refuse(self, name: str, why: str) -> BadRequest:
        """The refusal of a field: ``why`` follows its quoted name."""
        path = self.path(name)
        return BadRequest(f"'{path}' {why}", path)

    def inner(self, name: str) -> Fields:
        """The object in a field; an empty one where it is absent."""
        value = self.data.get(name)
        return Fields({} if value is None else value, self.path(name))

    def flag(self, name: str) -> bool:
        """True or false, which is the same as absent."""
        value = self.data.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.refuse(name, "must be true or false.")
        return bool(value)

    def text(self, name: str, *, most: int | None = None) -> str | None:
        """A string of at most ``most`` characters."""
        value = self.data.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.refuse(name, "must be a string.")
        if most is not None and len(value) > most:
            raise self.refuse(name, f"must have at most {most} characters.")
        return clean(value)

    def name(self, name: str, *, most: int = 256) -> str:
        """A string that has to be there."""
        value = self.text(name, most=most)
        if not value:
            raise self.refuse(name, "must be a string that is not empty.")
        return value

    def items(self, name: str, most: int) -> list[Any]:
        """A list of at most ``most`` values; empty where it is absent."""
        value = self.data.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or len(value) > most:
            raise self.refuse(name, f"must be a list of at most {most} values.")
        return value

    def whole(self, name: str, least: int, most: int) -> int | None:
        """A whole number within the bounds."""
        value = self.data.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise self.refuse(name, f"must be a whole number from {least} to {most}.")
        return value

    def number(self, name: str, least: float, most: float) -> float | None:
        """A finite number within the bounds."""
        value = self.data.get(name)
        if value is None:
            return None
        if not is_number(value, least, most):
            raise self.refuse(name, f"must be a number from {least:g} to {most:g}.")
        return float(value)


def is_number(value: object, least: float, most: float) -> bool:
    """Whether it is a finite number within the bounds; true and false are none."""
    fits = isinstance(value, int | float) and not isinstance(value, bool)
    # Whole numbers may be too large for a float, so they are compared before they are converted.
    return fits and least <= value <= most and math.isfinite(value)  # type: ignore[operator, arg-type]  # known by then

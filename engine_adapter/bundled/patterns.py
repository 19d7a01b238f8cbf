"""Regular expressions of JSON schemas (ECMA-262's) as GBNF over a JSON string's characters."""

from __future__ import annotations

from engine_adapter.bundled import gbnf
from engine_adapter.errors import Refused

LONGEST = 4096
DEEPEST = 40
LAST = 0x10FFFF
DIGIT = [(0x30, 0x39)]
WORD = [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]
SPACE = [(0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x2028, 0x2029), (0x3000, 0x3000)]
CLASSES = {"d": DIGIT, "w": WORD, "s": SPACE}
SIGNS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "0": 0}
JSON_ESCAPES = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r", 0x22: '"', 0x5C: "\\"}


def to_gbnf(pattern: str) -> str:
    """What a JSON string's inside must look like for the pattern to be found in the string.
    Uses the rule ``char``. Raises ``Refused``."""
    if len(pattern) > LONGEST:
        raise Refused(f"A pattern of the schema has more than {LONGEST} characters.")
    reader = _Reader(pattern)
    choices = []
    while True:
        begun = reader.skip("^")
        middle = reader.sequence(0)
        ended = reader.skip("$")
        parts = ["" if begun else "char*", middle, "" if ended else "char*"]
        choices.append(" ".join(filter(None, parts)) or gbnf.literal(""))
        if reader.done:
            return gbnf.either(choices)
        if not reader.skip("|"):
            raise reader.no("it has a ')' or an anchor where this engine reads none")


def one_of(ranges: gbnf.Ranges) -> str:
    """One character of the ranges as it stands in a JSON string."""
    choices = []
    plain = _cut(ranges)
    if plain:
        choices.append(gbnf.charset(plain))
    choices += [
        gbnf.literal("\\" + sign)
        for code, sign in JSON_ESCAPES.items()
        if any(low <= code <= high for low, high in ranges)
    ]
    if not choices:
        raise Refused("A pattern of the schema asks for a character that there is none of.")
    return gbnf.either(choices)


def inverse(ranges: gbnf.Ranges) -> gbnf.Ranges:
    """All other characters."""
    found, low = [], 0
    for first, last in sorted(ranges):
        if first > low:
            found.append((low, first - 1))
        low = max(low, last + 1)
    return [*found, (low, LAST)] if low <= LAST else found


def _cut(ranges: gbnf.Ranges) -> gbnf.Ranges:
    """The ranges without what JSON does not write as itself."""
    return inverse([(0, 0x1F), (0x22, 0x22), (0x5C, 0x5C), *inverse(ranges)])


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    @property
    def done(self) -> bool:
        return self._at == len(self._pattern)

    def skip(self, text: str) -> bool:
        found = self._pattern.startswith(text, self._at)
        self._at += len(text) * found
        return found

    def no(self, reason: str) -> Refused:
        return Refused(f"The schema's pattern {self._pattern[:60]!r} cannot be used: {reason}.")

    def sequence(self, depth: int) -> str:
        items = []
        while not self.done and self._pattern[self._at] not in "|)$":
            item = self._item(depth)
            items.append(self._repeated(item))
        return " ".join(items)

    def _next(self) -> str:
        if self.done:
            raise self.no("it ends too early")
        self._at += 1
        return self._pattern[self._at - 1]

    def _item(self, depth: int) -> str:
        char = self._next()
        if char == "(":
            return self._group(depth)
        if char == "[":
            return one_of(self._set())
        if char == ".":
            return one_of(inverse([(10, 10), (13, 13), (0x2028, 0x2029)]))
        if char in "*+?^":
            raise self.no(f"{char!r} stands where this engine does not read it")
        return one_of(self._escape() if char == "\\" else [(ord(char), ord(char))])

    def _group(self, depth: int) -> str:
        if depth == DEEPEST:
            raise self.no(f"more than {DEEPEST} parentheses stand within each other")
        if self.skip("?") and not self.skip(":"):
            if not self.skip("<") or self._pattern[self._at : self._at + 1] in ("=", "!", ""):
                raise self.no("a grammar cannot look ahead or behind")
            while self._next() != ">":
                pass
        choices = [self.sequence(depth + 1)]
        while self.skip("|"):
            choices.append(self.sequence(depth + 1))
        if not self.skip(")"):
            raise self.no("a ')' is missing, or an anchor stands within parentheses")
        return f"({' | '.join(choice or gbnf.literal('') for choice in choices)})"

    def _repeated(self, item: str) -> str:
        bounds = self._bounds()
        if bounds is None:
            return item
        self.skip("?")  # lazy or greedy, the texts are the same
        least, most = bounds
        if most is not None and most < least:
            raise self.no("it repeats something less often than at least")
        return gbnf.repeat(item, least, most)

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.skip(sign):
                return bounds
        if not self.skip("{"):
            return None
        end = self._pattern.find("}", self._at)
        low, comma, high = self._pattern[self._at : max(end, self._at)].partition(",")
        if not low.isdecimal() or not (high.isdecimal() or not high) or len(low + high) > 10:
            raise self.no("a '{' does not begin a repetition")
        self._at = end + 1
        least = int(low)
        return least, (int(high) if high else None) if comma else least

    def _set(self) -> gbnf.Ranges:
        negated = self.skip("^")
        found: gbnf.Ranges = []
        while not self.skip("]"):
            ranges = self._member()
            single = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
            if single and self._pattern[self._at : self._at + 1] == "-" and (
                self._pattern[self._at + 1 : self._at + 2] != "]"
            ):  # fmt: skip
                self._at += 1
                high = self._member()
                if high[0][0] < ranges[0][0] or high[0][0] != high[-1][1]:
                    raise self.no("a range in it ends before it begins")
                ranges = [(ranges[0][0], high[0][0])]
            found += ranges
        return inverse(found) if negated else found

    def _member(self) -> gbnf.Ranges:
        char = self._next()
        if char == "\\":
            return [(8, 8)] if self.skip("b") else self._escape()
        return [(ord(char), ord(char))]

    def _escape(self) -> gbnf.Ranges:
        char = self._next()
        if char in CLASSES:
            return CLASSES[char]
        if char.lower() in CLASSES:
            return inverse(CLASSES[char.lower()])
        if char in SIGNS:
            return [(SIGNS[char], SIGNS[char])]
        if char in "xu":
            return self._code({"x": 2, "u": 4}[char])
        if char.isalnum():
            raise self.no(f"\\{char} is nothing a grammar can hold to")
        return [(ord(char), ord(char))]

    def _code(self, length: int) -> gbnf.Ranges:
        if length == 4 and self.skip("{"):
            length = max(self._pattern.find("}", self._at) - self._at, 0)
            digits = self._pattern[self._at : self._at + length]
            self._at += length + 1
        else:
            digits = self._pattern[self._at : self._at + length]
            self._at += length
        try:
            code = int(digits, 16) if len(digits) == length <= 6 else -1
        except ValueError:
            code = -1
        if not 0 <= code <= LAST:
            raise self.no(f"{digits[:8]!r} is no character's number")
        return [(code, code)]

"""LaTeX to MathML. Text in, elements out: the converter's own strings never become HTML.

It is given small sources only and no macros, so what one formula may cost is bounded.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import Final
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import convert_to_element

LIMIT: Final = 2_000
_DEPTH_LIMIT: Final = 30
# What has another number of children is no formula but the converter's guess at half of one.
_CHILDREN: Final = {
    "mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "msubsup": 3, "mover": 2, "munder": 2,
    "munderover": 3,
}  # fmt: skip
_MACRO = re.compile(r"\\(?:re)?new|\\def|\\provide|\\DeclareMath|\\let\b|\\verb")
_REFERENCE = re.compile(r"&#x([0-9A-Fa-f]{1,6});")


@lru_cache(maxsize=256)
def mathml(source: str, *, display: bool) -> str | None:
    """A ``<math>`` element as HTML, ``None`` where the source is broken, too long or too deep.

    What it returns still goes through the sanitiser with everything else.
    """
    if len(source) > LIMIT or _MACRO.search(source) or _depth(source) > _DEPTH_LIMIT:
        return None
    try:
        # An answer does not refer to its equations by numbers; the starred form has none.
        plain = source.replace("{align}", "{align*}")
        element = convert_to_element(plain, xmlns="", display="block" if display else "inline")
    except Exception:
        # On broken LaTeX the converter raises whatever came up; no source may fail the page.
        return None
    del element.attrib["xmlns"]
    for part in element.iter():
        if len(part) != _CHILDREN.get(part.tag, len(part)):
            return None
        _resolve(part)
    element.set("alttext", source)
    return tostring(element, encoding="unicode", method="html")


def _resolve(element: Element) -> None:
    """The converter writes symbols as character references into what is text to everybody else."""
    if element.text:
        element.text = _REFERENCE.sub(lambda found: html.unescape(found[0]), element.text)


def _depth(source: str) -> int:
    """How deep its groups may nest at most, counted without regard to what closes what."""
    deepest = depth = 0
    for found in re.finditer(r"\{|\}|\\(?:left|begin|right|end)\b|[_^]", source):
        mark = found[0]
        depth += 1 if mark in {"{", r"\left", r"\begin"} else -1 if mark not in {"_", "^"} else 0
        deepest = max(deepest, depth)
    return deepest

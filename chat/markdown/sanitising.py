"""What HTML an answer may become. Nothing outside these lists reaches a page."""

from __future__ import annotations

import nh3
from django.utils.safestring import SafeString, mark_safe

_TEXT = {
    "a", "blockquote", "br", "code", "del", "div", "em", "figcaption", "figure", "h3", "h4", "h5",
    "h6", "hr", "li", "ol", "p", "pre", "s", "section", "span", "strong", "sup", "table", "tbody",
    "td", "th", "thead", "tr", "ul",
}  # fmt: skip
# What MathML Core lays out. Not among them: whatever holds foreign content (annotation-xml,
# semantics), acts (maction) or takes HTML's parser out of step (mglyph, malignmark).
_MATHS = {
    "math", "menclose", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot", "mrow",
    "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr",
    "munder", "munderover",
}  # fmt: skip
_SIZES = {"width", "height", "depth", "lspace", "voffset"}
_ATTRIBUTES = {
    "a": {"href"},
    "code": {"class"},
    "div": {"class", "tabindex"},
    "figure": {"class"},
    "ol": {"start"},
    "pre": {"dir", "tabindex"},
    "section": {"class"},
    "span": {"class"},
    "sup": {"class"},
    "td": {"class"},
    "th": {"class"},
    **{tag: {"dir"} for tag in ("p", "blockquote", "h3", "h4", "h5", "h6")},
    "li": {"class", "dir"},
    "math": {"alttext", "display"},
    "menclose": {"notation"},
    "mfrac": {"linethickness"},
    "mi": {"mathvariant"},
    "mo": {
        "accent", "fence", "form", "largeop", "lspace", "maxsize", "minsize", "movablelimits",
        "rspace", "stretchy",
    },
    "mover": {"accent"},
    "mpadded": _SIZES,
    "mspace": _SIZES,
    "mstyle": {"displaystyle", "scriptlevel"},
    "mtable": {"columnlines", "rowlines"},
    "mtd": {"columnalign"},
    "munder": {"accentunder"},
}  # fmt: skip
_CLEANER = nh3.Cleaner(
    tags=_TEXT | _MATHS,
    attributes=_ATTRIBUTES,
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",  # an answer has no place from which it could lead into the house
    link_rel="noopener noreferrer nofollow",
)
_ROWS = "<table><tbody>", "</tbody></table>"


def clean(html: str) -> SafeString:
    """The same, without whatever is not on the lists."""
    return mark_safe(_CLEANER.clean(html))  # noqa: S308 - sanitised on this line


def clean_rows(html: str) -> SafeString:
    """``clean`` for rows of a table, which are nothing to an HTML parser outside of one."""
    before, after = _ROWS
    cleaned = _CLEANER.clean(before + html + after)
    return mark_safe(cleaned[len(before) : -len(after)])  # noqa: S308 - sanitised one line above

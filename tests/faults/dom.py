"""A page's elements as the harness needs them: read from HTML, changed by frames as htmx does it.

Knows htmx's out-of-band swaps and nothing of what is on the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


@dataclass(eq=False)
class Element:
    """A tag, its attributes and what is inside."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Its id, or nothing."""
        return self.attributes.get("id", "")

    @property
    def classes(self) -> list[str]:
        """Its classes."""
        return self.attributes.get("class", "").split()

    @property
    def text(self) -> str:
        """All text inside."""
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    @property
    def elements(self) -> list[Element]:
        """The elements directly inside."""
        return [child for child in self.children if isinstance(child, Element)]

    def walk(self) -> Iterator[Element]:
        """Itself and everything inside, in the order of the page."""
        ahead = [self]
        while ahead:
            element = ahead.pop()
            yield element
            ahead += [c for c in reversed(element.children) if c.__class__ is Element]

    def find(self, id: str) -> Element | None:
        """The element with this id. What is looked for is most often at the end: fifty pages in
        one process are fast enough to be fair only when the search begins there."""
        ahead = [self]
        while ahead:
            element = ahead.pop()
            if element.attributes.get("id") == id:
                return element
            ahead += [c for c in element.children if c.__class__ is Element]
        return None

    def swap(self, part: Element) -> bool:
        """Apply one out-of-band part of a frame; ``False`` when its place is not here."""
        style = part.attributes.pop("hx-swap-oob", "true").partition(":")[0]
        there = self.find(part.id)
        if there is None:
            return False
        if style == "delete":
            next(e for e in self.walk() if there in e.children).children.remove(there)
        elif style == "innerHTML":
            there.children = part.children
        elif style == "beforeend":
            there.attributes |= {k: v for k, v in part.attributes.items() if k != "data-from"}
            there.children += part.children
        else:
            there.tag, there.attributes, there.children = part.tag, part.attributes, part.children
        return True


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        for depth in range(len(self.open) - 1, 0, -1):
            if self.open[depth].tag == tag:
                del self.open[depth:]
                return

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(html: str) -> Element:
    """The elements of ``html`` under a nameless root."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.open[0]

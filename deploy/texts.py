"""The sentences of the product that gettext translates, found in Python files and templates.

Babel reads Python, and what Django makes of a template. Knows no language and no catalogue.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from babel.messages.extract import extract
from django.utils.translation.template import templatize

ROOMS = ("accounts", "chat", "deploy")
TEMPLATES = ("*.html", "*.txt")
# name → which argument is what; "c" is the context. None: the only argument is the sentence.
Arguments = tuple[int | tuple[int, int] | tuple[int, str], ...] | None
KEYWORDS: dict[str, Arguments | dict[int | None, Arguments]] = {
    **dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop")),
    **dict.fromkeys(("ngettext", "ngettext_lazy"), (1, 2)),
    **dict.fromkeys(("pgettext", "pgettext_lazy"), ((1, "c"), 2)),
    **dict.fromkeys(("npgettext", "npgettext_lazy"), ((1, "c"), 2, 3)),
}
FOR_TRANSLATORS = ("Translators:",)

Key = tuple[str, str | None]


@dataclass
class Sentence:
    """A sentence, its plural where it counts something, and the files that say it."""

    singular: str
    plural: str | None
    context: str | None
    files: list[str] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    @property
    def key(self) -> Key:
        """What gettext finds it by."""
        return self.singular, self.context


def find(root: Path) -> list[Sentence]:
    """Every sentence under ``root``, in an order that does not change when lines move."""
    found: dict[Key, Sentence] = {}
    for path in _sources(root):
        for sentence in _in(path):
            known = found.setdefault(sentence.key, sentence)
            known.plural = known.plural or sentence.plural
            name = path.relative_to(root).as_posix()
            known.files += [] if name in known.files else [name]
            known.comments += [c for c in sentence.comments if c not in known.comments]
    return sorted(found.values(), key=lambda s: (s.files[0], s.singular, s.context or ""))


def _sources(root: Path) -> list[Path]:
    paths: list[Path] = []
    for room in ROOMS:
        paths += (p for p in (root / room).rglob("*.py") if "migrations" not in p.parts)
        for folder in (root / room).rglob("templates"):
            paths += (p for pattern in TEMPLATES for p in folder.rglob(pattern))
    return sorted(paths)


def _in(path: Path) -> Iterator[Sentence]:
    source = path.read_text()
    if path.suffix != ".py":
        # What is left of the markup is indented as it likes, which Python's reader refuses.
        source = "\n".join(line.lstrip() for line in templatize(source).splitlines())
    file = io.BytesIO(source.encode())
    for _, words, comments, context in extract("python", file, KEYWORDS, FOR_TRANSLATORS):
        singular, plural = words[:2] if isinstance(words, tuple) else (words, None)
        yield Sentence(singular, plural, context, comments=list(comments))

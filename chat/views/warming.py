"""What a process that just started does before its first reader would have to wait for it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from django.conf import settings
from django.template.loader import get_template
from django.urls import get_resolver
from django.utils import translation

from chat.markdown import render

_TEMPLATES: Final = Path(__file__).parent.parent / "templates"
# Languages that answers are full of: each is a module of its own, and takes its time to be loaded.
_LANGUAGES: Final = ("bash", "javascript", "json", "python", "sql")
_SAMPLE: Final = "# One\n\n**Two** $x^2$[^1]\n\n| a |\n|---|\n| b |\n\n- [x] c\n\n[^1]: Three\n\n"


def warm() -> None:
    """Load every view, template and language of the pages, and render an answer of each kind."""
    _ = get_resolver().url_patterns
    shared: list[Path] = settings.TEMPLATES[0]["DIRS"]  # type: ignore[assignment]  # of any setting
    for folder in (_TEMPLATES, *shared):
        for path in folder.rglob("*.html"):
            get_template(str(path.relative_to(folder)))
    render(_SAMPLE + "".join(f"```{name}\nx = 1\n```\n\n" for name in _LANGUAGES))
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            translation.gettext("Send")

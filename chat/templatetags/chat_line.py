"""A place in line as people say it."""

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

register = template.Library()

MINUTE_FROM_S = 90


@register.filter
def in_line(place: int, seconds: int | None = None) -> str:
    """``3rd in line, about 12 s``; without the time where nobody can say."""
    words = {"place": _ordinal(place)}
    if seconds is None:
        return _("%(place)s in line") % words
    if seconds >= MINUTE_FROM_S:
        return _("%(place)s in line, about %(minutes)s min") % {
            **words,
            "minutes": round(seconds / 60),
        }
    rounded = seconds if seconds < 10 else 5 * round(seconds / 5)
    return _("%(place)s in line, about %(seconds)s s") % {**words, "seconds": rounded}


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(number % 10)
    forms = {
        "st": pgettext("a place in line", "%(n)sst"),
        "nd": pgettext("a place in line", "%(n)snd"),
        "rd": pgettext("a place in line", "%(n)srd"),
    }
    return forms.get(ending or "", pgettext("a place in line", "%(n)sth")) % {"n": number}

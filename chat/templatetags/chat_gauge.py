"""Shares of a whole, for people and for a ``meter``."""

from django import template
from django.utils.translation import gettext as _

register = template.Library()


@register.filter
def percent(share: float) -> str:
    """``0.42`` as ``42%``."""
    return _("%(n)s%%") % {"n": round(100 * share)}


@register.filter
def unlocalized(number: float) -> str:
    """As an attribute takes it: with a point, whatever the language."""
    return f"{number:.3f}"

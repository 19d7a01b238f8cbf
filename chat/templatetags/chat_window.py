"""How full the model's window is, for a template that has the newest answer."""

from django import template

from chat.domain import window
from chat.domain.answers import Reading

register = template.Library()


@register.filter
def fill(reading: Reading) -> window.Fill | None:
    """As this answer leaves it; ``None`` where that is not worth telling."""
    return window.fill([reading])

"""How long something took as people say it."""

from django import template
from django.utils.translation import gettext as _

from chat.templatetags.chat_line import MINUTE_FROM_S

register = template.Library()


@register.filter
def thought_for(ms: int) -> str:
    """``Thought for 12 s``."""
    seconds = round(ms / 1000)
    if seconds < 1:
        return _("Thought for a moment")
    if seconds >= MINUTE_FROM_S:
        return _("Thought for %(minutes)s min") % {"minutes": round(seconds / 60)}
    return _("Thought for %(seconds)s s") % {"seconds": seconds}

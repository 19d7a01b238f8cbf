"""How templates get at rendered text, and at ids for what their forms make."""

from uuid import UUID, uuid4

from django import template
from django.template import Context
from django.utils.safestring import SafeString

from chat.domain.answers import Reading
from chat.markdown import Live, render

register = template.Library()


@register.filter
def finished(reading: Reading) -> SafeString:
    """An answer that has ended, as safe HTML."""
    return render(reading.text) if reading.html is None else reading.html


@register.filter
def as_prose(text: str) -> SafeString:
    """Any Markdown text as safe HTML."""
    return render(text)


@register.filter
def live(reading: Reading) -> Live:
    """A growing answer split into finished blocks and the open one, as the stream sends it."""
    if reading.live is not None:
        return reading.live
    grown = Live()
    if reading.text:
        grown.feed(reading.text)
    return grown


@register.simple_tag(takes_context=True)
def new_id(context: Context) -> UUID:
    """An id made with the page, so that what a form makes is made once. Moulds give a mark."""
    given: UUID | None = context.get("new_id")
    return given or uuid4()

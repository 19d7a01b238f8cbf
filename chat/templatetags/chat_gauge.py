"""Shares of a whole for people and for a ``meter``, sizes, and reasons."""

from django import template

from chat.domain import diagnosis, reasons, sizes
from engine_adapter.types import ModelCard

register = template.Library()


@register.filter
def percent(share: float) -> str:
    """``0.42`` as ``42%``."""
    return sizes.percent(share)


@register.filter
def size(count: int) -> str:
    """``4.7 GB``."""
    return sizes.size(count)


@register.filter
def parameters(count: int) -> str:
    """``135 million``."""
    return sizes.parameters(count)


@register.filter
def reason(card: ModelCard) -> str:
    """Why it cannot be loaded: in the reader's language, or else in its engine's own words."""
    return reasons.sentence(card.why) if card.why else card.reason or ""


@register.filter
def as_sign(name: str) -> str:
    """By what an engine was known."""
    return diagnosis.sign(name)


@register.filter
def unlocalized(number: float) -> str:
    """As an attribute takes it: with a point, whatever the language."""
    return f"{number:.3f}"

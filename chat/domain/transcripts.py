"""A conversation as one Markdown text: the path a reader sees, with dates and models."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from chat.domain import answers, provenance, tree
from chat.domain.answers import Reading
from chat.models import Conversation, Message, ModelVersion


def markdown(conversation: Conversation, end: Message | None = None) -> str:
    """The path to ``end``, or to the newest message. Other versions are in the JSON only."""
    leaf = end or tree.leaf(conversation)
    readings = answers.read(tree.path(leaf)) if leaf else []
    wrote = provenance.of(readings)
    when = _moment(timezone.now())
    head = [f"# {conversation.title}", _("Taken from Konak on %(when)s.") % {"when": when}]
    if others := sum(len(reading.versions) - 1 for reading in readings):
        head.append(_("Other versions not shown here: %(count)s.") % {"count": others})
    parts = [_part(reading, wrote.get(reading.message.pk)) for reading in readings]
    return "\n\n".join([*head, *parts]) + "\n"


def _part(reading: Reading, version: ModelVersion | None) -> str:
    message = reading.message
    if message.role == Message.Role.USER:
        speaker, notes = _("You"), ""
    else:
        model = message.language_model
        speaker = model.named if model else _("Answer")
        notes = "".join(f"\n\n_{note}_" for note in _notes(reading, version))
    return f"## {speaker} · {_moment(message.created_at)}{notes}\n\n{reading.text}".rstrip()


def _notes(reading: Reading, version: ModelVersion | None) -> list[str]:
    model = reading.message.language_model
    notes = []
    if version:
        sha256 = version.sha256 and f"SHA-256 {version.sha256}"
        notes.append(", ".join(filter(None, [version.name, version.quantization, sha256])))
    elif model:
        details = [model.name, model.quantization]
        notes.append(", ".join(filter(None, details)))
    if reading.is_active:
        notes.append(_("still being written"))
    return notes


def _moment(moment: datetime) -> str:
    return date_format(timezone.localtime(moment), "DATETIME_FORMAT")

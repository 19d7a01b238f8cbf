"""Everything a person has written and been answered, as one ZIP file."""

from __future__ import annotations

import json
import re
import zipfile
from typing import IO, Final

from django.db import transaction

from accounts.domain import audit
from accounts.models import User
from chat.domain import access, export, transcripts
from chat.models import Conversation

# What a file system or a shell may take for something else.
_UNSAFE: Final = re.compile(r"[^\w\- ]+")
_NAME_MOST: Final = 60
_AT_ONCE: Final = 100


def name_of(conversation: Conversation) -> str:
    """A file name without an ending: the day, the title, and what tells namesakes apart."""
    title = " ".join(_UNSAFE.sub(" ", conversation.title).split())[:_NAME_MOST].strip()
    return f"{conversation.created_at:%Y-%m-%d} {title} {conversation.pk.hex[:8]}".replace(
        "  ", " "
    )


def text_of(conversation: Conversation) -> str:
    """Its JSON, as it is given out."""
    return json.dumps(export.document(conversation), ensure_ascii=False, indent=1)


def write(user: User, into: IO[bytes]) -> int:
    """Each conversation as Markdown and as JSON. Returns how many; the ledger notes it."""
    count = 0
    with transaction.atomic(), zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        found = access.conversations_of(user).order_by("created_at")
        for conversation in found.iterator(_AT_ONCE):
            name = name_of(conversation)
            archive.writestr(f"konak/json/{name}.json", text_of(conversation))
            archive.writestr(f"konak/markdown/{name}.md", transcripts.markdown(conversation))
            count += 1
        audit.record("person.data_exported", actor=user, about=user, conversations=count)
    return count

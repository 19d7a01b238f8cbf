"""Whether a question of a temporary chat is taken: the same form and models as everywhere."""

from __future__ import annotations

from typing import Any, Final
from uuid import uuid4

from django.utils import translation
from django.utils.translation import gettext_lazy as _

from accounts.domain import audit
from accounts.models import User
from chat.domain import rights, temporary
from chat.forms import NewConversationForm
from chat.models import LanguageModel
from chat.temporary.talk import Talk

STILL_WRITING: Final = _("The answer before is still being written. Stop it, or wait for its end.")
TOO_MANY: Final = _(
    "You have too many temporary chats open. Close one of those pages, then send again; your text"
    " is still here."
)
FULL: Final = _(
    "This temporary chat has reached its greatest length. Copy what you need from it, and begin a"
    " new one."
)
GONE: Final = _("This model is not available any more. Choose another one.")
AWAY: Final = _("Konak cannot answer just now. Your text is still here; send it again in a moment.")


class Refused(Exception):
    """The message is a sentence for the person."""


def accept(
    user: User, scope: dict[str, Any], command: dict[str, str], talk: Talk, *, language: str
) -> tuple[str, LanguageModel]:
    """The text and who is to answer it. The first question of a talk is noted, not what it says.

    The session is in use, though no page is asked for. Raises ``Refused`` and ``DatabaseError``.
    """
    form = NewConversationForm({**command, "message_id": uuid4()}, user=_as_now(user))
    with translation.override(language):
        if not form.is_valid():
            raise Refused(form.problem)
    text: str = form.cleaned_data["text"]
    if not talk.has_room(text):
        raise Refused(FULL)
    scope["session"].touch()
    model: LanguageModel = form.cleaned_data["language_model"]
    _ = model.engine  # read here, where the database may be asked
    if not talk.questions:
        audit.address.set((scope.get("client") or [None])[0])
        temporary.begin(user, model)
    return text, model


def check(user: User, language_model: LanguageModel) -> LanguageModel:
    """The model as it is now, if it may still answer this person. Raises ``Refused`` and
    ``DatabaseError``."""
    found = rights.usable_by(_as_now(user)).filter(pk=language_model.pk).first()
    if found is None:
        raise Refused(GONE)
    return found


def _as_now(user: User) -> User:
    """With the rights there are by now. One who is gone has none."""
    return User.objects.filter(pk=user.pk).first() or User(is_active=False)

"""People by a part of their name, address or group, as an administrator types it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from accounts.models import User


def people(words: str) -> list[User]:
    """Those in whom every word of ``words`` occurs, active first; everybody where there is none.

    Marks and case do not count, and ı is i: whoever looks for somebody types as the keyboard has
    it.
    """
    everybody = User.objects.prefetch_related("groups").order_by("-is_active", "name", "email")
    wanted = _plain(words).split()
    return [user for user in everybody if _has(user, wanted)]


def _has(user: User, wanted: Iterable[str]) -> bool:
    said = [user.name, user.email, *(group.name for group in user.groups.all())]
    text = _plain("\n".join(said))
    return all(word in text for word in wanted)


def _plain(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text.replace("ı", "i").casefold())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))

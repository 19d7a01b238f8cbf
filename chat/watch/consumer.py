"""The socket of an open page of models: tells what changed since the last look."""

from __future__ import annotations

from typing import Any, Final

from channels.db import database_sync_to_async
from django.db import Error as DatabaseError
from django.http import Http404, QueryDict
from django.utils import translation

from accounts.domain import policies
from accounts.models import User
from chat.consumers import Socket
from chat.views import model_now
from chat.views.model_list import Query, shown
from chat.watch.lookout import Lookout, lookout

NO_LONGER: Final = 4403  # whoever reads may not see it any more


class ModelsConsumer(Socket):
    """For who manages models, as long as they do."""

    async def connect(self) -> None:
        """See ``Socket``."""
        self._lookout: Lookout | None = None
        self._told: dict[str, str] = {}
        await super().connect()

    def _identify(self) -> None:
        super()._identify()
        if not policies.may_manage_models(self._user):
            raise Http404
        asked = QueryDict(self.scope["query_string"][:500])
        self._query, self._shape = Query.of(asked), asked.get("shape", "")

    async def _look(self) -> None:
        self._lookout = lookout()
        self._lookout.join(self._wake.set)

    def _fall_silent(self) -> None:
        super()._fall_silent()
        if self._lookout is not None:
            self._lookout.leave(self._wake.set)

    def hear(self, item: dict[str, Any]) -> None:
        """Only that the session ended: no conversation is on this page."""
        if item["kind"] == "sessions_ended":
            super().hear(item)

    async def _tell(self) -> None:
        try:
            frame = await database_sync_to_async(self._frame)()
        except DatabaseError:
            return
        if frame is None:
            await self._hang_up(NO_LONGER)
        elif frame:
            await self._send(frame)

    def _frame(self) -> str | None:
        """What is new; None for who does not manage models any more."""
        user = User.objects.filter(pk=self._user.pk).first()
        if user is None or not policies.may_manage_models(user):
            return None
        with translation.override(self._language):
            page = shown(self._query)
            if page.shape != self._shape:
                self._shape, self._told = page.shape, {}
                return model_now.relisted(page)
            told = model_now.pieces(page, self._lookout.seen if self._lookout else {})
            new = {id_: html for id_, html in told.items() if self._told.get(id_) != html}
            is_first = bool(told) and not self._told
            self._told = told
            sleeper = model_now.asking(page, "htmx:wsClose from:body", asleep=True)
            return model_now.framed(new) + (sleeper if is_first else "")

"""The page of a temporary chat as its person uses it: asks by the socket, reads what comes."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from accounts.models import User
from tests.readers import Page, elements

PATH = "/ws/temporary/"


@dataclass(frozen=True)
class Shown:
    """An answer on the page, by its id."""

    pk: str


class TemporaryPage(Page):
    """``place`` is what the page would send back with its next question."""

    def __init__(self, user: User | None, **more: str) -> None:
        super().__init__(user, path=PATH, **more)

    async def open(self) -> bool:
        """Knock, and take in which talk this is."""
        opened = await super().open()
        if opened:
            await self.frame()
        return opened

    @property
    def place(self) -> str:
        """What the hidden field holds now."""
        return re.findall(r'name="talk"\s+value="([^"]*)"', "".join(self.frames))[-1]

    @property
    def problem(self) -> str:
        """What stands beside the text since the last frame."""
        return elements(self.frames[-1]).get("problem", ({}, ""))[1]

    async def send(self, **fields: object) -> None:
        """A form, as htmx sends it."""
        await self.say(text=json.dumps({"HEADERS": {"HX-Request": "true"}, **fields}))

    async def ask(self, text: str, **more: object) -> Shown:
        """Ask, and read on until the page shows the question and the place of its answer."""
        await self.send(**{"text": text, "talk": self.place, **more})
        while 'id="messages"' not in (frame := await self.frame() or ""):
            pass
        return Shown(re.findall(r'class="answer"\s+id="m-([0-9a-f-]+)"', frame)[-1])

    async def refusal(self, text: str, **more: object) -> str:
        """Ask, and read why not."""
        await self.send(**{"text": text, "talk": self.place, **more})
        await self.frame()
        return self.problem

"""One person's browser without a screen: cookies, forms over HTTP, and what went wrong as words."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
from websockets.asyncio.client import ClientConnection, connect

TOKEN = "b" * 32  # cookie and header only have to be alike
REPLY_S = 12.0
FRAME_LIMIT = 16  # frames a page buffers that does not read


@dataclass(frozen=True)
class Reply:
    """What came back: a status and a body, or why nothing did (``status`` 0)."""

    status: int
    text: str = ""
    leads_to: str = ""
    trouble: str = ""

    @property
    def accepted(self) -> bool:
        """A 2xx that is no way to the sign-in page."""
        return 200 <= self.status < 300 and not self.signed_out

    @property
    def signed_out(self) -> bool:
        """The house does not know this person any more."""
        return "/sign-in/" in self.leads_to

    @property
    def words(self) -> str:
        """For the log."""
        return self.trouble or str(self.status)


class Browser:
    """Signed in by its session's key; anonymous with none."""

    def __init__(self, url: str, session: str = "") -> None:
        self.url, self.session = url, session
        cookies = {"csrftoken": TOKEN, **({"sessionid": session} if session else {})}
        self._client = httpx.AsyncClient(
            base_url=url,
            timeout=httpx.Timeout(REPLY_S),
            headers={"HX-Request": "true", "X-CSRFToken": TOKEN, "Accept-Language": "en"},
            cookies=cookies,
        )

    async def get(self, path: str) -> Reply:
        """A page or a fragment."""
        return await self._ask("GET", path, None)

    async def post(self, path: str, **fields: str) -> Reply:
        """A form."""
        return await self._ask("POST", path, fields)

    async def post_and_hang_up(self, path: str, chance: random.Random, **fields: str) -> Reply:
        """A form whose line is cut somewhere between its sending and its reply."""
        try:
            async with asyncio.timeout(chance.uniform(0.002, 0.08)):
                return await self._ask("POST", path, fields)
        except TimeoutError:
            return Reply(0, trouble="cut")

    async def socket(self, path: str) -> ClientConnection:
        """The page's socket. Raises ``OSError`` or what websockets raises when it stays shut."""
        origin = f"{urlsplit(self.url).scheme}://{urlsplit(self.url).netloc}"
        return await connect(
            self.url.replace("http", "ws", 1) + path,
            origin=origin,  # type: ignore[arg-type]  # a NewType of str
            additional_headers={"Cookie": f"sessionid={self.session}"} if self.session else {},
            open_timeout=REPLY_S,
            close_timeout=1,
            max_size=None,
            max_queue=FRAME_LIMIT,
            ping_interval=None,  # a browser sends none
            compression=None,
        )

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.aclose()

    async def _ask(self, method: str, path: str, fields: dict[str, str] | None) -> Reply:
        try:
            reply = await self._client.request(method, path, data=fields)
        except httpx.HTTPError as error:
            return Reply(0, trouble=type(error).__name__)
        leads_to = reply.headers.get("hx-redirect") or reply.headers.get("location") or ""
        return Reply(reply.status_code, reply.text, leads_to)

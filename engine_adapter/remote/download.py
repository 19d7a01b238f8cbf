"""A file at an https address, from its beginning or from where it broke off. Writes nothing.

What has begun is continued only while it is certain to be the same file: a mark of the server's
(ETag, else the time of its last change) and the size must be what they were.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from engine_adapter.errors import EngineError
from engine_adapter.remote import client as line
from engine_adapter.remote.client import Timeouts
from engine_adapter.remote.tunnel import Proxy

if TYPE_CHECKING:
    import httpx

MOST_MOVES: Final = 5
MOST_BYTES: Final = 1 << 40
PATIENCE: Final = Timeouts(connect_s=10.0, first_s=60.0, between_s=60.0)
_SHA256 = re.compile(r'"?([0-9a-f]{64})"?')
_REST = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_STATUS: Final = {401: "key", 403: "key", 404: "path", 410: "path", 429: "crowded", 503: "crowded"}
_PASSING: Final = {"host", "closed", "no_way", "silent", "crowded", "broke", "failed", "proxy"}


class NotFetched(Exception):
    """``code`` says why in a word; ``may_pass`` whether another try may fare better."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code
        self.may_pass = code in _PASSING


@dataclass(frozen=True, slots=True)
class Access:
    """Where files may come from. ``ca_file`` (PEM) replaces the system's trust store; ``private``
    allows addresses that are not on the open internet too. ``hub`` is the address of a model hub;
    its ``token`` is sent to that host and port in https and nowhere else. ``proxy`` is what
    connects, where it is the only way out."""

    ca_file: str | None = None
    private: bool = False
    hub: str = ""
    token: str = field(default="", repr=False)
    proxy: Proxy | None = None

    def at_hub(self, url: str) -> bool:
        """Whether ``url`` is the hub's. Raises ``ValueError``."""
        return bool(self.hub) and _place(url) == _place(self.hub)


@dataclass(frozen=True, slots=True)
class Begun:
    """What a server had told of a file when its first bytes were fetched."""

    mark: str = ""
    total: int = 0
    received: int = 0


class Download:
    """A reply whose body is the file from byte ``begin`` on, of ``total`` in all. ``sha256`` is
    what a model hub says of the file, empty elsewhere."""

    def __init__(
        self, client: httpx.AsyncClient, response: httpx.Response, begun: Begun, sha256: str
    ) -> None:
        self._client = client
        self._response = response
        self.begin, self.total, self.mark = begun.received, begun.total, begun.mark
        self.sha256 = sha256

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The bytes, as they come. Raises ``NotFetched``."""
        left = self.total - self.begin
        while left:
            try:
                piece = await line.next_chunk(self._response, PATIENCE.between_s)
            except EngineError as error:
                raise _not_fetched(error) from error
            if piece is None or len(piece) > left:
                raise NotFetched("broke")
            left -= len(piece)
            yield piece

    async def aclose(self) -> None:
        """Hang up."""
        await self._response.aclose()
        await self._client.aclose()


async def open_file(url: str, begun: Begun, access: Access) -> Download:
    """The file at ``url``: the rest of what has ``begun`` where that is the same file still, else
    all of it. Raises ``NotFetched``."""
    sha256 = ""
    for _ in range(MOST_MOVES + 1):
        client = _client(url, access)
        try:
            response = await _asked(client, url, begun)
            if response.status_code in {401, 403} and access.at_hub(url):
                raise NotFetched(_hub_says(response.status_code, bool(access.token)))
            sha256 = sha256 or _told_sha256(response)
            if 300 <= response.status_code < 400 and "location" in response.headers:
                url = urljoin(url, response.headers["location"])
            elif (found := _found(response, begun)) is not None:
                return Download(client, response, found, sha256)
            else:
                begun = Begun()  # another file by now
            await response.aclose()
        except BaseException:
            await client.aclose()
            raise
        await client.aclose()
    raise NotFetched("redirects")


def _place(url: str) -> tuple[str, str | None, int]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or 443


def _not_fetched(error: EngineError) -> NotFetched:
    return NotFetched("host" if error.cause == "name" else error.cause or "broke")


def _client(url: str, access: Access) -> httpx.AsyncClient:
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        raise NotFetched("address") from None
    if parts.scheme != "https":
        raise NotFetched("not_https")
    host = parts.hostname or ""
    if not host or parts.username is not None:
        raise NotFetched("address")
    origin = f"https://[{host}]{port}" if ":" in host else f"https://{host}{port}"
    try:
        return line.open_client(
            origin, api_key=access.token if access.at_hub(url) else None, ca_file=access.ca_file,
            timeouts=PATIENCE, public_only=not access.private, proxy=access.proxy,
        )  # fmt: skip
    except ValueError:
        raise NotFetched("address") from None


async def _asked(client: httpx.AsyncClient, url: str, begun: Begun) -> httpx.Response:
    parts = urlsplit(url)
    path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    headers = {}
    if begun.received and begun.mark:
        headers = {"range": f"bytes={begun.received}-", "if-range": begun.mark}
    try:
        return await line.send(client, "GET", path, headers=headers, redirects=True)
    except EngineError as error:
        raise _not_fetched(error) from error
    except ValueError:
        raise NotFetched("address") from None


def _found(response: httpx.Response, begun: Begun) -> Begun | None:
    """Where the body of this reply begins and the file ends; None where what has begun is of
    another file. Raises ``NotFetched``."""
    status, headers = response.status_code, response.headers
    if status == 416 and begun.received:
        return None
    if status not in {200, 206}:
        code = _STATUS.get(status, "failed" if status >= 500 else "refused_there")
        raise NotFetched(code)
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise NotFetched("packed")
    length = headers.get("content-length", "")
    if not length.isdecimal() or len(length) > 18:
        raise NotFetched("no_size")
    size, mark = int(length), _mark(response)
    if status == 200:
        if not 0 < size <= MOST_BYTES:
            raise NotFetched("odd_size")
        return Begun(mark, size)
    rest = _REST.fullmatch(headers.get("content-range", ""))
    if rest is None or not begun.received:
        raise NotFetched("failed")
    first, last, total = map(int, rest.groups())
    same = (first, total, mark) == (begun.received, begun.total, begun.mark)
    return Begun(mark, total, first) if same and last + 1 - first == size else None


def _hub_says(status: int, known: bool) -> str:
    """Why a hub hands a file out to others only, or to nobody who is not ``known``."""
    if not known:
        return "hub_asks"
    return "hub_token" if status == 401 else "hub_terms"


def _mark(response: httpx.Response) -> str:
    """What changes when the file does. A weak tag is one of meaning, not of bytes."""
    tag: str = response.headers.get("etag", "")
    if tag and not tag.startswith("W/") and len(tag) <= 200:
        return tag
    return str(response.headers.get("last-modified", ""))[:200]


def _told_sha256(response: httpx.Response) -> str:
    """Of a file in large file storage a model hub tells it, before it sends on to where that is."""
    told = _SHA256.fullmatch(response.headers.get("x-linked-etag", ""))
    return told[1] if told else ""

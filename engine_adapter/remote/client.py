"""The one egress: every HTTP request this software makes to an engine goes through here.

Owns addresses, time and byte limits, and the translation of httpx's errors into ours. Follows no
redirect, heeds no proxy of the environment, keeps no cookie. Knows no dialect.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlsplit

import httpx

from engine_adapter.errors import Broken, EngineError, Overloaded, Refused, Unreachable
from engine_adapter.reasons import Reason, why
from engine_adapter.remote import troubles
from engine_adapter.remote.tunnel import Proxy
from engine_adapter.remote.unpack import Unpacker
from engine_adapter.remote.wire import Malformed, Wire, WireError
from engine_adapter.remote.wires import Address, AllInUse, Wires

REPLY_LIMIT = 4 << 20  # bytes of a reply that is read whole: a long model list has some 100 kB


class BadAddress(ValueError):
    """An address, a key or a file that cannot be used; ``why`` says which and why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.why = reason


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds of patience. There is no limit on a whole answer: that is the caller's affair.

    ``first_s`` runs until the first piece of an answer: a model may have to be loaded and a long
    prompt read. ``between_s`` runs between two signs of life after that, ``reply_s`` over a whole
    reply that is no stream.
    """

    connect_s: float = 5.0
    first_s: float = 900.0
    between_s: float = 120.0
    reply_s: float = 30.0


PATIENCE = Timeouts()
USED = "konak.used_before"  # of a request: its connection had carried another
_JSON = {"content-type": "application/json"}
WIRE = "konak.wire"  # of a reply: where its body comes from
UNPACKER = "konak.unpacker"  # of a reply: what unpacks its body


def open_client(
    base_url: str,
    *,
    api_key: str | None = None,
    ca_file: str | None = None,
    timeouts: Timeouts = PATIENCE,
    public_only: bool = False,
    proxy: Proxy | None = None,
) -> httpx.AsyncClient:
    """A client whose requests all go to ``base_url``: ``http(s)://host[:port][/path]`` or
    ``unix:///path/to.sock``.

    ``ca_file`` (PEM) replaces the system's trust store; a ``proxy`` is only for https. Raises
    ``BadAddress`` for an address, key or file that cannot be used.
    """
    url, socket = _address(base_url)
    if proxy is not None and not url.startswith("https:"):
        raise BadAddress(why("url_scheme"))
    headers = {"accept-encoding": "identity", "user-agent": "konak"}
    if api_key:
        if not (api_key.isascii() and api_key.isprintable()):
            raise BadAddress(why("key_characters"))
        headers["authorization"] = f"Bearer {api_key}"
    return httpx.AsyncClient(
        base_url=url,
        headers=headers,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        timeout=httpx.Timeout(timeouts.reply_s, connect=timeouts.connect_s, read=timeouts.first_s),
        transport=_Transport(Wires(_where(url, socket, ca_file, public_only, proxy))),
        trust_env=False,
        follow_redirects=False,
    )


def _address(base_url: str) -> tuple[str, str | None]:
    """What httpx shall believe, and the Unix socket to connect to instead if there is one."""
    try:
        parts = urlsplit(base_url)
        _ = parts.port
    except ValueError:
        raise BadAddress(why("url_none")) from None
    if parts.query or parts.fragment:
        raise BadAddress(why("url_end"))
    if parts.scheme == "unix":
        if parts.netloc or len(parts.path) < 2:
            raise BadAddress(why("url_socket"))
        return "http://localhost", parts.path
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise BadAddress(why("url_scheme"))
    if parts.username is not None:
        raise BadAddress(why("url_key"))
    return base_url.rstrip("/"), None


def _where(
    url: str, socket: str | None, ca_file: str | None, public_only: bool, proxy: Proxy | None
) -> Address:
    parts = urlsplit(url)
    tls = _trust(ca_file) if parts.scheme == "https" else None
    port = parts.port or (443 if tls else 80)
    return Address(parts.hostname or "", port, tls, socket, public_only, proxy)


def _trust(ca_file: str | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError):
        raise BadAddress(why("ca_file", file=str(ca_file))) from None
    context.set_alpn_protocols(["http/1.1"])
    return context


class _Transport(httpx.AsyncBaseTransport):
    """Our own connections for httpx's client: all requests go to the one address."""

    def __init__(self, wires: Wires) -> None:
        self._wires = wires

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The reply, its body still to be read. Raises httpx's errors."""
        patience = request.extensions["timeout"]
        raw = _serialised(request, await request.aread())
        wire = await self._connected(request)
        try:
            head = await wire.ask(raw, patience["read"])
        except BaseException as error:
            self._wires.drop(wire)
            if isinstance(error, TimeoutError):
                raise httpx.ReadTimeout("no reply came") from error
            if isinstance(error, Malformed):
                raise httpx.RemoteProtocolError(str(error)) from error
            if isinstance(error, WireError):
                raise httpx.ReadError(str(error)) from error
            raise
        return httpx.Response(
            head.status,
            headers=head.headers,
            stream=_Body(wire, self._wires),
            extensions={WIRE: wire},
        )

    async def _connected(self, request: httpx.Request) -> Wire:
        patience = request.extensions["timeout"]
        try:
            wire, used = await self._wires.take(
                connect_s=patience["connect"], wait_s=patience["pool"]
            )
        except AllInUse as error:
            raise httpx.PoolTimeout(str(error)) from error
        except TimeoutError as error:
            raise httpx.ConnectTimeout("connecting took too long") from error
        except OSError as error:
            raise httpx.ConnectError(str(error)) from error
        request.extensions[USED] = used
        return wire

    async def aclose(self) -> None:
        """Hang up everywhere."""
        self._wires.close()


class _Body(httpx.AsyncByteStream):
    """Stands for the body in httpx's eyes, which reads none: ``next_chunk`` does. Closing it gives
    the connection back, or hangs up in the middle."""

    def __init__(self, wire: Wire, wires: Wires) -> None:
        self._wire = wire
        self._wires = wires

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while data := await self._wire.read():
            yield data

    async def aclose(self) -> None:
        self._wires.give(self._wire)


def _serialised(request: httpx.Request, body: bytes) -> bytes:
    head = [b"%s %s HTTP/1.1" % (request.method.encode("ascii"), request.url.raw_path)]
    head += [b"%s: %s" % header for header in request.headers.raw]
    if any(set(line) & {0, 10, 13} for line in head):
        raise httpx.LocalProtocolError("A line of the request's head holds a line's end.")
    return b"\r\n".join([*head, b"", body])


async def send(
    client: httpx.AsyncClient,
    method: str,
    path: str,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    redirects: bool = False,
) -> httpx.Response:
    """Send a request and return when the reply's status and headers are here; its body is open.
    A ``body`` is JSON.

    A kept-alive connection may be closed by the other side just as it is used again; that is
    tried once more. Raises ``EngineError``; a redirect is one, unless ``redirects`` are for the
    caller.
    """
    for attempt in (1, 2):
        if client.is_closed:
            raise Unreachable("The connection to the engine was closed here.")
        request = client.build_request(
            method,
            path,
            content=body,
            headers={**(headers or {}), **({} if body is None else _JSON)},
        )
        try:
            response = await client.send(request, stream=True)
        except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError) as error:
            if attempt == 2 or not request.extensions.get(USED):
                raise _before_reply(error) from error
        except httpx.RequestError as error:
            raise _before_reply(error) from error
        else:
            break
    try:
        _must_be_readable(response, redirects)
    except EngineError:
        await response.aclose()
        raise
    return response


async def next_chunk(
    response: httpx.Response, within_s: float, *, then_pause: bool = False
) -> bytes | None:
    """The next bytes of a reply, ``None`` at its end. Raises ``Broken`` when none come.

    ``then_pause``: nothing more is taken from the line until the next call.
    """
    wire: Wire = response.extensions[WIRE]
    unpacker: Unpacker | None = response.extensions.get(UNPACKER)
    try:
        if unpacker is not None:
            return await _unpacked(wire, unpacker, within_s)
        return await wire.read(within_s, then_pause=then_pause) or None
    except TimeoutError as error:
        raise Broken(f"The engine said nothing for {within_s:g} s.").because("silent") from error
    except WireError as error:
        raise Broken(why("cut_off")) from error


async def _unpacked(wire: Wire, unpacker: Unpacker, within_s: float) -> bytes | None:
    try:
        while True:
            packed = b"" if unpacker.full else await wire.read(within_s)
            if not packed and not unpacker.full:
                return None
            if data := unpacker.take(packed):
                return data
    except zlib.error as error:
        raise Broken(why("packed")) from error


async def read_reply(response: httpx.Response, *, within_s: float) -> bytes:
    """The whole body of a reply, which is closed then. Raises ``Broken``."""
    body = bytearray()
    try:
        async with asyncio.timeout(within_s):
            while (chunk := await next_chunk(response, within_s)) is not None:
                body += chunk
                if len(body) > REPLY_LIMIT:
                    raise Broken(f"The engine's reply is longer than {REPLY_LIMIT} bytes.").because(
                        "too_much"
                    )
    except TimeoutError as error:
        raise Broken(f"The engine's reply took longer than {within_s:g} s.").because(
            "silent"
        ) from error
    finally:
        await response.aclose()
    return bytes(body)


async def fetch(
    client: httpx.AsyncClient,
    path: str,
    *,
    within_s: float,
    method: str = "GET",
    body: bytes | None = None,
) -> tuple[httpx.Response, bytes]:
    """The reply to a request, whatever its status, and its body. Raises ``EngineError``."""
    try:
        async with asyncio.timeout(within_s):
            response = await send(client, method, path, body=body)
    except TimeoutError as error:
        raise Unreachable(f"The engine did not answer within {within_s:g} s.").because(
            "silent"
        ) from error
    return response, await read_reply(response, within_s=within_s)


def _must_be_readable(response: httpx.Response, redirects: bool) -> None:
    if not redirects and 300 <= response.status_code < 400:
        raise Refused(
            f"The engine's address answers with a redirect (HTTP {response.status_code}), which is"
            " not followed; enter the address where the engine itself answers."
        ).because("redirect")
    packing = response.headers.get("content-encoding", "identity").lower()
    if packing in {"gzip", "x-gzip"}:
        response.extensions[UNPACKER] = Unpacker()
    elif packing != "identity":
        raise Broken("The engine's reply is compressed although it was asked for plain.").because(
            "gateway"
        )


def _before_reply(error: httpx.RequestError) -> EngineError:
    if isinstance(error, httpx.PoolTimeout):
        return Overloaded("All connections to the engine are in use.")
    if isinstance(error, httpx.ReadTimeout):
        return Broken("The engine took the request and never answered.").because("silent")
    if isinstance(error, httpx.ConnectTimeout):
        return Unreachable("The engine does not answer: connecting took too long.").because(
            "silent"
        )
    if isinstance(error, httpx.ConnectError):
        return troubles.unreachable(error.__cause__)
    if isinstance(error, httpx.RemoteProtocolError):
        return Unreachable(
            "What answers at the engine's address speaks no HTTP; does it want https: or another"
            " port?"
        ).because("tls")
    return Unreachable(why("broke_before"))

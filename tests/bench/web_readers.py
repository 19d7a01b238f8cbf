"""The readers of ``deploy/bench web``: a process of its own, so that its cost is nobody else's.

Reads its task as a line of JSON, makes everybody ready, waits for a line, lets all ask at once,
and prints what each saw. Parses no HTML: it looks for stamps.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import uvloop
import websockets
from websockets.asyncio.client import ClientConnection, connect

from tests.bench.web_engine import WARM_UP, age_ms

TOKEN = "b" * 32  # cookie and header only have to be alike
STAMP = re.compile(r"\bQ[0-9A-Z]{4}\b")
ENDED = re.compile(r'data-state="(done|failed|interrupted|stopped)"')
PATIENCE_S = 60.0
LOOK_S = 0.2


@dataclass
class Reader:
    """One person with one open page."""

    host: str
    port: int
    session: str
    address: str = ""
    socket: ClientConnection | None = None
    seen: set[str] = field(default_factory=set)
    delays_ms: list[int] = field(default_factory=list)
    first_s: float | None = None
    accepted_s: float | None = None
    frames: int = 0
    size: int = 0
    end: str = ""

    async def get_ready(self) -> None:
        """Begin a conversation, open its page's socket, see the first answer's end."""
        head = await self._post("/conversations/", WARM_UP)
        found = re.search(rb"hx-redirect: (\S+)", head, re.IGNORECASE)
        if not found:
            raise SystemExit(f"The first question was not taken: {head[:300]!r}")
        self.address = found[1].decode()
        self.socket = await connect(
            f"ws://{self.host}:{self.port}/ws{self.address}",
            origin=f"http://{self.host}:{self.port}",  # type: ignore[arg-type]  # a NewType of str
            additional_headers={"Cookie": f"sessionid={self.session}"},
            max_size=None,
        )
        for _ in range(int(PATIENCE_S / LOOK_S)):
            if b"Warm now." in await self._page():
                return
            await asyncio.sleep(LOOK_S)
        raise SystemExit("The first answer never came.")

    async def ask(self) -> None:
        """Ask, and read until the answer has ended."""
        assert self.socket is not None
        asked = time.monotonic()
        posting = asyncio.create_task(self._post(f"{self.address}messages/", "Tell me at length"))
        posting.add_done_callback(lambda _: self._accepted(asked))
        try:
            async with asyncio.timeout(PATIENCE_S):
                async for frame in self.socket:
                    self._take(str(frame), asked)
                    if self.end:
                        break
        except (TimeoutError, websockets.ConnectionClosed) as error:
            self.end = type(error).__name__
        head = await posting
        if not head.startswith(b"HTTP/1.1 200"):
            self.end = head[:60].decode("latin-1")

    def _accepted(self, asked: float) -> None:
        self.accepted_s = time.monotonic() - asked

    def _take(self, frame: str, asked: float) -> None:
        now_ns = time.monotonic_ns()
        self.frames += 1
        self.size += len(frame.encode())
        for stamped in STAMP.findall(frame):
            if stamped not in self.seen:
                self.seen.add(stamped)
                self.delays_ms.append(age_ms(stamped, now_ns))
                if self.first_s is None:
                    self.first_s = now_ns / 1e9 - asked
        ended = ENDED.search(frame)
        if ended and self.seen:
            self.end = ended[1]

    async def _post(self, path: str, text: str) -> bytes:
        """The reply's head. The body is read too."""
        body = f"text={text.replace(' ', '+')}&message_id={uuid4()}"
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Cookie: sessionid={self.session}; csrftoken={TOKEN}\r\nX-CSRFToken: {TOKEN}\r\n"
            f"HX-Request: true\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
        )
        return (await self._exchange(head)).partition(b"\r\n\r\n")[0]

    async def _page(self) -> bytes:
        return await self._exchange(
            f"GET {self.address} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n"
            f"Cookie: sessionid={self.session}\r\nConnection: close\r\n\r\n"
        )

    async def _exchange(self, request: str) -> bytes:
        reader, writer = await asyncio.open_connection(self.host, self.port)
        writer.write(request.encode())
        reply = await reader.read()
        writer.close()
        return reply

    def told(self) -> dict[str, Any]:
        """What this reader saw; made new for the next round."""
        told = {
            name: getattr(self, name)
            for name in ("delays_ms", "first_s", "accepted_s", "frames", "size", "end")
        } | {"tokens": len(self.seen)}
        self.seen, self.delays_ms, self.first_s, self.accepted_s = set(), [], None, None
        self.frames, self.size, self.end = 0, 0, ""
        return told


async def main() -> None:
    """Each line read is a round; an empty one is the end."""
    loop = asyncio.get_running_loop()
    task = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    readers = [Reader(task["host"], task["port"], session) for session in task["sessions"]]
    for reader in readers:
        await reader.get_ready()
    say("ready")
    while (await loop.run_in_executor(None, sys.stdin.readline)).strip():
        await asyncio.gather(*(reader.ask() for reader in readers))
        say(json.dumps([reader.told() for reader in readers]))
    for reader in readers:
        assert reader.socket is not None
        await reader.socket.close()


def say(line: str) -> None:
    """One line to whoever runs this."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    uvloop.run(main())

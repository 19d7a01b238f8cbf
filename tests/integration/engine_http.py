"""An engine host's HTTP, seen from a client: requests and streams of frames."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx

from tests.integration.engine_hosts import Host

MODEL = "smollm2"
Json = dict[str, Any]


@contextlib.asynccontextmanager
async def client_of(host: Host) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the host, once it is ready."""
    engine = await host.engine()
    await engine.aclose()
    transport = httpx.AsyncHTTPTransport(uds=str(host.socket), limits=httpx.Limits())
    async with httpx.AsyncClient(
        transport=transport, base_url="http://engine", timeout=60
    ) as client:
        yield client


def asking(text: str = "Hi", **more: Any) -> Json:
    messages = [{"role": "user", "content": text}]
    return {"model": MODEL, "messages": messages, "temperature": 0, **more}


def endless(**more: Any) -> Json:
    """A request whose answer repeats itself until the context is full."""
    begun = asking("Sing.", continue_final_message=True, add_generation_prompt=False, **more)
    begun["messages"].append({"role": "assistant", "content": "na na na na" * 8})
    return begun


class Stream:
    """The frames of one streamed answer, as they come."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.text = ""
        self.frames: list[Json] = []
        self.done = False
        self._lines = response.aiter_lines()

    async def next(self) -> Json | None:
        """The next frame; None at the end."""
        async for line in self._lines:
            if line == "data: [DONE]":
                self.done = True
            elif line.startswith("data: "):
                frame: Json = json.loads(line[6:])
                self.frames.append(frame)
                for choice in frame.get("choices", []):
                    self.text += choice["delta"].get("content", "")
                return frame
        return None

    async def until_text(self) -> Stream:
        """Read up to the first words."""
        while not self.text:
            assert await self.next() is not None, self.frames
        return self

    async def rest(self) -> Stream:
        """Read to the end."""
        while await self.next() is not None:
            pass
        return self


@contextlib.asynccontextmanager
async def streaming(http: httpx.AsyncClient, body: Json) -> AsyncIterator[Stream]:
    body = {**body, "stream": True, "stream_options": {"include_usage": True}}
    async with http.stream("POST", "/v1/chat/completions", json=body) as response:
        assert response.status_code == 200, await response.aread()
        yield Stream(response)

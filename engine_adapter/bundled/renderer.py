"""The process that renders a chat template, seen from the worker: started, timed, replaced.

Knows nothing of what is rendered.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from engine_adapter.bundled.child import command, environment
from engine_adapter.bundled.templates import LONGEST, TemplateRefused

RENDER_S = 2.0
START_S = 20.0  # a cold interpreter on a busy machine


class Renderer:
    """Renders one template, ``source``. A rendering that takes too long is ended with its
    process."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    async def render(self, **variables: Any) -> str:
        """The rendered text. Raises ``TemplateRefused``."""
        async with self._turn:
            if self._process is None:
                await self._start()
            return await self._ask(variables, RENDER_S)

    async def aclose(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            await process.wait()

    async def _start(self) -> None:
        process = await asyncio.create_subprocess_exec(
            *command("templates"),
            env=environment(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=8 * LONGEST,
        )
        self._process = process
        await self._exchange(process, None, START_S)
        try:
            await self._ask({"source": self.source}, RENDER_S)
        except TemplateRefused:
            await self.aclose()
            raise

    async def _ask(self, variables: dict[str, Any], patience_s: float) -> str:
        process = self._process
        if process is None:
            raise TemplateRefused("its process is not running")
        answer = await self._exchange(process, variables, patience_s)
        if "refused" in answer:
            raise TemplateRefused(answer["refused"])
        text: str = answer["text"]
        return text

    async def _exchange(
        self,
        process: asyncio.subprocess.Process,
        message: dict[str, Any] | None,
        patience_s: float,
    ) -> dict[str, Any]:
        """Send a line and read one. Without a message: read what the process begins with."""
        if process.stdin is None or process.stdout is None:
            raise TemplateRefused("its process has no pipes")
        line = b""
        try:
            async with asyncio.timeout(patience_s):
                if message is not None:
                    process.stdin.write(json.dumps(message).encode() + b"\n")
                    await process.stdin.drain()
                line = await process.stdout.readline()
        except TimeoutError:
            raise TemplateRefused(f"it was not done after {patience_s:g} s") from None
        except ConnectionError:
            pass  # told below, as an empty line
        finally:
            if not line:
                # Whatever this pipe would still bring belonged to this question.
                await self.aclose()
        if not line:
            raise TemplateRefused("it ended its process")
        answer: dict[str, Any] = json.loads(line)
        return answer

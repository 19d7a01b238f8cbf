"""The engine of ``deploy/bench web``: scripted, behind the real dialect, not counted itself.

Every token carries the time at which it was sent, so that whoever reads it knows its delay.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import uvicorn

from engine_adapter.bundled.server import create_app
from engine_adapter.script import Rule, Script
from engine_adapter.scripted import ScriptedEngine
from engine_adapter.types import Event, Request, Text

MODEL = "scripted"
WARM_UP = "warm up"
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SPAN_MS = 36**4  # stamps come round every 28 minutes
PLACE = "@"
# What an answer looks like: paragraphs, a heading, a list and code, a token at a time.
OPENINGS = {0: "", 40: "\n\n", 80: "\n\n## ", 90: "\n\n- ", 105: "\n- ", 120: "\n- "}
CODE = {135: "\n\n```python\nx = ", 145: "\ny = ", 155: "\n```\n\n"}


def stamp() -> str:
    """Now, in milliseconds of the clock that all processes of a machine share: five characters,
    which is about what a token of English has."""
    left, digits = time.monotonic_ns() // 1_000_000 % SPAN_MS, ""
    for _ in range(4):
        left, digit = divmod(left, 36)
        digits = DIGITS[digit] + digits
    return f"Q{digits}"


def age_ms(stamped: str, now_ns: int) -> int:
    """Milliseconds since ``stamped`` was made."""
    return (now_ns // 1_000_000 - int(stamped[1:], 36)) % SPAN_MS


def pieces(tokens: int) -> tuple[str, ...]:
    """An answer of so many tokens, in stretches of two hundred that look alike."""
    return tuple({**OPENINGS, **CODE}.get(n % 200, " ") + PLACE for n in range(tokens))


class StampingEngine(ScriptedEngine):
    """A scripted engine whose every piece tells when it was sent. No two of an answer are equal."""

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """See ``Engine.stream``."""
        last = ""
        async with aclosing(super().stream(request)) as events:
            async for event in events:
                if isinstance(event, Text):
                    if (now := stamp()) == last:
                        await asyncio.sleep(0.001)
                        now = stamp()
                    event, last = Text(event.text.replace(PLACE, now)), now
                yield event


def main(socket: str, tokens: str, pace: str) -> None:
    """Serve on the Unix ``socket`` until SIGTERM."""
    answer = Rule(pieces(int(tokens)), pace=float(pace))
    script = Script(answer, rules=(Rule(("Warm", " now."), when=WARM_UP),), model=MODEL)
    app = create_app(StampingEngine(script))
    Path(socket).unlink(missing_ok=True)
    uvicorn.run(app, uds=socket, lifespan="off", access_log=False, log_level="warning")


if __name__ == "__main__":
    main(*sys.argv[1:])

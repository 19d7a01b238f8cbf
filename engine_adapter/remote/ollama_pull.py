"""Ollama's own download of a model: lines of JSON in, steps out. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from engine_adapter.errors import Broken, EngineError
from engine_adapter.reasons import why
from engine_adapter.remote import faults
from engine_adapter.remote.ndjson import Lines
from engine_adapter.remote.sse import TooLong
from engine_adapter.types import Pulled


class Pull:
    """Reads one download: feed ``steps()``, then ``check()`` that it came to its end."""

    begun = True

    def __init__(self) -> None:
        self._lines = Lines()
        self._done: dict[str, int] = {}
        self._total: dict[str, int] = {}
        self._error: EngineError | None = None
        self._over = False

    @property
    def over(self) -> bool:
        """Whether nothing more follows."""
        return self._over or self._error is not None

    def steps(self, chunk: bytes) -> Iterator[Pulled]:
        """The steps that these bytes tell. The bytes are those of all layers together."""
        try:
            rows = [json.loads(row) for row in self._lines.feed(chunk)]
        except (TooLong, ValueError, RecursionError):
            self.fail(Broken(why("pull_nonsense")))
            return
        for row in rows:
            if isinstance(row, dict) and not self.over:
                self._note(row)
                if self._error is None:
                    step = str(row.get("status") or "")
                    yield Pulled(step, sum(self._done.values()), sum(self._total.values()))

    def check(self) -> None:
        """Raise ``EngineError`` if the download failed or broke off."""
        if self._error is not None:
            raise self._error
        if not self._over:
            raise Broken(why("pull_broke"))

    def fail(self, error: EngineError) -> None:
        """Note what broke it."""
        self._error = error

    def _note(self, row: dict[str, Any]) -> None:
        self._error = faults.from_frame(row)
        digest = row.get("digest")
        if isinstance(digest, str):
            self._done[digest] = _bytes(row.get("completed"))
            self._total[digest] = _bytes(row.get("total"))
        self._over = row.get("status") == "success"


def _bytes(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0

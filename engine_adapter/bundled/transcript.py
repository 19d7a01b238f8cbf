"""One answer while it grows: token bytes in; text, reasoning and tool calls out.

The events, joined, do not depend on how the bytes were cut. Knows no tokens and no model.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable

from engine_adapter.bundled.form import PLAIN, Form
from engine_adapter.bundled.stops import StopStrings
from engine_adapter.bundled.toolcalls import ToolCalls
from engine_adapter.thinking import ThinkingTags
from engine_adapter.types import Event, Reasoning, Text, ToolCallPiece


class Transcript:
    """The text of one answer. Bytes of an unfinished character are held back, and all that may
    still become a tag, a call or a stop string.

    ``thinking``: the prompt ended inside the reasoning. Calls are looked for only with ``tools``.
    Stop strings are looked for in the text alone: whoever wrote them meant the answer, and a
    blank line or a brace inside the reasoning or a call's JSON would end it before it began.
    """

    def __init__(
        self,
        *,
        stop: tuple[str, ...] = (),
        form: Form = PLAIN,
        thinking: bool = False,
        tools: bool = False,
    ) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._thinking = ThinkingTags(form.reasoning, inside=thinking) if form.reasoning else None
        self._calls = ToolCalls(form.calls) if tools and form.calls else None
        self._stop = StopStrings(stop)
        self._simple = not stop and self._calls is None
        self._plain = self._simple and self._thinking is None
        self.called = False

    @property
    def stopped(self) -> bool:
        """Whether a stop string ended it."""
        return self._stop.met

    def feed(self, piece: bytes) -> list[Event]:
        """Take the next bytes; return what they release. After a stop that is nothing."""
        text = self._decode(piece)
        if not text:
            return []
        if self._plain:
            return [Text(text)]
        told: list[Event] = []
        thinking = self._thinking
        if thinking is None:
            self._write(text, told)
        else:
            self._sort(thinking.feed(text), told)
            if thinking.over:
                self._thinking, self._plain = None, self._simple
        return told

    def finish(self) -> list[Event]:
        """The answer is over: return what was held back. A character cut in half is dropped, and
        so is what is missing nothing but its closing tag."""
        told: list[Event] = []
        if self._thinking is not None:
            self._sort(self._thinking.flush(), told)
        if self._calls is not None:
            self._place(self._calls.finish(), told)
        if not self.stopped and (rest := self._stop.release()):
            told.append(Text(rest))
        return told

    def _sort(self, parts: Iterable[Text | Reasoning], told: list[Event]) -> None:
        for part in parts:
            if isinstance(part, Reasoning):
                told.append(part)
            else:
                self._write(part.text, told)

    def _write(self, text: str, told: list[Event]) -> None:
        self._place((Text(text),) if self._calls is None else self._calls.feed(text), told)

    def _place(self, parts: Iterable[Text | ToolCallPiece], told: list[Event]) -> None:
        """What stands behind a stop string is not told, and a call interrupts the text."""
        for part in parts:
            if self._stop.met:
                return
            if isinstance(part, Text):
                if shown := self._stop.feed(part.text):
                    told.append(Text(shown))
                continue
            if before := self._stop.release():
                told.append(Text(before))
            self.called = True
            told.append(part)

"""Tool calls in the text of an answer, told apart while it grows. Knows no bytes and no tokens.

What turns out to be no call is text again, and nothing of it is lost. A call is given out from
the moment it is one beyond doubt; where its JSON breaks off later, what was given out stands and
what follows is text.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator

from engine_adapter.bundled.call import Call
from engine_adapter.bundled.form import CallForm
from engine_adapter.bundled.jsonscan import NotJson
from engine_adapter.bundled.named_call import NamedCall
from engine_adapter.thinking import overlap
from engine_adapter.types import Text, ToolCallPiece

Found = Text | ToolCallPiece


class ToolCalls:
    """Splits the text of one answer, fed in any pieces; the cuts change nothing but the pieces.

    White space before a call at the answer's start, between calls and behind the last is theirs.
    """

    def __init__(self, form: CallForm) -> None:
        self._form = form
        self._rest = ""  # not looked at yet
        self._held = ""  # looked at, and text again if this becomes no call
        self._call: Call | NamedCall = Call(strict=False)
        self._given = False
        self._index = 0  # of the call being read, or to be read next
        self._droppable: str | None = None
        self._options: dict[str, Callable[[], None]] = {form.open: self._opened}
        if form.bare:
            self._options["{"] = self._bare
        self._step: Callable[[], Iterator[Found]] = self._await
        self._waits = False

    def feed(self, text: str) -> Iterator[Found]:
        """What ``text`` adds; its tail is held back while it may belong to a call."""
        self._rest += text
        self._waits = False
        while self._rest and not self._waits:
            yield from self._step()

    def finish(self) -> Iterator[Found]:
        """What is still held back, at the end of the answer. What is left of a call that was
        given out is dropped."""
        left, self._held, self._rest = self._held + self._rest, "", ""
        bare = left.strip()
        if self._droppable is not None and (not bare or self._droppable.startswith(bare)):
            return
        if left:
            yield Text(left)

    def _seek(self) -> Iterator[Found]:
        """In text: look for what opens a call."""
        before, tag, behind = self._rest.partition(self._form.open)
        if tag:
            self._held, self._rest = tag, behind
            self._opened()
        else:
            cut = len(before) - overlap(before, self._form.open)
            before, self._rest = before[:cut], before[cut:]
            self._waits = True
        if before:
            yield Text(before)

    def _await(self) -> Iterator[Found]:
        """White space and one of the options come next; else it is text."""
        body = self._rest.lstrip()
        for word, then in self._options.items():
            if body.startswith(word):
                cut = len(self._rest) - len(body) + len(word)
                self._held, self._rest = self._held + self._rest[:cut], self._rest[cut:]
                then()
                return
        if any(word.startswith(body) for word in self._options):
            self._waits = True
        else:
            yield from self._give_up()

    def _read(self) -> Iterator[Found]:
        """In a call's JSON."""
        call, broken = self._call, False
        try:
            end = call.take(self._rest, 0)
        except NotJson as wrong:
            end, broken = wrong.position, True
        self._held, self._rest = self._held + self._rest[:end], self._rest[end:]
        if call.begun:
            self._held = ""
            if not self._given:
                self._given = True
                id_ = f"call_{secrets.token_hex(12)}"
                yield ToolCallPiece(self._index, call.fetch(), id=id_, name=call.name)
            elif fresh := call.fetch():
                yield ToolCallPiece(self._index, fresh)
        if broken or (call.over and not call.begun):
            self._index += self._given
            yield from self._give_up()
        elif call.over:
            self._index += 1
            self._behind()

    def _give_up(self) -> Iterator[Found]:
        held, self._held = self._held, ""
        self._droppable, self._step = None, self._seek
        if held:
            yield Text(held)

    def _opened(self) -> None:
        if self._form.array:
            self._expect({self._form.array: self._begin}, None)
        else:
            self._begin()

    def _begin(self) -> None:
        self._call = NamedCall() if self._form.named else Call(strict=False)
        self._given = False
        self._droppable, self._step = None, self._read

    def _bare(self) -> None:
        self._begin()
        self._call = Call(strict=True)
        self._held, self._rest = self._held[:-1], self._held[-1] + self._rest

    def _behind(self) -> None:
        """A call is complete."""
        form = self._form
        options = {form.open: self._opened}
        if form.again:
            options[form.again] = self._begin
        if form.close:
            options[form.close] = self._closed
        self._expect(options, form.close)

    def _closed(self) -> None:
        self._held = ""
        self._expect({self._form.open: self._opened}, "")

    def _expect(self, options: dict[str, Callable[[], None]], droppable: str | None) -> None:
        """``droppable`` is what may be cut off by the answer's end without being text."""
        self._options, self._droppable, self._step = options, droppable, self._await

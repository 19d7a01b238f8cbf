"""The one thread that owns the context: plan, decode, draw, tell. Knows no sockets and no HTTP."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from collections.abc import Sequence as Many
from typing import Protocol

from engine_adapter.bundled.pace import Pace
from engine_adapter.bundled.scheduler import Portion, Scheduler
from engine_adapter.bundled.sequence import Drawn, Sequence
from engine_adapter.errors import Broken, EngineError, Overloaded
from engine_adapter.types import Event, Failed, Finished, FinishReason, Progress, Text

NO_ROOM = 1  # llama_decode: no place in the memory; nothing was changed
Told = tuple[int, Event]  # a sequence's id and what happens to it


class Device(Protocol):
    """What computes: a model's context with one lane of ``context`` tokens a slot."""

    context: int

    def decode(self, portions: Many[Portion]) -> int:
        """Compute the portions. 0 done, 1 no room, anything else an error."""
        ...

    def draw(self, sequence: Sequence) -> Drawn:
        """The next token of a sequence whose last known token the last ``decode`` computed."""
        ...

    def ends(self, token: int) -> bool:
        """Whether the token ends an answer."""
        ...

    def piece(self, token: int) -> bytes:
        """The token's text in bytes, empty for control tokens."""
        ...

    def keep(self, slot: int, count: int) -> None:
        """Forget everything in the lane past its first ``count`` tokens."""
        ...

    def release(self, sequence: Sequence) -> None:
        """The sequence is over: free what was kept to draw its tokens."""
        ...


class DecodeLoop:
    """``submit`` and ``cancel`` may be called from any thread; all else happens in ``run``.

    ``tell`` gets the events of a step in one list and must not block.
    """

    def __init__(
        self,
        device: Device,
        scheduler: Scheduler,
        pace: Pace,
        tell: Callable[[list[Told]], None],
    ) -> None:
        self._device = device
        self._scheduler = scheduler
        self._pace = pace
        self._tell = tell
        self._wake = threading.Condition()
        self._arrived: list[Sequence] = []
        self._sequences: dict[int, Sequence] = {}
        self._told: list[Told] = []
        self._progress: dict[int, Progress] = {}
        self._turn_s = 1.0
        self._started: dict[int, float] = {}

    def check_room(self) -> None:
        """Raise ``Overloaded`` where one more request could not even wait."""
        scheduler = self._scheduler
        if len(self._sequences) >= scheduler.queue + scheduler.slots.total:
            raise Overloaded(
                f"All {scheduler.slots.total} slots are taken and {scheduler.queue} requests wait.",
                retry_after=min(60.0, max(1.0, self._turn_s)),
            )

    def submit(self, sequence: Sequence) -> None:
        """Hand over a sequence. Raises ``Overloaded``."""
        with self._wake:
            self.check_room()
            self._sequences[sequence.id] = sequence
            self._arrived.append(sequence)
            self._wake.notify()

    def cancel(self, sequence_id: int) -> None:
        """End a sequence at the next step; nothing where it is over already."""
        with self._wake:
            if sequence := self._sequences.get(sequence_id):
                sequence.cancelled = True
            self._wake.notify()

    def run(self) -> None:
        """Step while there is work, sleep while there is none. Raises ``Broken`` when the
        device computes nothing any more; every sequence has been told by then."""
        while True:
            with self._wake:
                while not self._sequences:
                    self._scheduler.check_integrity()
                    self._wake.wait()
            try:
                self.step()
            except Exception as error:
                self._fail_all(error if isinstance(error, Broken) else Broken(repr(error)))
                raise

    def step(self) -> None:
        """One round: take arrivals and cancellations, compute, draw, tell."""
        with self._wake:
            arrived, self._arrived = self._arrived, []
        for sequence in arrived:
            self._scheduler.submit(sequence)
        for sequence in [s for s in self._sequences.values() if s.cancelled]:
            self._end(sequence, Finished("cancelled", sequence.usage))
        scheduler = self._scheduler
        budget = max(self._pace.budget(scheduler.writers), scheduler.slots.total + 1)
        portions = scheduler.plan(budget)
        self._tell_waiting()
        if portions:
            self._compute(portions)
        told, self._told = self._told, []
        if told:
            self._tell(told)

    def _compute(self, portions: list[Portion]) -> None:
        began = time.monotonic()
        for portion in portions:
            self._started.setdefault(portion.sequence.id, began)
        result = self._device.decode(portions)
        if result == NO_ROOM:
            self._make_room()
        elif result:
            self._find_culprits(portions, result)
        else:
            self._pace.observe(sum(p.count for p in portions), time.monotonic() - began)
            for portion in portions:
                self._advance(portion)

    def _advance(self, portion: Portion) -> None:
        """The portion is computed: draw the next token where nothing is missing."""
        sequence = portion.sequence
        closes = portion.closes
        sequence.computed += portion.count
        if not closes:
            self._tell_progress(sequence, 0)
            return
        token = self._device.draw(sequence).token
        if self._device.ends(token):
            self._end(sequence, Finished("stop", sequence.usage))
            return
        sequence.known.append(token)
        if text := sequence.text.feed(self._device.piece(token)):
            self._told.append((sequence.id, Text(text)))
        if sequence.text.stopped:
            self._end(sequence, Finished("stop", sequence.usage))
        elif sequence.written >= sequence.room:
            self._end(sequence, Finished("length", sequence.usage))

    def _make_room(self) -> None:
        """Set one sequence back, so that the others go on in the next step."""
        scheduler = self._scheduler
        victim = scheduler.victim()
        if len(scheduler.running) > 1:
            self._device.keep(scheduler.set_back(victim), 0)
        else:
            self._end(victim, Finished("length", victim.usage))

    def _find_culprits(self, portions: list[Portion], result: int) -> None:
        """A step failed: compute each portion alone and fail only those that fail alone.

        Raises ``Broken`` where none succeeds: then it is the device that is at fault.
        """
        failed = 0
        for portion in portions:
            sequence = portion.sequence
            slot = sequence.slot
            if slot is None:
                continue
            self._device.keep(slot, sequence.computed)
            if self._device.decode([portion]) == 0:
                self._advance(portion)
            else:
                failed += 1
                error = Broken(
                    f"The engine could not compute this answer (llama_decode: {result})."
                )
                self._end(sequence, Failed(error))
        if failed == len(portions):
            raise Broken(f"The engine computes nothing any more (llama_decode: {result}).")

    def _end(self, sequence: Sequence, event: Finished | Failed) -> None:
        """The last word to and about a sequence; its slot is free afterwards."""
        reason: FinishReason | None = event.reason if isinstance(event, Finished) else None
        if reason != "cancelled" and (rest := sequence.text.finish()):
            self._told.append((sequence.id, Text(rest)))
        self._told.append((sequence.id, event))
        slot = self._scheduler.finish(sequence)
        if slot is not None:
            self._device.keep(slot, 0)
        self._device.release(sequence)
        with self._wake:
            del self._sequences[sequence.id]
        self._progress.pop(sequence.id, None)
        if began := self._started.pop(sequence.id, None):
            self._turn_s += 0.2 * (
                (time.monotonic() - began) / self._scheduler.slots.total - self._turn_s
            )

    def _fail_all(self, error: EngineError) -> None:
        with self._wake:
            left = list(self._sequences)
            self._sequences.clear()
        self._tell([*self._told, *((id_, Failed(error)) for id_ in left)])

    def _tell_waiting(self) -> None:
        for ahead, sequence in enumerate(self._scheduler.waiting, 1):
            self._tell_progress(sequence, ahead)

    def _tell_progress(self, sequence: Sequence, ahead: int) -> None:
        """Tell where the sequence stands unless it is known or words have come already."""
        progress = Progress(
            ahead, min(sequence.computed, sequence.prompt_tokens), sequence.prompt_tokens
        )
        if not sequence.written and self._progress.get(sequence.id) != progress:
            self._progress[sequence.id] = progress
            self._told.append((sequence.id, progress))

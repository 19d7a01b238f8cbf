"""The one thread that owns the context: plan, decode, draw, tell. Knows no sockets and no HTTP."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from engine_adapter.bundled.cache import StateCache
from engine_adapter.bundled.device import Device
from engine_adapter.bundled.pace import Pace
from engine_adapter.bundled.portion import Portion
from engine_adapter.bundled.scheduler import Scheduler
from engine_adapter.bundled.sequence import Sequence
from engine_adapter.bundled.tally import Tally
from engine_adapter.bundled.telling import Telling, Told
from engine_adapter.bundled.threads import Threads
from engine_adapter.errors import Broken, EngineError, Overloaded
from engine_adapter.types import Event, Failed, Finished, FinishReason, Progress, Text

NO_ROOM = 1  # llama_decode: no place in the memory; nothing was changed


class DecodeLoop:
    """``submit`` and ``cancel`` may be called from any thread; all else happens in ``run``.

    ``tell`` gets the events of a step in one list and must not block.
    """

    def __init__(
        self,
        device: Device,
        scheduler: Scheduler,
        cache: StateCache,
        pace: Pace,
        threads: Threads,
        tell: Callable[[list[Told]], None],
    ) -> None:
        self._device = device
        self._scheduler = scheduler
        self._cache = cache
        self._pace = pace
        self._threads = threads
        self._telling = Telling(tell)
        self.tally = Tally()
        self._wake = threading.Condition()
        self._arrived: list[Sequence] = []
        self._sequences: dict[int, Sequence] = {}
        self._progress: dict[int, Progress] = {}
        self._last_token: dict[int, float] = {}
        self._turn_s = 1.0
        self._crowded = False

    # ---- from any thread --------------------------------------------------------------------

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
            sequence.arrived_at = time.monotonic()
            self._sequences[sequence.id] = sequence
            self._arrived.append(sequence)
            self._wake.notify()

    def cancel(self, sequence_id: int) -> None:
        """End a sequence at the next step; nothing where it is over already."""
        with self._wake:
            if sequence := self._sequences.get(sequence_id):
                sequence.cancelled = True
            self._wake.notify()

    # ---- the thread -------------------------------------------------------------------------

    def run(self) -> None:
        """Step while there is work, sleep while there is none. Raises ``Broken`` when the
        device computes nothing any more; every sequence has been told by then."""
        while True:
            self._rest()
            try:
                self.step()
            except Exception as error:
                self._fail_all(error if isinstance(error, Broken) else Broken(repr(error)))
                raise

    def _rest(self) -> None:
        """Until there is work; first make lanes ready for it."""
        while not self._sequences and self._cache.put_by():
            pass
        with self._wake:
            while not self._sequences:
                self._scheduler.check_integrity()
                self._cache.check_integrity()
                self._gauge()  # nobody is left
                self._wake.wait()

    def step(self) -> None:
        """One round: take arrivals and cancellations, give lanes, compute, draw, tell."""
        now = time.monotonic()
        with self._wake:
            arrived, self._arrived = self._arrived, []
        for sequence in arrived:
            self._scheduler.submit(sequence)
        for sequence in [s for s in self._sequences.values() if s.cancelled or s.deadline < now]:
            self._end_early(sequence)
        if self._scheduler.waiting:
            self._scheduler.order(now)
            self._give_lanes()
        self._gauge()
        writers = self._scheduler.writers()
        budget = self._pace.budget(len(writers), self._scheduler.reading(writers))
        portions = self._scheduler.plan(writers, budget)
        for ahead, sequence in enumerate(self._scheduler.waiting, 1):
            self._tell_progress(sequence, ahead)
        if portions:
            self._compute(portions, len(writers))
        self._telling.now_and_then()

    def _give_lanes(self) -> None:
        """Lanes to whose turn it is: free ones, or those of who must make room for them.

        After a shortage of memory nobody gets one until somebody has finished: the place that
        was missing would be missing again.
        """
        scheduler = self._scheduler
        content: set[tuple[str, int]] = set()  # users who have what they may ask for
        for sequence in list(scheduler.waiting) if not self._crowded else ():
            displaced = None
            if not scheduler.slots.free:
                kind = sequence.user, sequence.priority
                if kind in content:
                    continue
                displaced = scheduler.displaced_by(sequence)
                if displaced is None:
                    content.add(kind)
                    continue
            if self._cache.must_wait(sequence, scheduler.running):
                continue
            if displaced is not None:
                self._set_aside(displaced)
            self._cache.place(sequence)
            scheduler.admit(sequence)
            if not sequence.served:
                self.tally.queried_prefix(sequence.prompt_tokens, sequence.cached or 0)

    def _set_aside(self, sequence: Sequence) -> None:
        self._cache.put_away(sequence)
        self._scheduler.set_aside(sequence)
        self.tally.preempted()

    def _compute(self, portions: list[Portion], writers: int) -> None:
        cpu, began = time.thread_time(), time.monotonic()
        result = self._device.decode(portions)
        now = time.monotonic()
        if result == NO_ROOM:
            self._make_room()
        elif result:
            self._find_culprits(portions, result)
        else:
            seconds = now - began
            tokens = sum(portion.count for portion in portions)
            self._pace.observe(writers, tokens - writers, seconds)
            if self._threads.observe(seconds, time.thread_time() - cpu):
                self._device.use_threads(self._threads.count)
            slots = self._scheduler.slots.total
            self.tally.step(tokens, writers, seconds, slots)
            for portion in portions:
                self._advance(portion, now)

    def _advance(self, portion: Portion, now: float) -> None:
        """The portion is computed: draw the next token where nothing is missing."""
        sequence = portion.sequence
        closes = portion.closes
        sequence.computed += portion.count
        if sequence.marks:
            self._cache.passed(sequence)
        if not closes:
            self._tell_progress(sequence, 0)
            return
        try:
            drawn = self._device.draw(sequence)
        except EngineError as error:
            self._end(sequence, Failed(error))
            return
        self._scheduler.charge_written(sequence)
        self._time_token(sequence, now)
        if self._device.ends(drawn.token):
            self._end(sequence, self._finished(sequence, "stop"))
            return
        sequence.known.append(drawn.token)
        if drawn.logprob is not None:
            sequence.logprobs.append(drawn.logprob)
        self._tell_words(sequence, sequence.transcript.feed(self._device.piece(drawn.token)))
        if sequence.transcript.stopped:
            self._end(sequence, self._finished(sequence, "stop"))
        elif sequence.written >= sequence.room:
            self._end(sequence, self._finished(sequence, "length"))

    def _time_token(self, sequence: Sequence, now: float) -> None:
        last = self._last_token.get(sequence.id)
        self._last_token[sequence.id] = now
        if last is None:
            self._telling.hurry()
            self.tally.read(sequence.prompt_tokens)
            self.tally.first_token(now - sequence.arrived_at)
        else:
            self.tally.inter_token(now - last)

    # ---- when something is wrong ------------------------------------------------------------

    def _make_room(self) -> None:
        """Forget what idle lanes hold, or else set one sequence aside, so that the others go on
        in the next step."""
        if self._cache.empty_lanes():
            return
        scheduler = self._scheduler
        victim = scheduler.victim()
        if len(scheduler.running) > 1:
            self._set_aside(victim)
            self._crowded = True
        else:
            self._end(victim, self._finished(victim, "length"))

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
                self._advance(portion, time.monotonic())
            else:
                failed += 1
                error = Broken(
                    f"The engine could not compute this answer (llama_decode: {result})."
                )
                self._end(sequence, Failed(error))
        if failed == len(portions):
            raise Broken(f"The engine computes nothing any more (llama_decode: {result}).")

    def _fail_all(self, error: EngineError) -> None:
        with self._wake:
            left = list(self._sequences)
            self._sequences.clear()
        for id_ in left:
            self._telling.add(id_, Failed(error))
        self._telling.all()

    # ---- the end of a sequence --------------------------------------------------------------

    def _end_early(self, sequence: Sequence) -> None:
        """It was cancelled, or its time is over."""
        if sequence.cancelled:
            self._end(sequence, Finished("cancelled", sequence.usage))
        elif sequence.written:
            self._end(sequence, self._finished(sequence, "length"))
        else:
            error = Overloaded("The time for this answer was over before it could begin.")
            self._end(sequence, Failed(error))

    @staticmethod
    def _finished(sequence: Sequence, reason: FinishReason) -> Finished:
        return Finished(reason, sequence.usage)

    def _end(self, sequence: Sequence, event: Finished | Failed) -> None:
        """The last word to and about a sequence; its slot is free afterwards."""
        if isinstance(event, Failed) or event.reason != "cancelled":
            self._tell_words(sequence, sequence.transcript.finish())
        if isinstance(event, Finished) and event.reason == "stop" and sequence.transcript.called:
            event = replace(event, reason="tool_calls")
        self._telling.add(sequence.id, event)
        self._telling.hurry()
        if sequence.slot is not None:
            if isinstance(event, Failed):
                self._cache.abandon(sequence)
            else:
                self._cache.vacate(sequence)
            self._crowded = False
        self._scheduler.finish(sequence)
        self._device.release(sequence)
        with self._wake:
            del self._sequences[sequence.id]
        self._progress.pop(sequence.id, None)
        self._last_token.pop(sequence.id, None)
        self._count(sequence, event)

    def _count(self, sequence: Sequence, event: Finished | Failed) -> None:
        seconds = time.monotonic() - sequence.arrived_at
        usage = sequence.usage
        reason = event.reason if isinstance(event, Finished) else "failed"
        self.tally.finished(
            reason, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens, seconds
        )
        if sequence.written:
            self._turn_s += 0.2 * (seconds / self._scheduler.slots.total - self._turn_s)

    # ---- telling ----------------------------------------------------------------------------

    def _tell_words(self, sequence: Sequence, events: list[Event]) -> None:
        for event in events:
            if sequence.logprobs and isinstance(event, Text):
                event = replace(event, logprobs=tuple(sequence.logprobs))
                sequence.logprobs.clear()
            self._telling.add(sequence.id, event)

    def _tell_progress(self, sequence: Sequence, ahead: int) -> None:
        """Tell where the sequence stands unless it is known or words have come already."""
        if sequence.written:
            return
        progress = Progress(
            ahead, min(sequence.computed, sequence.prompt_tokens), sequence.prompt_tokens
        )
        if self._progress.get(sequence.id) != progress:
            self._progress[sequence.id] = progress
            self._telling.hurry()
            self._telling.add(sequence.id, progress)

    def _gauge(self) -> None:
        scheduler, tally = self._scheduler, self.tally
        tally.running, tally.waiting = len(scheduler.running), len(scheduler.waiting)
        held = sum(sequence.computed for sequence in scheduler.running)
        tally.kv_usage = held / (scheduler.slots.total * self._device.context)
        tally.cache_bytes = self._cache.bytes

"""Which texts are computed together: everybody's, in turn, as many as one step holds.

One thread computes. Knows neither llama.cpp nor frames.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from engine_adapter.bundled.tally import Tally
from engine_adapter.errors import Broken, ContextTooLong, Overloaded

V = TypeVar("V")
W = TypeVar("W", covariant=True)
RETRY_S = 2.0


class Device(Protocol[W]):
    """What turns texts into vectors: at most ``texts`` texts a step with at most ``tokens`` tokens
    in all, none longer than ``context``."""

    context: int
    texts: int
    tokens: int

    def compute(self, texts: Sequence[Sequence[int]]) -> Sequence[W]:
        """One vector a text."""
        ...


@dataclass(slots=True, eq=False)
class _Job(Generic[V]):
    """One request: its texts, and the vectors of those that are done."""

    texts: list[list[int]]
    future: Future[list[V]] = field(default_factory=Future)
    vectors: dict[int, V] = field(default_factory=dict)
    next: int = 0


_Step = tuple[_Job[V], int]  # one text of a step: its request, and which of its texts it is


class Batcher(Generic[V]):
    """``run`` in a thread of its own; ``submit`` from any. ``queue`` requests wait at most, and a
    step takes up to ``batch`` tokens, or one text that is longer. ``tally`` counts the steps."""

    def __init__(self, device: Device[V], tally: Tally, *, queue: int, batch: int) -> None:
        self._device = device
        self._tally = tally
        self._queue = queue
        self._batch = min(batch, device.tokens)
        self._jobs: deque[_Job[V]] = deque()
        self._changed = threading.Condition()

    def submit(self, texts: Sequence[Sequence[int]]) -> Future[list[V]]:
        """The vectors to come; cancelling the future takes the request out. Raises
        ``ContextTooLong`` and ``Overloaded``."""
        for text in texts:
            if len(text) > self._device.context:
                raise ContextTooLong(
                    f"A text has {len(text)} tokens; the model reads {self._device.context}.",
                    prompt_tokens=len(text),
                    context_length=self._device.context,
                )
        job: _Job[V] = _Job([list(text) for text in texts])
        if not texts:
            job.future.set_result([])
            return job.future
        with self._changed:
            if len(self._jobs) >= self._queue:
                raise Overloaded("Too many texts wait for this model.", retry_after=RETRY_S)
            self._jobs.append(job)
            self._changed.notify()
        return job.future

    def run(self) -> None:
        """Compute for ever. What goes wrong in a step ends the requests of that step."""
        while True:
            with self._changed:
                self._gauge([])
                self._changed.wait_for(self._any)
                step = self._plan()
                self._gauge(step)
            began = time.monotonic()
            try:
                vectors = self._device.compute([job.texts[number] for job, number in step])
            except Exception as error:  # whoever waits must hear of it, whatever it is
                self._fail({job for job, _ in step}, error)
                continue
            self._count(step, time.monotonic() - began)
            for (job, number), vector in zip(step, vectors, strict=True):
                job.vectors[number] = vector
                if len(job.vectors) == len(job.texts) and not job.future.cancelled():
                    _finish(job)

    def _any(self) -> bool:
        while self._jobs and self._jobs[0].future.done():
            self._jobs.popleft()
        return bool(self._jobs)

    def _plan(self) -> list[_Step[V]]:
        """The next step: a text of each request in turn, until the next one has no place."""
        step: list[_Step[V]] = []
        left = self._batch
        while self._any() and len(step) < self._device.texts:
            job = self._jobs[0]
            length = len(job.texts[job.next])
            if step and length > left:
                break
            step.append((job, job.next))
            left -= length
            job.next += 1
            self._jobs.popleft()
            if job.next < len(job.texts):
                self._jobs.append(job)
        return step

    def _gauge(self, step: list[_Step[V]]) -> None:
        begun = {job for job, _ in step} | {job for job in self._jobs if job.next}
        self._tally.running = len(begun)
        self._tally.waiting = sum(not job.next for job in self._jobs)

    def _count(self, step: list[_Step[V]], seconds: float) -> None:
        tokens = sum(len(job.texts[number]) for job, number in step)
        self._tally.read(tokens)
        self._tally.step(tokens, len(step), seconds, self._device.texts)

    def _fail(self, jobs: set[_Job[V]], error: Exception) -> None:
        with self._changed:
            self._jobs = deque(job for job in self._jobs if job not in jobs)
        for job in jobs:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(Broken(f"No embeddings could be computed: {error}"))


def _finish(job: _Job[V]) -> None:
    if job.future.set_running_or_notify_cancel():
        job.future.set_result([job.vectors[number] for number in range(len(job.texts))])

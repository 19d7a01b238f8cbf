"""A run's life under any order of what two runners, a person and the reaper may do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import AuditEntry, User
from chat.domain import answers, generations, reaping, rewriting
from chat.domain.generations import End, Ending, Growth
from chat.models import Chunk, Conversation, Generation, Message
from tests import factories
from tests.people import People

pytestmark = pytest.mark.django_db

State = Generation.State
LEGAL = {
    State.QUEUED: {State.QUEUED, State.RUNNING, State.STOPPED, State.FAILED, State.INTERRUPTED},
    State.RUNNING: {*State},
}


@dataclass
class Hand:
    """What a runner believes to hold, which may be long gone."""

    id: UUID = field(default_factory=uuid4)
    held: list[tuple[UUID, int, int]] = field(default_factory=list)


class World:
    """One answer, two runners, and what must be true of them."""

    def __init__(self, person: User) -> None:
        self.person = person
        self.answer = factories.asked(person).answer
        self.hands = [Hand(), Hand()]
        self.text = ""
        self.runs: dict[UUID, Generation] = {}
        self.stops = self.retries = 0
        self.ends: dict[UUID, int] = {}

    def claim(self, hand: Hand) -> None:
        for run in generations.claim(hand.id, limit=5):
            chunks = generations.chunks_after(run.pk)
            hand.held.append((run.pk, run.attempt, chunks[-1][0] if chunks else 0))

    def append(self, hand: Hand) -> None:
        for place, (run, attempt, seq) in enumerate(hand.held):
            text = f"{attempt}.{seq + 1} "
            if generations.append(hand.id, [Growth(run, attempt, seq + 1, text)]):
                hand.held[place] = run, attempt, seq + 1
                self.text += text

    def finish(self, hand: Hand) -> None:
        endings = [Ending(run, attempt, End(State.DONE)) for run, attempt, _ in hand.held]
        for run in generations.finish(hand.id, endings) if endings else ():
            self.ends[run] = self.ends.get(run, 0) + 1

    def release(self, hand: Hand) -> None:
        generations.release(hand.id)

    def renew(self, hand: Hand) -> None:
        generations.renew(hand.id, [run for run, _, _ in hand.held])

    def expire(self, _: Hand) -> None:
        long_ago = timezone.now() - timedelta(minutes=2)
        Generation.objects.filter(state=State.RUNNING).update(lease_until=long_ago)

    def stop(self, _: Hand) -> None:
        self.stops += generations.stop(self.answer, actor=self.person)

    def retry(self, _: Hand) -> None:
        before = Generation.objects.count()
        rewriting.retry(self.answer, actor=self.person)
        self.retries += Generation.objects.count() > before

    def reap(self, _: Hand) -> None:
        reaping.reap()

    def check(self) -> None:
        """Everything that must hold after each step."""
        active = Generation.objects.filter(state__in=Generation.ACTIVE)
        assert active.count() <= 1
        for run in Generation.objects.all():
            before = self.runs.get(run.pk)
            if before and before.state != run.state:
                assert run.state in LEGAL[State(before.state)]
            if before and before.state not in Generation.ACTIVE:
                assert (run.state, run.ended_at) == (before.state, before.ended_at)
            assert (run.ended_at is None) == run.is_active
            if run.state == State.RUNNING:
                assert run.runner is not None
                assert run.lease_until is not None
            self.runs[run.pk] = run
        assert all(count == 1 for count in self.ends.values())
        assert answers.one(Message.objects.get(pk=self.answer.pk)).text == self.text
        seqs = [seq for run in active for seq, _ in generations.chunks_after(run.pk)]
        assert seqs == list(range(1, len(seqs) + 1))
        assert not Chunk.objects.exclude(generation__in=active).exists()
        assert AuditEntry.objects.filter(verb="answer.stopped").count() == self.stops
        assert AuditEntry.objects.filter(verb="answer.retried").count() == self.retries


ACTS: list[Callable[[World, Hand], None]] = [
    World.claim, World.append, World.finish, World.release, World.renew, World.expire, World.stop,
    World.retry, World.reap,
]  # fmt: skip
STEPS = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 1)), max_size=30)


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(STEPS)
def test_whatever_happens_in_whatever_order(
    people: People, steps: list[tuple[Callable[[World, Hand], None], int]]
) -> None:
    Conversation.objects.all().delete()
    world = World(people.alice)
    world.stops = AuditEntry.objects.filter(verb="answer.stopped").count()
    world.retries = AuditEntry.objects.filter(verb="answer.retried").count()
    for act, number in steps:
        act(world, world.hands[number])
        world.check()

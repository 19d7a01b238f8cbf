"""What no runner will end, the reaper does: within bounds, once, with its reason."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from chat.domain import generations, reaping
from chat.models import Chunk, Generation, Message
from deploy.celery import app
from tests import factories
from tests.people import People

pytestmark = pytest.mark.django_db

State = Generation.State


def passed(seconds: float, *fields: str) -> None:
    """As if so much time had gone by for all runs."""
    for run in Generation.objects.all():
        for name in fields:
            setattr(run, name, timezone.now() - timedelta(seconds=seconds))
        run.save()


def test_what_a_dead_runner_left_is_interrupted_with_its_text(people: People) -> None:
    asked = factories.asked(people.alice)
    run = factories.claimed(uuid4())
    factories.write(run, "Half of ", "it")
    passed(7, "lease_until")
    assert reaping.reap() == 0  # a living runner has its chance first
    passed(9, "lease_until")
    assert reaping.reap() == 1
    run.refresh_from_db()
    assert (run.state, run.reason, run.lease_until) == (State.INTERRUPTED, "orphaned", None)
    assert run.ended_at is not None
    assert Message.objects.get(pk=asked.answer.pk).text == "Half of it"
    assert not Chunk.objects.exists()
    assert reaping.reap() == 0
    assert generations.claim(uuid4(), limit=5) == []


def test_without_text_it_has_failed(people: People) -> None:
    factories.asked(people.alice)
    run = factories.claimed(uuid4())
    passed(9, "lease_until")
    assert reaping.reap() == 1
    run.refresh_from_db()
    assert (run.state, run.reason) == (State.FAILED, "orphaned")


def test_what_was_to_be_stopped_is_stopped(people: People) -> None:
    asked = factories.asked(people.alice)
    run = factories.claimed(uuid4())
    factories.write(run, "Half")
    generations.stop(asked.answer, actor=people.alice)
    passed(9, "lease_until")
    assert reaping.reap() == 1
    run.refresh_from_db()
    assert (run.state, run.reason) == (State.STOPPED, "")
    assert Message.objects.get(pk=asked.answer.pk).text == "Half"


def test_a_house_without_a_runner_says_so_after_a_minute(people: People) -> None:
    factories.asked(people.alice)
    passed(50, "created_at")
    assert reaping.reap() == 0
    passed(61, "created_at")
    assert reaping.reap() == 1
    run = Generation.objects.get()
    assert (run.state, run.reason) == (State.FAILED, "unclaimed")


def test_who_waits_behind_others_that_are_being_written_waits_on(
    people: People, settings: Settings
) -> None:
    settings.ANSWER_MAX_SECONDS = 100
    factories.asked(people.alice)
    factories.claimed(uuid4())
    waiting = factories.asked(people.bob).answer.generations.get()
    Generation.objects.filter(pk=waiting.pk).update(
        created_at=timezone.now() - timedelta(seconds=90)
    )
    assert reaping.reap() == 0
    Generation.objects.filter(pk=waiting.pk).update(
        created_at=timezone.now() - timedelta(seconds=101)
    )
    assert reaping.reap() == 1
    waiting.refresh_from_db()
    assert (waiting.state, waiting.reason) == (State.FAILED, "waited")


def test_what_was_given_back_has_time_to_be_claimed(people: People) -> None:
    factories.asked(people.alice)
    run = factories.claimed(uuid4())
    factories.write(run, "Half")
    passed(3000, "created_at")
    generations.release(run.runner)
    assert reaping.reap() == 0
    passed(1, "lease_until")
    assert reaping.reap() == 1
    run.refresh_from_db()
    assert (run.state, run.reason) == (State.INTERRUPTED, "unclaimed")


def test_readers_are_told(
    people: People, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    factories.asked(people.alice)
    factories.claimed(uuid4())
    passed(9, "lease_until")
    with django_capture_on_commit_callbacks() as told:
        reaping.reap()
    assert len(told) == 1


def test_the_reaper_looks_often_enough() -> None:
    [entry] = [e for e in app.conf.beat_schedule.values() if e["task"] == "chat.tasks.reap"]
    assert reaping.ORPHANED.total_seconds() + entry["schedule"] < 15

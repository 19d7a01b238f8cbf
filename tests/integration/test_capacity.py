"""How many people can it serve: measured through the engine, kept, stopped, held against an aim."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from dataclasses import asdict
from datetime import timedelta

import pytest
from django.db import connections as databases
from django.utils import timezone

from chat import measuring, tasks
from chat.domain import capacity, connections
from chat.measuring import Point
from chat.model_forms import AimForm
from chat.models import CapacityTest, LanguageModel
from engine_adapter.script import Rule, Script
from engine_adapter.scripted import ScriptedEngine
from engine_adapter.types import Event, Request
from tests import factories
from tests.listening import listening
from tests.people import People, browser

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = tuple(f"word{n} " for n in range(20))


def model_at(url: str, people: People) -> LanguageModel:
    row = connections.add(
        name="GPU room", kind="openai", url=url, key="", ca_file="", actor=people.administrator
    )
    return LanguageModel.objects.create(
        engine=row, name="scripted", display_name="Quick", seen_at=timezone.now()
    )


class Watched(ScriptedEngine):
    """Remembers how many people were here at once, at most: those it wrote to and the line."""

    most = 0

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        async with contextlib.aclosing(super().stream(request)) as events:
            async for event in events:
                self.most = max(self.most, self.running + self.waiting)
                yield event


@pytest.fixture
def engine() -> Watched:
    """Eight slots, and 400 words a second to each."""
    return Watched(Script(default=Rule(WORDS, pace=400), slots=8))


@pytest.fixture
def model(people: People, engine: Watched) -> Iterator[LanguageModel]:
    """What that engine offers."""
    with listening(engine) as url:
        yield model_at(url, people)


def test_more_and_more_people_are_measured_and_kept(
    people: People, model: LanguageModel, engine: Watched
) -> None:
    client, page = browser(people.administrator), f"/models/{model.pk}/capacity/"
    assert "Begin a test" in client.get(page).content.decode()
    test = capacity.begin(model, actor=people.administrator)
    assert test is not None
    assert capacity.begin(model, actor=people.administrator) is None, "one at a time"
    assert "It is being measured" in client.get(page).content.decode()
    tasks.measure_capacity(str(test.pk))
    test.refresh_from_db()
    assert test.trouble == ""
    assert test.ended_at is not None
    points = [Point(**each) for each in test.points]
    assert tuple(point.users for point in points) == measuring.PEOPLE
    assert all(point.answers == point.users * measuring.QUESTIONS for point in points)
    assert not any(point.failed for point in points)
    assert engine.started == sum(point.answers for point in points)
    assert 8 < engine.most <= 50, "the people come at once, and more than there are slots"
    assert all(0 < point.first_p50_s <= point.first_p95_s for point in points)
    assert all(0 < point.token_p50_s <= point.token_p95_s for point in points)
    shown = client.get(page, {"first_s": "600", "each": "0"}).content.decode()
    assert "The aim is met for all 50 people." in shown
    assert "broken with the first person" in client.get(page, {"each": "9999"}).content.decode()
    tasks.measure_capacity(str(test.pk))
    test.refresh_from_db()
    assert len(test.points) == len(measuring.PEOPLE), "a task that comes twice measures once"


def test_it_can_be_stopped_and_what_was_measured_is_kept(people: People) -> None:
    with listening(Script(default=Rule(WORDS, pace=10), slots=2)) as url:
        model = model_at(url, people)
        test = capacity.begin(model, actor=people.administrator)

        def work() -> None:
            try:
                tasks.measure_capacity(str(test.pk))
            finally:
                databases.close_all()

        worker = threading.Thread(target=work)
        worker.start()
        deadline = time.monotonic() + 30
        while not CapacityTest.objects.get().points:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        browser(people.administrator).post(f"/models/{model.pk}/capacity/stop/")
        worker.join(timeout=20)
        assert not worker.is_alive()
    test.refresh_from_db()
    assert test.trouble == "stopped"
    assert test.points
    page = browser(people.administrator).get(f"/models/{model.pk}/capacity/").content.decode()
    assert "It was stopped before its end." in page
    assert "Begin a test" in page


def test_an_engine_that_gives_no_answer_ends_it(people: People) -> None:
    model = model_at("http://127.0.0.1:9", people)
    test = capacity.begin(model, actor=people.administrator)
    tasks.measure_capacity(str(test.pk))
    test.refresh_from_db()
    assert (test.trouble, test.points) == ("unanswered", [])
    page = browser(people.administrator).get(f"/models/{model.pk}/capacity/").content.decode()
    assert "gave no answer" in page


def test_a_worker_that_died_leaves_no_test_going_for_ever(people: People) -> None:
    model = model_at("http://127.0.0.1:9", people)
    test = capacity.begin(model, actor=people.administrator)
    CapacityTest.objects.update(seen_at=timezone.now() - capacity.SILENCE - timedelta(seconds=1))
    page = browser(people.administrator).get(f"/models/{model.pk}/capacity/").content.decode()
    assert "It was broken off" in page
    assert capacity.begin(model, actor=people.administrator) is not None
    test.refresh_from_db()
    assert test.trouble == "broken_off"


def test_an_aim_breaks_where_a_word_comes_late_or_an_answer_fails() -> None:
    aim = AimForm({"first_s": "2", "each": "8"})
    good = Point(4, 8, 0, 40.0, 0.5, 2.0, 0.1, 0.12)
    assert aim.is_met_by(good)
    assert not aim.is_met_by(Point(4, 8, 0, 40.0, 0.5, 2.1, 0.1, 0.12))
    assert not aim.is_met_by(Point(4, 8, 0, 40.0, 0.5, 1.0, 0.2, 0.2))
    assert not aim.is_met_by(Point(4, 7, 1, 40.0, 0.5, 1.0, 0.1, 0.12))
    assert not aim.is_met_by(Point(4, 0, 8, 0.0, None, None, None, None))
    assert not AimForm({"first_s": "nan"}).is_met_by(good)


def test_kept_tests_stand_side_by_side_those_of_other_models_too(people: People) -> None:
    one, two = factories.language_model("one"), factories.language_model("two")
    now = timezone.now()

    def kept(model: LanguageModel, rate: float, **more: object) -> CapacityTest:
        points = [asdict(Point(1, 2, 0, rate, 0.1, 0.2, 0.01, 0.02))]
        told = {"seen_at": now, "ended_at": now, "points": points, **more}
        return CapacityTest.objects.create(language_model=model, **told)

    kept(one, 11.5)
    page, client = f"/models/{one.pk}/capacity/", browser(people.administrator)
    assert "side by side" not in client.get(page).content.decode(), "there is nothing beside it"
    kept(two, 21.5)
    kept(two, 22.5)
    kept(two, 23.5, points=[])
    shown = client.get(page).content.decode()
    table = shown[shown.index("side by side") : shown.index("</table>")]
    assert "11.5" in table and "22.5" in table, "the newest that measured anything"
    assert "21.5" not in table
    assert table.index(">one<") < table.index(">two<")

"""How full engines were: noted minute by minute, kept for a day, plotted with what it means."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from chat import tasks
from chat.domain import connections, gauges, load
from chat.models import EngineConnection, GaugeMinute, LanguageModel
from engine_adapter.types import Gauges
from tests import factories
from tests.listening import listening
from tests.people import People, browser
from tests.scripts import SCRIPT

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/models/load/"


@pytest.fixture
def model(people: People) -> LanguageModel:
    """The one of the bundled engine."""
    return factories.language_model("small")


def minute(model: LanguageModel, back: int, **told: float | None) -> GaugeMinute:
    at = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=back)
    return GaugeMinute.objects.create(language_model=model, at=at, **told)


def told(model: LanguageModel) -> list[gauges.Minute]:
    hour = timezone.now() - timedelta(hours=1)
    found: dict[datetime, gauges.Minute] = gauges.since(hour).get(model.pk, {})
    return [found[at] for at in sorted(found)]


def test_looks_of_one_minute_become_means(model: LanguageModel) -> None:
    row = connections.bundled()
    now = timezone.now()
    for running, kv in ((2, 0.2), (4, 0.4)):
        whole = Gauges(running=running, waiting=1, kv_use=kv, slots=8)
        gauges.note(row, whole, {"small": whole, "nobody knows this one": whole})
    rows = list(GaugeMinute.objects.all())
    assert sum(one.looks for one in rows) == 2
    if len(rows) == 1:  # unless a minute ended between the two
        [only] = told(model)
        assert (only.running, only.waiting, only.slots) == (3.0, 1.0, 8)
        assert only.kv_use == pytest.approx(0.3)
    assert all(one.at <= now + timedelta(minutes=1) and not one.at.second for one in rows)


def test_what_is_told_of_all_together_is_the_only_models(model: LanguageModel) -> None:
    row = connections.bundled()
    gauges.note(row, Gauges(running=1), {})
    assert GaugeMinute.objects.get().language_model == model
    factories.language_model("second")
    gauges.note(row, Gauges(running=1), {})
    gauges.note(row, Gauges(), {"small": Gauges()})
    assert GaugeMinute.objects.get().looks == 1, "of two nobody can say whose it is"


def test_numbers_beyond_belief_harm_nothing(model: LanguageModel) -> None:
    row = connections.bundled()
    for _ in range(2):
        lies = Gauges(running=1 << 53, waiting=1 << 53, slots=1 << 53, asked_tokens=1 << 53)
        gauges.note(row, lies, {"small": lies})
    assert GaugeMinute.objects.first() is not None


def test_the_hit_rate_is_of_that_minute_and_a_new_start_counts_from_zero(
    model: LanguageModel,
) -> None:
    for back, asked, found in ((5, 100, 50), (4, 200, 140), (3, 200, 140), (2, 40, 10)):
        minute(model, back, running=1, asked_tokens=asked, found_tokens=found)
    assert [one.hits for one in told(model)] == [None, 0.9, None, 0.25]


def test_what_is_older_than_a_day_is_forgotten(model: LanguageModel) -> None:
    minute(model, 24 * 60 + 2, running=1)
    kept = minute(model, 24 * 60 - 2, running=1)
    tasks.note_gauges()
    assert list(GaugeMinute.objects.all()) == [kept]


def test_an_engine_is_asked_and_one_that_is_away_stops_nothing(people: People) -> None:
    with listening(SCRIPT) as url:
        row = connections.add(
            name="GPU room", kind="vllm", url=url, key="", ca_file="", actor=people.administrator
        )
        LanguageModel.objects.create(
            engine=row, name="scripted", display_name="Quick", seen_at=timezone.now()
        )
        tasks.note_gauges()
    assert EngineConnection.objects.count() == 2
    assert not GaugeMinute.objects.exists(), "a scripted engine tells no gauges, and that is fine"


def test_the_page_says_what_each_plot_means_and_has_a_table(
    people: People, model: LanguageModel
) -> None:
    for back in range(1, 20):
        minute(
            model, back, looks=2, running=12, waiting=4, kv_use=1.9, slots=8,
            asked_tokens=1000 - 10 * back, found_tokens=900 - 9 * back,
        )  # fmt: skip
    client = browser(people.administrator)
    page = client.get(PAGE).content.decode()
    assert "8 slots" in page and "6.0 of 8 slots" in page
    for words in (
        "How full the batch is",
        "had no slot free",
        "set aside",
        "from the turns before",
    ):
        assert words in page
    assert "<title>" in page and "95%" in page
    assert page.count("<svg") - page.count('class="icon') >= 5
    table = client.get(PAGE, {"as": "table"}).content.decode()
    assert "<rect" not in table
    assert table.count('<th scope="row">') == load.MINUTES // 5
    assert "95%" in table and "90%" in table


def test_a_model_that_did_nothing_is_not_shown(people: People, model: LanguageModel) -> None:
    minute(model, 3, running=0, waiting=0, kv_use=0.0, slots=8)
    page = browser(people.administrator).get(PAGE).content.decode()
    assert "Nobody has asked anything" in page

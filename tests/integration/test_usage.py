"""How busy the models were and what was written, counted from the runs: no row about a person."""

from __future__ import annotations

import csv
import io
from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from accounts.models import AuditEntry, Group, User
from chat.domain import costs, load, usage
from chat.domain.messages import Asked
from chat.domain.usage import Row, Usage
from chat.models import Costs, Generation
from engine_adapter.types import Usage as Tokens
from tests import factories
from tests.people import People, browser, person

pytestmark = pytest.mark.django_db

PAGE = "/models/usage/"
ZONE = "Europe/Istanbul"


def written(user: User, at: datetime, *, read: int = 100, wrote: int = 10) -> Asked:
    """An answer that was asked at ``at``."""
    asked = factories.answered(user, usage=Tokens(read, wrote))
    Generation.objects.filter(message=asked.answer).update(created_at=at)
    return asked


def run(user: User, began: float, first: float, over: float | None, *, wrote: int = 60) -> None:
    """A run asked ``began`` seconds ago, its first word ``first`` and its end ``over`` seconds ago;
    without an end it is still going."""
    asked = factories.answered(user, usage=Tokens(5, wrote)) if over is not None else None
    if asked is None:
        asked = factories.asked(user)
        factories.claimed()
    now = timezone.now()
    Generation.objects.filter(message=asked.answer).update(
        created_at=now - timedelta(seconds=began),
        started_at=now - timedelta(seconds=began),
        first_text_at=now - timedelta(seconds=first),
        ended_at=None if over is None else now - timedelta(seconds=over),
    )


def test_an_hour_is_told_by_minutes_and_adds_up(people: People) -> None:
    model = factories.language_model()
    run(people.alice, 602, 600, 480)  # two minutes long, first word after two seconds
    run(people.alice, 604, 600, 480)
    run(people.bob, 30, 29, None)
    factories.asked(people.bob)
    loads = load.of_the_last_hour()
    told = loads[model.pk]
    assert (told.running, told.waiting, told.answered, told.failed) == (1, 1, 2, 0)
    assert len(told.minutes) == load.MINUTES
    assert told.minutes == sorted(told.minutes, key=lambda minute: minute.at)
    # Two answers of 120 s and one of some 29 s, in answers times minutes.
    together = [minute.running for minute in told.minutes]
    assert sum(together) == pytest.approx((2 * 120 + 29) / 60, abs=0.1)
    assert sum(minute.tokens_per_s * 60 for minute in told.minutes) == pytest.approx(120, abs=1)
    assert max(together) == pytest.approx(2, abs=0.05)
    # 120 tokens in some two minutes and a half; the minutes at the edges count up to twice.
    assert 120 / (120 + 29 + 60) < told.tokens_per_s < 1.05 * 120 / (120 + 29)
    assert told.first_token_p50_s == pytest.approx(2, abs=0.1)
    assert told.first_token_p95_s == pytest.approx(4, abs=0.1)
    page = browser(people.administrator).get("/models/load/").content.decode()
    assert "1 being written, 1 waiting" in page
    assert page.count("<rect") == 2 * load.MINUTES, "answers at once, and tokens a second"


def test_what_is_over_for_long_is_not_of_this_hour(people: People) -> None:
    run(people.alice, 5000, 4990, 4000)
    assert load.of_the_last_hour() == {}
    page = browser(people.administrator).get("/models/load/").content.decode()
    assert "Nobody has asked anything in the last hour" in page


def test_days_are_those_of_the_house_s_clock(people: People) -> None:
    midnight = datetime(2026, 3, 2, 0, 0, tzinfo=ZoneInfo(ZONE))
    written(people.alice, midnight - timedelta(minutes=1))
    written(people.alice, midnight, read=7, wrote=3)
    written(people.bob, midnight + timedelta(days=3))
    found = usage.between(date(2026, 3, 1), date(2026, 3, 2), zone=ZONE)
    assert found.days == [Row(date(2026, 3, 1), 1, 100, 10), Row(date(2026, 3, 2), 1, 7, 3)]
    assert found.whole == Row("", 2, 107, 13)
    assert [(row.label, row.answers) for row in found.models] == [("scripted", 2)]


def test_no_row_is_about_a_few_people(people: People) -> None:
    day = timezone.localdate()
    written(people.alice, timezone.now())
    ward = Group.objects.get()
    assert usage.between(day, day, zone=ZONE).groups == []
    nurses = [person(f"Nurse{n}") for n in range(usage.LEAST_PEOPLE - 1)]
    ward.people.add(*nurses)
    for nurse in nurses[1:]:
        written(nurse, timezone.now())
        written(nurse, timezone.now())
    # There are enough of them now, but one too few of them asked.
    assert usage.between(day, day, zone=ZONE).groups == []
    written(nurses[0], timezone.now())
    assert [row.label for row in usage.between(day, day, zone=ZONE).groups] == ["Ward 3"]
    page = browser(people.administrator).get(PAGE).content.decode()
    assert "Ward 3" in page
    assert people.alice.name not in page
    assert people.alice.email not in page


def test_the_same_days_as_csv_and_no_name_is_a_formula(people: People) -> None:
    asked = written(people.alice, timezone.now())
    model = asked.conversation.language_model
    model.display_name = "=1+1"
    model.save()
    response = browser(people.administrator).get("/models/usage.csv")
    assert response["Content-Type"].startswith("text/csv")
    rows = list(csv.reader(io.StringIO(response.content.decode("utf-8-sig"))))
    assert rows[0] == ["kind", "name", "answers", "read_tokens", "written_tokens"]
    assert ["model", "'=1+1", "1", "100", "10"] in rows


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("first=2026-03-02&last=2026-03-01", "lies before the first"),
        ("first=2020-01-01&last=2026-03-01", "a year at most"),
        ("first=nonsense", "valid date"),
    ],
)
def test_days_that_cannot_be_shown_are_said_beside_the_field(
    people: People, query: str, words: str
) -> None:
    for page in (PAGE, "/models/usage.csv"):
        response = browser(people.administrator).get(f"{page}?{query}")
        assert response.status_code == 422
        assert words in response.content.decode()


def counted(read: int, wrote: int) -> Usage:
    day = Row(date(2026, 1, 1), 1, read, wrote)
    return Usage(date(2026, 1, 1), date(2026, 1, 1), [day], [], [])


def test_the_curves_cross_where_it_is_said() -> None:
    prices = Costs(
        read_price=Decimal(2), written_price=Decimal(8), machine_price=Decimal(6000),
        monthly_price=Decimal(100),
    )  # fmt: skip
    even = costs.break_even(prices, counted(5_000_000, 1_250_000))
    assert even is not None and even.months is not None
    assert even.elsewhere_a_month == 20 * costs.DAYS_A_MONTH
    before, behind = int(even.months), int(even.months) + 1
    curve = {month: elsewhere - own for month, elsewhere, own in even.curves()}
    assert curve[before] < 0 < curve[behind]


def test_a_machine_that_costs_more_to_run_never_pays_off() -> None:
    prices = Costs(read_price=Decimal(1), machine_price=Decimal(10), monthly_price=Decimal(1000))
    even = costs.break_even(prices, counted(1_000_000, 0))
    assert even is not None and even.months is None
    assert costs.break_even(Costs(), counted(1, 1)) is None


def test_prices_are_typed_in_once_and_kept(people: People) -> None:
    written(people.alice, timezone.now(), read=2_000_000, wrote=1_000_000)
    client = browser(people.administrator)
    assert "Would have cost elsewhere" not in client.get(PAGE).content.decode()
    sent = {
        "currency": "TL", "read_price": "100", "written_price": "400", "machine_price": "250000",
        "monthly_price": "100",
    }  # fmt: skip
    assert client.post("/models/costs/", sent).headers["Location"] == PAGE
    page = client.get(PAGE).content.decode()
    assert "600.00 TL" in page
    assert "has paid for itself after" in page
    assert "<polyline" in page
    assert AuditEntry.objects.filter(verb="costs.changed").count() == 1
    wrong = client.post("/models/costs/", sent | {"read_price": "-1"})
    assert wrong.status_code == 422
    assert 'value="250000"' in wrong.content.decode(), "what was typed is kept"
    assert Costs.objects.get().read_price == 100

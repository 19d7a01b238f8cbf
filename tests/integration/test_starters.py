"""What an empty page offers to begin with, in the reader's language."""

from __future__ import annotations

import pytest

from chat.domain import starters
from chat.models import Starter
from tests.people import People, browser

pytestmark = pytest.mark.django_db

FORM = {"en_0": "Translate this: ", "en_1": "", "tr_0": "Şunu çevirin: ", "tr_2": "Özetleyin: "}


def test_the_house_has_beginnings_of_its_own_in_both_languages(people: People) -> None:
    english, turkish = starters.of("en"), starters.of("tr")
    assert len(english) == len(turkish) == starters.COUNT
    assert not set(english) & set(turkish)
    page = browser(people.alice).get("/").content.decode()
    assert english[0].strip() in page


def test_a_beginning_stands_in_the_composer(people: People) -> None:
    client = browser(people.alice)
    page = client.get("/?starter=1").content.decode()
    assert f">{starters.of('en')[1]}</textarea>" in page
    for odd in ("9", "x", "-1", "²", "1" * 5000):
        assert "></textarea>" in client.get("/", {"starter": odd}).content.decode()


def test_an_administrator_sets_them_for_everybody(people: People) -> None:
    office = browser(people.administrator)
    assert office.post("/starters/", FORM).status_code == 302
    assert starters.of("en") == ["Translate this: "]
    assert starters.of("tr") == ["Şunu çevirin: ", "Özetleyin: "]
    page = browser(people.alice).get("/", headers={"accept-language": "tr"}).content.decode()
    assert "Şunu çevirin:" in page
    office.post("/starters/", {})
    assert len(starters.of("en")) == starters.COUNT
    assert not Starter.objects.exists()


def test_one_that_is_too_long_is_refused_beside_its_field(people: People) -> None:
    response = browser(people.administrator).post("/starters/", {"tr_3": "x" * 301})
    assert response.status_code == 422
    assert 'id="id_tr_3_error"' in response.content.decode()
    assert not Starter.objects.exists()

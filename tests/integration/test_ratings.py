"""Saying what one thinks of an answer, and taking it back."""

from __future__ import annotations

import pytest

from chat.domain import export
from tests import factories
from tests.people import People, browser

pytestmark = pytest.mark.django_db


def test_a_rating_is_kept_shown_and_taken_back(people: People) -> None:
    asked = factories.answered(people.alice)
    client = browser(people.alice)
    address = f"/answers/{asked.answer.pk}/rate/"
    shown = client.post(address, {"rating": "1"}, headers={"hx-request": "true"}).content.decode()
    assert shown.count('aria-pressed="true"') == 1
    client.post(address, {"rating": "-1", "reason": "Yanlış"})
    page = client.get(f"/conversations/{asked.conversation.pk}/").content.decode()
    assert page.count('aria-pressed="true"') == 1
    told = export.document(asked.conversation)["messages"][1]
    assert told["rating"] == {"value": -1, "reason": "Yanlış"}
    client.post(address, {"rating": "0"})
    asked.answer.refresh_from_db()
    assert (asked.answer.rating, asked.answer.rating_reason) == (0, "")


def test_what_is_not_good_is_asked_for_in_the_answer_s_place(people: People) -> None:
    asked = factories.answered(people.alice)
    client = browser(people.alice)
    form = client.get(f"/answers/{asked.answer.pk}/rate/").content.decode()
    assert "What is not good about this answer?" in form


@pytest.mark.parametrize("form", [{"rating": "2"}, {}, {"rating": "-1", "reason": "x" * 501}])
def test_what_cannot_be_is_refused_and_what_was_typed_is_kept(
    people: People, form: dict[str, str]
) -> None:
    asked = factories.answered(people.alice)
    response = browser(people.alice).post(f"/answers/{asked.answer.pk}/rate/", form)
    assert response.status_code == 422
    assert form.get("reason", "") in response.content.decode()
    asked.answer.refresh_from_db()
    assert asked.answer.rating == 0

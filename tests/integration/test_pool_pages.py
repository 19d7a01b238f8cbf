"""The pages on which administrators let several engines serve one model, and see how they do."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import AuditEntry
from chat.domain import pools, versions
from chat.models import EngineConnection, LanguageModel
from tests import factories
from tests.integration.test_pools import GONE, Two, another_at, model_at, rows, two
from tests.people import People, browser

__all__ = ["rows", "two"]

pytestmark = pytest.mark.django_db(transaction=True)

Standing = LanguageModel.Standing


def test_on_the_page_they_stand_under_the_one_people_see_and_how_they_do(
    people: People, two: Two
) -> None:
    client, place = browser(people.administrator), f'id="o-{two.other.pk}"'
    shown = client.get("/models/").content.decode()
    assert place in shown and "Serves for another" in shown
    assert "is there" in client.get("/models/now/").content.decode().split(place)[1]
    alone = {"engine": str(two.other.engine_id)}
    now = client.get("/models/now/", alone).content.decode()
    assert f'id="s-{two.other.pk}"' in now and place not in now, "it has no such place there"
    EngineConnection.objects.filter(pk=two.other.engine_id).update(url=GONE)
    now = client.get("/models/now/").content.decode()
    assert "nothing listens at this port" in now.split(place)[1]


def test_they_are_chosen_on_a_page_and_can_be_taken_out_again(people: People) -> None:
    head, other = (model_at(GONE, name, people.administrator) for name in ("First", "Second"))
    client, page = browser(people.administrator), f"/models/{head.pk}/pool/"
    assert "Second: scripted" in client.get(page).content.decode()
    answer = client.post(page, {"others": [str(other.pk)]})
    assert answer.headers["Location"] == f"/models/{head.pk}/"
    assert AuditEntry.objects.get(verb="pool.changed").facts == {"others": [str(other.pk)]}
    assert other.engine.name in client.get(f"/models/{head.pk}/").content.decode()
    assert "people see only that one" in client.get(f"/models/{other.pk}/").content.decode()
    client.post(page, {})
    other.refresh_from_db()
    assert (other.serves_for, other.standing) == (None, Standing.HIDDEN), "offered by nobody yet"


def test_where_no_engine_could_serve_too_the_page_says_so(people: People) -> None:
    head, client = model_at(GONE, "First", people.administrator), browser(people.administrator)
    alone = client.get(f"/models/{head.pk}/pool/").content.decode()
    assert "No other engine has a model" in alone and "Save" not in alone
    model_at(GONE, "Second", people.administrator)
    both = client.get(f"/models/{head.pk}/pool/").content.decode()
    assert "No other engine has a model" not in both and "Save" in both


def test_two_files_do_not_go_under_one_name(people: People) -> None:
    head = model_at(GONE, "First", people.administrator, sha256="a" * 64)
    other = model_at(GONE, "Second", people.administrator, sha256="b" * 64)
    page = f"/models/{head.pk}/pool/"
    answer = browser(people.administrator).post(page, {"others": [str(other.pk)]})
    assert answer.status_code == 422
    words = answer.content.decode()
    assert "scripted (First) and scripted (Second) are not the same file" in words
    assert not LanguageModel.objects.filter(is_pool=True).exists()


def test_there_are_no_pools_of_pools(
    people: People, rows: tuple[LanguageModel, LanguageModel]
) -> None:
    head, other = rows
    third = model_at(GONE, "Third", people.administrator)
    for one, others in ((other, [third]), (third, [head]), (third, [other])):
        with pytest.raises(pools.Impossible):
            pools.share(one, others, actor=people.administrator)
        assert set(others).isdisjoint(pools.candidates(one)) or one == other
    for pk, told in (
        (head.pk, {"serves_for": third}),
        (other.pk, {"is_pool": True}),
        (third.pk, {"serves_for": third}),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            LanguageModel.objects.filter(pk=pk).update(**told)


def test_two_models_of_one_engine_are_no_help(people: People) -> None:
    head, other = (model_at(GONE, name, people.administrator) for name in ("First", "Second"))
    twin = LanguageModel.objects.create(
        engine=other.engine, name="twin", display_name="Twin", seen_at=timezone.now()
    )
    with pytest.raises(pools.Impossible, match="run on the same engine"):
        pools.share(head, [other, twin], actor=people.administrator)
    assert head not in pools.candidates(head)


def test_what_serves_in_a_pool_becomes_no_version_of_another_model(people: People) -> None:
    head = model_at(GONE, "First", people.administrator)
    other = model_at(GONE, "Second", people.administrator)
    twins = [
        LanguageModel.objects.create(
            engine=row.engine, name="twin", display_name="Twin", seen_at=timezone.now()
        )
        for row in (head, other)
    ]
    assert [set(versions.usable_as(twin)) for twin in twins] == [{head}, {other}]
    pools.share(head, [other], actor=people.administrator)
    assert [set(versions.usable_as(twin)) for twin in twins] == [set(), set()]


def test_what_a_silent_engine_s_model_reads_is_said_by_administrators(people: People) -> None:
    model = model_at(GONE, "First", people.administrator)
    client, page = browser(people.administrator), f"/models/{model.pk}/"
    told = {"display_name": "Quick", "standing": "offered", "place": "1"}
    assert client.post(page, {**told, "given_length": "12"}).status_code == 422
    client.post(page, {**told, "given_length": "4096"})
    model.refresh_from_db()
    assert model.reads == 4096
    assert "reads 4K tokens at once" in browser(people.alice).get("/").content.decode()
    another_at(model.engine, "scripted", context_length=1024)
    model.refresh_from_db()
    assert model.reads == 1024, "what the engine tells is true"
    assert "given_length" not in client.get(page).content.decode()


@pytest.mark.parametrize(
    ("kind", "warned"),
    [("llamacpp", True), ("ollama", True), ("openai", True), ("vllm", False), ("sglang", False),
     ("trtllm", False), ("llmd", False)],
)  # fmt: skip
def test_a_prompt_cache_that_everybody_shares_is_said(
    people: People, kind: str, warned: bool
) -> None:
    model = model_at(GONE, "First", people.administrator)
    EngineConnection.objects.filter(pk=model.engine_id).update(kind=kind)
    shown = browser(people.administrator).get(f"/models/{model.pk}/").content.decode()
    assert ("one prompt cache for everybody" in shown) == warned


def test_the_house_s_own_engine_keeps_people_apart(people: People) -> None:
    model = factories.language_model()
    shown = browser(people.administrator).get(f"/models/{model.pk}/").content.decode()
    assert "one prompt cache for everybody" not in shown

"""The pages of engines and models: looked at before they are added, and told in plain words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.urls import reverse

from accounts.models import AuditEntry, Group
from chat.domain import connections, vault
from chat.models import EngineConnection, LanguageModel
from tests import factories
from tests.integration.engine_hosts import running_host
from tests.listening import listening
from tests.people import People, browser, person
from tests.scripts import SCRIPT

pytestmark = pytest.mark.django_db(transaction=True)

MODELS = "/models/"
ADD = "/engines/add/"


@pytest.fixture
def address() -> Iterator[str]:
    """Where an engine listens."""
    with listening(SCRIPT) as url:
        yield url


def told(**more: str) -> dict[str, str]:
    return {"name": "GPU room", "url": "", "kind": "", "key": "", "ca_file": "", **more}


def test_an_engine_is_looked_at_then_added_and_its_models_are_there(
    people: People, address: str
) -> None:
    client = browser(people.administrator)
    looked = client.post(ADD, told(url=address, act="look"))
    assert looked.status_code == 200
    assert address in looked.content.decode(), "what was typed is kept"
    assert not EngineConnection.objects.filter(name="GPU room").exists()
    response = client.post(ADD, told(url=address, kind="openai", act="save", key="s3cret-key"))
    assert response.headers["Location"] == MODELS
    row = EngineConnection.objects.get(name="GPU room")
    assert row.kind == "openai"
    assert "s3cret" not in row.sealed_key
    assert vault.unseal(row.sealed_key) == "s3cret-key"
    model = LanguageModel.objects.get(engine=row)
    page = client.get(MODELS).content.decode()
    assert model.display_name in page
    assert "s3cret" not in page + client.get(f"/engines/{row.pk}/").content.decode()
    facts = AuditEntry.objects.get(verb="engine.added").facts
    assert "s3cret" not in str(facts)


def test_a_key_stays_until_another_is_typed_or_it_is_forgotten(
    people: People, address: str
) -> None:
    row = connections.add(
        name="GPU room", kind="openai", url=address, key="first", ca_file="",
        actor=people.administrator,
    )  # fmt: skip
    client, page = browser(people.administrator), f"/engines/{row.pk}/"

    def after(**more: str) -> str:
        client.post(page, told(url=address, kind="openai", act="save", **more))
        row.refresh_from_db()
        return vault.unseal(row.sealed_key)

    assert after(name="Another name") == "first"
    assert row.name == "Another name"
    assert after(key="second") == "second"
    assert after(no_key="on") == ""


def test_what_was_sealed_with_another_secret_key_is_said(
    people: People, address: str, settings: object
) -> None:
    row = connections.add(
        name="GPU room", kind="openai", url=address, key="first", ca_file="",
        actor=people.administrator,
    )  # fmt: skip
    settings.SECRET_KEY = "another one altogether"
    with pytest.raises(vault.Unreadable):
        vault.unseal(EngineConnection.objects.get(pk=row.pk).sealed_key)
    page = browser(people.administrator).get(f"{MODELS}now/").content.decode()
    assert "sealed with another secret key" in page


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://no-such-host.invalid:8000", "No name server knows this host"),
        ("http://127.0.0.1:9", "nothing listens at this port"),
        ("127.0.0.1:9", "nothing listens at this port"),
    ],
)
def test_what_is_wrong_is_a_sentence_and_nothing_is_added(
    people: People, url: str, words: str
) -> None:
    client = browser(people.administrator)
    for act in ("look", "save"):
        response = client.post(ADD, told(url=url, kind="vllm", act=act))
        assert response.status_code == (422 if act == "save" else 200)
        assert words in response.content.decode()
    assert EngineConnection.objects.exclude(kind="bundled").count() == 0
    client.post(ADD, told(url=url, kind="vllm", act="save", anyway="yes"))
    assert EngineConnection.objects.exclude(kind="bundled").count() == 1


def test_a_web_page_is_no_engine(people: People, live_server: object) -> None:
    response = browser(people.administrator).post(ADD, told(url=live_server.url, act="look"))
    assert "Leave out all after the port" in response.content.decode()


@pytest.mark.parametrize(
    "url",
    ["ftp://host", "http://", "http://user:pass@host", "http://host:99999", "http://[",
     "http://host?x=1", "file:///etc/passwd"],
)  # fmt: skip
def test_what_is_no_address_is_refused_beside_the_field(people: People, url: str) -> None:
    response = browser(people.administrator).post(ADD, told(url=url, act="save", anyway="yes"))
    assert response.status_code == 422
    page = response.content.decode()
    assert "id_url_error" in page
    assert not EngineConnection.objects.exclude(kind="bundled").exists()


def test_a_file_that_is_no_certificate_is_said(people: People, tmp_path: object) -> None:
    for path in ("/nowhere/ca.pem", str(tmp_path / "x.pem")):
        (tmp_path / "x.pem").write_text("no certificate")
        response = browser(people.administrator).post(
            ADD, told(url="https://127.0.0.1:9", ca_file=path, act="look")
        )
        assert response.status_code == 200
        assert 'class="fault"' in response.content.decode()


def test_two_engines_have_two_names(people: People) -> None:
    client = browser(people.administrator)
    for _ in range(2):
        response = client.post(
            ADD, told(url="http://127.0.0.1:9", kind="vllm", act="save", anyway="yes")
        )
    assert "has this name already" in response.content.decode()


def test_an_engine_that_goes_takes_its_models_from_the_lists_and_nothing_else(
    people: People, address: str
) -> None:
    row = connections.add(
        name="GPU room", kind="openai", url=address, key="first", ca_file="",
        actor=people.administrator,
    )  # fmt: skip
    model = LanguageModel.objects.create(
        engine=row, name="big", display_name="Big", seen_at=row.created_at
    )
    asked = factories.answered(people.alice, model=model)
    client = browser(people.administrator)
    assert client.post(f"/engines/{row.pk}/remove/").status_code == 302
    row.refresh_from_db()
    assert row.sealed_key == ""
    assert "GPU room" not in client.get(MODELS).content.decode()
    page = browser(people.alice).get(f"/conversations/{asked.conversation.pk}/").content.decode()
    assert "Big, the model of this conversation, is not there any more" in page
    assert "Rayleigh" in page
    assert client.get(f"/engines/{row.pk}/").status_code == 404


def test_how_busy_they_are_is_told_for_each(people: People, address: str) -> None:
    connections.add(
        name="GPU room", kind="openai", url=address, key="", ca_file="", actor=people.administrator
    )
    page = browser(people.administrator).get(f"{MODELS}now/").content.decode()
    assert page.count('hx-swap-oob="innerHTML"') == 2
    assert "nothing listens at this port" in page, "the bundled engine is not running here"


@pytest.mark.timeout(150)
def test_a_model_is_loaded_and_unloaded_when_told(
    people: People, starter_model: Path, tmp_path: Path, settings: object
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "small.gguf").symlink_to(starter_model)
    more = ("--models", tmp_path / "models", "--slots", "2", "--context", "512")
    with running_host(tmp_path, *more) as host:
        settings.ENGINE_URL = f"unix://{host.socket}"
        model = factories.language_model("small")
        client, page = browser(people.administrator), f"/models/{model.pk}/"

        def stands(words: str) -> str:
            deadline = time.monotonic() + 60
            while words not in (told := client.get(f"{MODELS}now/").content.decode()):
                assert time.monotonic() < deadline, told
                time.sleep(0.2)
            return told

        assert f'action="{page}unload/"' in stands("in memory"), "the first one is loaded by itself"
        assert client.post(f"{page}unload/").headers["Location"] == MODELS
        assert f'action="{page}load/"' in stands("loaded when it is asked")
        client.post(f"{page}load/")
        stands("in memory")
    verbs = AuditEntry.objects.filter(verb__startswith="model.").values_list("verb", flat=True)
    assert sorted(verbs) == ["model.loaded", "model.unloaded"]


def test_an_engine_that_loads_nothing_when_told_says_so(people: People, address: str) -> None:
    row = connections.add(
        name="GPU room", kind="openai", url=address, key="", ca_file="", actor=people.administrator
    )
    model = LanguageModel.objects.create(
        engine=row, name="scripted", display_name="Quick", seen_at=row.created_at
    )
    client = browser(people.administrator)
    response = client.post(f"/models/{model.pk}/load/")
    assert response.status_code == 409
    assert "loads no models when told" in response.content.decode()
    assert f"/models/{model.pk}/load/" not in client.get(f"{MODELS}now/").content.decode()


def test_who_may_use_a_model_is_said_on_its_page(people: People) -> None:
    model = factories.language_model()
    ward = Group.objects.get()
    client, page = browser(people.administrator), f"/models/{model.pk}/"
    sent = {
        "display_name": "Ward helper", "standing": "offered", "restricted": "on", "place": "1",
        "groups": [str(ward.pk)], "instruction": "Be brief.", "temperature": "0.4",
        "is_default": "on",
    }  # fmt: skip
    assert client.post(page, sent).headers["Location"] == MODELS
    model.refresh_from_db()
    assert (model.display_name, model.temperature, model.is_default) == ("Ward helper", 0.4, True)
    assert list(model.groups.all()) == [ward]
    other = factories.language_model("other")
    client.post(f"/models/{other.pk}/", sent | {"temperature": "", "display_name": "Other"})
    assert LanguageModel.objects.filter(is_default=True).get() == other
    for wrong in ({"temperature": "nan"}, {"temperature": "9"}, {"place": "-1"}, {"standing": "x"}):
        response = client.post(page, sent | wrong)
        assert response.status_code == 422
        assert "_error" in response.content.decode()


def test_managing_people_and_managing_models_are_two_things(people: People) -> None:
    keeper = person("Kim", manages_models=True)
    client = browser(keeper)
    assert client.get(MODELS).status_code == 200
    assert client.get("/accounts/people/").status_code == 404
    assert reverse("accounts:people") not in client.get(MODELS).content.decode()
    warden = person("Wim", is_administrator=True)
    assert browser(warden).get(MODELS).status_code == 404
    assert browser(warden).get("/accounts/people/").status_code == 200

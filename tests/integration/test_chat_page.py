"""The parts around a conversation: picker, gauge, title, switches, and the page of all parts."""

from __future__ import annotations

import re
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEntry
from chat.domain import answers, messages, window
from chat.live import usual
from chat.models import Conversation, EngineConnection, Generation, LanguageModel
from tests import factories
from tests.people import People, browser
from tests.readers import elements

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
PARTS = [
    "<meter ", "<rect ", "<polyline ", "<mark>wards</mark>", 'class="tabs"', "<selectedcontent>",
    "3rd in line, about 8 s", "Thinking…", "Thought for 12 s", "goes on by itself",
    "1 conversation found", "Nothing found",
]  # fmt: skip


@pytest.fixture
def alice(people: People) -> Client:
    return browser(people.alice)


def page_of(client: Client, asked: messages.Asked, **headers: str) -> str:
    url = reverse("chat:conversation", args=[asked.conversation.pk])
    return client.get(url, headers=headers).content.decode()


def field(body: str, name: str) -> str:
    """The tag of the field with this id."""
    found = re.search(rf'<input[^>]*\bid="{name}"[^>]*>', body)
    assert found, body
    return found[0]


def elsewhere(name: str = "large") -> LanguageModel:
    """A model on a server of the house."""
    model = factories.language_model(name)
    model.engine = EngineConnection.objects.create(
        name="GPU 1", kind=EngineConnection.Kind.OPENAI, url="http://127.0.0.1:9/v1"
    )
    model.context_length = 131_072
    model.save()
    return model


def test_the_picker_says_of_each_model_where_it_runs(alice: Client) -> None:
    here, there = factories.language_model("small"), elsewhere()
    page = alice.get("/").content.decode()
    assert page.count('href="?model=') == 2
    assert "on this machine" in page and "on the server GPU 1" in page
    assert "reads 128K tokens at once" in page
    LanguageModel.objects.filter(pk=here.pk).update(
        description="Quick, for <short> letters.", data_class="internal"
    )
    page = alice.get("/").content.decode()
    assert "Quick, for &lt;short&gt; letters." in page
    assert page.count("for data up to: Internal") == 1
    for wanted in (there, here):
        chosen = alice.get(f"/?model={wanted.pk}").context["chosen"]
        assert chosen == wanted
    LanguageModel.objects.filter(pk=there.pk).update(available=False)
    assert alice.get(f"/?model={there.pk}").context["chosen"] == here
    assert alice.get("/?model=%00").context["chosen"] == here


def test_another_model_goes_on_with_a_conversation(alice: Client, people: People) -> None:
    before = factories.answered(people.alice)
    there = elsewhere()
    page = page_of(alice, before)
    assert page.count('name="language_model"') == 2
    url = reverse("chat:choose_model", args=[before.conversation.pk])
    back = f"/conversations/{before.conversation.pk}/?at={before.answer.pk}"
    reply = alice.post(url, {"language_model": there.pk, "next": back})
    assert (reply.status_code, reply.headers["location"]) == (302, back)
    entry = AuditEntry.objects.latest("pk")
    assert (entry.verb, entry.facts) == ("conversation.model_chosen", {"model": str(there.pk)})
    conversation = Conversation.objects.select_related("language_model").get()
    made = messages.ask(people.alice, "And?", message_id=uuid4(), conversation=conversation)
    assert made.answer.language_model == there
    before.answer.refresh_from_db()
    assert before.answer.language_model != there


@pytest.mark.parametrize("named", ["gone", "nothing", "\0"])
def test_a_model_that_is_not_there_changes_nothing(
    alice: Client, people: People, named: str
) -> None:
    asked, there = factories.answered(people.alice), elsewhere()
    LanguageModel.objects.filter(pk=there.pk).update(available=False)
    url = reverse("chat:choose_model", args=[asked.conversation.pk])
    form = {"language_model": there.pk if named == "gone" else named, "next": "//evil.example/"}
    assert alice.post(url, form).url == f"/conversations/{asked.conversation.pk}/"
    assert Conversation.objects.get().language_model_id == asked.answer.language_model_id


def filled(people: People, used: int | None, **run: object) -> messages.Asked:
    """An answer whose run has used so many of 1,000 tokens."""
    asked = factories.answered(people.alice)
    LanguageModel.objects.update(context_length=1000)
    tokens = {"prompt_tokens": used and used - 10, "completion_tokens": used and 10}
    Generation.objects.update(**tokens, **run)
    return asked


@pytest.mark.parametrize(
    ("used", "told", "warns"),
    [(None, "", False), (499, "", False), (620, "62 % full", False), (930, "93 % full", True),
     (2000, "100 % full", True)],
)  # fmt: skip
def test_the_gauge_speaks_when_it_is_worth_knowing(
    alice: Client, people: People, used: int | None, told: str, warns: bool
) -> None:
    page = page_of(alice, filled(people, used))
    _, words = elements(page)["window"]
    assert told in words if told else "full" not in words
    assert ("Begin a new chat" in words) is warns


def test_the_gauge_is_that_of_the_model_that_goes_on(alice: Client, people: People) -> None:
    asked = filled(people, 930)
    there = elsewhere()
    asked.conversation.language_model = there
    asked.conversation.save()
    assert "% full" not in page_of(alice, asked)


def test_what_did_not_fit_fills_it(alice: Client, people: People) -> None:
    asked = filled(people, None, reason="context_length_exceeded", facts={"prompt_tokens": 5000})
    assert "100 % full" in page_of(alice, asked)


def test_an_answer_that_ends_tells_the_gauge(people: People) -> None:
    asked = filled(people, 930)
    reading = answers.one(asked.answer)
    assert not usual.is_plain(reading)
    frame = render_to_string("chat/_answer_frame.html", {"reading": reading, "frame": True})
    attributes, words = elements(frame)["window"]
    assert attributes["hx-swap-oob"] == "outerHTML" and "93 % full" in words
    Generation.objects.update(prompt_tokens=1)
    assert window.fill([answers.one(asked.answer)]) is None


def renamed(client: Client, asked: messages.Asked, title: str, **headers: str) -> tuple[int, str]:
    url = reverse("chat:rename", args=[asked.conversation.pk])
    reply = client.post(url, {"title": title}, headers=headers)
    return reply.status_code, reply.content.decode()


def test_the_title_is_written_over_where_it_stands(alice: Client, people: People) -> None:
    asked = factories.answered(people.alice)
    status, body = renamed(alice, asked, "  The  sky \u202e", **HTMX)
    assert status == 200 and "<html" not in body
    assert elements(body)["title"][1].strip() == "The sky"
    assert Conversation.objects.get().title == "The sky"


BAD = {
    "too long": ("x" * 10_000, "at most 200 characters"),
    "NUL": ("a\0b", "Null characters are not allowed."),
    "empty": (" \n ", "This field is required."),
    "not to be seen": ("\u200b\u202e\u2066", "This title cannot be seen."),
}


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["without scripts", "with scripts"])
@pytest.mark.parametrize("case", BAD)
def test_a_title_that_will_not_do_is_refused_beside_the_field(
    alice: Client, people: People, case: str, headers: dict[str, str]
) -> None:
    asked = factories.answered(people.alice)
    title, sentence = BAD[case]
    status, body = renamed(alice, asked, title, **headers)
    assert status == 422 and sentence in body
    assert Conversation.objects.get().title == asked.conversation.title
    if not headers:
        wrong = field(body, "id_title")
        assert "autofocus" in wrong and 'aria-invalid="true"' in wrong
        assert "id_title_error" in wrong
        assert case != "too long" or title in body


def test_halves_of_characters_become_signs_of_what_is_missing(
    alice: Client, people: People
) -> None:
    asked = factories.answered(people.alice)
    url = reverse("chat:rename", args=[asked.conversation.pk])
    body = b"title=half" + quote(b"\xed\xa0\x80").encode() + b"way"
    reply = alice.post(url, body, content_type="application/x-www-form-urlencoded")
    assert reply.status_code == 302
    assert Conversation.objects.get().title.strip("\ufffd").startswith("half")
    assert "\ufffd" in Conversation.objects.get().title


def test_text_that_cannot_be_seen_is_not_sent(alice: Client, people: People) -> None:
    factories.language_model()
    form = {"text": "\u200b\u202e", "message_id": uuid4()}
    reply = alice.post(reverse("chat:start"), form)
    assert reply.status_code == 422
    assert "There is nothing to send yet." in reply.content.decode()


def test_switches_are_kept_by_the_browser(alice: Client, people: People) -> None:
    url = reverse("chat:switch")
    assert " checked" not in field(alice.get("/").content.decode(), "fold")
    for form, folded in (({"what": "sidebar", "on": "on"}, True), ({"what": "sidebar"}, False)):
        assert alice.post(url, form, headers=HTMX).status_code == 204
        assert (" checked" in field(alice.get("/").content.decode(), "fold")) is folded
    assert alice.get("/").content.decode().count(" checked>") == 1
    alice.post(url, {"what": "letters"})
    assert alice.get("/").content.decode().count(" checked>") == 0
    assert alice.cookies["letters"]["httponly"] and alice.cookies["letters"]["samesite"] == "Lax"
    assert alice.post(url, {"what": "sessionid"}).status_code == 404


def test_the_page_of_all_parts_is_for_developers(alice: Client, settings: object) -> None:
    assert alice.get("/design/").status_code == 404
    settings.DEBUG = True
    page = alice.get("/design/")
    assert page.status_code == 200
    body = page.content.decode()
    for state in Generation.State:
        assert f'data-state="{state}"' in body
    assert "93 % full" in body and "on the server GPU 1" in body
    assert body.count('class="field wrong"') >= 3
    assert "autofocus" in field(body, "id_w-name")  # the first wrong one
    assert "autofocus" not in field(body, "id_w-email")
    for part in PARTS:
        assert part in body

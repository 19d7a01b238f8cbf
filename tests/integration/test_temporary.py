"""A temporary chat: asked, answered, stopped; alone with its page, bounded, and gone with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.domain import provisioning
from accounts.models import AuditEntry, Session
from chat.domain import prompts
from chat.models import LanguageModel
from chat.temporary import consumer, talk
from engine_adapter.script import Rule, Script
from engine_adapter.scripted import ScriptedEngine
from tests import factories
from tests.people import People, browser
from tests.readers import elements
from tests.scripts import ENDLESS, SLOW, engine_host, in_database, until
from tests.temporaries import TemporaryPage

pytestmark = pytest.mark.django_db(transaction=True)

RULES = (
    SLOW, ENDLESS,
    Rule(("Half of ", "it"), when="break", fail_after=1),
    Rule((), when="refuse", fail_after=0, failure="refused"),
    Rule(("The ", "answer."), when="think", reasoning=("Let me ", "see.")),
    Rule(("  \n", "\0"), when="nothing"),
)  # fmt: skip
SCRIPT = Script(default=Rule(("Hello", " **there**", ".")), rules=RULES, context_length=60)


@pytest.fixture
def model(db: None) -> LanguageModel:
    return factories.language_model()


@pytest.fixture
async def engine(model: LanguageModel) -> AsyncIterator[ScriptedEngine]:
    async with engine_host(SCRIPT) as host:
        yield host


async def test_questions_are_answered_one_after_the_other(
    people: People, engine: ScriptedEngine
) -> None:
    async with TemporaryPage(people.alice) as page:
        first = await page.ask("Who <are> you?")
        assert "Who &lt;are&gt; you?" in page.frames[-1]
        assert 'value="stop"' in page.frames[-1]
        assert "<strong>there</strong>" in await page.see(first, state="done")
        assert "The answer is complete." in page.frames[-1]
        assert 'id="send"' in page.frames[-1]
        for offered in ("/regenerate/", "/fork/", "/rate/", "/edit/", "hx-get", "<form"):
            assert offered not in "".join(page.frames)
        second = await page.ask("And now?")
        assert "Hello" in await page.see(second, state="done")
        assert engine.started == 2


async def test_the_engine_is_told_all_that_was_said(people: People, engine: ScriptedEngine) -> None:
    async with TemporaryPage(people.alice) as page:
        await page.see(await page.ask("one two three"), state="done")
        too_long = await page.ask("word " * 56)
        await page.see(too_long, state="failed")
        # Three words of the first question, two of its answer, and these.
        assert "61 of 60 tokens" in page.frames[-1]
        assert "retry" not in page.frames[-1]


async def test_leaving_ends_the_request_in_the_engine(
    people: People, engine: ScriptedEngine
) -> None:
    async with TemporaryPage(people.alice) as page:
        await page.see(await page.ask("Tell me for ever"), text="3")
        assert (engine.running, engine.cancelled) == (1, 0)
    await until(lambda: engine.cancelled == 1 and not engine.running)


async def test_stop_ends_it_and_what_was_said_stays_in_the_talk(
    people: People, engine: ScriptedEngine
) -> None:
    async with TemporaryPage(people.alice) as page:
        answer = await page.ask("Tell me for ever")
        await page.see(answer, text="3")
        await page.send(act="stop", text="what is being typed", talk=page.place)
        assert "3" in await page.see(answer, state="stopped")
        assert "You stopped this answer." in page.frames[-1]
        assert 'id="text"' not in page.frames[-1]
        await until(lambda: engine.cancelled == 1)
        await page.send(act="stop", talk=page.place)  # once more, and nothing is running
        assert "Hello" in await page.see(await page.ask("And now?"), state="done")


async def test_an_answer_that_broke_is_written_again_in_its_place(
    people: People, engine: ScriptedEngine
) -> None:
    async with TemporaryPage(people.alice) as page:
        answer = await page.ask("break it")
        assert "Half of" in await page.see(answer, state="interrupted")
        assert 'value="retry"' in page.frames[-1]
        await page.send(act="retry", talk=page.place)
        assert f'id="m-{answer.pk}"' in (await page.frame() or "")
        await page.see(answer, state="interrupted")
        assert engine.started == 2


async def test_a_model_that_was_taken_away_writes_nothing_again(
    people: People, engine: ScriptedEngine
) -> None:
    async with TemporaryPage(people.alice) as page:
        await page.see(await page.ask("break it"), state="interrupted")
        await in_database(LanguageModel.objects.update)(available=False)
        await page.send(act="retry", talk=page.place)
        await page.frame()
        assert "not available any more" in page.problem
        assert engine.started == 1


def test_a_request_shares_the_person_s_part_of_the_engine_and_no_cache() -> None:
    model = LanguageModel(name="scripted", instruction="Be brief.")
    one, other = talk.Talk(), talk.Talk()
    one.ask("Hello?")
    one.answer("Hello.", is_broken=False)
    one.ask("And")
    one.answer("", is_broken=True)
    one.ask("now?")
    asked = one.request(model, "alice")
    assert [(turn.role, turn.content) for turn in asked.turns] == [
        ("system", "Be brief."),
        ("user", "Hello?"),
        ("assistant", "Hello."),
        ("user", "And\n\nnow?"),
    ]
    assert asked.public_turns == 1
    assert asked.user == prompts.share("alice") != prompts.share("bob")
    assert len({asked.cache_salt, other.request(model, "alice").cache_salt,
                prompts.cache_domain("alice", "scripted")}) == 3  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("refuse it", "The engine refused this request; your message is kept."),
        ("say nothing", "The model wrote nothing this time; your message is kept."),
    ],
)
async def test_a_failure_is_a_sentence(
    people: People, engine: ScriptedEngine, text: str, sentence: str
) -> None:
    async with TemporaryPage(people.alice) as page:
        await page.see(await page.ask(text), state="failed")
        assert sentence in page.frames[-1]


async def test_an_engine_that_is_away_is_waited_for(people: People, model: LanguageModel) -> None:
    async with TemporaryPage(people.alice) as page:
        answer = await page.ask("Hello?")
        async with engine_host(SCRIPT):
            assert "Hello" in await page.see(answer, state="done")
        again = await page.ask("Hello?")
        await page.see(again, state="failed")
        assert "The engine is not answering" in page.frames[-1]


async def test_thoughts_are_shown_folded(people: People, engine: ScriptedEngine) -> None:
    async with TemporaryPage(people.alice) as page:
        answer = await page.ask("think first")
        assert "The answer." in await page.see(answer, state="done")
        assert "Let me see." in page.frames[-1]
        assert "/reasoning/" not in "".join(page.frames)


async def test_who_waits_is_told_the_place_in_line(people: People, model: LanguageModel) -> None:
    script = Script(default=SCRIPT.default, rules=RULES, slots=1)
    async with (
        engine_host(script),
        TemporaryPage(people.alice) as alices,
        TemporaryPage(people.bob) as bobs,
    ):
        hers = await alices.ask("Tell me for ever")
        await alices.see(hers, text="1")
        his = await bobs.ask("Me too")
        while "1st in line" not in bobs.frames[-1]:
            await bobs.frame()
        await alices.send(act="stop", talk=alices.place)
        assert "Hello" in await bobs.see(his, state="done")


async def test_what_is_sent_twice_is_asked_once(people: People, engine: ScriptedEngine) -> None:
    async with TemporaryPage(people.alice) as page:
        place = page.place
        answer = await page.ask("Tell me slowly")
        await page.send(text="Tell me slowly", talk=place)
        await page.send(text="Tell me slowly", talk="")
        await page.see(answer, state="done")
        assert engine.started == 1
        assert not any('role="alert"' in frame for frame in page.frames)


async def test_a_page_that_was_never_told_its_place_may_begin(
    people: People, engine: ScriptedEngine
) -> None:
    async with TemporaryPage(people.alice) as page:
        await page.see(await page.ask("Sent before the socket was open", talk=""), state="done")


async def test_what_belongs_to_a_talk_that_is_gone_is_not_answered(
    people: People, engine: ScriptedEngine
) -> None:
    async with TemporaryPage(people.alice) as page:
        old = page.place
        await page.see(await page.ask("Hello?"), state="done")
    async with TemporaryPage(people.alice) as page:
        await page.send(text="And then?", talk=old)
        frame = await page.frame() or ""
        assert "this temporary chat with it" in frame
        assert " hidden" not in frame
        assert engine.started == 1


async def test_one_answer_at_a_time(people: People, engine: ScriptedEngine) -> None:
    async with TemporaryPage(people.alice) as page:
        await page.see(await page.ask("Tell me for ever"), text="1")
        await page.send(text="And this?", talk=page.place)
        while not page.problem:
            await page.frame()
        assert "still being written" in page.problem
        assert engine.started == 1


async def test_bad_questions_are_refused_with_a_sentence(
    people: People, engine: ScriptedEngine, settings
) -> None:
    settings.MESSAGE_MAX_CHARS = 100
    gone = await in_database(factories.language_model)("other")
    await in_database(LanguageModel.objects.filter(pk=gone.pk).update)(available=False)
    async with TemporaryPage(people.alice) as page:
        assert "nothing to send" in await page.refusal(" \n ")
        assert "1 character too long" in await page.refusal("x" * 101)
        assert "not available any more" in await page.refusal("Hi", language_model=str(gone.pk))
        assert await page.refusal("Hi", language_model="x")
        for nonsense in ("", "hello", "[" * 5_000, "[]", "{}", '{"text": 7}', '{"act": "x"}'):
            await page.say(text=nonsense)
        await page.say(bytes=b"\x00\xff")
        await page.see(await page.ask("Half a pair: \ud83d."), state="done")
        assert "Half a pair: \ufffd." in "".join(page.frames)
        assert engine.started == 1


async def test_without_a_model_the_text_is_kept(people: People) -> None:
    async with TemporaryPage(people.alice) as page:
        assert "No model is ready yet." in await page.refusal("Hi")


async def test_a_talk_is_bounded(
    people: People, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(talk, "MOST_CHARS", 20)
    async with TemporaryPage(people.alice) as page:
        await page.see(await page.ask("x" * 10), state="done")
        assert "reached its greatest length" in await page.refusal("Hi")
        assert engine.started == 1


async def test_a_person_has_only_so_many_open(
    people: People, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "MOST_OPEN", 1)
    async with TemporaryPage(people.alice) as other:
        async with TemporaryPage(people.alice) as page, TemporaryPage(people.bob) as bobs:
            await page.see(await page.ask("Hello?"), state="done")
            assert "too many temporary chats open" in await other.refusal("Hello?")
            await bobs.see(await bobs.ask("Hello?"), state="done")
        await other.see(await other.ask("Hello?"), state="done")


async def test_it_speaks_the_language_of_the_page(people: People, engine: ScriptedEngine) -> None:
    async with TemporaryPage(people.alice, accept_language="tr") as page:
        answer = await page.ask("Tell me for ever")
        await page.see(answer, text="1")
        await page.send(act="stop", talk=page.place)
        await page.see(answer, state="stopped")
        assert "Bu yanıtı durdurdunuz." in page.frames[-1]


async def test_asking_keeps_the_session_and_its_end_ends_the_talk(
    people: People, engine: ScriptedEngine
) -> None:
    async with TemporaryPage(people.alice) as page:
        past = timezone.now() - timedelta(minutes=50)
        await in_database(Session.objects.update)(used_at=past)
        page_session = Session.objects.filter(user=people.alice)
        await in_database(page_session.update)(expire_date=timezone.now() + timedelta(minutes=10))
        await page.see(await page.ask("Hello?"), state="done")
        await page.see(await page.ask("Tell me for ever"), text="1")
        await in_database(provisioning.deactivate)(people.alice, actor=people.administrator)
        while await page.frame() is not None:
            pass
        assert page.closed == 4401
    await until(lambda: engine.cancelled == 1)


async def test_the_ledger_says_who_began_one_with_which_model_and_nothing_else(
    people: People, engine: ScriptedEngine, model: LanguageModel
) -> None:
    async with TemporaryPage(people.alice) as page:
        await page.see(await page.ask("Hello?"), state="done")
        await page.see(await page.ask("And now?"), state="done")
    (entry,) = await in_database(list)(AuditEntry.objects.filter(verb="temporary_chat.begun"))
    assert (entry.actor_id, entry.object_id) == (people.alice.pk, str(model.pk))
    assert entry.facts == {}


async def test_other_titles_reach_its_list(people: People, engine: ScriptedEngine) -> None:
    async with TemporaryPage(people.alice) as page:
        assert await page.quiet()
        stored = await in_database(factories.answered)(people.alice)
        assert await page.quiet()  # nor is an answer elsewhere any news here
        client = await in_database(browser)(people.alice)
        address = reverse("chat:rename", args=[stored.conversation.pk])
        await in_database(client.post)(address, {"title": "Another name"})
        assert "Another name" in (await page.frame() or "")


def test_the_page_says_what_it_is(people: People, model: LanguageModel) -> None:
    response = browser(people.alice).get(reverse("chat:temporary"))
    html = response.content.decode()
    assert "Nothing of this conversation is stored." in html
    assert "needs JavaScript" in html
    assert 'ws-connect="/ws/temporary/"' in html
    assert "data-draft" not in html
    _, picker = elements(html)["language-model"]
    assert model.display_name in picker and "on this machine" in picker
    assert response.headers["Cache-Control"].count("no-store") == 1

"""What a model thought before it spoke: stored, folded, kept, and never taken for its words."""

from __future__ import annotations

import json
from uuid import uuid4

import pytest

from chat.domain import answers, export, forks, generations, prompts, rewriting
from chat.domain.generations import Growth
from chat.domain.messages import Asked
from chat.models import Chunk, Generation, Message
from engine_adapter.script import Rule, Script
from tests import factories
from tests.people import People, browser
from tests.readers import Page
from tests.scripts import engine_host, in_database, running, until

pytestmark = pytest.mark.django_db(transaction=True)

State = Generation.State
HTMX = {"HX-Request": "true"}
THOUGHTS = tuple(f"thought{n} " for n in range(30))
THINKER = Script(default=Rule(("So ", "**this**."), reasoning=THOUGHTS, pace=60))


def think(run: Generation, seq: int, reasoning: str, ms: int, text: str = "") -> None:
    growth = Growth(run.pk, run.attempt, seq, text, reasoning, ms)
    assert generations.append(run.runner, [growth]) == {run.pk}


def thought_out(people: People) -> Asked:
    """An answer that was thought about for 12 s in two ticks."""
    asked = factories.asked(people.alice)
    run = factories.claimed()
    think(run, 1, "First <b>I</b> look.\n\n", 5_000)
    think(run, 2, "- then I *see*", 12_300, text="Blue")
    factories.write(run, " it is.", since=2)
    factories.end(run)
    return asked


async def ended(asked: Asked) -> Generation:
    def look() -> Generation | None:
        run = asked.answer.generations.order_by("-created_at").first()
        return run if run and not run.is_active else None

    return await until(in_database(look))


def page_of(people: People, asked: Asked, **more: str) -> str:
    address = f"/conversations/{asked.conversation.pk}/"
    return browser(people.alice).get(address, headers=more).content.decode()


async def test_it_is_seen_while_it_is_thought_and_folded_when_it_is_spoken(people: People) -> None:
    asked = await in_database(factories.asked)(people.alice)
    async with engine_host(THINKER), running(), Page(people.alice, asked.conversation) as page:
        html = await page.see(asked.answer, state="done")
    frames = "".join(page.frames)
    assert "<strong>this</strong>" in html
    assert "thought0" not in html
    assert "Thinking…" in frames
    grown = [frame for frame in page.frames if 'thoughts" hx-swap-oob="beforeend"' in frame]
    assert len(grown) > 3, "it grows while it is thought"
    assert all(f"thought{n}" in frames for n in range(30))
    assert "Thought for" in page.frames[-1]
    assert "thought29" in page.frames[-1]
    message = await in_database(Message.objects.get)(pk=asked.answer.pk)
    assert (message.text, message.reasoning) == ("So **this**.", "".join(THOUGHTS))
    assert message.reasoned_ms > 0


async def test_a_page_that_comes_in_the_middle_has_all_of_it(people: People) -> None:
    asked = await in_database(factories.asked)(people.alice)
    run = await in_database(factories.claimed)()
    await in_database(think)(run, 1, "one ", 300)
    async with Page(people.alice, asked.conversation) as page:
        first = await page.frame()
        assert ">one </div>" in first
        assert "Thinking…" in first
        # Nobody told of the next tick: it is missed, and read after the one that follows.
        await in_database(think)(run, 2, "two ", 600)
        await in_database(think)(run, 3, "three", 900, text="Words")
        html = await page.see(asked.answer, text="Words")
        assert "three" not in html
        assert "one two three" in page.frames[-1]


def test_a_finished_answer_tells_for_how_long_and_brings_the_rest_when_it_is_asked(
    people: People,
) -> None:
    asked = thought_out(people)
    page = page_of(people, asked)
    assert "Thought for 12 s" in page
    assert "then I" not in page
    address = f"/answers/{asked.answer.pk}/reasoning/"
    assert f'hx-get="{address}"' in page
    client = browser(people.alice)
    part = client.get(address, headers=HTMX).content.decode()
    assert "<em>see</em>" in part
    assert "&lt;b&gt;" in part
    assert "<h1" in client.get(address).content.decode()
    assert "12 sn düşündü" in page_of(people, asked, **{"Accept-Language": "tr"})
    assert browser(people.mallory).get(address, headers=HTMX).status_code == 404


def test_an_answer_without_it_has_nothing_to_unfold(people: People) -> None:
    asked = factories.answered(people.alice)
    assert '<details class="reasoning"' not in page_of(people, asked)


def test_thoughts_are_no_words_of_the_next_prompt_and_not_loaded_for_it(people: People) -> None:
    asked = thought_out(people)
    factories.asked(people.alice, "And now?", conversation=asked.conversation)
    told = [turn.content for turn in prompts.build(factories.claimed()).request.turns]
    assert told == ["Why is the sky blue?", "Blue it is.", "And now?"]


def test_what_is_taken_along_comes_back_with_it(people: People) -> None:
    asked = thought_out(people)
    told = export.document(asked.conversation)
    assert told["messages"][1]["reasoning"] == {
        "text": "First <b>I</b> look.\n\n- then I *see*", "ms": 12_300,
    }  # fmt: skip
    assert "reasoning" not in told["messages"][0]
    client = browser(people.bob)
    file = factories.file(json.dumps([told]).encode(), "conversations.json")
    assert client.post("/conversations/import/", {"file": file}).status_code == 200
    mine = Message.objects.get(conversation__owner=people.bob, role="assistant")
    assert (mine.reasoning, mine.reasoned_ms) == ("First <b>I</b> look.\n\n- then I *see*", 12_300)


def test_a_fork_keeps_it(people: People) -> None:
    asked = thought_out(people)
    made = forks.fork(asked.answer, conversation_id=uuid4(), actor=people.alice)
    assert made.messages.get(role="assistant").reasoned_ms == 12_300


async def test_what_was_thought_before_a_break_stands_above_what_comes_after(
    people: People,
) -> None:
    asked = await in_database(factories.asked)(people.alice)
    run = await in_database(factories.claimed)()
    await in_database(think)(run, 1, "half a thou", 400)
    await in_database(generations.release)(run.runner)
    async with engine_host(THINKER), running():
        run = await ended(asked)
    message = await in_database(Message.objects.get)(pk=asked.answer.pk)
    assert (run.state, message.text) == (State.DONE, "So **this**.")
    assert message.reasoning == "half a thou\n\n" + "".join(THOUGHTS)
    assert await in_database(Chunk.objects.count)() == 0


async def test_a_stop_while_it_thinks_keeps_the_thoughts(people: People) -> None:
    asked = await in_database(factories.asked)(people.alice)
    async with engine_host(THINKER), running():
        await until(in_database(Chunk.objects.filter(reasoning__gt="").exists))
        await in_database(generations.stop)(asked.answer, actor=people.alice)
        run = await ended(asked)
    message = await in_database(Message.objects.get)(pk=asked.answer.pk)
    assert (run.state, message.text) == (State.STOPPED, "")
    assert message.reasoning.startswith("thought0 ")
    assert await in_database(lambda: answers.one(message).remedy)() == "retry"


async def test_thoughts_without_a_word_are_told_as_such(people: People) -> None:
    script = Script(default=Rule((), reasoning=THOUGHTS, finish="length"))
    asked = await in_database(factories.asked)(people.alice)
    async with engine_host(script), running():
        run = await ended(asked)
    assert (run.state, run.reason) == (State.FAILED, "only_thought")
    page = await in_database(page_of)(people, asked)
    assert "used its whole length for thinking" in page
    assert "Thought for" in page
    written = await in_database(rewriting.retry)(asked.answer, actor=people.alice)
    assert written.pk == asked.answer.pk

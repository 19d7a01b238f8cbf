"""One contract, every engine: what a stream promises whoever writes it.

The same cases run over the scripted engine in this process, over the bundled engine with a real
model in its host, over the scripted engine in that host, over llama.cpp's own server with the same
model, and over the adapter of every remote kind with an imitation of that engine behind it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from engine_adapter.errors import Broken, ContextTooLong, Refused, Unreachable
from engine_adapter.remote.detection import look
from engine_adapter.remote.kinds import ADAPTERS
from engine_adapter.scripted import ScriptedEngine
from engine_adapter.types import (
    Event,
    Failed,
    Finished,
    Progress,
    Reasoning,
    Request,
    Sampling,
    Text,
    Turn,
    Usage,
)
from tests.conformance.imitations import COUNTS_NO_PROMPT, TELLS_NO_LENGTH
from tests.integration.engine_hosts import Host, all_gone, running_llama_server
from tests.integration.engine_subjects import (
    CONTEXT,
    SCRIPT,
    SLOTS,
    AnyEngine,
    Subject,
    host_of,
    imitated,
    real,
    somebody_waits,
)

HOSTS = ["bundled-host", "scripted-host"]
KINDS = ["scripted", *HOSTS, "llama-server", *ADAPTERS]
START = {True: " 4, 5", False: "1, 2"}  # of a count, which goes on from three or begins


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("script") / "script.json"
    path.write_text(json.dumps(SCRIPT))
    return path


@pytest.fixture(scope="module")
def bundled_host(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Host]:
    with host_of("bundled-host", request, tmp_path_factory) as host:
        yield host


@pytest.fixture(scope="module")
def scripted_host(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Host]:
    with host_of("scripted-host", request, tmp_path_factory) as host:
        yield host


@pytest.fixture(scope="module")
def llama_server(starter_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("llama-server")
    with running_llama_server(folder, starter_model, SLOTS, CONTEXT) as address:
        yield address


@pytest.fixture(params=KINDS)
async def subject(request: pytest.FixtureRequest) -> AsyncIterator[Subject]:
    kind = request.param
    if kind in ADAPTERS:
        async with imitated(kind, request.getfixturevalue("script")) as subject:
            yield subject
        return
    if kind == "llama-server":
        async with real(request.getfixturevalue("llama_server")) as subject:
            yield subject
        return
    engine: AnyEngine
    if kind == "scripted":
        engine = ScriptedEngine.from_file(request.getfixturevalue("script"))
    else:
        host: Host = request.getfixturevalue(kind.replace("-", "_"))
        engine = await host.engine()
    yield Subject(kind, engine)
    await engine.aclose()


@pytest.fixture
def engine(subject: Subject) -> AnyEngine:
    return subject.engine


@pytest.fixture(params=HOSTS)
def mortal_host(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Host]:
    """A host for one test alone, which may kill it."""
    with host_of(request.param, request, tmp_path_factory) as host:
        yield host


async def ask(engine: AnyEngine, question: str, *, prefix: str = "", **sampling: Any) -> Request:
    """A request to the engine's first model, without chance."""
    model = (await engine.models())[0].name
    turns = [Turn("user", question)]
    if prefix:
        turns.append(Turn("assistant", prefix))
    return Request(
        model=model,
        turns=tuple(turns),
        sampling=Sampling(temperature=0.0, **sampling),
        continue_final=bool(prefix),
    )


async def counting(engine: AnyEngine, **sampling: Any) -> Request:
    """A request whose answer is known, long and hard to get wrong: it counts on from four, or from
    one where the engine cannot go on."""
    question = "Please count from 1 to 1000 in digits, with commas between the numbers."
    return await ask(engine, question, prefix=await begun(engine, "1, 2, 3,"), **sampling)


async def begun(engine: AnyEngine, prefix: str) -> str:
    """``prefix`` where the engine can go on with it, else nothing."""
    return prefix if (await engine.models())[0].continues else ""


async def answer(engine: AnyEngine, request: Request) -> tuple[str, list[Event]]:
    """The whole text and all events, whose order is checked: the contract's first rule."""
    events = [event async for event in engine.stream(request)]
    kinds = "".join(
        "E" if isinstance(event, Finished | Failed) else "P" if isinstance(event, Progress) else "T"
        for event in events
    )
    assert kinds.rstrip("E").lstrip("P").strip("T") == "", kinds
    assert kinds.count("E") == 1, kinds
    assert kinds.endswith("E"), kinds
    assert all(event.text for event in events if isinstance(event, Text | Reasoning))
    return "".join(event.text for event in events if isinstance(event, Text)), events


async def text_of(events: AsyncIterator[Event]) -> str:
    """The next piece of text."""
    async for event in events:
        if isinstance(event, Text):
            return event.text
        assert isinstance(event, Progress), event
    pytest.fail("The stream ended without a word.")


async def test_it_is_well_and_lists_what_it_serves(subject: Subject) -> None:
    await subject.engine.health()
    (card,) = await subject.engine.models()
    assert card.context_length == (None if subject.kind in TELLS_NO_LENGTH else CONTEXT)
    assert card.kind == "text"
    unable = {"ollama", "lmstudio", "trtllm", "openai"}
    assert card.continues is (subject.kind not in unable)


async def test_the_real_server_is_known_by_its_signs(llama_server: str) -> None:
    async with real(llama_server):
        found = await look(llama_server)
    assert (found.kind, found.error) == ("llamacpp", None)


async def test_an_answer_is_pieces_and_one_end(engine: AnyEngine) -> None:
    text, events = await answer(engine, await ask(engine, "Say hello.", max_tokens=8))
    assert text.strip()
    assert isinstance(events[-1], Finished)


async def test_usage_is_honest_and_the_limit_is_kept(engine: AnyEngine) -> None:
    text, events = await answer(engine, await counting(engine, max_tokens=12))
    assert text.strip()
    end = events[-1]
    assert isinstance(end, Finished)
    assert end.reason == "length"
    assert isinstance(end.usage, Usage)
    assert end.usage.completion_tokens == 12
    assert 10 < end.usage.prompt_tokens < 100


async def test_a_longer_prompt_costs_more(engine: AnyEngine) -> None:
    costs = []
    for words in (10, 30):
        _, events = await answer(engine, await ask(engine, "word " * words, max_tokens=1))
        assert isinstance(events[-1], Finished)
        assert isinstance(events[-1].usage, Usage)
        costs.append(events[-1].usage.prompt_tokens)
    assert costs[1] - costs[0] == pytest.approx(20, abs=2)


async def test_it_goes_on_where_an_answer_stopped_or_says_that_it_cannot(
    engine: AnyEngine,
) -> None:
    text, _ = await answer(engine, await counting(engine, max_tokens=12))
    continues = (await engine.models())[0].continues
    assert text.startswith(START[continues])
    if not continues:
        _, (end,) = await answer(engine, await ask(engine, "Please count.", prefix="1, 2, 3,"))
        assert isinstance(end, Failed)
        assert type(end.error) is Refused


async def test_stop_strings_end_it_and_are_not_told(engine: AnyEngine) -> None:
    whole, _ = await answer(engine, await counting(engine, max_tokens=40))
    # Characters out of the middle, cut without regard to where pieces begin and end.
    for at in (11, 14, 17):
        stop = whole[at : at + 4]
        request = await counting(engine, max_tokens=40, stop=("never said", stop))
        text, events = await answer(engine, request)
        assert text == whole[: whole.index(stop)]
        end = events[-1]
        assert isinstance(end, Finished)
        assert end.reason == "stop"
        assert isinstance(end.usage, Usage)
        assert end.usage.completion_tokens < 40


async def test_the_start_of_a_stop_string_that_does_not_come_is_told(subject: Subject) -> None:
    engine = subject.engine
    whole, _ = await answer(engine, await counting(engine, max_tokens=20))
    request = await counting(engine, max_tokens=20, stop=(whole[-3:] + "#", whole[3:8] + "#"))
    text, _ = await answer(engine, request)
    if subject.kind == "llama-server":  # at the limit it never tells what it held back for that
        assert text == whole[:-3]
    else:
        assert text == whole


async def test_characters_are_whole_however_tokens_cut_them(engine: AnyEngine) -> None:
    prefix = await begun(engine, "🌊🌊")
    request = await ask(engine, "Draw the sea with emoji.", prefix=prefix, max_tokens=24)
    text, events = await answer(engine, request)
    assert any(ord(character) > 0xFFFF for character in text), text
    assert "\ufffd" not in text
    for event in events:
        assert not isinstance(event, Text) or event.text.encode("utf-8")


async def test_a_prompt_that_does_not_fit_is_told_with_both_numbers(subject: Subject) -> None:
    request = await ask(subject.engine, "word " * (CONTEXT + 50))
    text, (end,) = await answer(subject.engine, request)
    assert text == ""
    assert isinstance(end, Failed)
    assert isinstance(end.error, ContextTooLong)
    if subject.kind in COUNTS_NO_PROMPT:
        return
    assert end.error.context_length == CONTEXT
    assert end.error.prompt_tokens is not None
    least = 1 if subject.kind in {"vllm", "llmd"} else 50  # it counts no further than it must
    assert CONTEXT + least <= end.error.prompt_tokens < CONTEXT + 150


async def test_an_answer_that_fills_the_window_ends_with_length(engine: AnyEngine) -> None:
    filler = "word " * (CONTEXT - 100) + "\nPlease count from 1 to 1000 in digits."
    prefix = await begun(engine, "1, 2, 3,")
    text, events = await answer(engine, await ask(engine, filler, prefix=prefix))
    assert text
    assert isinstance(events[-1], Finished)
    assert events[-1].reason == "length"
    assert events[-1].usage is not None
    assert events[-1].usage.prompt_tokens + events[-1].usage.completion_tokens <= CONTEXT


async def test_a_model_that_is_not_there_is_refused(engine: AnyEngine) -> None:
    _, (end,) = await answer(engine, Request(model="none", turns=(Turn("user", "Hello"),)))
    assert isinstance(end, Failed)
    assert isinstance(end.error, Refused)


async def test_more_than_there_are_slots_are_all_answered(engine: AnyEngine) -> None:
    request = await counting(engine, max_tokens=12)
    answers = await asyncio.gather(*(answer(engine, request) for _ in range(3 * SLOTS)))
    start = START[bool(request.continue_final)]
    assert all(text.startswith(start) for text, _ in answers)
    assert all(isinstance(events[-1], Finished) for _, events in answers)


async def _waiting_in_line(engine: AnyEngine, request: Request, told: asyncio.Event) -> str:
    async with aclosing(engine.stream(request)) as events:
        async for event in events:
            if isinstance(event, Text):
                return event.text
            assert isinstance(event, Progress), event
            if event.ahead:
                told.set()
    pytest.fail("The stream ended without a word.")


@pytest.mark.parametrize("how", ["closed", "cancelled"])
async def test_a_cancel_frees_the_slot(subject: Subject, how: str) -> None:
    engine = subject.engine
    long = await counting(engine)
    async with aclosing(engine.stream(long)) as survivor:
        await text_of(survivor)
        doomed = engine.stream(long)
        await text_of(doomed)
        # All slots are taken now: the next one waits, and is told so where the engine tells it.
        told = asyncio.Event()
        waiting = asyncio.create_task(_waiting_in_line(engine, long, told))
        if subject.behind is None and subject.kind != "llama-server":
            await told.wait()
        else:
            await somebody_waits(subject)
        if how == "closed":
            await doomed.aclose()
        else:
            reading = asyncio.create_task(_drain(doomed))
            await asyncio.sleep(0)
            reading.cancel()
            assert isinstance(
                (await asyncio.gather(reading, return_exceptions=True))[0], asyncio.CancelledError
            )
        assert await waiting
        # It was the cancelled one's slot: the other one is still being written.
        assert await text_of(survivor)


async def _drain(events: AsyncIterator[Event]) -> None:
    async for _ in events:
        pass


async def test_many_cancels_leave_every_slot_free(engine: AnyEngine) -> None:
    long = await counting(engine)
    for _ in range(3 * SLOTS):
        async with aclosing(engine.stream(long)) as events:
            await text_of(events)
    streams = [engine.stream(long) for _ in range(SLOTS)]
    for events in streams:
        assert await text_of(events)
    for events in streams:
        assert await text_of(events)
        await events.aclose()


async def test_closing_the_engine_ends_streams_with_one_failed(engine: AnyEngine) -> None:
    events = engine.stream(await counting(engine))
    assert await text_of(events)
    rest = asyncio.create_task(_rest(events))
    await asyncio.sleep(0)
    await engine.aclose()
    *_, end = await rest
    assert isinstance(end, Failed)


async def _rest(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


async def test_a_host_that_is_killed_leaves_the_text_and_one_failed(mortal_host: Host) -> None:
    engine = await mortal_host.engine()
    request = await counting(engine)
    events = engine.stream(request)
    text = ""
    while " 4," not in text:
        text += await text_of(events)
    started = mortal_host.descendants()
    mortal_host.process.kill()
    rest = await _rest(events)
    text += "".join(event.text for event in rest if isinstance(event, Text))
    assert " 4, 5, 6, 7, 8, 9, 10,".startswith(text[:12])
    ends = [event for event in rest if not isinstance(event, Text)]
    assert ends == rest[-1:]
    assert isinstance(ends[0], Failed)
    assert isinstance(ends[0].error, Broken)
    _, (end,) = await answer(engine, request)
    assert isinstance(end, Failed)
    assert isinstance(end.error, Unreachable)
    with pytest.raises(Unreachable):
        await engine.health()
    await engine.aclose()
    # Nothing the host had started lives on without it.
    await all_gone(started)

"""What is the ScriptedEngine's own: scripts from files, rules, counters, the line, closing."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from engine_adapter.errors import Broken, EngineError, Overloaded, Refused, Unreachable
from engine_adapter.script import Rule, Script
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

WORDS = Rule(pieces=("one ", "two ", "three"))


def ask(question: str = "Count", *, prefix: str = "", **sampling: Any) -> Request:
    turns = [Turn("system", "Be brief."), Turn("user", question)]
    if prefix:
        turns.append(Turn("assistant", prefix))
    return Request(
        model="scripted",
        turns=tuple(turns),
        sampling=Sampling(**sampling),
        continue_final=bool(prefix),
    )


async def played(script: Script, request: Request) -> list[Event]:
    return [event async for event in ScriptedEngine(script).stream(request)]


async def test_the_first_rule_that_matches_plays() -> None:
    script = Script(
        default=WORDS,
        rules=(
            Rule(when="WEATHER", pieces=("Rain.",), reasoning=("Clouds.",), finish="other"),
            Rule(when="weather", pieces=("Never.",)),
        ),
    )
    assert await played(script, ask("What weather?")) == [
        Reasoning("Clouds."),
        Text("Rain."),
        Finished("other", Usage(4, 2)),
    ]
    assert await played(script, ask()) == [
        Text("one "),
        Text("two "),
        Text("three"),
        Finished("stop", Usage(3, 3)),
    ]


@pytest.mark.parametrize(
    ("stops", "text", "tokens"),
    [
        (("two",), "one ", 2),
        (("e t", "three"), "on", 2),
        (("ree",), "one two th", 3),
        (("none",), "one two three", 3),
        (("ne two t", "two"), "one ", 2),
    ],
)
async def test_stop_strings_cut_where_they_begin(
    stops: tuple[str, ...], text: str, tokens: int
) -> None:
    *pieces, end = await played(Script(default=WORDS), ask(stop=stops))
    assert "".join(piece.text for piece in pieces if isinstance(piece, Text)) == text
    assert all(piece.text for piece in pieces if isinstance(piece, Text))
    assert end == Finished("stop", Usage(3, tokens))


@pytest.mark.parametrize(
    ("prefix", "rest"),
    [
        ("one ", ["two ", "three"]),
        ("one tw", ["o ", "three"]),
        ("one two three", []),
        ("other", ["one ", "two ", "three"]),
    ],
)
async def test_it_goes_on_after_the_prefix(prefix: str, rest: list[str]) -> None:
    *pieces, end = await played(Script(default=WORDS), ask(prefix=prefix))
    assert pieces == [Text(piece) for piece in rest]
    assert isinstance(end, Finished)


async def test_a_failure_comes_once_and_a_continued_answer_gets_past_it() -> None:
    for failure, error in [("overloaded", Overloaded), ("unreachable", Unreachable)]:
        rule = Rule(pieces=("one ", "two ", "three"), fail_after=1, failure=failure)
        *pieces, end = await played(Script(default=rule), ask())
        assert pieces == [Text("one ")]
        assert isinstance(end, Failed)
        assert type(end.error) is error
        *rest, end = await played(Script(default=rule), ask(prefix="one "))
        assert rest == [Text("two "), Text("three")]
        assert isinstance(end, Finished)


async def test_the_window_ends_an_answer_that_outgrows_it() -> None:
    script = Script(default=WORDS, context_length=5)
    assert (await played(script, ask()))[-1] == Finished("length", Usage(3, 2))


async def test_another_model_is_refused() -> None:
    (end,) = await played(Script(default=WORDS, model="other"), ask())
    assert isinstance(end, Failed)
    assert isinstance(end.error, Refused)


async def test_the_line_moves_up_in_order_and_a_cancel_frees_its_place() -> None:
    rule = Rule(pieces=("x",) * 1000, pace=1000)
    engine = ScriptedEngine(Script(default=rule, slots=1))
    seen: dict[str, list[Event]] = {"second": [], "third": []}
    both_wait = asyncio.Barrier(3)

    async def read(name: str) -> None:
        async for event in engine.stream(ask(max_tokens=2)):
            seen[name].append(event)
            if len(seen[name]) == 1:
                await both_wait.wait()

    async with aclosing(engine.stream(ask())) as first:
        assert await anext(first) == Text("x")
        readers = [asyncio.create_task(read("second")), asyncio.create_task(read("third"))]
        await both_wait.wait()
        assert (engine.running, engine.waiting) == (1, 2)
    assert engine.cancelled == 1
    await asyncio.gather(*readers)
    assert seen["second"][:2] == [Progress(1), Text("x")]
    assert seen["third"][:3] == [Progress(2), Progress(1), Text("x")]
    assert (engine.running, engine.waiting, engine.started, engine.cancelled) == (0, 0, 3, 1)


async def test_a_cancel_in_the_line_leaves_the_line() -> None:
    engine = ScriptedEngine(Script(default=Rule(pieces=("x",), first_delay_s=3600), slots=1))

    async def read() -> list[Event]:
        return [event async for event in engine.stream(ask())]

    first = asyncio.create_task(read())
    await asyncio.sleep(0)
    async with aclosing(engine.stream(ask())) as second:
        assert await anext(second) == Progress(1)
    assert (engine.running, engine.waiting, engine.cancelled) == (1, 0, 1)
    first.cancel()
    await asyncio.wait([first])
    assert (engine.running, engine.cancelled) == (0, 2)


async def test_closing_ends_every_stream_with_failed() -> None:
    engine = ScriptedEngine(Script(default=Rule(pieces=("x", "y"), first_delay_s=3600), slots=1))
    ends: list[Event] = []
    waits = asyncio.Event()

    async def read() -> None:
        async for event in engine.stream(ask()):
            ends.append(event)
            waits.set()

    readers = [asyncio.create_task(read()) for _ in range(2)]
    await waits.wait()
    await engine.aclose()
    await asyncio.gather(*readers)
    assert ends[0] == Progress(1)
    assert [type(end.error) for end in ends[1:] if isinstance(end, Failed)] == [Broken, Broken]
    (end,) = [event async for event in engine.stream(ask())]
    assert isinstance(end, Failed)
    with pytest.raises(EngineError):
        await engine.models()


async def test_a_script_is_read_from_json(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    rule = {"when": "a", "pieces": ["b"], "first_delay_s": 0, "pace": 20, "fail_after": 3}
    path.write_text(
        json.dumps({"rules": [rule], "default": {"pieces": ["c"]}, "model": "m", "slots": 2})
    )
    assert ScriptedEngine.from_file(path).script == Script(
        default=Rule(pieces=("c",)),
        rules=(Rule(when="a", pieces=("b",), pace=20.0, fail_after=3),),
        model="m",
        slots=2,
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is not JSON: .* in line 1"),
        ("[]", "the file must be an object"),
        ("{}", "'default', the rule for all other questions, is missing"),
        ('{"default": {}}', "'pieces' of 'default' must be a list of texts"),
        ('{"default": {"pieces": "abc"}}', "'pieces' of 'default' must be a list of texts"),
        ('{"default": {"pieces": [""]}}', "none of them empty"),
        ('{"default": {"pieces": [], "when": "x"}}', "'default' has 'when'"),
        ('{"default": {"pieces": [], "pace": 0}}', "'pace' of 'default' must be more than 0"),
        ('{"default": {"pieces": [], "pace": NaN}}', "must be a number from 0"),
        ('{"default": {"pieces": [], "fail_after": -1}}', "whole number, 0 or more"),
        ('{"default": {"pieces": [], "finish": "bored"}}', "'finish' of 'default' must be one of"),
        ('{"default": {"pieces": [], "finish": []}}', "'finish' of 'default' must be one of"),
        ('{"default": {"pieces": [], "failure": "x"}}', "'failure' of 'default' must be one of"),
        ('{"default": {"pieces": []}, "rules": 1}', "'rules' must be a list"),
        ('{"default": {"pieces": []}, "rules": [{"pieces": []}]}', "'when' of rule 1 must be"),
        ('{"default": {"pieces": []}, "slots": true}', "'slots' must be a whole number"),
        ('{"default": {"pieces": []}, "continues": 1}', "'continues' must be true or false"),
        ('{"default": {"pieces": []}, "model": ""}', "'model' must be a name"),
    ],
)
def test_a_bad_script_is_refused_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "script.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence) as caught:
        ScriptedEngine.from_file(path)
    assert str(path) in str(caught.value)


def test_a_script_that_cannot_be_read_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read: No such file"):
        ScriptedEngine.from_file(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="not UTF-8"):
        ScriptedEngine.from_file(tmp_path / "latin.json")

"""Several models in one host: room, idleness, own settings, adapters, embeddings, sickness."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from engine_adapter.bundled import fit, resident
from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.header import read_header
from engine_adapter.bundled.host import BundledEngine
from engine_adapter.errors import Broken, ContextTooLong, EngineError, Overloaded, Refused
from engine_adapter.types import (
    Event,
    Failed,
    Finished,
    ModelCard,
    Request,
    Sampling,
    Text,
    Turn,
)
from tests import gguf

SMALL = Settings(slots=2, context=512, cache_mib=0)


@pytest.fixture
def folder(starter_model: Path, tmp_path: Path) -> Path:
    """A directory of models with one, named ``a``."""
    (tmp_path / "a.gguf").symlink_to(starter_model)
    return tmp_path


@contextlib.asynccontextmanager
async def serving(folder: Path, *, models: float | None = None) -> AsyncIterator[BundledEngine]:
    """An engine, with memory for so many of the starter model."""
    memory = None
    if models is not None:
        memory = int(models * fit.need(read_header(folder / "a.gguf"), SMALL).total)
    engine = BundledEngine(folder, SMALL, memory)
    await engine.start()
    try:
        yield engine
    finally:
        await engine.aclose()


def asking(model: str, tokens: int = 8) -> Request:
    turns = (Turn("user", "Name three colours."),)
    return Request(model, turns, Sampling(temperature=0, max_tokens=tokens, ignore_eos=True))


async def answer(engine: BundledEngine, model: str, tokens: int = 8) -> str:
    """The whole answer. Raises what it failed with."""
    text = ""
    async for event in engine.stream(asking(model, tokens)):
        if isinstance(event, Failed):
            raise event.error
        if isinstance(event, Text):
            text += event.text
    return text


async def card(engine: BundledEngine, name: str) -> ModelCard:
    return next(card for card in await engine.models() if card.name == name)


async def until(engine: BundledEngine, name: str, fits: Callable[[ModelCard], bool]) -> ModelCard:
    while True:
        if fits(found := await card(engine, name)):
            return found
        await asyncio.sleep(0.05)


async def states(engine: BundledEngine) -> dict[str, str | None]:
    return {card.name: card.state for card in await engine.models()}


async def first_text(stream: AsyncIterator[Event]) -> None:
    async for event in stream:
        if isinstance(event, Text | Finished | Failed):
            assert isinstance(event, Text)
            return


async def test_the_least_recently_used_model_makes_room_and_never_one_in_use(
    folder: Path, starter_model: Path
) -> None:
    for name in ("b", "c"):
        (folder / f"{name}.gguf").symlink_to(starter_model)
    async with serving(folder, models=2.2) as engine:
        for name in ("a", "b", "a", "c"):
            assert await answer(engine, name)
        assert await states(engine) == {"a": "loaded", "b": "available", "c": "loaded"}
        async with contextlib.AsyncExitStack() as stack:
            for name in ("a", "c"):
                stream = engine.stream(asking(name, 400))
                stack.push_async_callback(stream.aclose)
                await first_text(stream)
            with pytest.raises(Overloaded) as full:
                await answer(engine, "b")
            assert full.value.retry_after
            words = "0.1 GB weights, 59 MB memory for 2 × 512 tokens"
            assert words in str(full.value) and "are free" in str(full.value)
        assert await answer(engine, "b")
        assert await states(engine) == {"a": "loaded", "b": "loaded", "c": "available"}


async def test_what_never_fits_is_refused_with_the_numbers_and_pinned_models_stay(
    folder: Path, starter_model: Path
) -> None:
    (folder / "a.toml").write_text("pinned = true")
    for name in ("big", "same"):
        (folder / f"{name}.gguf").symlink_to(starter_model)
    (folder / "big.toml").write_text("slots = 200\ncontext = 8192")
    async with serving(folder, models=1.5) as engine:
        assert await answer(engine, "a")
        with pytest.raises(Refused, match=r"needs 47\.\d GB \(0\.1 GB weights.*big\.toml"):
            await answer(engine, "big")
        with pytest.raises(Refused, match="are free"):
            await answer(engine, "same")
        assert await states(engine) == {"a": "loaded", "big": "available", "same": "available"}


async def test_an_idle_model_is_unloaded_and_comes_back(folder: Path) -> None:
    (folder / "a.toml").write_text("idle_s = 0.1")
    async with serving(folder) as engine:
        assert await answer(engine, "a")
        await until(engine, "a", lambda card: card.state == "available")
        await engine.health()
        assert await answer(engine, "a")


async def test_a_changed_settings_file_is_taken_up_and_a_broken_one_stops_nothing(
    folder: Path, starter_model: Path
) -> None:
    (folder / "b.gguf").symlink_to(starter_model)
    (folder / "b.toml").write_text("slot = 1")
    async with serving(folder) as engine:
        assert await answer(engine, "a")
        with pytest.raises(Refused, match=r"b\.toml: 'slot' is unknown"):
            await answer(engine, "b")
        refused = await card(engine, "b")
        assert refused.state == "failed" and refused.reason and "b.toml" in refused.reason
        (folder / "a.toml").write_text("context = 300")
        await until(engine, "a", lambda card: (card.context_length, card.state) == (300, "loaded"))
        (folder / "a.toml").write_text("context = 'x'")
        assert await answer(engine, "a")
        (folder / "b.toml").unlink()
        assert await answer(engine, "b")


async def test_attention_and_its_memory_are_as_the_settings_say(
    folder: Path, starter_model: Path
) -> None:
    """A quantised V needs flash attention (llama.cpp refuses it otherwise): so it truly is off."""
    chosen = {"on": ("on", "q8_0"), "off": ("off", "f16"), "never": ("off", "q8_0")}
    for name, (attention, kind) in chosen.items():
        (folder / f"{name}.gguf").symlink_to(starter_model)
        words = f'flash_attention = "{attention}"\nkv_type = "{kind}"'
        (folder / f"{name}.toml").write_text(words)
    async with serving(folder) as engine:
        assert await answer(engine, "on") and await answer(engine, "off")
        with pytest.raises(EngineError):
            await answer(engine, "never")


async def test_an_adapter_is_a_model_of_its_own(folder: Path) -> None:
    (folder / "loud.gguf").write_bytes(gguf.adapter(2.0))
    (folder / "mute.gguf").write_bytes(gguf.adapter(0.0))
    (folder / "bad.gguf").write_bytes(gguf.adapter(1.0, width=64))
    async with serving(folder) as engine:
        plain, loud, mute = [await answer(engine, name) for name in ("a", "loud", "mute")]
        assert plain == mute != loud
        with pytest.raises(Refused, match="adapter does not fit"):
            await answer(engine, "bad")
        assert (await card(engine, "loud")).parent == "a"
        assert (await card(engine, "a")).parent is None


async def test_an_adapter_whose_base_is_not_clear_is_refused(
    folder: Path, starter_model: Path
) -> None:
    (folder / "b.gguf").symlink_to(starter_model)
    (folder / "lora.gguf").write_bytes(gguf.adapter(1.0))
    async with serving(folder) as engine:
        with pytest.raises(Refused, match=r'there is: a, b.*base = "…" into lora\.toml'):
            await answer(engine, "lora")
        (folder / "lora.toml").write_text('base = "c"')
        with pytest.raises(Refused, match="there is no model c"):
            await answer(engine, "lora")
        (folder / "lora.toml").write_text('base = "b"')
        assert await answer(engine, "lora")
        (folder / "b.toml").write_text('base = "a"')
        assert "is no adapter" in str((await until(engine, "b", refused)).reason)


def refused(card: ModelCard) -> bool:
    return card.state == "failed"


async def test_embeddings_alone_and_together_are_the_same(folder: Path) -> None:
    (folder / "a.toml").write_text('kind = "embeddings"\ncontext = 256')
    texts = ["The cat sat on the mat.", "Deniz bugün çok güzel.", "word " * 100]
    async with serving(folder) as engine:
        assert (await card(engine, "a")).kind == "embeddings"
        together, *alone = await asyncio.gather(
            engine.embed("a", texts), *(engine.embed("a", [text]) for text in texts)
        )
        assert together.prompt_tokens == sum(one.prompt_tokens for one in alone)
        for one, vector in zip(alone, together.vectors, strict=True):
            assert len(vector) == 576
            assert dot(vector, vector) == pytest.approx(1, abs=1e-5)
            assert dot(one.vectors[0], vector) > 0.999
        assert dot(together.vectors[0], together.vectors[2]) < 0.99
        assert await tokens_counted(engine, requests=1 + len(texts)) == 2 * together.prompt_tokens
        assert (await engine.embed("a", [])).vectors == ()
        with pytest.raises(ContextTooLong, match=r"has 301 tokens; the model reads 256"):
            await engine.embed("a", ["word" + " word" * 300])
        with pytest.raises(Refused, match="empty text"):
            await engine.embed("a", ["x", ""])
        with pytest.raises(Refused, match="makes embeddings and writes no text"):
            await answer(engine, "a")
        (folder / "a.toml").unlink()
        await until(engine, "a", lambda card: card.kind == "text")
        with pytest.raises(Refused, match="writes text and makes no embeddings"):
            await engine.embed("a", ["x"])


async def tokens_counted(engine: BundledEngine, requests: int) -> int:
    """Prompt tokens, once so many requests are counted: the worker tells once a second."""
    while True:
        counted = engine.measured()["a"].tally
        if counted["ends"]["stop"] == requests:
            return counted["counters"]["prompt_tokens"]
        await asyncio.sleep(0.05)


def dot(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_three_deaths_make_a_model_sick_until_its_file_changes(
    folder: Path, starter_model: Path
) -> None:
    async with serving(folder) as engine:
        for _ in range(3):
            await until(engine, "a", lambda card: card.state == "loaded")
            stream = engine.stream(asking("a", 400))
            await first_text(stream)
            for pid in children():
                os.kill(pid, signal.SIGKILL)
            events = [event async for event in stream]
            assert isinstance(events[-1], Failed) and isinstance(events[-1].error, Broken)
        sick = await until(engine, "a", lambda card: card.state == "failed")
        assert sick.reason and "died 3 times within 10 minutes" in sick.reason
        assert engine.measured()["a"].deaths == 3
        with pytest.raises(EngineError, match="died 3 times"):
            await engine.health()
        with pytest.raises(Broken, match="died 3 times"):
            await answer(engine, "a")
        (folder / "a.toml").write_text("slots = 1")
        assert await answer(engine, "a")


async def test_deaths_of_long_ago_count_no_more(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a clock is replaced: all deaths but the last were long ago."""
    monkeypatch.setattr(resident, "DEATHS_WITHIN_S", 0.0)
    async with serving(folder) as engine:
        for _ in range(resident.MOST_DEATHS):
            assert await answer(engine, "a")
            for pid in children():
                os.kill(pid, signal.SIGKILL)
            await until(engine, "a", lambda card: card.state != "loaded")
        assert await answer(engine, "a")
        assert engine.measured()["a"].deaths == resident.MOST_DEATHS


async def test_who_waits_for_vectors_is_told_when_the_worker_dies(folder: Path) -> None:
    (folder / "a.toml").write_text('kind = "embeddings"')
    async with serving(folder) as engine:
        assert (await engine.embed("a", ["x"])).vectors
        waiting = asyncio.create_task(engine.embed("a", ["word " * 400] * 200))
        await asyncio.sleep(0.1)
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(Broken, match=r"has ended|ended in the middle"):
            await waiting
        assert (await engine.embed("a", ["x"])).vectors


def children() -> set[int]:
    """The workers that this process has started."""
    paths = Path("/proc/self/task").glob("*/children")
    pids = {pid for path in paths for pid in path.read_text().split()}
    return {int(pid) for pid in pids if b"worker" in cmdline(pid)}


def cmdline(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def lay_hostile(folder: Path, model: Path) -> None:
    whole = model.read_bytes()
    (folder / "empty.gguf").write_bytes(b"")
    (folder / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    (folder / "odd.gguf").write_bytes(whole.replace(b"llama", b"ilama", 12))
    (folder / "noise.gguf").write_bytes(whole[:1000] + os.urandom(10_000) + whole[11_000:])


async def test_hostile_files_harm_nobody(folder: Path, starter_model: Path) -> None:
    await asyncio.to_thread(lay_hostile, folder, starter_model)
    async with serving(folder) as engine:
        for name in ("empty", "cut", "odd", "noise"):
            with pytest.raises((Refused, Broken)) as told:
                await answer(engine, name)
            assert str(told.value).endswith(".")
            assert await answer(engine, "a")
        assert (await states(engine))["a"] == "loaded"


@settings(
    max_examples=8,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],  # each try starts two processes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_mutated_head_is_refused_or_dies_alone(
    folder: Path, starter_model: Path, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(starter_model.read_bytes())
    for place, value in changes:
        data[place] = value
    (folder / "odd.gguf").write_bytes(data)

    async def ask() -> None:
        async with serving(folder) as engine:
            with contextlib.suppress(Refused, Broken):
                await answer(engine, "odd", tokens=2)
            assert await answer(engine, "a", tokens=2)

    asyncio.run(ask())

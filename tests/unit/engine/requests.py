"""Any request and any answer there can be, for properties that hold for all of them."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from engine_adapter.types import (
    Event,
    Finished,
    Progress,
    Reasoning,
    Request,
    Sampling,
    Text,
    TokenLogprob,
    Tool,
    ToolCall,
    ToolCallPiece,
    Turn,
    Usage,
)

texts = st.text(st.characters(codec="utf-8"), max_size=20)
words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
names = st.from_regex(r"[A-Za-z0-9_.-]{1,12}", fullmatch=True)
counts = st.integers(0, 1 << 31)
schemas = st.dictionaries(words, st.none() | texts | st.integers(), max_size=3).map(
    lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
)


def numbers(least: float, most: float) -> st.SearchStrategy[float | None]:
    return st.none() | st.floats(least, most)


def wholes(least: int, most: int) -> st.SearchStrategy[int | None]:
    return st.none() | st.integers(least, most)


@st.composite
def samplings(draw: st.DrawFn) -> Sampling:
    schema, grammar = draw(
        st.sampled_from([(None, None), (draw(schemas), None), (None, draw(words))])
    )
    biases = draw(st.dictionaries(counts.filter(lambda n: n < 1 << 31), st.floats(-100, 100)))
    return Sampling(
        temperature=draw(numbers(0, 2)),
        top_p=draw(numbers(0, 1)),
        top_k=draw(wholes(-1, 100)),
        min_p=draw(numbers(0, 1)),
        typical_p=draw(numbers(0, 1)),
        repetition_penalty=draw(numbers(0.01, 10)),
        presence_penalty=draw(numbers(-2, 2)),
        frequency_penalty=draw(numbers(-2, 2)),
        dry_multiplier=draw(numbers(0, 100)),
        dry_base=draw(numbers(1, 100)),
        dry_allowed_length=draw(wholes(0, 100)),
        logit_bias=tuple(biases.items()),
        seed=draw(wholes(-(1 << 63), (1 << 63) - 1)),
        max_tokens=draw(wholes(1, 1 << 40)),
        stop=tuple(draw(st.lists(words, max_size=3))),
        ignore_eos=draw(st.booleans()),
        logprobs=draw(wholes(0, 20)),
        json_schema=schema,
        grammar=grammar,
    )


calls = st.builds(ToolCall, words, words, texts)
turns = st.one_of(
    st.builds(Turn, st.sampled_from(["system", "user", "assistant"]), texts),
    st.builds(
        Turn,
        st.just("assistant"),
        texts,
        st.lists(calls, min_size=1, max_size=2).map(tuple),
    ),
    st.builds(Turn, st.just("tool"), texts, st.just(()), words),
)
tools = st.lists(st.builds(Tool, names, texts, schemas), max_size=3, unique_by=lambda t: t.name)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    said = tuple(draw(st.lists(turns, min_size=1, max_size=4)))
    offered = tuple(draw(tools))
    choice, name = "auto", None
    if offered:
        choice = draw(st.sampled_from(["auto", "none", "required"]))
        name = draw(st.none() | st.sampled_from(offered).map(lambda tool: tool.name))
        choice = "required" if name else choice
    return Request(
        model=draw(words),
        turns=said,
        sampling=draw(samplings()),
        continue_final=said[-1].role == "assistant" and not said[-1].tool_calls,
        priority=draw(st.integers(-100, 100)),
        cache_salt=draw(st.none() | words),
        public_turns=draw(st.integers(0, len(said))),
        user=draw(st.none() | words),
        deadline_s=draw(numbers(0.001, 86_400)),
        tools=offered,
        tool_choice=choice,
        tool_name=name,
        model_sha256=draw(st.none() | words),
    )


logprobs = st.builds(
    TokenLogprob,
    st.binary(max_size=4),
    st.floats(-100, 0),
    st.lists(st.tuples(st.binary(max_size=4), st.floats(-100, 0)), max_size=2).map(tuple),
)
usages = st.builds(Usage, counts, counts, counts)
ends = st.builds(Finished, st.sampled_from(["stop", "length", "tool_calls"]), st.none() | usages)


@st.composite
def answers(draw: st.DrawFn, *, drawn: bool) -> list[Event]:
    """Every event of an answer in order; with the log probabilities of its tokens if ``drawn``."""
    events: list[Event] = list(draw(st.lists(st.builds(Progress, counts, counts, counts))))
    told = st.lists(logprobs, max_size=2).map(tuple) if drawn else st.just(())
    events += draw(
        st.lists(st.one_of(st.builds(Text, words, told), st.builds(Reasoning, words)), max_size=5)
    )
    for index in range(draw(st.integers(0, 2))):
        events.append(ToolCallPiece(index, draw(texts), draw(words), draw(words)))
        events += [ToolCallPiece(index, more) for more in draw(st.lists(words, max_size=2))]
    return [*events, draw(ends)]

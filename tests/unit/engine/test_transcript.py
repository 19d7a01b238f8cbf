"""Text, reasoning and calls are told apart, however the bytes of an answer are cut."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.bundled.form import HERMES, LLAMA, MISTRAL, MISTRAL_NAMED, PLAIN, Form
from engine_adapter.bundled.transcript import Transcript
from engine_adapter.thinking import THINK, Tags
from engine_adapter.types import Event, Reasoning, Text, ToolCallPiece

FORMS = {
    "hermes": Form(THINK, HERMES),
    "llama": Form(None, LLAMA),
    "mistral": Form(Tags("[THINK]", "[/THINK]"), MISTRAL),
    "named": Form(None, MISTRAL_NAMED),
}


@dataclass
class Told:
    """The events of an answer, joined."""

    text: str = ""
    reasoning: str = ""
    calls: list[list[str]] = field(default_factory=list)
    order: str = ""
    stopped: bool = False

    def add(self, event: Event) -> None:
        assert not isinstance(event, Text | Reasoning) or event.text
        if isinstance(event, Text):
            self.text += event.text
        elif isinstance(event, Reasoning):
            self.reasoning += event.text
        else:
            assert isinstance(event, ToolCallPiece)
            if event.index == len(self.calls):
                assert event.id
                assert event.name
                self.calls.append([event.name, ""])
            else:
                assert (event.id, event.name) == (None, None)
                assert event.arguments
            assert event.index == len(self.calls) - 1
            self.calls[-1][1] += event.arguments
        kind = {Text: "t", Reasoning: "r"}.get(type(event), "c")
        self.order += kind if self.order[-1:] != kind else ""


def read(pieces: list[bytes], form: Form, **more: Any) -> Told:
    transcript, told = Transcript(form=form, **more), Told()
    for piece in pieces:
        for event in transcript.feed(piece):
            told.add(event)
    for event in transcript.finish():
        told.add(event)
    assert transcript.called is bool(told.calls)
    told.stopped = transcript.stopped
    return told


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in pairwise(edges)]


def at_every_cut(text: str, form: Form, **more: Any) -> Told:
    data = text.encode()
    whole = read([data], form, **more)
    for place in range(len(data) + 1):
        assert read([data[:place], data[place:]], form, **more) == whole
    assert read([data[at : at + 1] for at in range(len(data))], form, **more) == whole
    return whole


CALL = '{"name": "find", "arguments": {"what": "deniz \\"🌊\\"", "n": [1, {}]}}'
NONE, NONE_G = ["f", "{}"], ["g", "{}"]
GIVEN = ["find", '{"what": "deniz \\"🌊\\"", "n": [1, {}]}']


@pytest.mark.parametrize(
    ("form", "text", "said", "calls"),
    [
        ("hermes", f"<tool_call>\n{CALL}\n</tool_call>", "", [GIVEN]),
        ("hermes", f"Let me.\n<tool_call>\n{CALL}\n</tool_call>", "Let me.\n", [GIVEN]),
        ("hermes", f"\n\n<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}", "", [GIVEN, GIVEN]),
        ("hermes", f"<tool_call>{CALL}\n<tool_call>{CALL}</tool_c", "", [GIVEN, GIVEN]),
        ("hermes", f"<tool_call>{CALL}</tool_call> So.", " So.", [GIVEN]),
        ("hermes", f"<tool_call>{CALL} So.", " So.", [GIVEN]),
        ("hermes", '<tool_call>{"arguments": {"a": 1}, "name": "f"}', "", [["f", '{"a": 1}']]),
        ("hermes", '<tool_call>{"name": "f"}</tool_call>', "", [["f", "{}"]]),
        ("hermes", '<tool_call>{"name": "f", "arguments": -1e5}', "", [["f", "-1e5"]]),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a": "b', "", [["f", '{"a": "b']]),
        ("hermes", '<tool_call>{"name": "f", "arguments": {a}}', "a}}", [["f", "{"]]),
        ("hermes", '<tool_call>{"name": "f", "arg', '<tool_call>{"name": "f", "arg', []),
        ("hermes", "<tool_call>{}</tool_call>", "<tool_call>{}</tool_call>", []),
        ("hermes", "<tool_call>[1]", "<tool_call>[1]", []),
        ("hermes", f"<tool_call><tool_call>{CALL}", "<tool_call>", [GIVEN]),
        ("hermes", '<tool_call>{"name":"f","name":"g"', '<tool_call>{"name":"f","name":"g"', []),
        ("hermes", '<tool_call>{"name": "\\ud800", "', '<tool_call>{"name": "\\ud800", "', []),
        ("hermes", "  ", "  ", []),
        ("hermes", "a <tool_cal", "a <tool_cal", []),
        ("hermes", CALL, CALL, []),
        ("llama", CALL, "", [GIVEN]),
        ("llama", f"\n{CALL}; {CALL}", "", [GIVEN, GIVEN]),
        ("llama", f"<|python_tag|>{CALL}", "", [GIVEN]),
        ("llama", f"So: <|python_tag|>{CALL}", "So: ", [GIVEN]),
        ("llama", f"So: {CALL}", f"So: {CALL}", []),
        ("llama", f"{CALL} So.", " So.", [GIVEN]),
        ("llama", f"{CALL}; So.", "; So.", [GIVEN]),
        ("llama", '{"name": "Ada", "age": 36}', '{"name": "Ada", "age": 36}', []),
        ("llama", '{"name": "Ada"}', '{"name": "Ada"}', []),
        ("llama", '<|python_tag|>brave.call(q="x")', '<|python_tag|>brave.call(q="x")', []),
        ("mistral", f"[TOOL_CALLS] [{CALL}, {CALL}]", "", [GIVEN, GIVEN]),
        ("mistral", f"[TOOL_CALLS][{CALL}", "", [GIVEN]),
        ("mistral", "[TOOL_CALLS] none", "[TOOL_CALLS] none", []),
        ("mistral", "[TOOL_CALLS] [", "[TOOL_CALLS] [", []),
        ("named", "[TOOL_CALLS]f[ARGS]{} [TOOL_CALLS]g[CALL_ID]a1[ARGS] {}", "", [NONE, NONE_G]),
        ("named", "[TOOL_CALLS]f[ARGS]{} So.", " So.", [["f", "{}"]]),
        ("named", "[TOOL_CALLS]f g[ARGS]{}", "[TOOL_CALLS]f g[ARGS]{}", []),
        ("named", '[TOOL_CALLS]f[ARGS]{"a" b', "b", [["f", '{"a" ']]),
        ("named", "[TOOL_CALLS]f[ARGS][]", "[TOOL_CALLS]f[ARGS][]", []),
        ("named", "[TOOL_CALLS]f[ARGS]", "[TOOL_CALLS]f[ARGS]", []),
        ("named", "[TOOL_CALLS] [1, 2] ç", "[TOOL_CALLS] [1, 2] ç", []),
    ],
)  # fmt: skip
def test_calls_are_told_from_text(form: str, text: str, said: str, calls: list[list[str]]) -> None:
    told = at_every_cut(text, FORMS[form], tools=True)
    assert (told.text, told.calls) == (said, calls)


def test_calls_are_looked_for_only_where_there_are_tools() -> None:
    text = f"<tool_call>{CALL}</tool_call>"
    assert at_every_cut(text, FORMS["hermes"]).text == text
    assert at_every_cut(text, PLAIN, tools=True).text == text


def test_the_name_is_told_before_the_arguments_are_complete() -> None:
    transcript = Transcript(form=FORMS["hermes"], tools=True)
    assert transcript.feed(b'<tool_call>{"name": "f", "arguments": ') == []
    (first,) = transcript.feed(b'{"a": "b')
    assert isinstance(first, ToolCallPiece)
    assert (first.name, first.arguments, first.index) == ("f", '{"a": "b', 0)
    assert transcript.feed(b"c") == [ToolCallPiece(0, "c")]
    assert transcript.called


def test_reasoning_comes_first_and_a_call_may_follow() -> None:
    text = f"<think>\nHm, <tool_call>?\n</think>\n\n<tool_call>{CALL}</tool_call>"
    told = at_every_cut(text, FORMS["hermes"], tools=True)
    assert (told.reasoning, told.text, told.calls) == ("Hm, <tool_call>?\n", "", [GIVEN])
    told = at_every_cut("Hm.[/THINK]So.", FORMS["mistral"], thinking=True)
    assert (told.reasoning, told.text) == ("Hm.", "So.")


def test_stop_strings_act_on_the_text_alone() -> None:
    text = f"<think>a END b</think>c<tool_call>{CALL}</tool_call>d END e<tool_call>{CALL}"
    told = at_every_cut(text, FORMS["hermes"], tools=True, stop=("END", "deniz"))
    assert (told.reasoning, told.text, told.calls) == ("a END b", "cd ", [GIVEN])
    assert (told.order, told.stopped) == ("rtct", True)


def test_text_before_a_call_comes_before_it() -> None:
    transcript = Transcript(form=FORMS["hermes"], tools=True, stop=("a b",))
    assert transcript.feed(b"so a <tool_call>") == [Text("so ")]
    events = transcript.feed(CALL.encode())
    assert events[0] == Text("a ")
    assert isinstance(events[1], ToolCallPiece)


def test_plain_text_is_given_out_at_once() -> None:
    assert Transcript().feed("Hé".encode()) == [Text("Hé")]
    assert Transcript(form=FORMS["hermes"], tools=True).feed(b"Hi") == [Text("Hi")]


FRAGMENTS = st.sampled_from(
    [
        "<tool_call>", "</tool_call>", "<|python_tag|>", "[TOOL_CALLS]", "<think>", "</think>",
        '{"name": "f", "arguments": ', '{"name": ', '"parameters": ', CALL, "{", "}", "[",
        "]", ",", "[ARGS]",
        ";", ":", '"', "\\", "a", "1", "-", "true", "null", " ", "\n", "🌊", "END", "<",
        "\\u00e", "\ufeff",
    ]
)  # fmt: skip


@given(
    st.lists(FRAGMENTS, max_size=14).map("".join),
    st.sampled_from(sorted(FORMS)),
    st.lists(st.integers(0, 500), max_size=12),
    st.sampled_from([(), ("END",), ("ND", '"}')]),
    st.booleans(),
)
def test_the_events_do_not_depend_on_the_cuts_and_nothing_is_lost(
    text: str, form: str, places: list[int], stop: tuple[str, ...], thinking: bool
) -> None:
    data = text.encode()
    more: dict[str, Any] = {"tools": True, "stop": stop, "thinking": thinking}
    whole = read([data], FORMS[form], **more)
    assert read(cut(data, places), FORMS[form], **more) == whole
    thought = thinking or (form == "hermes" and text.lstrip().startswith("<think>"))
    if not (whole.calls or stop or thought):
        assert whole.text == text
    rest = text
    for char in whole.reasoning + whole.text:  # nothing is doubled or moved
        _, found, rest = rest.partition(char)
        assert found
    for _, arguments in whole.calls:
        assert arguments == "{}" or arguments in text


@given(st.binary(max_size=40), st.lists(st.integers(0, 50), max_size=8))
def test_bytes_that_are_no_text_do_not_depend_on_the_cuts_either(
    data: bytes, places: list[int]
) -> None:
    assert read(cut(data, places), FORMS["hermes"]) == read([data], FORMS["hermes"])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(
    st.lists(st.tuples(st.from_regex(r"[a-z_.-]{1,20}", fullmatch=True), JSON), max_size=3),
    st.sampled_from(sorted(FORMS)),
    st.sampled_from([None, 1]),
    st.booleans(),
    st.lists(st.integers(0, 500), max_size=12),
)
def test_calls_come_back_as_they_were_written(
    calls: list[tuple[str, Any]], form: str, indent: int | None, ascii_: bool, places: list[int]
) -> None:
    shape = FORMS[form].calls
    assert shape
    written = [
        (name, json.dumps(value, indent=indent, ensure_ascii=ascii_)) for name, value in calls
    ]
    objects = [f'{{"name": "{name}", "{shape.key}": {value}}}' for name, value in written]
    if form == "named":
        written = [(name, f'{{"a": {value}}}') for name, value in written]
        text = "\n".join(f"[TOOL_CALLS]{name}[ARGS]{value}" for name, value in written)
    elif form == "mistral":
        text = f"[TOOL_CALLS][{', '.join(objects)}]" if objects else ""
    elif form == "llama":
        text = "; ".join(objects)
    else:
        text = "\n".join(f"<tool_call>\n{one}\n</tool_call>" for one in objects)
    told = read(cut(text.encode(), places), FORMS[form], tools=True)
    assert (told.calls, told.text) == ([list(one) for one in written], "")

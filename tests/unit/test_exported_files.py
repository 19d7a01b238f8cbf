"""Exported files of other products: what is understood, what is left out, what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.domain.imports.foreign import Malformed, Said, Talk, grown, moment_in, text_in
from chat.domain.imports.reading import Unreadable, read


def node(key: str, parent: str | None, role: str = "", *parts: Any, **more: Any) -> dict[str, Any]:
    """A node of ChatGPT's mapping."""
    message = {
        "author": {"role": role},
        "create_time": 1_700_000_000.5,
        "content": {"content_type": more.pop("kind", "text"), "parts": list(parts)},
        "metadata": {"model_slug": "gpt-4o", **more},
    }
    return {"id": key, "parent": parent, "message": message if role else None}


def chatgpt(*nodes: dict[str, Any], **more: Any) -> bytes:
    mapping = {each["id"]: each for each in nodes}
    talk = {"title": "Sky", "conversation_id": "c1", "create_time": 1.7e9, "mapping": mapping}
    return json.dumps([{**talk, **more}]).encode()


def webui(*messages: dict[str, Any], **more: Any) -> bytes:
    chat = {"title": "Gök", "history": {"messages": {m["id"]: m for m in messages}}}
    return json.dumps([{"id": "w1", "chat": chat, "updated_at": 1_700_000_100, **more}]).encode()


def shown(data: bytes) -> list[tuple[str, str | None, str, str]]:
    [talk] = read(data).talks
    return [(s.key, s.parent, s.role, s.text) for s in grown(talk)]


def test_chatgpt_s_branches_come_along_and_its_hidden_nodes_do_not() -> None:
    data = chatgpt(
        node("root", None),
        node("sys", "root", "system", "You are", is_visually_hidden_from_conversation=True),
        node("q", "sys", "user", "Why is the sky blue?"),
        node("a1", "q", "assistant", "Scattering."),
        node("a2", "q", "assistant", "Rayleigh."),
        node("q2", "a2", "user", "Who?"),
    )
    assert shown(data) == [
        ("q", None, "user", "Why is the sky blue?"),
        ("a1", "q", "assistant", "Scattering."),
        ("a2", "q", "assistant", "Rayleigh."),
        ("q2", "a2", "user", "Who?"),
    ]
    [talk] = read(data).talks
    assert talk.title == "Sky"
    assert talk.said[3].model == "gpt-4o"
    assert talk.said[3].at == datetime.fromtimestamp(1_700_000_000.5, UTC)


def test_what_a_tool_stood_between_becomes_one_answer() -> None:
    data = chatgpt(
        node("q", None, "user", "Sum these"),
        node("a", "q", "assistant", "I will count."),
        node("t", "a", "tool", "4", kind="execution_output"),
        node("b", "t", "assistant", "It is 4."),
    )
    assert shown(data) == [
        ("q", None, "user", "Sum these"),
        ("a", "q", "assistant", "I will count.\n\nIt is 4."),
    ]


def test_a_picture_is_counted_and_its_question_is_kept() -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file://x"}
    data = chatgpt(node("q", None, "user", picture, "What is it?", kind="multimodal_text"))
    assert shown(data) == [("q", None, "user", "What is it?")]
    assert read(data).talks[0].attachments == 1


def test_open_webui_s_history_comes_along() -> None:
    thought = (
        '<details type="reasoning" done="true" duration="7">\n'
        "<summary>Thought for 7 seconds</summary>\n> hm &lt;b&gt;\n> so\n</details>\n"
    )
    data = webui(
        {"id": "q", "parentId": None, "role": "user", "content": "Neden?", "timestamp": 1.7e9},
        {"id": "a", "parentId": "q", "role": "assistant", "content": thought + "Çünkü.",
         "modelName": "Llama", "timestamp": 1.7e9},
        {"id": "b", "parentId": "q", "role": "assistant", "content": "Şöyle.", "model": "qwen"},
    )  # fmt: skip
    assert shown(data) == [
        ("q", None, "user", "Neden?"),
        ("a", "q", "assistant", "Çünkü."),
        ("b", "q", "assistant", "Şöyle."),
    ]
    [talk] = read(data).talks
    assert [s.model for s in talk.said] == ["", "Llama", "qwen"]
    assert [(s.reasoning, s.reasoned_ms) for s in talk.said[:2]] == [
        ("", 0), ("hm <b>\nso", 7_000),
    ]  # fmt: skip
    assert talk.used_at == datetime.fromtimestamp(1_700_000_100, UTC)


def test_an_old_chat_of_open_webui_is_a_row() -> None:
    rows = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    data = json.dumps([{"id": "x", "chat": {"messages": rows}}]).encode()
    assert shown(data) == [("0", None, "user", "a"), ("1", "0", "assistant", "b")]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", Unreadable.NOT_JSON),
        (b"PK\x03\x04....", Unreadable.ZIP),
        (b"\xff\xfe\x00", Unreadable.NOT_JSON),
        (chatgpt(node("q", None, "user", "x"))[:-20], Unreadable.NOT_JSON),
        (b"[" * 100_000, Unreadable.NOT_JSON),
        (b"[]", Unreadable.UNKNOWN),
        (b"7", Unreadable.UNKNOWN),
        (b'{"mapping": 1}', Unreadable.UNKNOWN),
        (b'[{"chat": "x"}, null]', Unreadable.UNKNOWN),
    ],
)
def test_what_is_no_export_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read(data)
    assert caught.value.why == why


def test_one_broken_conversation_does_not_take_the_others_with_it() -> None:
    good = json.loads(chatgpt(node("q", None, "user", "x")))[0]
    data = json.dumps([good, {"title": "Bad", "mapping": {"a": 3}}, None]).encode()
    found = read(data)
    assert len(found.talks) == 1
    assert found.broken == ["Bad", ""]


@pytest.mark.parametrize(
    "said",
    [
        [Said("a", "b", "user", "x"), Said("b", "a", "assistant", "y")],
        [Said("a", None, "user", "x"), Said("a", None, "user", "y")],
        [Said("a", "a", "user", "x")],
    ],
)
def test_messages_that_answer_each_other_in_a_circle_are_malformed(said: list[Said]) -> None:
    with pytest.raises(Malformed):
        grown(Talk("k", "t", said))


def test_a_chain_of_a_hundred_thousand_needs_no_deep_stack() -> None:
    roles = ("user", "assistant")
    said = [Said(str(n), str(n - 1), roles[n % 2], "x") for n in range(100_000)]
    assert len(grown(Talk("k", "t", said))) == 100_000


@pytest.mark.parametrize(
    ("value", "year"),
    [
        (1_700_000_000, 2023), (1_700_000_000_000, 2023), (1.7e18, 2023),
        ("2024-05-01T10:00:00", 2024), ("2024-05-01T10:00:00+03:00", 2024),
        (None, None), (-5, None), (True, None), ("yesterday", None), (float("nan"), None),
        (float("inf"), None), ([], None),
    ],
)  # fmt: skip
def test_a_moment_is_found_in_any_spelling(value: Any, year: int | None) -> None:
    found = moment_in(value)
    assert (found and found.year) == year


@given(st.text(st.characters(), max_size=40))
def test_any_text_becomes_one_that_can_be_stored(text: str) -> None:
    clean = text_in(text + "\x00\ud800")
    assert "\x00" not in clean
    clean.encode()


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["mapping", "chat", "history", "messages", "message", "parent", "parentId", "author",
             "role", "content", "parts", "content_type", "metadata", "id", "title", "format",
             "version", "text", "model", "files"]
        ),
        inner,
        max_size=5,
    ),
    max_leaves=25,
)  # fmt: skip


@given(JUNK)
def test_nothing_in_a_file_makes_it_fall(junk: Any) -> None:
    try:
        found = read(json.dumps([junk, junk]).encode())
    except Unreadable:
        return
    for talk in found.talks:
        try:
            assert len(grown(talk)) <= len(talk.said)
        except Malformed:
            continue

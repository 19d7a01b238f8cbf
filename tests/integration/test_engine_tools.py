"""Tools over HTTP, with the real model behind a template that knows them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import gguf
from tests.integration.engine_hosts import Host, running_host
from tests.integration.engine_http import asking, client_of, streaming

# As Hermes and Qwen write it.
TEMPLATE = """{%- if tools %}<|im_start|>system
You may call these functions:
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
Answer with <tool_call>
{"name": "…", "arguments": {…}}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city, now.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"enum": ["Ankara", "İzmir"]}, "days": {"type": "integer"}},
            "required": ["city", "days"],
            "additionalProperties": False,
        },
    },
}


@pytest.fixture(scope="module")
def host(starter_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    folder = tmp_path_factory.mktemp("tools")
    file = gguf.with_template(starter_model.read_bytes(), TEMPLATE)
    (folder / "smollm2.gguf").write_bytes(file)
    arguments = ("--models", folder, "--slots", "2", "--context", "1024")
    with running_host(tmp_path_factory.mktemp("h"), *arguments) as host:
        yield host


@pytest.fixture
async def http(host: Host) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(host) as client:
        yield client


def calling(**more: Any) -> dict[str, Any]:
    return asking("How is the weather?", tools=[WEATHER], max_tokens=80, **more)


def check(call: dict[str, Any]) -> None:
    assert call["function"]["name"] == "weather"
    arguments = json.loads(call["function"]["arguments"])
    assert arguments.keys() == {"city", "days"}
    assert arguments["city"] in {"Ankara", "İzmir"}
    assert isinstance(arguments["days"], int)


async def test_a_tool_that_must_be_called_is_called_as_its_schema_says(
    http: httpx.AsyncClient,
) -> None:
    reply = await http.post("/v1/chat/completions", json=calling(tool_choice="required"))
    (choice,) = reply.json()["choices"]
    assert choice["finish_reason"] == "tool_calls"
    (call,) = choice["message"]["tool_calls"]
    check(call)


async def test_a_call_is_streamed_in_pieces(http: httpx.AsyncClient) -> None:
    named = {"type": "function", "function": {"name": "weather"}}
    async with streaming(http, calling(tool_choice=named)) as stream:
        await stream.rest()
    choices = [choice for frame in stream.frames for choice in frame["choices"]]
    pieces = [piece for choice in choices for piece in choice["delta"].get("tool_calls", ())]
    assert len(pieces) > 1
    assert pieces[0]["id"].startswith("call_")
    arguments = "".join(piece["function"].get("arguments", "") for piece in pieces)
    check({"function": {**pieces[0]["function"], "arguments": arguments}})
    assert [c["finish_reason"] for c in choices if c["finish_reason"]] == ["tool_calls"]
    assert stream.text == ""


async def test_the_result_of_a_call_goes_back_to_the_model(http: httpx.AsyncClient) -> None:
    first = await http.post("/v1/chat/completions", json=calling(tool_choice="required"))
    message = first.json()["choices"][0]["message"]
    body = calling(tool_choice="none")
    result = {
        "role": "tool",
        "tool_call_id": message["tool_calls"][0]["id"],
        "content": '{"sky": "clear", "degrees": 21}',
    }
    body["messages"] += [message, result]
    reply = await http.post("/v1/chat/completions", json=body)
    assert reply.status_code == 200, reply.text
    assert reply.json()["choices"][0]["message"]["content"]


async def test_an_answer_bound_to_a_schema_is_json_of_that_schema(http: httpx.AsyncClient) -> None:
    schema = WEATHER["function"]["parameters"]  # type: ignore[index]  # a literal above
    form = {"type": "json_schema", "json_schema": {"name": "weather", "schema": schema}}
    body = asking("Where, and for how long?", response_format=form, max_tokens=80)
    reply = (await http.post("/v1/chat/completions", json=body)).json()
    value = json.loads(reply["choices"][0]["message"]["content"])
    assert value["city"] in {"Ankara", "İzmir"}
    assert isinstance(value["days"], int)

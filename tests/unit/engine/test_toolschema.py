"""An answer that must be a call is bound to a schema, and is read back as that call."""

from __future__ import annotations

import json

import pytest

from engine_adapter.bundled import form
from engine_adapter.bundled.form import HERMES, LLAMA, MISTRAL, MISTRAL_NAMED, Form
from engine_adapter.bundled.schemas import to_grammar
from engine_adapter.bundled.toolschema import schema_for
from engine_adapter.bundled.transcript import Transcript
from engine_adapter.errors import Refused
from engine_adapter.types import Request, Tool, ToolCallPiece, Turn

CITY = {"type": "object", "properties": {"city": {"$ref": "#/$defs/City"}}, "required": ["city"]}
WEATHER = Tool("weather", "", json.dumps({**CITY, "$defs": {"City": {"enum": ["İzmir"]}}}))
TIME = Tool("time")


def asked(*tools: Tool, choice: str = "required", name: str | None = None) -> Request:
    return Request("m", (Turn("user", "?"),), tools=tools, tool_choice=choice, tool_name=name)  # type: ignore[arg-type]  # a plain string in the tables


def test_a_free_model_is_bound_by_nothing() -> None:
    assert schema_for(asked(TIME, choice="auto"), Form(None, HERMES)) is None
    assert schema_for(asked(TIME, choice="none"), Form(None, HERMES)) is None


@pytest.mark.parametrize("calls", [HERMES, LLAMA, MISTRAL, MISTRAL_NAMED, None])
def test_what_the_schema_allows_is_read_back_as_the_call(calls: form.CallForm | None) -> None:
    bound = schema_for(asked(WEATHER, TIME, name="weather"), Form(None, calls))
    shape = form.forced(Form(None, calls))
    assert shape.calls
    assert bound
    before, schema, after = bound
    to_grammar(schema, before, after)
    assert json.loads(schema)["properties"]["name"] == {"const": "weather"}
    value = json.dumps({"name": "weather", shape.calls.key: {"city": "İzmir"}})
    transcript = Transcript(form=shape, tools=True)
    events = transcript.feed((before + value + after).encode()) + transcript.finish()
    (piece,) = events
    assert isinstance(piece, ToolCallPiece)
    assert (piece.name, json.loads(piece.arguments)) == ("weather", {"city": "İzmir"})


@pytest.mark.parametrize("tools", [(WEATHER,), (TIME, WEATHER)])
def test_references_point_to_where_the_parameters_stand_now(tools: tuple[Tool, ...]) -> None:
    bound = schema_for(asked(*tools), Form(None, HERMES))
    assert bound
    whole = place = json.loads(bound[1])
    for call in whole.get("anyOf", [whole])[-1:]:
        place = call["properties"]["arguments"]["properties"]["city"]["$ref"]
    for step in place.removeprefix("#/").split("/"):
        whole = whole[int(step) if isinstance(whole, list) else step]
    assert whole == {"enum": ["İzmir"]}


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(Refused, match="no such tool"):
        schema_for(asked(TIME, name="weather"), Form(None, HERMES))
    for broken in ("{", "[]", "[" * 100_000):
        with pytest.raises(Refused, match="tool x are no JSON schema"):
            schema_for(asked(Tool("x", "", broken)), Form(None, HERMES))

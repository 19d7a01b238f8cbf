"""What binds an answer that must be a tool call: words around its JSON, and the JSON's schema."""

from __future__ import annotations

import json
from typing import Any

from engine_adapter.bundled.form import LLAMA, Form, forced
from engine_adapter.errors import Refused
from engine_adapter.types import Request, Tool


def schema_for(request: Request, form: Form) -> tuple[str, str, str] | None:
    """The text before the call, its JSON schema and the text behind it; None where the request
    leaves the model free. Raises ``Refused``.

    The answer is one call of one of the tools, or of the one that is named. It is read with the
    form that ``form.forced`` gives.
    """
    if request.tool_choice != "required":
        return None
    tools = [tool for tool in request.tools if request.tool_name in (None, tool.name)]
    if not tools:
        raise Refused("A tool must be called, but there is no such tool in the request.")
    shape = forced(form).calls or LLAMA
    if len(tools) == 1:
        schema = _call(tools[0], shape.key, "#")
    else:
        several = [_call(tool, shape.key, f"#/anyOf/{n}") for n, tool in enumerate(tools)]
        schema = {"anyOf": several}
    text = json.dumps(schema, ensure_ascii=False)
    if shape.bare:
        return "", text, ""
    if shape.array:
        return shape.open + shape.array, text, shape.close
    return f"{shape.open}\n", text, f"\n{shape.close}"


def _call(tool: Tool, key: str, place: str) -> dict[str, Any]:
    """The schema of a call; ``place`` is the JSON pointer to where it will stand."""
    try:
        parameters = json.loads(tool.parameters)
        if not isinstance(parameters, dict):
            raise ValueError
        arguments = {"type": "object", **_moved(parameters, f"{place}/properties/{key}")}
    except (ValueError, RecursionError):
        raise Refused(f"The parameters of the tool {tool.name} are no JSON schema.") from None
    return {
        "type": "object",
        "properties": {"name": {"const": tool.name}, key: arguments},
        "required": ["name", key],
        "additionalProperties": False,
    }


def _moved(schema: Any, place: str) -> Any:
    """The schema with its references to itself pointing to where it stands now."""
    if isinstance(schema, list):
        return [_moved(one, place) for one in schema]
    if not isinstance(schema, dict):
        return schema
    moved = {name: _moved(one, place) for name, one in schema.items()}
    target = moved.get("$ref")
    if isinstance(target, str) and target.startswith("#"):
        moved["$ref"] = place + target[1:]
    return moved

"""The body of a request to Ollama's ``/api/chat``. Knows no HTTP."""

from __future__ import annotations

import json
from typing import Any

from engine_adapter.errors import Refused
from engine_adapter.remote.payload import tools, value
from engine_adapter.types import Request, Sampling, ToolCall, Turn


def payload(request: Request) -> dict[str, Any]:
    """What is sent. Options that load a model anew for everybody, as ``num_ctx``, never are.

    Raises ``Refused`` where the answer would be another one for want of what Ollama cannot do.
    """
    sampling = request.sampling
    if request.continue_final:
        raise Refused("This engine cannot go on with an answer that was begun.")
    if sampling.grammar:
        raise Refused("This engine cannot bind an answer to a grammar.")
    if request.tools and (request.tool_choice == "required" or request.tool_name):
        raise Refused("This engine cannot be made to call a tool.")
    offered = tools(request).get("tools") if request.tool_choice != "none" else None
    names = {call.id: call.name for turn in request.turns for call in turn.tool_calls}
    fields = {
        "model": request.model,
        "messages": [_message(turn, names) for turn in request.turns],
        "stream": True,
        # It would drop the oldest messages without a word.
        "truncate": False,
        "shift": False,
        "format": None if sampling.json_schema is None else value(sampling.json_schema),
        "tools": offered,
        "options": _options(sampling) or None,
    }
    return {name: field for name, field in fields.items() if field is not None}


def _message(turn: Turn, names: dict[str, str]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.content}
    if turn.tool_call_id is not None:
        message |= {"tool_call_id": turn.tool_call_id}
        message |= {"tool_name": names.get(turn.tool_call_id, "")}
    if turn.tool_calls:
        message["tool_calls"] = [_call(call) for call in turn.tool_calls]
    return message


def _call(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):  # a model wrote it, and may have written nonsense
        arguments = {"arguments": call.arguments}
    return {"id": call.id, "function": {"name": call.name, "arguments": arguments}}


def _options(sampling: Sampling) -> dict[str, Any]:
    options = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "typical_p": sampling.typical_p,
        "repeat_penalty": sampling.repetition_penalty,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "seed": sampling.seed,
        "num_predict": sampling.max_tokens,
        "stop": list(sampling.stop) or None,
    }
    return {name: option for name, option in options.items() if option is not None}

"""The body of a request in the OpenAI dialect. Knows no HTTP."""

from __future__ import annotations

import json
from typing import Any

from engine_adapter.errors import Refused
from engine_adapter.types import Request, Sampling, Turn

CONTINUE = "continue_final_message"
HOST_EXTRAS = frozenset(
    {
        *("priority", "cache_salt", "public_turns", "user", "deadline_s", "model_sha256"),
        *(CONTINUE, "return_progress"),
        *("top_k", "min_p", "typical_p", "repetition_penalty"),
        *("dry_multiplier", "dry_base", "dry_allowed_length", "ignore_eos", "grammar"),
    }
)
"""Every field that the bundled engine host understands and others may not. ``user`` is OpenAI's
own, but whose request it is leaves the house only where that is meant."""


def payload(request: Request, extras: frozenset[str]) -> dict[str, Any]:
    """What is sent: OpenAI's own fields, and those of ours that ``extras`` names.

    Raises ``Refused`` where the answer would be another one without a field that may not be sent.
    """
    if request.continue_final and CONTINUE not in extras:
        raise Refused("This engine cannot go on with an answer that was begun.")
    if request.sampling.grammar and "grammar" not in extras:
        raise Refused("This engine cannot bind an answer to a grammar.")
    fields = {
        "model": request.model,
        "messages": [_message(turn) for turn in request.turns],
        "stream": True,
        "stream_options": {"include_usage": True},
        **_sampling(request.sampling),
        **tools(request),
    }
    fields |= {name: value for name, value in _ours(request).items() if name in extras}
    if request.continue_final:
        fields["add_generation_prompt"] = False
    return {name: value for name, value in fields.items() if value is not None}


def _message(turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.content}
    if turn.tool_call_id is not None:
        message["tool_call_id"] = turn.tool_call_id
    if turn.tool_calls:
        message["content"] = turn.content or None
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in turn.tool_calls
        ]
    return message


def _sampling(sampling: Sampling) -> dict[str, Any]:
    asks = sampling.logprobs is not None
    return {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "logit_bias": {str(token): bias for token, bias in sampling.logit_bias} or None,
        "seed": sampling.seed,
        "max_tokens": sampling.max_tokens,
        "stop": list(sampling.stop) or None,
        "logprobs": True if asks else None,
        "top_logprobs": sampling.logprobs or None,
        "response_format": _form(sampling.json_schema),
    }


def _form(schema: str | None) -> dict[str, Any] | None:
    if schema is None:
        return None
    named = {"name": "answer", "schema": value(schema)}
    return {"type": "json_schema", "json_schema": named}


def tools(request: Request) -> dict[str, Any]:
    """The tools offered and the choice among them; nothing without tools."""
    if not request.tools:
        return {}
    choice: object = request.tool_choice
    if request.tool_name is not None:
        choice = {"type": "function", "function": {"name": request.tool_name}}
    offered = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": value(tool.parameters),
            },
        }
        for tool in request.tools
    ]
    return {"tools": offered, "tool_choice": choice}


def value(text: str) -> object:
    """The value of a text of JSON that came with the request. Raises ``Refused``."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Refused("A schema of this request is not JSON.") from None


def _ours(request: Request) -> dict[str, Any]:
    sampling = request.sampling
    return {
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "typical_p": sampling.typical_p,
        "repetition_penalty": sampling.repetition_penalty,
        "dry_multiplier": sampling.dry_multiplier,
        "dry_base": sampling.dry_base,
        "dry_allowed_length": sampling.dry_allowed_length,
        "ignore_eos": sampling.ignore_eos or None,
        "grammar": sampling.grammar,
        "priority": request.priority,
        "cache_salt": request.cache_salt,
        "public_turns": request.public_turns or None,
        "user": request.user,
        "deadline_s": request.deadline_s,
        "model_sha256": request.model_sha256,
        "return_progress": True,
        CONTINUE: request.continue_final or None,
    }

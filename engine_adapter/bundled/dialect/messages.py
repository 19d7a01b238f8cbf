"""The conversation of a body, and the tools that may be called in it."""

from __future__ import annotations

import re
from typing import cast, get_args

from engine_adapter.bundled.dialect.fields import BadRequest, Fields, clean, compact
from engine_adapter.types import Role, Tool, ToolCall, ToolChoice, Turn

MOST_TOOLS = 128
LONGEST_DESCRIPTION = 16 << 10
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def turns(messages: object) -> tuple[Turn, ...]:
    """The conversation, oldest first. Raises ``BadRequest``."""
    if not isinstance(messages, list) or not messages:
        raise BadRequest("'messages' must be a list of at least one message.", "messages")
    return tuple(_turn(message, f"messages[{at}]") for at, message in enumerate(messages))


def _turn(message: object, where: str) -> Turn:
    fields = Fields(message, where)
    role = fields.data.get("role")
    role = "system" if role == "developer" else role
    if role not in get_args(Role):
        raise fields.refuse("role", "is none that is known here.")
    calls = _calls(fields)
    if calls and role != "assistant":
        raise fields.refuse("tool_calls", "are an assistant's only.")
    content = fields.data.get("content")
    return Turn(
        cast(Role, role),
        "" if calls and content is None else clean(_text(content, where)),
        calls,
        fields.name("tool_call_id") if role == "tool" else None,
    )


def _text(content: object, where: str) -> str:
    """A message's text: a string, or a list of parts that are all text."""
    if isinstance(content, list):
        for part in content:
            if not isinstance(part, dict) or part.get("type") != "text":
                raise BadRequest("Only text can be read here.", f"{where}.content")
            if not isinstance(part.get("text"), str):
                raise BadRequest("A part of type text has a text.", f"{where}.content")
        return "".join(part["text"] for part in content)
    if not isinstance(content, str):
        raise BadRequest(f"{where} has no text as its content.", f"{where}.content")
    return content


def _calls(fields: Fields) -> tuple[ToolCall, ...]:
    found = []
    for at, value in enumerate(fields.items("tool_calls", MOST_TOOLS)):
        call = Fields(value, fields.path(f"tool_calls[{at}]"))
        if call.data.get("type", "function") != "function":
            raise call.refuse("type", "must be function.")
        function = Fields(call.data.get("function"), call.path("function"))
        arguments = function.text("arguments")
        if arguments is None:
            raise function.refuse("arguments", "must be a string.")
        found.append(ToolCall(call.name("id"), function.name("name"), arguments))
    return tuple(found)


def tools(fields: Fields) -> tuple[Tool, ...]:
    """The functions that may be called. Raises ``BadRequest``."""
    found: dict[str, Tool] = {}
    for at, value in enumerate(fields.items("tools", MOST_TOOLS)):
        tool = Fields(value, f"tools[{at}]")
        if tool.data.get("type") != "function":
            raise tool.refuse("type", "must be function.")
        function = Fields(tool.data.get("function"), tool.path("function"))
        name = function.name("name")
        if not _NAME.fullmatch(name):
            raise function.refuse("name", "has 1 to 64 letters, digits, dots, dashes, underscores.")
        if name in found:
            raise function.refuse("name", "is another tool's already.")
        path = function.path("parameters")
        parameters = function.data.get("parameters")
        found[name] = Tool(
            name,
            function.text("description", most=LONGEST_DESCRIPTION) or "",
            "{}" if parameters is None else compact(Fields(parameters, path).data, path),
        )
    return tuple(found.values())


def tool_choice(fields: Fields, offered: tuple[Tool, ...]) -> tuple[ToolChoice, str | None]:
    """What may or must be called, and the one function that it must be."""
    value = fields.data.get("tool_choice")
    if value is None:
        return "auto", None
    if value in ("auto", "none"):
        return cast(ToolChoice, value), None
    if value == "required":
        if not offered:
            raise fields.refuse("tool_choice", "needs 'tools'.")
        return "required", None
    if not isinstance(value, dict) or value.get("type") != "function":
        raise fields.refuse("tool_choice", "must be auto, none, required or a function.")
    choice = Fields(value, "tool_choice")
    function = Fields(choice.data.get("function"), choice.path("function"))
    name = function.name("name")
    if name not in [tool.name for tool in offered]:
        raise function.refuse("name", "is none of the tools.")
    return "required", name

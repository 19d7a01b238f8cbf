"""How a model writes its reasoning and its tool calls, told from its chat template's text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from engine_adapter.thinking import THINK, Tags


@dataclass(frozen=True, slots=True)
class CallForm:
    """Where JSON objects with a ``name`` and ``arguments`` (or ``parameters``) are calls.

    ``open`` begins a run of them and ``array`` follows it where they stand in an array; ``again``
    stands between two of a run and ``close`` ends it. ``bare``: an answer that begins with such
    an object is a call without ``open``. ``key`` is what the model calls the arguments.
    ``named``: the object is the arguments alone, behind the name, perhaps an id, and ``ARGS``.
    """

    open: str
    array: str = ""
    again: str = ""
    close: str = ""
    bare: bool = False
    key: str = "arguments"
    named: bool = False


HERMES = CallForm("<tool_call>", close="</tool_call>")
LLAMA = CallForm("<|python_tag|>", again=";", bare=True, key="parameters")
MISTRAL = CallForm("[TOOL_CALLS]", array="[", again=",", close="]")
MISTRAL_NAMED = CallForm("[TOOL_CALLS]", named=True)
CALL_ID, ARGS = "[CALL_ID]", "[ARGS]"


@dataclass(frozen=True, slots=True)
class Form:
    """None where a model writes no reasoning, or no calls that we can read."""

    reasoning: Tags | None = None
    calls: CallForm | None = None

    @property
    def markers(self) -> frozenset[str]:
        """The tags as they are written, to find those that are single control tokens."""
        words = [self.reasoning.open, self.reasoning.close] if self.reasoning else []
        if self.calls:
            words += [word for word in (self.calls.open, self.calls.close) if len(word) > 1]
            words += [CALL_ID, ARGS] if self.calls.named else []
        return frozenset(words)


PLAIN = Form()


def of(template: str) -> Form:
    """The form of a model with this chat template."""
    reasoning = None
    if "[/THINK]" in template:
        reasoning = Tags("[THINK]", "[/THINK]")
    elif THINK.open in template or THINK.close in template:
        reasoning = THINK
    return Form(reasoning, _calls(template))


def forced(form: Form) -> Form:
    """The form of an answer that must be a call: bare JSON where the model's own is unknown or
    no schema can choose between its names."""
    return form if form.calls and not form.calls.named else replace(form, calls=LLAMA)


def _calls(template: str) -> CallForm | None:
    if "<function=" in template or "<arg_key>" in template:
        return None  # calls written as XML
    if "<tool_call>" in template and re.search(r'\\?"arguments\\?"', template):
        return HERMES
    if "<|start_header_id|>" in template and '"parameters": ' in template:
        return LLAMA
    if MISTRAL.open in template:
        return MISTRAL_NAMED if ARGS in template else MISTRAL
    return None

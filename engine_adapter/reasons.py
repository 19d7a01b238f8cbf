"""Why something cannot be done: a word with its names and numbers, for pages in any language.

The English sentence of each stands here, once, for logs and for machines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Fact = str | int | float
_LONGEST: Final = 300  # characters of a fact that came from elsewhere
_DEEPEST: Final = 4

SENTENCES: Final[Mapping[str, str]] = {
    # A file that is no model
    "damaged": "The model file {file} is damaged or no model:",
    "unreadable": "The model file {file} cannot be read: {system}.",
    "not_gguf": "It is not a GGUF file.",
    "gguf_version": "It is a GGUF file of version {version}; versions 2 and 3 can be read.",
    "no_weights": "It holds no weights.",
    "no_alignment": "It tells no sensible alignment.",
    "cut_in_middle": "It ends in the middle.",
    "many_tensors": "It claims to hold {count} tensors.",
    "many_entries": "It claims to hold {count} metadata entries.",
    "many_elements": "It claims to hold {count} array elements.",
    "bad_key": "A metadata key is missing or far too long.",
    "dimensions": "A tensor claims to have {count} dimensions.",
    "cut_short": "It is cut short: {announced} bytes are announced, {there} are there.",
    "value_type": "It uses the unknown value type {kind}.",
    "no_architecture": "It does not tell its architecture.",
    "beside_clip": "It is the eyes or ears of a model (clip) and no language model.",
    "beside_imatrix": "It is an importance matrix (imatrix) and no language model.",
    "other_adapter": "It is an adapter of another kind than LoRA.",
    "no_context": "It does not tell its context length.",
    "bad_number": "Its '{key}' is no sensible number.",
    # A model's own settings
    "not_served": "The model {model} is not served:",
    "settings_bad": "{file}:",
    "settings_unreadable": "{file} cannot be read: {system}.",
    "settings_large": "{file} is larger than {most} bytes.",
    "settings_no_toml": "{file} is no TOML: {words}.",
    "setting_unknown": "'{key}' is unknown; known are {known}.",
    "setting_int": "'{key}' must be a whole number, not {value}.",
    "setting_float": "'{key}' must be a number, not {value}.",
    "setting_str": "'{key}' must be a text, not {value}.",
    "setting_bool": "'{key}' must be true or false, not {value}.",
    "setting_range": "{key} must lie between {least} and {most}, not {value}.",
    "setting_choice": "{key} must be one of {known}, not {value}.",
    # An adapter and its base
    "no_adapter": "{notes} names a base, but {file} is no adapter.",
    "adapter_refused": "The adapter {model} is not served:",
    "base_missing": "there is no model {base} of the architecture {architecture} for it.",
    "base_unclear": "its base is not clear (of the architecture {architecture} there is: {names});"
    ' write base = "…" into {notes}.',
    # Loading
    "no_model": "There is no model named {model}.",
    "writes_only": "The model {model} writes text and makes no embeddings.",
    "embeds_only": "The model {model} makes embeddings and writes no text.",
    "in_use": "{model} is in use or being loaded; unload it when that is over.",
    "pinned": "{model} is pinned; unpin it first.",
    "stopped": "The engine was stopped.",
    "unloaded": "The model was unloaded.",
    "made_room": "The model made room for another.",
    "files_changed": "The model's files have changed.",
    "changed": "The file of the model {model} has changed.",
    "not_loadable": "The model {model} cannot be loaded.",
    "llama_refuses": "llama.cpp refuses it: {words}.",
    "adapter_misfit": "The adapter does not fit on {file}: {words}.",
    "adapter_mid_prompt": "An adapter that begins in mid-prompt (aLoRA) cannot be used.",
    "adapter_not_laid": "The adapter cannot be laid over the model.",
    "no_writer": "This model does not write text.",
    "ranks_only": "This model ranks texts and makes no embeddings of them.",
    "computes_nothing": "The model loads but computes nothing (llama_decode: {status}).",
    "no_context_room": "There is no room for {lanes} × {context} tokens: {words}.",
    "bad_template": "Its chat template cannot be used: {words}.",
    "died_loading": "The model {model} could not be loaded:",
    "died_often": "The model {model} died {count} times within {minutes} minutes and is not tried"
    " again until its file changes or the engine is restarted. At last:",
    "not_started": "no process could be started ({system}).",
    "ended_status": "the process ended with status {status}.",
    "ended_signal": "the process was ended by {signal}.",
    "ended_sigill": "the process was ended by SIGILL. llama.cpp was built for another processor;"
    " build it again on this machine.",
    "ended_sigkill": "the process was ended by SIGKILL. It may have been short of memory.",
    # Memory
    "no_room_now": "The model {model} needs {need_bytes} ({weights_bytes} weights, {states_bytes}"
    " memory for {lanes} × {context} tokens, {buffers_bytes} to compute, {kept_bytes} for"
    " prompts that were read); {free_bytes} are free. Models that are in use hold the rest: try"
    " again in a moment.",
    "no_room_ever": "The model {model} needs {need_bytes} ({weights_bytes} weights, {states_bytes}"
    " memory for {lanes} × {context} tokens, {buffers_bytes} to compute, {kept_bytes} for"
    " prompts that were read); {free_bytes} are free. Of {total_bytes} in all it can get no more:"
    " give it fewer slots or a shorter context in {notes}.",
    # An engine elsewhere
    "loads_nothing": "This engine loads no models when told.",
    "pins_nothing": "This engine keeps no model in memory when told.",
    "refused_http": "The engine refused the request ({said}).",
    "failed_http": "The engine failed ({said}).",
    "exit_code": "Its process ended with status {status}.",
    "cut_off": "The connection to the engine broke in the middle of a reply.",
    "broke_before": "The connection to the engine broke before an answer came.",
    "packed": "The engine's reply is packed in a way nobody can unpack.",
    "key_sealed": "The engine's key was sealed with another secret key.",
    "pull_broke": "The engine's download broke off.",
    "pull_nonsense": "The engine tells nonsense about its download.",
    # What was entered for it
    "key_characters": "The engine's key holds characters that no HTTP header can carry.",
    "url_none": "The engine's address is not a URL.",
    "url_end": "The engine's address must end before any '?' or '#'.",
    "url_socket": "A socket's address is written unix:///path/to.sock.",
    "url_scheme": "The engine's address must start with http://, https:// or unix:///.",
    "url_key": "The engine's key belongs into its own field, not into the address.",
    "ca_file": "{file} is not a readable PEM file of certificates.",
}
"""By code. A fact whose name ends in ``_bytes`` is a size."""


@dataclass(frozen=True, slots=True)
class Reason:
    """``code`` is one of ``SENTENCES``, ``facts`` are what its sentence names; ``because`` goes on
    where the first sentence leaves off."""

    code: str
    facts: Mapping[str, Fact] = field(default_factory=dict)
    because: Reason | None = None

    def __str__(self) -> str:
        told = {
            name: gigabytes(int(fact)) if name.endswith("_bytes") else fact
            for name, fact in self.facts.items()
        }
        own = SENTENCES[self.code].format_map(told)
        return own if self.because is None else f"{own} {self.because}"

    def as_json(self) -> dict[str, Any]:
        """The inverse of ``from_json``."""
        because = None if self.because is None else self.because.as_json()
        return {"code": self.code, "facts": dict(self.facts), "because": because}


def why(code: str, because: Reason | None = None, **facts: Fact) -> Reason:
    """A reason as it is written in code."""
    return Reason(code, facts, because)


def from_json(told: object, depth: int = 0) -> Reason | None:
    """The reason that another process tells; None where it is none of ours. Believes nothing."""
    if not isinstance(told, dict) or depth == _DEEPEST:
        return None
    code, facts = told.get("code"), told.get("facts")
    if not isinstance(code, str) or code not in SENTENCES or not isinstance(facts, dict):
        return None
    kept: dict[str, Fact] = {}
    for name, fact in facts.items():
        if isinstance(fact, bool) or not isinstance(fact, str | int | float):
            return None
        kept[str(name)] = fact[:_LONGEST] if isinstance(fact, str) else fact
    reason = Reason(code, kept, from_json(told.get("because"), depth + 1))
    try:
        str(reason)
    except (KeyError, ValueError, OverflowError):
        return None
    return reason


def gigabytes(count: int) -> str:
    """For people: 4.7 GB, and below a tenth of one 92 MB."""
    return f"{count / 1e9:.1f} GB" if count >= 95_000_000 else f"{count / 1e6:.0f} MB"

"""What a reply that is no answer means: HTTP statuses and error bodies of every shape.

Engines quote the request in their messages, so no word of theirs is passed on: an error says the
status, the engine's own type if it is one word, and numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from engine_adapter.errors import (
    Broken,
    ContextTooLong,
    EngineError,
    ModelChanged,
    Overloaded,
    Refused,
    Unreachable,
)
from engine_adapter.reasons import from_json, why

_READ = 4096  # characters of an error text that are looked at

_OVERFLOW_TYPES = {"context_length_exceeded", "exceed_context_size_error"}
_OVERFLOW = re.compile(
    r"context (?:length|size|window)|maximum (?:model|sequence) length"
    r"|maximum input length|longer than the (?:model|maximum|context)"
    r"|\btokens?\b.{0,60}\bexceed",
    re.IGNORECASE | re.DOTALL,
)
_CONTEXT_LENGTH = re.compile(
    r"(?:context (?:length|size|window)|model length|sequence length|maximum input length)"
    r"\D{0,20}(\d{1,9})",
    re.IGNORECASE,
)
_PROMPT_TOKENS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(\d{1,9}) (?:input|prompt) tokens",
        r"(\d{1,9}) (?:tokens )?(?:in|from) the (?:input |prompt )?(?:messages|prompt|input)",
        r"(?:request|input|prompt)[^\d.]{0,20}\((?:length )?(\d{1,9})",
        r"requested (?:a total of )?(\d{1,9}) tokens",
        r"(?:resulted in|keep the first) (\d{1,9}) tokens",
    )
)
_ONE_WORD = re.compile(r"[A-Za-z][A-Za-z_]{1,63}")
_STATUS_OF_TYPE = (
    (re.compile(r"rate.?limit|overload|unavailable|too.?many|queue", re.IGNORECASE), 503),
    (re.compile(r"invalid|bad.?request|not.?found|unsupported|auth", re.IGNORECASE), 400),
)
_TOO_LONG_STATUS = {400, 413, 422}
_BUSY_STATUS = {408, 429, 503}


def from_reply(status: int, headers: Mapping[str, str], body: bytes) -> EngineError:
    """The error that a reply with a status other than success stands for."""
    return _error(status, _detail(body), _seconds(headers.get("retry-after")))


def from_frame(frame: Mapping[str, Any]) -> EngineError | None:
    """The error that a frame in a stream carries, ``None`` for an ordinary frame.

    Before the first token it means what the same error would have meant as an HTTP reply.
    """
    if not (frame.get("error") or frame.get("object") == "error" or "detail" in frame):
        return None
    detail = _unwrap(frame)
    code = detail.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else _status_of(detail)
    return _error(status, detail, None)


def instead_of_stream(body: bytes) -> EngineError:
    """The error behind a successful reply that is no stream: an error object, or a stranger."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    error = from_frame(value) if isinstance(value, dict) else None
    return error or stranger(body)


def stranger(body: bytes) -> EngineError:
    """The error behind a successful reply that makes no sense."""
    if body[:_READ].lstrip().lower().startswith((b"<!doctype", b"<html", b"<?xml")):
        return Broken("A web page answers at this address, and no engine.").because("path")
    return Broken("What answers at this address makes no sense; is it an engine?").because(
        "dialect"
    )


def _error(status: int, detail: Mapping[str, Any], retry_after: float | None) -> EngineError:
    if status in _TOO_LONG_STATUS and (error := _too_long(detail)) is not None:
        return error
    if status == 400 and detail.get("code") == ModelChanged.code:
        return ModelChanged("The model's file is not the one that was asked for.")
    told = from_json(detail.get("why"))  # our own host says why
    kind = detail.get("type")
    said = f"HTTP {status}"
    if isinstance(kind, str) and _ONE_WORD.fullmatch(kind):
        said += f", {kind}"
    if status in _BUSY_STATUS:
        return Overloaded(
            told or f"The engine takes no more requests just now ({said}).",
            retry_after=retry_after,
        )
    if status in {401, 403}:
        return Refused(f"The engine does not accept the key ({said}).").because("key")
    if status in {404, 405}:
        return Refused(f"The engine does not know this model or this address ({said}).").because(
            "model" if "model" in str(detail.get("message")).lower() else "path"
        )
    if status in {502, 504}:
        return Unreachable(f"What stands before the engine cannot reach it ({said}).").because(
            "gateway"
        )
    if 400 <= status < 500:
        return Refused(told or why("refused_http", said=said))
    return Broken(told or why("failed_http", said=said))


def _too_long(detail: Mapping[str, Any]) -> ContextTooLong | None:
    text = str(detail.get("message") or "")[:_READ]
    typed = not _OVERFLOW_TYPES.isdisjoint({str(detail.get("type")), str(detail.get("code"))})
    if not typed and detail.get("param") != "input_tokens" and not _OVERFLOW.search(text):
        return None
    prompt, length = _count(detail.get("n_prompt_tokens")), _count(detail.get("n_ctx"))
    if length is None and (match := _CONTEXT_LENGTH.search(text)):
        length = int(match[1])
    if prompt is None:
        found = (pattern.search(text) for pattern in _PROMPT_TOKENS)
        prompt = next((int(match[1]) for match in found if match), None)
    return ContextTooLong(
        f"The prompt ({_told(prompt)} tokens) does not fit the context ({_told(length)} tokens).",
        prompt_tokens=prompt,
        context_length=length,
    )


def _detail(body: bytes) -> Mapping[str, Any]:
    try:
        return _unwrap(json.loads(body))
    except (ValueError, RecursionError):
        return {"message": body[:_READ].decode("utf-8", errors="replace")}


def _unwrap(value: object) -> Mapping[str, Any]:
    """The innermost error object of ``{"error": …}``, ``{"detail": …}`` or a flat one."""
    code = None
    for _ in range(4):
        if not isinstance(value, dict):
            break
        code = value.get("code", code)
        inner = value.get("error") or value.get("detail")
        if not inner:
            return {**value, "code": code}
        value = inner
    return {"message": value if isinstance(value, str) else json.dumps(value), "code": code}


def _status_of(detail: Mapping[str, Any]) -> int:
    names = f"{detail.get('type')} {detail.get('code')}"
    if any(name in names for name in _OVERFLOW_TYPES):
        return 400
    # Some engines put nothing but a sentence into a frame.
    untold = detail.get("type") is None and detail.get("code") is None
    if untold and _OVERFLOW.search(str(detail.get("message"))[:_READ]):
        return 400
    return next((status for pattern, status in _STATUS_OF_TYPE if pattern.search(names)), 500)


def _told(number: int | None) -> str:
    return "an untold number of" if number is None else str(number)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _seconds(retry_after: str | None) -> float | None:
    """Retry-After in seconds: it is a number or a date."""
    if not retry_after:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            when = parsedate_to_datetime(retry_after)
        except ValueError:
            return None
        seconds = (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return seconds if 0 <= seconds < 86_400 else None

"""Statuses and error bodies of every shape, recorded and known, become one tree of errors."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from engine_adapter.errors import (
    Broken,
    ContextTooLong,
    EngineError,
    Overloaded,
    Refused,
    Unreachable,
)
from engine_adapter.remote import faults
from tests.unit.engine_remote.replay import GOLDEN


def recorded(engine: str, name: str) -> EngineError:
    status = int((GOLDEN / engine / f"{name}.hdr").read_bytes().split(b" ", 2)[1])
    return faults.from_reply(status, {}, (GOLDEN / engine / f"{name}.body").read_bytes())


@pytest.mark.parametrize("name", ["overflow", "overflow_stream"])
@pytest.mark.parametrize(
    ("engine", "prompt"), [("llamacpp", 3031), ("vllm_cpu", 1025), ("sglang_cpu", 3031)]
)
def test_recorded_overflows_give_both_numbers(engine: str, name: str, prompt: int) -> None:
    error = recorded(engine, name)
    assert isinstance(error, ContextTooLong)
    assert (error.prompt_tokens, error.context_length) == (prompt, 1024)


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("llamacpp", "bad_json"),
        ("llamacpp", "no_messages"),
        ("vllm_cpu", "bad_json"),
        ("vllm_cpu", "no_messages"),
        ("vllm_cpu", "bad_model"),
        ("sglang_cpu", "bad_json"),
        ("sglang_cpu", "no_messages"),
    ],
)
def test_recorded_refusals(engine: str, name: str) -> None:
    assert type(recorded(engine, name)) is Refused


@pytest.mark.parametrize(
    ("text", "prompt", "length"),
    [
        (
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"
            " (4000 in the messages, 1000 in the completion). Please reduce the length.",
            4000,
            4096,
        ),
        (
            "Requested token count exceeds the model's maximum context length of 1024 tokens. You"
            " requested a total of 1500 tokens: 1000 tokens from the input messages and 500 tokens"
            " for the completion.",
            1000,
            1024,
        ),
        (
            "The decoder prompt (length 3031) is longer than the maximum model length of 1024.",
            3031,
            1024,
        ),
        ("the request exceeds the available context size", None, None),
        ("context window exceeded", None, None),
    ],
)
def test_overflows_told_in_words(text: str, prompt: int | None, length: int | None) -> None:
    for body in ({"error": {"message": text}}, {"object": "error", "message": text}, text):
        error = faults.from_reply(400, {}, json.dumps(body).encode())
        assert isinstance(error, ContextTooLong), body
        assert (error.prompt_tokens, error.context_length) == (prompt, length)
    assert not isinstance(faults.from_reply(500, {}, text.encode()), ContextTooLong)


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens must not exceed 4096",
        "temperature exceeds 2",
        "smol is not a multimodal model",
        "the model is longer available",
    ],
)
def test_other_refusals_are_no_overflow(text: str) -> None:
    assert type(faults.from_reply(400, {}, text.encode())) is Refused


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": {"message": "secret words", "type": "secret words", "code": null}}',
        b'{"error": "secret words"}',
        b'{"object": "error", "message": "secret words", "code": "secret words"}',
        b'{"detail": "secret words"}',
        b'{"detail": [{"input": "secret words"}]}',
        b'{"error": {"error": {"detail": {"error": {"detail": "secret words"}}}}}',
        b'["secret words"]',
        b'"secret words"',
        b"null",
        b"<html>secret words</html>",
        b"secret words \xff",
        b"",
        b"[" * 100_000,
        b'{"error":' * 200 + b'"secret words"' + b"}" * 200,
    ],
)
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Refused),
        (401, Refused),
        (404, Refused),
        (422, Refused),
        (408, Overloaded),
        (429, Overloaded),
        (503, Overloaded),
        (502, Unreachable),
        (504, Unreachable),
        (500, Broken),
        (501, Broken),
    ],
)
def test_bodies_of_every_shape(status: int, kind: type[EngineError], body: bytes) -> None:
    error = faults.from_reply(status, {}, body)
    assert type(error) is kind
    assert f"HTTP {status}" in str(error)
    assert "secret" not in str(error)


def test_the_type_of_an_error_is_told_where_it_is_one_word() -> None:
    error = faults.from_reply(400, {}, b'{"error": {"type": "BadRequestError"}}')
    assert "BadRequestError" in str(error)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7),
        ("0.5", 0.5),
        ("-1", None),
        ("soon", None),
        ("nan", None),
        ("1e9", None),
        ("", None),
    ],
)
def test_retry_after(header: str, seconds: float | None) -> None:
    error = faults.from_reply(429, {"retry-after": header}, b"")
    assert isinstance(error, Overloaded)
    assert error.retry_after == seconds


def test_retry_after_as_a_date() -> None:
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    error = faults.from_reply(503, {"retry-after": when}, b"")
    assert isinstance(error, Overloaded)
    assert error.retry_after is not None
    assert 0 < error.retry_after <= 60


def test_a_stranger_is_told_from_an_engine_with_an_error() -> None:
    assert type(faults.instead_of_stream(b"<html>")) is Broken
    assert type(faults.instead_of_stream(b'{"choices": []}')) is Broken
    assert type(faults.instead_of_stream(b'{"error": {"code": 429}}')) is Overloaded

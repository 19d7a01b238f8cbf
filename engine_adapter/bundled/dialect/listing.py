"""What is no answer: the models, vectors, and why there is no answer."""

from __future__ import annotations

import base64
import struct
from dataclasses import asdict

from engine_adapter.bundled.dialect.fields import Json
from engine_adapter.errors import (
    Broken,
    ContextTooLong,
    EngineError,
    Overloaded,
    Refused,
    Unreachable,
)
from engine_adapter.types import Embeddings, ModelCard


def model(card: ModelCard, created: int) -> Json:
    """One entry of ``GET /v1/models``."""
    continues = ["continue_final_message"] if card.continues else []
    vectors = card.kind == "embeddings"
    return {
        "id": card.name,
        "object": "model",
        "created": created,
        "owned_by": "konak",
        "root": card.name,
        "parent": card.parent,
        "max_model_len": card.context_length,
        "meta": {
            "n_ctx": card.context_length,
            "size": card.size_bytes,
            "quantization": card.quantization,
            "sha256": card.sha256,
            "state": card.state,
            "kind": card.kind,
            "reason": card.reason,
            "why": None if card.why is None else card.why.as_json(),
            "facts": None if card.facts is None else asdict(card.facts),
            "outlook": None if card.outlook is None else asdict(card.outlook),
            "pinned": card.pinned,
        },
        "capabilities": ["embedding"] if vectors else ["completion", *continues],
    }


def embeddings(model: str, made: Embeddings, *, as_base64: bool) -> Json:
    """The reply of ``POST /v1/embeddings``."""
    return {
        "object": "list",
        "model": model,
        "data": [
            {
                "object": "embedding",
                "index": index,
                "embedding": _base64(vector) if as_base64 else list(vector),
            }
            for index, vector in enumerate(made.vectors)
        ],
        "usage": {"prompt_tokens": made.prompt_tokens, "total_tokens": made.prompt_tokens},
    }


def _base64(vector: tuple[float, ...]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def error(message: str, kind: str, code: str, param: str | None = None, **more: object) -> Json:
    """The error object, the same as a reply's body and as a frame."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code, **more}}


def failure(cause: EngineError) -> tuple[int, Json]:
    """HTTP status and error object of what an engine failed with."""
    message = str(cause)
    more = {} if cause.why is None else {"why": cause.why.as_json()}
    if isinstance(cause, ContextTooLong):
        numbers = {"n_prompt_tokens": cause.prompt_tokens, "n_ctx": cause.context_length}
        return 400, error(message, "invalid_request_error", cause.code, "messages", **numbers)
    if isinstance(cause, Refused):
        return 400, error(message, "invalid_request_error", cause.code, None, **more)
    if isinstance(cause, Overloaded):
        return 429, error(message, "overloaded_error", cause.code, None, **more)
    if isinstance(cause, Unreachable):
        return 503, error(message, "unavailable_error", cause.code, None, **more)
    code = cause.code if isinstance(cause, Broken) else EngineError.code
    return 500, error(message, "server_error", code, None, **more)

"""Engines of OpenAI's dialect, each with its own frames, errors and routes.

llama.cpp, vLLM and SGLang write what was recorded of them; TensorRT-LLM, llm-d and LM Studio are
imitations out of their sources and documentation, which were never seen running.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine_adapter.errors import ContextTooLong, EngineError, Refused
from engine_adapter.types import Usage
from tests.conformance.openai_dialect import DONE, Json, OpenAIDialect
from tests.conformance.server import Call, Reply, Stream, of, whole


def _flat(message: str, status: int, kind: str = "BadRequestError") -> Reply:
    error = {"object": "error", "message": message, "type": kind, "param": None, "code": status}
    return of(error, status)


class Llamacpp(OpenAIDialect):
    """``llama-server`` with one model, as recorded."""

    any_model = True
    headers = {"Content-Type": "text/event-stream", "Server": "llama.cpp"}

    def routes(self) -> Mapping[str, Reply]:
        props: Json = {
            "default_generation_settings": {"n_ctx": self.context},
            "total_slots": 2,
            "modalities": {"vision": False, "audio": False, "video": False},
            "chat_template": "{{ x }}",
            "chat_template_caps": {"supports_tools": True, "supports_tool_calls": True},
            "build_info": "b1-0c1e570",
        }
        running = self.engine.running
        slots = [
            {"id": n, "n_ctx": self.context, "is_processing": n < running, "n_prompt_tokens": 128}
            for n in range(2)
        ]
        listing = {"models": [], "object": "list", "data": [self.listed()]}
        return {
            "/v1/models": of(listing, headers={"Server": "llama.cpp"}),
            "/health": of({"status": "ok"}),
            "/props": of(props),
            "/slots": of(slots),
        }

    def listed(self) -> Json:
        meta = {"n_ctx": self.context, "n_ctx_train": 8192, "size": 9, "ftype": "Q4_1"}
        return {"id": self.model, "object": "model", "owned_by": "llamacpp", "meta": meta}

    def frame(self, delta: Json, finish: str | None = None) -> Json:
        return {
            "choices": [{"finish_reason": finish, "index": 0, "delta": delta}],
            **_tail(self.model),
        }

    def first(self) -> Json:
        return self.frame({"role": "assistant", "content": None})

    def busy(self) -> Reply:
        # It has no end to its line; so it answers while a model is loaded.
        told = {"message": "Loading model", "type": "unavailable_error", "code": 503}
        return of({"error": told}, 503)

    def usage(self, usage: Usage) -> Json:
        told = _usage(usage) | {"prompt_tokens_details": {"cached_tokens": 0}}
        names = ["cache_n", "prompt_n", "prompt_ms", "prompt_per_token_ms", "prompt_per_second"]
        names += ["predicted_n", "predicted_ms", "predicted_per_token_ms", "predicted_per_second"]
        timings = dict.fromkeys(names, 1)
        return {"choices": [], **_tail(self.model), "usage": told, "timings": timings}

    def too_long(self, error: ContextTooLong) -> Reply:
        told = {"code": 400, "message": "exceeds", "type": "exceed_context_size_error"}
        numbers = {"n_prompt_tokens": error.prompt_tokens, "n_ctx": error.context_length}
        return of({"error": told | numbers}, 400)


def _tail(model: str) -> Json:
    return {
        "created": 1,
        "id": "chatcmpl-x",
        "model": model,
        "system_fingerprint": "b0",
        "object": "chat.completion.chunk",
    }


def _usage(usage: Usage) -> Json:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }


class Vllm(OpenAIDialect):
    """vLLM, as recorded."""

    reasoning = "reasoning"

    def routes(self) -> Mapping[str, Reply]:
        page = (
            f'vllm:num_requests_running{{engine="0",model_name="m"}} {self.engine.running}.0\n'
            f'vllm:num_requests_waiting{{engine="0",model_name="m"}} {self.engine.waiting}.0\n'
        )
        return {
            **super().routes(),
            "/health": Reply(200, b""),
            "/version": of({"version": "0.32.0"}),
            "/metrics": Reply(200, page.encode(), {"Content-Type": "text/plain"}),
        }

    def listed(self) -> Json:
        return {
            "id": self.model,
            "object": "model",
            "owned_by": "vllm",
            "root": "/models/x",
            "parent": None,
            "max_model_len": self.context,
        }

    def frame(self, delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _chunk(self.model, choice | {"token_ids": None})

    def first(self) -> Json:
        frame = self.frame({"role": "assistant", "content": ""})
        del frame["choices"][0]["token_ids"]
        return frame | {"prompt_token_ids": None, "prompt_text": None}

    def busy(self) -> Reply | Stream:
        return of({"error": {"message": "full", "type": "Service Unavailable", "code": 503}}, 503)

    def broken(self) -> list[bytes]:
        told = {"message": "words", "type": "InternalServerError", "param": None, "code": 500}
        return [self.sse({"error": told}), DONE]

    def last(self, finish: str) -> Json:
        frame = self.frame({"content": ""}, finish)
        frame["choices"][0]["stop_reason"] = None
        return frame

    def usage(self, usage: Usage) -> Json:
        details = {"prompt_tokens_details": {"cached_tokens": 0, "created_cache_tokens": 0}}
        told = _chunk(self.model) | {"usage": _usage(usage) | details}
        return told | {"system_fingerprint": "vllm-0.32.0"}

    def too_long(self, error: ContextTooLong) -> Reply:
        # It stops counting at the first token too many.
        least = (error.context_length or 0) + 1
        text = (
            f"This model's maximum context length is {error.context_length} tokens. However, your"
            f" prompt contains at least {least} input tokens, which exceeds this limit even without"
            " any output tokens. Please reduce the length of the input prompt."
            f" (parameter=input_tokens, value={least})"
        )
        told = {"message": text, "type": "BadRequestError", "param": "input_tokens", "code": 400}
        return of({"error": told}, 400)


def _chunk(model: str, *choices: Json) -> Json:
    return {
        "id": "chatcmpl-x",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": model,
        "choices": list(choices),
    }


class Sglang(OpenAIDialect):
    """SGLang, as recorded."""

    any_model = True

    def routes(self) -> Mapping[str, Reply]:
        page = (
            f'sglang:num_running_reqs{{model_name="m",tp_rank="0"}} {self.engine.running}.0\n'
            f'sglang:num_queue_reqs{{model_name="m",tp_rank="0"}} {self.engine.waiting}.0\n'
        )
        info = {"model_path": "x", "is_generation": True, "has_image_understanding": False}
        settings = {"enable_priority_scheduling": True, "tool_call_parser": "qwen25"}
        return {
            **super().routes(),
            "/health": Reply(200, b""),
            "/model_info": of(info),
            "/server_info": of(settings | {"reasoning_parser": None}),
            "/metrics": Reply(200, page.encode(), {"Content-Type": "text/plain"}),
        }

    def listed(self) -> Json:
        told = {"id": self.model, "object": "model", "owned_by": "sglang", "root": "x"}
        return told | {"parent": None, "max_model_len": self.context}

    def frame(self, delta: Json, finish: str | None = None) -> Json:
        choice = {
            "index": 0,
            "delta": {"reasoning_content": None} | delta,
            "logprobs": None,
            "finish_reason": finish,
            "matched_stop": 2 if finish else None,
        }
        return _chunk(self.model, choice)

    def busy(self) -> Stream:
        # A stream is promised before it looks at its line.
        told = {"message": "The request queue is full.", "type": "x", "param": None, "code": 503}
        return Stream(whole(self.sse({"error": told}), DONE), self.headers)

    def broken(self) -> list[bytes]:
        return [self.sse({"error": {"message": "words", "code": 500}}), DONE]

    def usage(self, usage: Usage) -> Json:
        rest = {"prompt_tokens_details": None, "reasoning_tokens": 0}
        told = _usage(usage) | rest | {"completion_tokens_details": None}
        return _chunk(self.model) | {"usage": told}

    def too_long(self, error: ContextTooLong) -> Reply:
        return _flat(
            f"The input ({error.prompt_tokens} tokens) is longer than the model's context length"
            f" ({error.context_length} tokens).",
            400,
        )


class Trtllm(OpenAIDialect):
    """``trtllm-serve``: an imitation. It refuses fields it does not know, and names no length."""

    any_model = True
    known = {
        *("model", "messages", "stream", "stream_options", "temperature", "top_p", "top_k"),
        *("min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "seed"),
        *("max_tokens", "stop", "ignore_eos", "cache_salt", "priority", "response_format"),
        *("tools", "tool_choice", "logprobs", "top_logprobs", "logit_bias", "user"),
    }

    async def reply(self, call: Call) -> Reply | Stream:
        if call.method == "POST" and (strange := set(call.body) - self.known):
            return of({"error": f"Extra inputs are not permitted: {sorted(strange)}"}, 400)
        return await super().reply(call)

    def routes(self) -> Mapping[str, Reply]:
        page = f"trtllm_num_requests_running {self.engine.running}\n".encode()
        return {
            **super().routes(),
            "/health": Reply(200, b""),
            "/version": of({"version": "1.3.0"}),
            "/prometheus/metrics": Reply(200, page),
        }

    def listed(self) -> Json:
        return super().listed() | {"owned_by": "tensorrt_llm"}

    def frame(self, delta: Json, finish: str | None = None) -> Json:
        delta = {"content": "", "reasoning_content": ""} | delta
        return _chunk(self.model, {"index": 0, "delta": delta, "finish_reason": finish})

    def too_long(self, error: ContextTooLong) -> Reply:
        return _flat(
            f"Prompt length ({error.prompt_tokens}) exceeds maximum input length"
            f" ({error.context_length}).",
            400,
        )

    def busy(self) -> Reply:
        return _flat("The server is overloaded", 503, "ServiceUnavailable")

    def broken(self) -> list[bytes]:
        return []

    def sse(self, frame: Json) -> bytes:
        # Nothing that is null is sent, and each line ends with a space.
        return super().sse(_without_null(frame)).replace(b"\n\n", b" \n\n")


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_null(v) for k, v in value.items() if v is not None}
    return [_without_null(v) for v in value] if isinstance(value, list) else value


class Llmd(Vllm):
    """A gateway of llm-d before vLLM: an imitation. It pins a conversation by a token."""

    def routes(self) -> Mapping[str, Reply]:
        mark = {"x-went-into-resp-headers": "true"}
        return {"/v1/models": of({"object": "list", "data": [self.listed()]}, headers=mark)}

    async def reply(self, call: Call) -> Reply | Stream:
        reply = await super().reply(call)
        if isinstance(reply, Stream):
            token = call.headers.get("x-session-token", "pod-1")
            return Stream(reply.pieces, {**reply.headers, "x-session-token": token})
        return reply

    def busy(self) -> Reply:
        why = {"x-llm-d-request-dropped-reason": "saturated", "Content-Type": "text/plain"}
        return Reply(429, b"system saturated", why)

    def broken(self) -> list[bytes]:
        return []

    def failed(self, error: EngineError) -> Reply:
        if isinstance(error, Refused):
            return super().failed(error)
        return Reply(503, b"no healthy upstream", {"Content-Type": "text/plain"})


class Lmstudio(OpenAIDialect):
    """LM Studio: an imitation. A route it does not know is a success with an error in it."""

    any_model = True

    def routes(self) -> Mapping[str, Reply]:
        instance = {"id": self.model, "config": {"context_length": self.context, "parallel": 4}}
        model = {
            "type": "llm",
            "key": self.model,
            "display_name": "Scripted",
            "quantization": {"name": "Q4_K_M", "bits_per_weight": 4},
            "size_bytes": 9,
            "max_context_length": 131072,
            "loaded_instances": [instance],
            "capabilities": {"vision": False, "trained_for_tool_use": True},
        }
        return {
            **super().routes(),
            "/api/v1/models": of({"models": [model]}),
            "/lmstudio-greeting": of({"lmstudio": True}),
        }

    def listed(self) -> Json:
        return super().listed() | {"owned_by": "organization_owner"}

    async def reply(self, call: Call) -> Reply | Stream:
        reply = await super().reply(call)
        if isinstance(reply, Reply) and reply.status == 404:
            return of({"error": f"Unexpected endpoint or method. ({call.method} {call.path})"})
        return reply

    def busy(self) -> Reply:
        return of({"error": "Too many requests"}, 429)

    def broken(self) -> list[bytes]:
        told = b'{"error": {"type": "internal_error", "message": "words"}}'
        return [b"event: error\ndata: " + told + b"\n\n"]

    def too_long(self, error: ContextTooLong) -> Reply:
        text = (
            f"Trying to keep the first {error.prompt_tokens} tokens when context the overflows."
            f" However, the model is loaded with context length of only {error.context_length}"
            " tokens, which is not enough."
        )
        return Reply(400, json.dumps({"error": text}).encode())

"""What is wrong with an engine, in sentences for who can do something about it."""

from __future__ import annotations

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from chat.domain import reasons
from engine_adapter.errors import Cause, EngineError, Overloaded, Unreachable

_SENTENCES: Final[dict[Cause, str | Promise]] = {
    "name": _("No name server knows this host. Check the spelling, or enter its IP address."),
    "closed": _(
        "The host is there, but nothing listens at this port. Is the engine running, and does it"
        " listen on more than its own machine?"
    ),
    "private": _(
        "Its address belongs to this machine or to a network of your own, and only the open"
        " internet may be asked."
    ),
    "proxy": _(
        "The proxy that everything goes through (KONAK_OUTGOING_PROXY) does not answer. Ask"
        " who keeps the network."
    ),
    "proxy_key": _(
        "The proxy asks for a name and a password. Who keeps this machine can set both"
        " in KONAK_OUTGOING_PROXY."
    ),
    "proxy_no": _(
        "The proxy gives no way to this host: it forbids it, or finds no such host. Ask"
        " who keeps the proxy."
    ),
    "no_way": _("There is no way through the network to this host. Ask who keeps the network."),
    "silent": _("It was reached but did not answer in time. It may be loading, or overloaded."),
    "certificate": _(
        "Its certificate is not trusted here: it has expired, is for another host, or was made by"
        " an authority this machine does not know. Enter the authority’s file below."
    ),
    "tls": _("One side speaks https and the other http. Check the beginning of the address."),
    "redirect": _("It sends on to another address. Enter the address where the engine itself is."),
    "key": _("It wants a key, or another one than this."),
    "path": _("A server is there, but no engine at this path. Leave out all after the port."),
    "dialect": _("A server answers, but not as an engine does. Is this the right port?"),
    "gateway": _("Something stands before the engine and does not reach it."),
    "model": _("It does not serve this model."),
    "too_much": _("It says more than any engine has to say. Is this the right address?"),
}
_SIGNS: Final[dict[str, str | Promise]] = {
    "header x-went-into-resp-headers": _("a header that only llm-d sends"),
    "header x-llm-d-request-dropped-reason": _("a header that only llm-d sends"),
    "models owned by vllm": _("its models belong to “vllm”"),
    "models owned by sglang": _("its models belong to “sglang”"),
    "models owned by tensorrt_llm": _("its models belong to “tensorrt_llm”"),
    "header Server: llama.cpp": _("it calls itself llama.cpp"),
    "models owned by llamacpp": _("its models belong to “llamacpp”"),
    "greets as LM Studio": _("it greets as LM Studio does"),
    "says that Ollama is running": _("it says that Ollama is running"),
    "says that SGLang is running": _("it says that SGLang is running"),
    "tells its slots": _("it tells its slots, as llama.cpp does"),
    "tells its model as SGLang does": _("it tells its model as SGLang does"),
    "tells a version": _("it tells a version, as vLLM does"),
    "lists models as OpenAI does": _("it lists models as OpenAI does"),
}


def of(error: EngineError) -> str:
    """One sentence, or two with what to do next."""
    if error.why is not None:
        return reasons.sentence(error.why)
    if error.cause:
        return str(_SENTENCES[error.cause])
    if isinstance(error, Overloaded):
        return str(_("It is full at the moment. Try again later."))
    if isinstance(error, Unreachable):
        return str(_("It cannot be reached."))
    return str(_("It answers, but says that something is wrong: %(words)s") % {"words": error})


def sign(name: str) -> str:
    """By what an engine was known."""
    return str(_SIGNS[name])

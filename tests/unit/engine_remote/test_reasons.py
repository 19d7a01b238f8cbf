"""Reasons over the line: each has its words, and what is told by others is not believed."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest

from engine_adapter import reasons
from engine_adapter.errors import Overloaded, Refused
from engine_adapter.reasons import SENTENCES, from_json, why
from engine_adapter.remote import cards, faults
from engine_adapter.types import FileFacts, ModelCard, Outlook

DEEP: dict[str, Any] = {"code": "no_weights", "facts": {}, "because": None}
for _ in range(9):
    DEEP = {"code": "damaged", "facts": {"file": "x"}, "because": DEEP}


def names(sentence: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(sentence) if name}


def test_a_reason_comes_back_as_it_went_and_its_sentences_go_on() -> None:
    told = why("damaged", why("cut_short", announced=9, there=7), file="a.gguf")
    assert from_json(told.as_json()) == told
    assert str(told) == (
        "The model file a.gguf is damaged or no model:"
        " It is cut short: 9 bytes are announced, 7 are there."
    )
    for code, sentence in SENTENCES.items():
        facts = {
            name: 5_100_000_000 if name.endswith("_bytes") else "x" for name in names(sentence)
        }
        assert str(why(code, **facts)), code
        assert ("5.1 GB" in str(why(code, **facts))) == any(n.endswith("_bytes") for n in facts)


@pytest.mark.parametrize(
    "told",
    [
        None, 7, [], {}, {"code": "no_weights"}, {"code": 7, "facts": {}},
        {"code": "we_are_closed", "facts": {}}, {"code": "ca_file", "facts": {}},
        {"code": "ca_file", "facts": {"file": ["x"]}}, {"code": "ca_file", "facts": {"file": True}},
        {"code": "no_room_now", "facts": {"need_bytes": "many"}},
        {"code": "no_room_now", "facts": dict.fromkeys(names(SENTENCES["no_room_now"]), "many")},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_none_of_ours_is_none(told: object) -> None:
    assert from_json(told) is None


def test_what_is_endless_is_cut() -> None:
    long = from_json({"code": "ca_file", "facts": {"file": "x" * 10_000}})
    assert long is not None
    assert len(str(long)) < 400
    deep = from_json(DEEP)
    assert deep is not None
    assert str(deep).count("damaged") == reasons._DEEPEST


def test_our_host_says_why_and_others_are_told_by_their_status() -> None:
    room = why("no_room_now", **dict.fromkeys(names(SENTENCES["no_room_now"]), 7))
    body = b'{"error": {"message": "x", "why": %s}}' % _json(room)
    full = faults.from_reply(429, {}, body)
    assert isinstance(full, Overloaded)
    assert full.why == room
    refused = faults.from_reply(400, {}, b'{"error": {"message": "secret", "type": "odd_one"}}')
    assert isinstance(refused, Refused)
    assert refused.why == why("refused_http", said="HTTP 400, odd_one")
    assert "secret" not in str(refused)


def _json(reason: reasons.Reason) -> bytes:
    return json.dumps(reason.as_json()).encode()


def test_a_card_tells_its_file_its_outlook_and_its_reason() -> None:
    meta = {
        "state": "failed",
        "why": why("no_weights").as_json(),
        "facts": {"architecture": "llama", "parameters": 7, "layers": "many", "has_template": 1},
        "outlook": {"need_bytes": 5, "free_bytes": 0, "verdict": "never"},
        "pinned": False,
    }
    [card] = cards.listed({"data": [{"id": "a", "meta": meta}]})
    assert card == ModelCard(
        "a", state="failed", why=why("no_weights"), facts=FileFacts("llama", 7),
        outlook=Outlook(5, 0, "never"), pinned=False,
    )  # fmt: skip
    for odd in ({"verdict": "soon", "need_bytes": 5}, {"verdict": "fits"}, "much", 7):
        [card] = cards.listed({"data": [{"id": "a", "meta": {"outlook": odd, "facts": odd}}]})
        assert card == ModelCard("a")


def test_what_no_model_can_be_is_not_believed() -> None:
    lies = ModelCard(
        "a", context_length=1 << 40, quantization="Q" * 99, sha256="no fingerprint",
        parent="p" * 999, reason="r" * 9999,
    )  # fmt: skip
    kept = cards.believable(lies)
    assert (kept.context_length, kept.sha256) == (None, None)
    assert (len(kept.quantization or ""), len(kept.parent or "")) == (24, 200)
    assert len(kept.reason or "") == 500
    assert cards.believable(ModelCard("a", quantization="Q\0")).quantization is None
    honest = ModelCard("a", 4096, quantization="Q4_K_M", sha256="0" * 64, parent="b", reason="c")
    assert cards.believable(honest) == honest

"""What a ScriptedEngine plays: rules as data, read from JSON with sentences for mistakes.

Knows nothing of time, streams or requests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from engine_adapter.types import FinishReason

FAILURES = ("broken", "overloaded", "refused", "unreachable")


@dataclass(frozen=True, slots=True)
class Rule:
    """One answer and the occasion for it.

    ``when`` is looked for in the last user turn, whatever its case; the first rule that matches
    plays. ``reasoning`` pieces come before ``pieces``. ``first_delay_s`` passes before the first
    piece, then ``pace`` pieces a second follow (``None``: as fast as they are read). With
    ``fail_after`` the stream breaks with ``failure`` once that many of ``pieces`` are out.
    """

    pieces: tuple[str, ...]
    when: str = ""
    reasoning: tuple[str, ...] = ()
    first_delay_s: float = 0.0
    pace: float | None = None
    fail_after: int | None = None
    failure: str = "broken"
    finish: FinishReason = "stop"


@dataclass(frozen=True, slots=True)
class Script:
    """A whole engine's behaviour.

    ``context_length`` is counted in words, the scripted engine's tokens. ``slots`` is how many
    answers are written at once (``None``: all); the others wait in line. ``continues`` is what it
    says of going on with a begun answer.
    """

    default: Rule
    rules: tuple[Rule, ...] = ()
    model: str = "scripted"
    context_length: int = 8192
    slots: int | None = None
    continues: bool = True

    def rule_for(self, question: str) -> Rule:
        """The first rule whose ``when`` occurs in ``question``, or the default one."""
        folded = question.casefold()
        return next((rule for rule in self.rules if rule.when.casefold() in folded), self.default)


def read(path: Path) -> Script:
    """The script in the JSON file at ``path``.

    Raises ``ValueError`` with one sentence that names the file and what is wrong in it.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"The script {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ValueError(f"The script {path} is not UTF-8 text.") from None
    except json.JSONDecodeError as error:
        raise ValueError(
            f"The script {path} is not JSON: {error.msg} in line {error.lineno}."
        ) from None
    try:
        return _script(value)
    except ValueError as error:
        raise ValueError(f"The script {path} cannot be played: {error}.") from None


def _script(value: object) -> Script:
    known = {"default", "rules", "model", "context_length", "slots", "continues"}
    fields = _fields(value, "the file", known)
    if "default" not in fields:
        raise ValueError("'default', the rule for all other questions, is missing")
    rules = fields.get("rules", [])
    if not isinstance(rules, list):
        raise ValueError("'rules' must be a list")
    model = fields.get("model", "scripted")
    if not isinstance(model, str) or not model:
        raise ValueError("'model' must be a name")
    slots = fields.get("slots")
    continues = fields.get("continues", True)
    if not isinstance(continues, bool):
        raise ValueError("'continues' must be true or false")
    return Script(
        default=_rule(fields["default"], "'default'"),
        rules=tuple(_rule(rule, f"rule {n}", occasion=True) for n, rule in enumerate(rules, 1)),
        model=model,
        context_length=_whole(fields.get("context_length", 8192), "'context_length'", least=2),
        slots=None if slots is None else _whole(slots, "'slots'", least=1),
        continues=continues,
    )


def _rule(value: object, where: str, *, occasion: bool = False) -> Rule:
    known = {"pieces", "reasoning", "first_delay_s", "pace", "fail_after", "failure", "finish"}
    fields = _fields(value, where, known | {"when"} if occasion else known)
    when = fields.get("when", "")
    if occasion and (not isinstance(when, str) or not when):
        raise ValueError(f"'when' of {where} must be the text to look for in the question")
    finish = fields.get("finish", "stop")
    if finish not in get_args(FinishReason):
        raise ValueError(f"'finish' of {where} must be one of {', '.join(get_args(FinishReason))}")
    failure = fields.get("failure", "broken")
    if failure not in FAILURES:
        raise ValueError(f"'failure' of {where} must be one of {', '.join(FAILURES)}")
    pace = fields.get("pace")
    if pace is not None and _number(pace, f"'pace' of {where}") == 0:
        raise ValueError(f"'pace' of {where} must be more than 0 pieces a second")
    fail_after = fields.get("fail_after")
    return Rule(
        pieces=_texts(fields.get("pieces"), f"'pieces' of {where}"),
        when=when,
        reasoning=_texts(fields.get("reasoning", []), f"'reasoning' of {where}"),
        first_delay_s=_number(fields.get("first_delay_s", 0), f"'first_delay_s' of {where}"),
        pace=None if pace is None else float(pace),
        fail_after=None
        if fail_after is None
        else _whole(fail_after, f"'fail_after' of {where}", least=0),
        failure=failure,
        finish=finish,
    )


def _fields(value: object, where: str, known: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be an object")
    unknown = sorted(set(value) - known)
    if unknown:
        raise ValueError(f"{where} has '{unknown[0]}', which means nothing here")
    return value


def _texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError(f"{where} must be a list of texts")
    if not all(isinstance(piece, str) and piece for piece in value):
        raise ValueError(f"{where} must hold texts only, none of them empty")
    return tuple(value)


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
        raise ValueError(f"{where} must be a number from 0 to a million")
    return float(value)


def _whole(value: object, where: str, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{where} must be a whole number, {least} or more")
    return value

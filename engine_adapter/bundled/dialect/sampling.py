"""How the tokens of an answer are to be drawn: the fields of OpenAI, vLLM and llama.cpp."""

from __future__ import annotations

from engine_adapter.bundled.dialect.fields import (
    LARGEST,
    MOST_BYTES,
    SMALLEST,
    BadRequest,
    Fields,
    clean,
    compact,
    is_number,
    within,
)
from engine_adapter.types import Sampling

MOST_STOPS = 16
LONGEST_STOP = 256
MOST_BIASES = 1024
MOST_LOGPROBS = 20
LARGEST_TOKEN = (1 << 31) - 1


def read(fields: Fields) -> Sampling:
    """The sampling that a body asks for. Raises ``BadRequest``."""
    newer = fields.whole("max_completion_tokens", 1, LARGEST)
    older = fields.whole("max_tokens", 1, LARGEST)
    named = fields.number("repetition_penalty", 0.01, 10)
    llamas = fields.number("repeat_penalty", 0.01, 10)
    schema = _schema(fields)
    return Sampling(
        temperature=fields.number("temperature", 0, 2),
        top_p=fields.number("top_p", 0, 1),
        top_k=fields.whole("top_k", -1, LARGEST_TOKEN),
        min_p=fields.number("min_p", 0, 1),
        typical_p=fields.number("typical_p", 0, 1),
        repetition_penalty=llamas if named is None else named,
        presence_penalty=fields.number("presence_penalty", -2, 2),
        frequency_penalty=fields.number("frequency_penalty", -2, 2),
        dry_multiplier=fields.number("dry_multiplier", 0, 100),
        dry_base=fields.number("dry_base", 1, 100),
        dry_allowed_length=fields.whole("dry_allowed_length", 0, 1 << 16),
        logit_bias=_biases(fields),
        seed=fields.whole("seed", SMALLEST, LARGEST),
        max_tokens=older if newer is None else newer,
        stop=_stop(fields.data.get("stop")),
        ignore_eos=fields.flag("ignore_eos"),
        logprobs=_logprobs(fields),
        json_schema=schema,
        grammar=_grammar(fields, schema),
    )


def _stop(value: object) -> tuple[str, ...]:
    stops = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or len(stops) > MOST_STOPS:
        raise BadRequest(f"'stop' must be a string or up to {MOST_STOPS} strings.", "stop")
    for stop in stops:
        if not isinstance(stop, str) or not 0 < len(stop) <= LONGEST_STOP:
            raise BadRequest(f"A stop string has 1 to {LONGEST_STOP} characters.", "stop")
    return tuple(clean(stop) for stop in stops)


def _biases(fields: Fields) -> tuple[tuple[int, float], ...]:
    given = fields.inner("logit_bias").data
    if len(given) > MOST_BIASES:
        raise fields.refuse("logit_bias", f"must name at most {MOST_BIASES} tokens.")
    for token, bias in given.items():
        known = token.isascii() and token.isdigit() and len(token) <= 10
        if not known or str(int(token)) != token or int(token) > LARGEST_TOKEN:
            raise fields.refuse("logit_bias", "must name tokens by their whole numbers.")
        if not is_number(bias, -100, 100):
            raise fields.refuse("logit_bias", "must give numbers from -100 to 100.")
    return tuple((int(token), float(bias)) for token, bias in given.items())


def _logprobs(fields: Fields) -> int | None:
    wanted = fields.flag("logprobs")
    top = fields.whole("top_logprobs", 0, MOST_LOGPROBS) or 0
    if top and not wanted:
        raise fields.refuse("top_logprobs", "needs 'logprobs' to be true.")
    return top if wanted else None


def _schema(fields: Fields) -> str | None:
    """The answer's schema as JSON text, where ``response_format`` binds it to one."""
    if fields.data.get("response_format") is None:
        return None
    form = Fields(fields.data["response_format"], "response_format")
    match form.data.get("type"):
        case "text":
            return None
        case "json_object":
            # llama.cpp's server takes a schema here as well.
            schema = form.data.get("schema")
            schema = {"type": "object"} if schema is None else schema
            return compact(Fields(schema, form.path("schema")).data, form.path("schema"))
        case "json_schema":
            named = Fields(form.data.get("json_schema"), form.path("json_schema"))
            named.name("name")
            path = named.path("schema")
            return compact(Fields(named.data.get("schema"), path).data, path)
    raise form.refuse("type", "must be text, json_object or json_schema.")


def _grammar(fields: Fields, schema: str | None) -> str | None:
    grammar = fields.text("grammar", most=MOST_BYTES)
    if not grammar:
        return None
    if schema is not None:
        raise fields.refuse("grammar", "cannot bind an answer that has a 'response_format'.")
    return within(grammar, "grammar")

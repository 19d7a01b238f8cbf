"""A model's own chat template, rendered where it can do no harm: a sandbox in a throw-away process.

A template comes with the model file and is foreign code. Jinja's sandbox keeps it from objects;
this process's limits on memory, and its parent's on time, keep it from everything else. People's
text never comes here: the messages hold stand-ins (see ``prompt.py``).
"""

from __future__ import annotations

import datetime
import json
import resource
import sys
from collections.abc import Callable
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, LoopControlExtension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from engine_adapter.bundled.child import tie_to_parent

MEMORY = 512 << 20  # bytes of address space; an ordinary rendering needs a tenth
LONGEST = 16 << 20  # characters of a rendered prompt

CHATML = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


class TemplateRefused(Exception):
    """The template is broken, hostile, or says no to these messages; the text says which."""


class GenerationTag(Extension):
    """``{% generation %}`` marks what a trainer learns from; to us it is only its body."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> nodes.Node | list[nodes.Node]:
        """Replace the tag by what stands between its ends."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _raise(message: str) -> str:
    raise TemplateRefused(message)


def _now(pattern: str) -> str:
    return datetime.datetime.now().astimezone().strftime(pattern)


def _json(value: Any, indent: int | None = None, ensure_ascii: bool = False, **more: Any) -> str:
    known = {key: more[key] for key in ("separators", "sort_keys") if key in more}
    return json.dumps(value, indent=indent, ensure_ascii=ensure_ascii, **known)


def compile_template(source: str) -> Callable[..., str]:
    """The template as a function of its variables, with the helpers that model makers write for
    (those of Hugging Face transformers). Both steps raise ``TemplateRefused``."""
    sandbox = ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        extensions=[LoopControlExtension, GenerationTag],
    )
    sandbox.filters["tojson"] = _json
    sandbox.globals["raise_exception"] = _raise
    sandbox.globals["strftime_now"] = _now
    template = _guard(lambda: sandbox.from_string(source))

    def render(**variables: Any) -> str:
        text: str = _guard(lambda: template.render(**variables))
        if len(text) > LONGEST:
            raise TemplateRefused(f"it made more than {LONGEST} characters")
        return text

    return render


def _guard(action: Callable[[], Any]) -> Any:
    try:
        return action()
    except TemplateRefused:
        raise
    except (MemoryError, RecursionError) as error:
        raise TemplateRefused(f"it asks for too much ({type(error).__name__})") from None
    except jinja2.TemplateSyntaxError as error:
        raise TemplateRefused(f"line {error.lineno}: {error.message}") from None
    except Exception as error:  # foreign code can raise anything
        raise TemplateRefused(f"{type(error).__name__}: {error}"[:300]) from None


def _send(answer: dict[str, str]) -> None:
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    """Say that one is there; then one JSON line in, one out: first the source, then variables."""
    tie_to_parent()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    render: Callable[..., str] | None = None
    _send({})
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        try:
            if render is None:
                render = compile_template(asked["source"])
                answer = {"text": ""}
            else:
                answer = {"text": render(**asked)}
        except TemplateRefused as refusal:
            answer = {"refused": str(refusal)}
        _send(answer)


if __name__ == "__main__":
    main()

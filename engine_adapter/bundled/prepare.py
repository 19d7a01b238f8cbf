"""From a request to a sequence: rendered, tokenised, bound to its form. Computes nothing yet."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from engine_adapter.bundled import form
from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.llama.lanes import Lanes
from engine_adapter.bundled.llama.model import Model
from engine_adapter.bundled.prompt import Prompt, Prompter, tokens_of
from engine_adapter.bundled.renderer import Renderer
from engine_adapter.bundled.schemas import to_grammar
from engine_adapter.bundled.sequence import Sequence
from engine_adapter.bundled.templates import CHATML, TemplateRefused
from engine_adapter.bundled.toolschema import schema_for
from engine_adapter.bundled.transcript import Transcript
from engine_adapter.errors import ContextTooLong, Refused
from engine_adapter.types import Request, Sampling, Turn

# A first conversation, so that a template that cannot be used is found while loading.
PROBE = (Turn("user", "a"), Turn("assistant", "b"), Turn("user", "c"))
READERS = 2  # threads, so that one that reads a whole book does not hold up the next question


class Preparer:
    """Prepares what is asked of one model. Used from one event loop."""

    def __init__(self, settings: Settings, model: Model, lanes: Lanes) -> None:
        self._settings = settings
        self._vocabulary = model.vocabulary
        self._lanes = lanes
        marker = self._vocabulary.marker
        renderer = Renderer(model.template or CHATML)
        self._prompter = Prompter(renderer, marker("bos"), marker("eos"))
        self._form = self._prompter.form
        self._vocabulary.show(form.forced(self._form).markers)
        self._readers = ThreadPoolExecutor(READERS, "read")

    async def check(self) -> None:
        """Raise ``TemplateRefused`` where the template cannot be used."""
        await self._prompter.prompt_for(Request("", PROBE))

    async def sequence(self, id_: int, request: Request) -> Sequence:
        """The request as a sequence that can be computed. Raises ``Refused``."""
        asked_at = time.monotonic()
        try:
            prompt = await self._prompter.prompt_for(request)
        except TemplateRefused as refusal:
            raise Refused(f"The model's chat template refuses this: {refusal}.") from None
        io = asyncio.get_running_loop()
        sequence = await io.run_in_executor(self._readers, self._read, id_, request, prompt)
        most_s = min(request.deadline_s or self._settings.deadline_s, self._settings.deadline_s)
        sequence.deadline = asked_at + most_s
        return sequence

    def _read(self, id_: int, request: Request, prompt: Prompt) -> Sequence:
        """In a thread: what takes long for long texts and large schemas."""
        tokens, public = tokens_of(prompt, self._vocabulary)
        context = self._lanes.context
        room = context - len(tokens)
        if room < 1 or not tokens:
            raise ContextTooLong(
                f"The prompt has {len(tokens)} tokens; the model reads {context}.",
                prompt_tokens=len(tokens),
                context_length=context,
            )
        sampling, written = self._bound(request, thinking=prompt.thinking)
        sequence = Sequence(
            id=id_,
            known=tokens,
            room=min(room, sampling.max_tokens or room),
            sampling=sampling,
            priority=request.priority,
            user=request.user or request.cache_salt or "",
            domain=_domain(request),
            public=public,
            transcript=Transcript(
                stop=sampling.stop,
                form=written,
                thinking=prompt.thinking,
                tools=bool(request.tools) and request.tool_choice != "none",
            ),
        )
        self._lanes.prepare(sequence)
        return sequence

    def _bound(self, request: Request, *, thinking: bool) -> tuple[Sampling, form.Form]:
        """The sampling and the form of the answer; where a tool must be called, both are bound.

        What is bound has no room for reasoning: where the prompt has opened it, it is closed.
        """
        sampling, written = request.sampling, self._form
        if request.continue_final and request.turns[-1].content:
            written = replace(written, reasoning=None)  # an answer that was begun is past it
        close = f"{written.reasoning.close}\n\n" if thinking and written.reasoning else ""
        if call := schema_for(request, written):
            before, schema, after = call
            grammar = to_grammar(schema, close + before, after)
            written = form.forced(written)
        elif sampling.json_schema is not None:
            grammar = to_grammar(sampling.json_schema, close)
        elif sampling.grammar is not None:
            return sampling, replace(written, reasoning=None)
        else:
            return sampling, written
        return replace(sampling, grammar=grammar, json_schema=None), written


def _domain(request: Request) -> str:
    """Inside which prefixes are shared. Who names none shares with nobody else, as far as we are
    told who that is."""
    return request.cache_salt or (f"of {request.user}" if request.user else "")

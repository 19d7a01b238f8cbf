"""What the loop computes with: one lane of keys and values a slot, and a room to read prompts."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import replace

import llama_cpp.llama_cpp as C

from engine_adapter.bundled import attention
from engine_adapter.bundled.config import Defaults, Settings
from engine_adapter.bundled.llama.context import Context, Form
from engine_adapter.bundled.llama.model import Model, ModelRefused
from engine_adapter.bundled.llama.reading import ReadingRoom
from engine_adapter.bundled.llama.rests import Rests
from engine_adapter.bundled.llama.sampler import Sampler
from engine_adapter.bundled.llama.transfer import F16, Unknown
from engine_adapter.bundled.portion import Portion
from engine_adapter.bundled.sequence import Drawn, Sequence
from engine_adapter.reasons import why


class Lanes:
    """``settings.slots`` lanes over ``model``. Raises ``ModelRefused``. See ``device.Device``.

    Lives in one thread; only ``prepare`` may be called from any.
    """

    def __init__(self, model: Model, settings: Settings, defaults: Defaults | None = None) -> None:
        self._vocabulary = model.vocabulary
        self._defaults = defaults or Defaults()
        self.context = min(settings.context, model.trained_context)
        if not model.writes:
            raise ModelRefused(why("no_writer"))
        card = bool(settings.gpu_layers and C.llama_supports_gpu_offload())
        form = Form(
            lanes=settings.slots,
            context=self.context,
            batch=settings.batch_tokens,
            threads=settings.thread_count,
            kv_type=attention.cache_type(settings.kv_type, card=card).ggml,
            flash=attention.flash_attention(settings.flash_attention, card=card),
        )
        self._writing = Context(model, form)
        self._own = {slot: slot for slot in range(settings.slots)}
        self._reading: ReadingRoom | None = None
        self._rests: Rests | None = None
        self._at: dict[int, Context] = {}
        self._probe()
        name, flash = settings.kv_type, settings.flash_attention
        if lanes := attention.reading_lanes(settings.slots, name, flash, card=card):
            self._open_reading_room(model, replace(form, lanes=lanes, kv_type=F16))
        tokens = attention.rest_tokens(settings.slots, self.context)
        if self._reading and tokens:
            together = replace(form, context=tokens, kv_type=F16, unified=True)
            self._rests = Rests(self._writing, Context(model, together), tokens)

    def _probe(self) -> None:
        """Compute three tokens. A build for another processor dies here, at once and in loading,
        and not in somebody's answer. Learn also whether this kind of memory can be cut."""
        probe = Sequence(id=-1, known=[0, 0, 0], room=1, slot=0)
        if (result := self.decode([Portion(probe, 0, 3)])) != 0:
            raise ModelRefused(why("computes_nothing", status=result))
        self.prepare(probe)
        self.draw(probe)
        self.release(probe)
        # With a sliding window, what lies before it is gone once the lane is longer.
        whole = C.llama_model_n_swa(C.llama_get_model(self._writing.handle)) == 0
        self.cuts = whole and self._writing.keep(0, 1)
        self.keep(0, 0)

    def _open_reading_room(self, model: Model, form: Form) -> None:
        """Where this kind of memory can be moved between the two; else all is read as written."""
        if not self.cuts:
            return
        room = ReadingRoom(self._writing, Context(model, form))
        probe = Sequence(id=-1, known=[0] * 8, room=1, slot=0)
        try:
            self._writing.decode([Portion(probe, 0, 4)], self._own)
            room.enter(0, known=4)
            if room.context.decode([Portion(probe, 4, 4)], room.lanes) != 0:
                raise Unknown("the second context computes nothing")
            room.leave(0)
        except (Unknown, RuntimeError) as reason:
            print(f"prompts are read as answers are written: {reason}", flush=True)
            room.context.close()
        else:
            self._reading = room
        self._writing.keep(0, 0)

    def decode(self, portions: Many[Portion]) -> int:
        """See ``device.Device``."""
        self._at = {}
        together = self._gather(portions)
        if together and self._rests:
            if (result := self._rests.decode(together)) != 0:
                return result
            self._at |= dict.fromkeys(self._rests.context.rows, self._rests.context)
            portions = [p for p in portions if p not in together]
        if (result := self._read_and_write(portions)) != 0 and self._rests:
            self._rests.undo(together)
        return result

    def _gather(self, portions: Many[Portion]) -> list[Portion]:
        """What is read together in this step."""
        if self._rests is None or self._reading is None:
            return []
        together = self._rests.chosen(portions)
        for portion in together:
            self._reading.leave(portion.slot)
        return together

    def _read_and_write(self, portions: Many[Portion]) -> int:
        room = self._reading
        read = room.chosen(portions) if room else []
        if room and read:
            whole = [room.whole_tile(portion) for portion in read]
            if (result := room.context.decode(whole, room.lanes)) != 0:
                return result
            self._at |= dict.fromkeys(room.context.rows, room.context)
        rest = [p for p in portions if p not in read] if read else portions
        if rest:
            if (result := self._writing.decode(rest, self._own)) != 0:
                for portion in read:  # nothing may be changed
                    self.keep(portion.slot, portion.start)
                return result
            self._at |= dict.fromkeys(self._writing.rows, self._writing)
        return 0

    def prepare(self, sequence: Sequence) -> None:
        """Make what draws the sequence's tokens. Raises ``Refused``."""
        sequence.drawing = Sampler(
            self._vocabulary, sequence.sampling, self._defaults, sequence.known
        )

    def draw(self, sequence: Sequence) -> Drawn:
        """See ``device.Device``. Raises ``KeyError`` where ``decode`` left no logits for it: asking
        llama.cpp for logits that are not there ends the process."""
        sampler, slot = sequence.drawing, sequence.slot
        if slot is None or not isinstance(sampler, Sampler):
            raise ValueError("only a running sequence that was prepared draws tokens")
        context = self._at[slot]
        return sampler.draw(context.handle, context.rows[slot])

    def ends(self, token: int) -> bool:
        """See ``device.Device``."""
        return self._vocabulary.ends(token)

    def piece(self, token: int) -> bytes:
        """See ``device.Device``."""
        return self._vocabulary.piece(token)

    def keep(self, slot: int, count: int) -> None:
        """See ``device.Device``."""
        self._bring_home(slot)
        if self._reading and slot in self._reading.lanes:
            self._reading.keep(slot, count)
        elif not self._writing.keep(slot, count):
            raise RuntimeError(f"this model's memory cannot be cut to {count} tokens")

    def save(self, slot: int) -> memoryview:
        """See ``device.Device``."""
        self._bring_home(slot)
        if self._reading and slot in self._reading.lanes:
            return self._reading.save(slot)
        return self._writing.save(slot)

    def load(self, slot: int, state: memoryview) -> bool:
        """See ``device.Device``."""
        return self._writing.load(slot, state)

    def _bring_home(self, slot: int) -> None:
        if self._rests:
            self._rests.leave(slot)

    def _contexts(self) -> list[Context]:
        beside = (self._reading, self._rests)
        return [self._writing, *(room.context for room in beside if room)]

    def use_threads(self, count: int) -> None:
        """See ``device.Device``."""
        for context in self._contexts():
            context.use_threads(count)

    def close(self) -> None:
        """Free the contexts; nothing may be asked of them afterwards."""
        for context in self._contexts():
            context.close()

    def release(self, sequence: Sequence) -> None:
        """See ``device.Device``."""
        if sequence.drawing is not None:
            sequence.drawing.close()
            sequence.drawing = None

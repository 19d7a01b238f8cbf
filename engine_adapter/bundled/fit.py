"""How much memory a model will take, from its header alone: before anything is loaded.

Weights, keys and values are exact. Sliding windows are counted as full contexts (llama.cpp gives
them full ones by default), recurrent layers beside attention as if each had both.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine_adapter.bundled import attention
from engine_adapter.bundled.config import Settings
from engine_adapter.bundled.header import ENCODERS, Header
from engine_adapter.reasons import Fact
from engine_adapter.types import ModelKind

# Measured with SmolLM2 (49,152 tokens): beside weights, lanes and buffers a worker with its
# template's process takes 140 MB, the vocabulary 350 bytes a token.
PROCESS_BYTES = 140_000_000
VOCABULARY_BYTES_EACH = 350
CELLS_PAD = 256  # llama.cpp rounds the cells of a sequence up to these


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes. ``weights`` may be shared with a worker that has mapped the same file; ``states``
    are keys and values of so many ``lanes`` of ``context`` tokens each, ``buffers`` what computing
    takes, ``kept`` the prompts' states in RAM."""

    weights: int
    states: int
    buffers: int
    kept: int
    lanes: int
    context: int

    @property
    def private(self) -> int:
        """What no other process can share."""
        return self.states + self.buffers + self.kept

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.private

    @property
    def facts(self) -> dict[str, Fact]:
        """What a ``Reason`` tells of it."""
        return {
            "need_bytes": self.total,
            "weights_bytes": self.weights,
            "states_bytes": self.states,
            "buffers_bytes": self.buffers,
            "kept_bytes": self.kept,
            "lanes": self.lanes,
            "context": self.context,
        }


def need(
    header: Header, settings: Settings, kind: ModelKind = "text", adapter: Header | None = None
) -> Need:
    """What a worker takes that loads this model, with ``adapter`` laid over it."""
    shape = header.shape
    context = min(settings.context, header.context_length)
    # An embedder computes whole texts and forgets them: there is no lane a slot.
    room = settings.slots * context if kind == "text" else max(context, settings.batch_tokens)
    cells = -(-room // CELLS_PAD) * CELLS_PAD
    cell = sum(shape.kv_heads) * (shape.key_length + shape.value_length)
    if reading := _reading_lanes(header, settings, kind):
        cells += reading * context + attention.rest_tokens(settings.slots, context)
    states = int(cells * cell * attention.cache_type(settings.kv_type).bytes_each)
    states += 4 * settings.slots * len(shape.kv_heads) * shape.state
    if header.architecture in ENCODERS:
        states = 0
    return Need(
        weights=header.weights_bytes + (adapter.weights_bytes if adapter else 0),
        states=states,
        buffers=_buffers(header, settings, context, kind),
        kept=settings.cache_mib << 20 if kind == "text" else 0,
        lanes=settings.slots if kind == "text" else 1,
        context=context,
    )


def _reading_lanes(header: Header, settings: Settings, kind: ModelKind) -> int:
    """Lanes of the second context, which only memory that can be cut has."""
    if kind != "text" or header.shape.state:
        return 0
    name, flash = settings.kv_type, settings.flash_attention
    return attention.reading_lanes(settings.slots, name, flash)


def _buffers(header: Header, settings: Settings, context: int, kind: ModelKind) -> int:
    """An estimate: the widest part of llama.cpp's graph, and the rows of logits it writes twice.
    For SmolLM2 in five settings it lies 2 % below to 36 % above the buffer that was allocated."""
    shape, batch, outputs = header.shape, settings.batch_tokens, settings.slots
    if kind == "embeddings":
        batch = max(batch, context)
        outputs = 0 if header.architecture in ENCODERS else batch // 2  # written once
    numbers = batch * (6 * shape.embedding + 2 * shape.feed_forward)
    numbers += 2 * outputs * shape.vocabulary
    numbers += batch * context // 2  # the mask, in 16 bits
    if not attention.flash_attention(settings.flash_attention):
        numbers += batch * context * shape.heads
    if _reading_lanes(header, settings, kind):
        # The other contexts compute the widest parts too.
        numbers *= 2 if settings.slots == 1 else 3
    return PROCESS_BYTES + VOCABULARY_BYTES_EACH * shape.vocabulary + 4 * numbers

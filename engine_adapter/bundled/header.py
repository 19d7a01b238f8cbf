"""What a model file tells about itself, once ``gguf.py`` has read it: kind, sizes, layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine_adapter.bundled.gguf import Damaged, Skipped, read_contents
from engine_adapter.reasons import why

# general.file_type (llama.h: llama_ftype)
QUANTIZATIONS = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K",
    11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S",
    17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
    23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S",
    29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16", 36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
}  # fmt: skip

# llama.cpp's architectures that read and do not write
ENCODERS = {
    "bert", "modern-bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "jina-bert-v2",
    "jina-bert-v3", "eurobert", "gemma-embedding", "llama-embed", "t5encoder",
}  # fmt: skip
# GGUF files that go beside a language model and are none
BESIDES = {"clip": "beside_clip", "imatrix": "beside_imatrix"}
NO_POOLING = 0
MOST_PARAMETERS = 1 << 50  # of a file that claims more, nothing is true


@dataclass(frozen=True, slots=True)
class Shape:
    """What memory depends on. ``kv_heads`` are the heads of keys and values, layer by layer;
    ``state`` is the numbers a recurrent layer keeps for each sequence, at most."""

    vocabulary: int = 0
    embedding: int = 0
    feed_forward: int = 0
    heads: int = 0
    kv_heads: tuple[int, ...] = ()
    key_length: int = 0
    value_length: int = 0
    state: int = 0


@dataclass(frozen=True, slots=True)
class Header:
    """``context_length`` is what the model was trained for, 0 of an adapter. ``pooling`` is
    llama.cpp's number for how token vectors become one, None where the file does not say.
    ``parameters`` is how many numbers its weights are."""

    architecture: str
    context_length: int
    name: str | None
    quantization: str | None
    size_bytes: int
    weights_bytes: int = 0
    is_adapter: bool = False
    pooling: int | None = None
    shape: Shape = Shape()
    parameters: int = 0
    layers: int = 0
    has_template: bool = False

    @property
    def embeds(self) -> bool:
        """Whether it was made to turn texts into vectors and not to write."""
        pools = self.pooling is not None and self.pooling != NO_POOLING
        return pools or self.architecture in ENCODERS


def read_header(path: Path) -> Header:
    """Read and check a file. Raises ``Damaged``, and ``OSError`` where it cannot be read."""
    contents = read_contents(path)
    found = contents.metadata
    architecture = found.get("general.architecture")
    if not isinstance(architecture, str) or not architecture:
        raise Damaged(why("no_architecture"))
    if what := BESIDES.get(architecture):
        raise Damaged(why(what))
    is_adapter = found.get("general.type") == "adapter"
    if is_adapter and found.get("adapter.type") != "lora":
        raise Damaged(why("other_adapter"))
    name = found.get("general.name")
    file_type = found.get("general.file_type")
    own = _Own(found, architecture)
    if not is_adapter and not own.whole("context_length", 1 << 31):
        raise Damaged(why("no_context"))
    return Header(
        architecture=architecture,
        context_length=0 if is_adapter else own.whole("context_length", 1 << 31),
        name=name if isinstance(name, str) else None,
        quantization=QUANTIZATIONS.get(file_type) if isinstance(file_type, int) else None,
        size_bytes=contents.size_bytes,
        weights_bytes=contents.weights_bytes,
        is_adapter=is_adapter,
        pooling=own.whole("pooling_type", 100) if own.has("pooling_type") else None,
        shape=Shape() if is_adapter else _shape(own, found.get("tokenizer.ggml.tokens")),
        parameters=min(contents.numbers, MOST_PARAMETERS),
        layers=0 if is_adapter else own.whole("block_count", 4096),
        has_template="tokenizer.chat_template" in found,
    )


class _Own:
    """The metadata under the architecture's own name, as numbers within bounds."""

    def __init__(self, metadata: Mapping[str, object], architecture: str) -> None:
        self._metadata = metadata
        self._architecture = architecture

    def has(self, key: str) -> bool:
        return f"{self._architecture}.{key}" in self._metadata

    def whole(self, key: str, most: int, default: int = 0) -> int:
        """A number; the largest where the file tells one for each layer."""
        return max(self.each(key, most, default))

    def each(self, key: str, most: int, default: int = 0) -> tuple[int, ...]:
        """One number, or one for each layer."""
        value = self._metadata.get(f"{self._architecture}.{key}", default)
        values = value if isinstance(value, tuple) and value else (value,)
        for one in values:
            if not isinstance(one, int) or isinstance(one, bool) or not 0 <= one <= most:
                raise Damaged(why("bad_number", key=f"{self._architecture}.{key}"))
        return values


def _shape(own: _Own, tokens: object) -> Shape:
    embedding = own.whole("embedding_length", 1 << 20)
    heads = own.whole("attention.head_count", 1 << 16)
    each = embedding // heads if heads else 0
    layers = own.whole("block_count", 4096)
    kv_heads = own.each("attention.head_count_kv", 1 << 16, heads)
    key_length = own.whole("attention.key_length", 1 << 16, each)
    value_length = own.whole("attention.value_length", 1 << 16, each)
    if own.has("attention.key_length_mla"):
        value_length = 0  # latent attention: the keys' cells hold the values too
    listed = tokens.length if isinstance(tokens, Skipped) else 0
    return Shape(
        vocabulary=own.whole("vocab_size", 1 << 28, listed),
        embedding=embedding,
        feed_forward=own.whole("feed_forward_length", 1 << 24),
        heads=heads,
        kv_heads=kv_heads if len(kv_heads) > 1 else kv_heads * layers,
        key_length=max(key_length, own.whole("attention.key_length_swa", 1 << 16)),
        value_length=max(value_length, own.whole("attention.value_length_swa", 1 << 16)),
        state=_state(own, embedding),
    )


def _state(own: _Own, embedding: int) -> int:
    """llama-hparams.cpp: n_embd_r + n_embd_s, of Mamba's and RWKV's kinds."""
    if head := own.whole("wkv.head_size", 1 << 16):
        return embedding * (2 + head)
    inner, state = own.whole("ssm.inner_size", 1 << 24), own.whole("ssm.state_size", 1 << 20)
    kernel, groups = own.whole("ssm.conv_kernel", 64), own.whole("ssm.group_count", 1 << 16)
    return max(0, kernel - 1) * (inner + 2 * groups * state) + state * inner

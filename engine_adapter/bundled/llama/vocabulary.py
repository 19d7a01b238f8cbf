"""Text to tokens and back, by the rules of one model. After ``show``, which belongs to loading,
it never changes, so any thread may ask."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cached_property

import llama_cpp.llama_cpp as C
import numpy as np
from numpy.typing import NDArray

from engine_adapter.bundled.llama.lexicon import Lexicon


class Vocabulary:
    """The vocabulary of a loaded model. ``handle`` is llama.cpp's own."""

    def __init__(self, model: C.llama_model_p) -> None:
        self.handle = C.llama_model_get_vocab(model)
        self.size = int(C.llama_vocab_n_tokens(self.handle))
        self._pieces: dict[int, bytes] = {}

    def show(self, texts: Iterable[str]) -> frozenset[str]:
        """Those of the texts that are one control token each. From now on ``piece`` gives such a
        token's text and no longer nothing."""
        found = set()
        for text in texts:
            tokens = self.tokenize(text, markers=True)
            if len(tokens) == 1 and not self.ends(tokens[0]) and not self.piece(tokens[0]):
                self._pieces[tokens[0]] = text.encode()
                found.add(text)
        return frozenset(found)

    @cached_property
    def enders(self) -> frozenset[int]:
        """All tokens that end an answer."""
        asked, handle = C.llama_vocab_is_eog, self.handle
        return frozenset(token for token in range(self.size) if asked(handle, token))

    @cached_property
    def lexicon(self) -> Lexicon:
        """The texts of all tokens in order. Takes some 4 µs a token."""
        return Lexicon([self.piece(token) for token in range(self.size)])

    @cached_property
    def openings(self) -> NDArray[np.int16]:
        """The first byte of each token's piece, 256 for one without. Takes some 3 µs a token."""
        pieces = map(self.piece, range(self.size))
        return np.fromiter((piece[0] if piece else 256 for piece in pieces), np.int16, self.size)

    def ends(self, token: int) -> bool:
        """See ``device.Device``: end of turn, of text and whatever else the model calls an end."""
        return bool(C.llama_vocab_is_eog(self.handle, token))

    def spelling(self, token: int) -> bytes:
        """The token's text, a control token's too."""
        return self.piece(token) or self._text(token, special=True)

    def piece(self, token: int) -> bytes:
        """See ``device.Device``."""
        known = self._pieces.get(token)
        if known is None:
            known = self._pieces[token] = self._text(token, special=False)
        return known

    def _text(self, token: int, *, special: bool) -> bytes:
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = C.llama_token_to_piece(self.handle, token, buffer, size, 0, special)
            if length >= 0:
                return buffer.raw[:length]
            size = -length

    def tokenize(self, text: str, *, markers: bool, framed: bool = False) -> list[int]:
        """Tokens of the text. Only with ``markers`` may a token be a control token; ``framed``
        puts those around it with which the model begins and ends a text."""
        data = text.encode()
        room = len(data) + 8
        tokens = np.zeros(room, np.int32)
        count = C.llama_tokenize(
            self.handle,
            data,
            len(data),
            tokens.ctypes.data_as(ctypes.POINTER(C.llama_token)),
            room,
            framed,
            markers,
        )
        if count < 0:
            raise ValueError("llama.cpp does not tokenise this text")
        result: list[int] = tokens[:count].tolist()
        return result

    @property
    def bos(self) -> int | None:
        """The token that must begin every prompt, None where the model wants none."""
        wanted = C.llama_vocab_get_add_bos(self.handle)
        return int(C.llama_vocab_bos(self.handle)) if wanted else None

    def marker(self, kind: str) -> str:
        """Text of the ``bos`` or ``eos`` token, '' where the model has none."""
        find = {"bos": C.llama_vocab_bos, "eos": C.llama_vocab_eos}[kind]
        token = find(self.handle)
        return "" if token < 0 else self._text(token, special=True).decode("utf-8", "replace")

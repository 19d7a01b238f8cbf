"""Text to tokens and back, by the rules of one model. Never changes, so any thread may ask."""

from __future__ import annotations

import ctypes

import llama_cpp.llama_cpp as C
import numpy as np


class Vocabulary:
    """The vocabulary of a loaded model. ``handle`` is llama.cpp's own."""

    def __init__(self, model: C.llama_model_p) -> None:
        self.handle = C.llama_model_get_vocab(model)
        self.size = int(C.llama_vocab_n_tokens(self.handle))
        self._pieces: dict[int, bytes] = {}

    def ends(self, token: int) -> bool:
        """See ``loop.Device``: end of turn, of text and whatever else the model calls an end."""
        return bool(C.llama_vocab_is_eog(self.handle, token))

    def piece(self, token: int) -> bytes:
        """See ``loop.Device``."""
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

    def tokenize(self, text: str, *, markers: bool) -> list[int]:
        """Tokens of the text. Only with ``markers`` may a token be a control token."""
        data = text.encode()
        room = len(data) + 8
        tokens = np.zeros(room, np.int32)
        count = C.llama_tokenize(
            self.handle,
            data,
            len(data),
            tokens.ctypes.data_as(ctypes.POINTER(C.llama_token)),
            room,
            False,
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

"""llama.cpp's own words: errors go to stderr, everything else is chatter and goes nowhere."""

from __future__ import annotations

import ctypes
import sys

import llama_cpp.llama_cpp as C

ERROR_LEVEL = 4  # GGML_LOG_LEVEL_ERROR


class Log:
    """Listens as long as it lives; keeps the first error, which tells the cause."""

    def __init__(self) -> None:
        self.cause = ""
        self._callback = C.llama_log_callback(self._write)  # C keeps no reference: we do
        C.llama_log_set(self._callback, ctypes.c_void_p(0))

    def _write(self, level: int, text: bytes, _data: int) -> None:
        if level == ERROR_LEVEL and (line := text.decode("utf-8", "replace").strip()):
            self.cause = self.cause or line
            print(f"llama.cpp: {line}", file=sys.stderr, flush=True)

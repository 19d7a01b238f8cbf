"""llama.cpp's own server as a process: ``python -m tests.llama_server MODEL PORT SLOTS CONTEXT``.

It is the real one, as the wheel of ``xllamacpp`` brings it, and ends with what holds its input.
"""

from __future__ import annotations

import sys

import xllamacpp

NAME = "the-model"


def main(model: str, port: str, slots: str, context: str) -> None:
    """Serve until the standard input ends. ``context`` tokens to each slot."""
    wanted = xllamacpp.CommonParams()
    wanted.model.path = model
    wanted.model_alias = {NAME}
    wanted.port = int(port)
    wanted.n_parallel = int(slots)
    wanted.n_ctx = int(slots) * int(context)
    wanted.n_gpu_layers = 0
    wanted.cpuparams.n_threads = 2
    wanted.endpoint_metrics = True
    wanted.warmup = False
    wanted.use_jinja = True
    server = xllamacpp.Server(wanted)
    sys.stdin.read()
    del server


if __name__ == "__main__":
    main(*sys.argv[1:])

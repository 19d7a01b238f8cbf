"""Follows pip for the person who waits: what is done now, and a beat while something takes long."""

from __future__ import annotations

import collections
import os
import re
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from deploy.appliance.messages import say, text

BEAT_S = 20.0
KEPT_LINES = 200
STEPS = re.compile(r"Collecting (?P<get>[\w.-]+)|Building wheel for (?P<build>[\w.-]+)")
CHANGES = "Installing collected packages"


def follow(
    command: Sequence[str], environment: Mapping[str, str], on_change: Callable[[], None]
) -> tuple[int, list[str]]:
    """Run pip; its exit code and last lines. ``on_change`` is called before it changes packages."""
    begun = time.monotonic()
    reader, writer = os.pipe()
    kept: collections.deque[str] = collections.deque(maxlen=KEPT_LINES)
    doing = text("installing_copy")
    process = subprocess.Popen(  # noqa: S603 - our own pip
        command, env=environment, stdin=subprocess.DEVNULL, stdout=writer, stderr=writer
    )
    os.close(writer)
    try:
        for line in _lines(reader):
            if line is None:
                say("installing_beat", what=doing, time=_duration(time.monotonic() - begun))
                continue
            kept.append(line)
            if line.startswith(CHANGES):
                doing = text("installing_copy")
                on_change()
            elif step := STEPS.match(line.strip()):
                doing = step["get"] or step["build"]
                if step["build"] and "still" not in line and "finished" not in line:
                    say("installing_step", what=doing)
    except BaseException:
        process.terminate()
        process.wait()
        raise
    finally:
        os.close(reader)
    return process.wait(), list(kept)


def _lines(descriptor: int) -> Iterator[str | None]:
    """The lines of the output; None each time nothing has been told to the reader for a beat."""
    rest, told_at = b"", time.monotonic()
    while True:
        if select.select([descriptor], [], [], 1.0)[0]:
            chunk = os.read(descriptor, 65536)
            if not chunk:
                break
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace").rstrip()
        if time.monotonic() - told_at > BEAT_S:
            told_at = time.monotonic()
            yield None
    if rest:
        yield rest.decode(errors="replace").rstrip()


def _duration(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"

"""``deploy/bench web``: what everything but the engine costs while many people read at once.

Starts the whole appliance with a scripted engine beside it, over real sockets. Knows the order of
things; readers, figures and what processes spend are in files of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from deploy.appliance import temporary
from tests.appliance import CHECKOUT, Appliance
from tests.bench import machine, web_figures, web_spent
from tests.bench.client import Json
from tests.bench.measuring import tell
from tests.bench.servers import CannotMeasure

QUIET_S = 2.0
ENGINE_HOST = "engine host, no model loaded"


def run(options: Namespace) -> int:
    """Measure and print. 1 where something could not be measured, 130 where it was interrupted."""
    try:
        result = _measure(options)
    except (CannotMeasure, AssertionError) as reason:
        tell(f"{reason}")
        return 1
    except KeyboardInterrupt:
        tell("Interrupted; every process that was started has ended.")
        return 130
    print(json.dumps(result) if options.json else web_figures.table(result))
    return 0


def _measure(options: Namespace) -> Json:
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(temporary.directory())
        socket = place / "scripted.sock"
        stack.enter_context(
            _beside("tests.bench.web_engine", str(socket), str(options.tokens), str(options.pace))
        )
        appliance = Appliance(place / "data", None, KONAK_ENGINE_URL=f"unix://{socket}")
        appliance.start()
        stack.callback(appliance.stop)
        appliance.until_ready()
        # Not asked anything here; it is there for its memory, which people pay for as well.
        (place / "models").mkdir()
        serve = ["serve", "--models", str(place / "models"), "--socket", str(place / "host.sock")]
        host = stack.enter_context(_beside("engine_adapter", *serve))
        readers = stack.enter_context(_readers(appliance, options.users))
        tell(f"{options.users} people are there; {appliance.pids()}")
        rounds = [_round(appliance, readers, n) for n in range(options.runs)]
        memory = _memory(appliance, host.pid)
        readers.communicate()
    median = web_figures.median(rounds) | {"memory_pss_mb": memory["together"]["pss"]}
    return {
        "machine": machine.facts(),
        "versions": machine.versions(),
        **{name: getattr(options, name) for name in ("users", "tokens", "pace")},
        "limits": web_figures.LIMITS,
        "median": median,
        "rounds": rounds,
        "memory_mb": memory,
    }


@contextlib.contextmanager
def _beside(module: str, *arguments: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A Python program for as long as the block lasts."""
    command = [sys.executable, "-m", module, *arguments]
    process = subprocess.Popen(command, cwd=CHECKOUT, text=True, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def _readers(appliance: Appliance, users: int) -> Iterator[subprocess.Popen[str]]:
    """The readers' process, everybody signed in and with an open page."""
    moved_in = subprocess.run(
        [sys.executable, "-m", "tests.bench.web_people", str(users)],
        cwd=CHECKOUT,
        env=_environment_of(appliance.pids()["web"]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    task = {"host": "127.0.0.1", "port": appliance.port, "sessions": moved_in.stdout.split()}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with _beside("tests.bench.web_readers", **pipes) as process:
        if _exchange(process, json.dumps(task)) != "ready":
            raise CannotMeasure("The readers could not get ready; their reason is above.")
        yield process


def _environment_of(pid: int) -> dict[str, str]:
    """The environment a process was started with: the settings' own."""
    entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    pairs = (entry.partition(b"=") for entry in entries if entry)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def _exchange(process: subprocess.Popen[str], line: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def _round(appliance: Appliance, readers: subprocess.Popen[str], number: int) -> Json:
    """Everybody asks at once and reads to the end."""
    time.sleep(QUIET_S)
    idle, loop_ms = asyncio.run(machine.idle()), machine.reference_loop_ms()
    families = {name: web_spent.family(pid) for name, pid in appliance.pids().items()}
    before, began = {name: web_spent.cpu_s(p) for name, p in families.items()}, time.monotonic()
    told = _exchange(readers, "go")
    wall_s = time.monotonic() - began
    spent = {name: web_spent.cpu_s(pids) - before[name] for name, pids in families.items()}
    if not told:
        raise CannotMeasure("The readers broke off; their reason is above.")
    figures = web_figures.of_round(json.loads(told), spent, wall_s) | {
        "idle": idle,
        "loop_ms": loop_ms,
    }
    tell(f"round {number + 1}: {figures['cpu_s_per_1000_tokens']:.3f} CPU-s per 1,000 tokens")
    return figures


def _memory(appliance: Appliance, host: int) -> Json:
    """Of every process but the model worker, with all pages still open."""
    families = {name: web_spent.family(pid) for name, pid in appliance.pids().items()}
    families["deploy/up itself"] = [appliance.process.pid]
    families[ENGINE_HOST] = web_spent.family(host)
    together = [pid for pids in families.values() for pid in pids]
    return {
        **{name: asdict(web_spent.memory(pids)) for name, pids in families.items()},
        "together": asdict(web_spent.memory(together)),
    }

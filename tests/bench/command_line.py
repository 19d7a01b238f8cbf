"""What ``deploy/bench`` may be told. Refuses what it does not understand in one sentence."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench.load import Load, resize
from tests.bench.loads import LOADS
from tests.bench.machine import ROOT
from tests.bench.servers import PEERS, CannotMeasure, Maker

RUNS = 3


def read(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options. Leaves with 2 and a sentence where they are wrong."""
    parser = argparse.ArgumentParser(prog="deploy/bench", description=__doc__)
    kinds = parser.add_subparsers(required=True, dest="kind", metavar="engine|web|markdown|search")
    _of_the_web(kinds.add_parser("web", help="measure everything but the engine"))
    _of_markdown(kinds.add_parser("markdown", help="measure how answers are shown that grow"))
    _of_search(kinds.add_parser("search", help="measure search and the sidebar"))
    engine = kinds.add_parser(
        "engine",
        help="measure an engine over HTTP",
        description="Measures an engine over HTTP: our own host, which is started for it, or any "
        "server with OpenAI's dialect. Loads: "
        + "; ".join(f"{name}: {_first_words(load)}" for name, load in LOADS.items()),
    )
    add = engine.add_argument
    add("loads", nargs="*", metavar="LOAD", help="which loads (all where none is named)")
    add("--json", action="store_true", help="print one JSON object and nothing else")
    add("--url", help="measure the server that runs here: http://host:port or unix:///path")
    add("--plain", action="store_true", help="send only what OpenAI's own dialect has")
    add("--model", type=Path, metavar="FILE", help="GGUF file (the first in the data directory)")
    add("--against", action="append", default=[], metavar="NAME=PATH",
        help=f"measure this beside, in turn; NAME is {' or '.join(PEERS)}")  # fmt: skip
    add("--limit", type=Path, metavar="PATH", help="llama-batched-bench, beside decode and deep")
    add("--bare", action="store_true", help="a bare loop in Python, beside decode and deep")
    add("--plain-weights", action="store_true", help="for the bare loop, where our host's log "
        "says that it loads them")  # fmt: skip
    add("--threads", type=_positive, default=len(os.sched_getaffinity(0)), metavar="N")
    add("--runs", type=_positive, default=RUNS, metavar="N",
        help=f"how often, after one run to warm up (default: {RUNS})")  # fmt: skip
    add("--set", action="append", default=[], metavar="LOAD.SIZE=N", help="e.g. short.users=1,8")
    add("--seed", type=int, help="for the same prompts again (else they are new each time)")
    add("--serve", default="", metavar="ARGUMENTS", help="further arguments of our own host")
    add("--python", default=sys.executable, metavar="PATH", help="the interpreter of server.py")
    add("--library", type=Path, metavar="DIR", help="the libllama.so that server.py uses")
    return parser.parse_args(arguments)


def _of_the_web(web: argparse.ArgumentParser) -> None:
    web.description = (
        "Starts the whole appliance with a scripted engine; readers with open pages all ask at "
        "once. Nothing that is running already is touched."
    )
    add = web.add_argument
    add("--json", action="store_true", help="print one JSON object and nothing else")
    add("--users", type=_positive, default=50, metavar="N", help="readers (default: 50)")
    add("--tokens", type=_positive, default=200, metavar="N", help="an answer's (default: 200)")
    add("--pace", type=float, default=20.0, metavar="N", help="tokens a second (default: 20)")
    add("--runs", type=_positive, default=RUNS, metavar="N", help=f"rounds (default: {RUNS})")


def _of_markdown(markdown: argparse.ArgumentParser) -> None:
    markdown.description = (
        "Renders answers of several shapes piece by piece, as a page sees them grow, and once; "
        "prints what the one costs as a multiple of the other. Starts nothing."
    )
    add = markdown.add_argument
    add("--json", action="store_true", help="print one JSON object and nothing else")
    add("--characters", type=_positive, default=50_000, metavar="N",
        help="how long each answer is (default: 50000)")  # fmt: skip
    add("--piece", type=_positive, default=20, metavar="N",
        help="characters that come at once: a tick of a fast answer (default: 20)")  # fmt: skip
    add("--runs", type=_positive, default=RUNS, metavar="N", help=f"rounds (default: {RUNS})")


def _of_search(search: argparse.ArgumentParser) -> None:
    search.description = (
        "Builds conversations in a PostgreSQL of its own, then searches them as everybody."
    )
    add = search.add_argument
    add("--json", action="store_true", help="print one JSON object and nothing else")
    add("--messages", type=_positive, default=1_000_000, metavar="N", help="default: 1,000,000")
    add("--people", type=_positive, default=200, metavar="N", help="whose they are (default: 200)")
    add("--asks", type=_positive, default=1, metavar="N", help="of each kind and person")
    add("--keep", type=Path, metavar="DIR", help="build there, or measure what was built there")


def loads(names: Sequence[str], sizes: Sequence[str]) -> list[Load]:
    """The loads that were named, with the sizes that were set. Raises ``CannotMeasure``."""
    wanted = dict.fromkeys(names or LOADS)
    if unknown := [name for name in wanted if name not in LOADS]:
        raise CannotMeasure(f"There is no load {unknown[0]}, but: {', '.join(LOADS)}.")
    given: dict[str, dict[str, str]] = {}
    for size in sizes:
        where, _, value = size.partition("=")
        name, _, what = where.partition(".")
        if not value or name not in LOADS:
            raise CannotMeasure(f"--set {size} is not LOAD.SIZE=N.")
        given.setdefault(name, {})[what] = value
    try:
        return [resize(LOADS[name], given.get(name, {})) for name in wanted]
    except ValueError as error:
        raise CannotMeasure(str(error)) from None


def peers(given: Sequence[str]) -> list[Maker]:
    """How the servers beside are started. Raises ``CannotMeasure``."""
    makers = []
    for one in given:
        name, _, path = one.partition("=")
        if name not in PEERS or not path:
            raise CannotMeasure(f"--against {one} is not NAME=PATH; names: {', '.join(PEERS)}.")
        if not Path(path).is_file():
            raise CannotMeasure(f"There is no file {path}.")
        makers.append(PEERS[name](Path(path).resolve()))
    return makers


def model(given: Path | None) -> Path:
    """The model file, by default the first in the data directory. Raises ``CannotMeasure``."""
    if given is not None:
        if not given.is_file():
            raise CannotMeasure(f"There is no file {given}.")
        with given.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise CannotMeasure(f"{given} is not a GGUF file.")
        return given.resolve()
    folder = Path(os.environ.get("KONAK_DATA") or ROOT / "var") / "models"
    if not (found := sorted(folder.glob("*.gguf"))):
        raise CannotMeasure(f"There is no model in {folder}; name one with --model FILE.")
    return found[0].resolve()


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 on")
    return int(text)


def _first_words(load: Load) -> str:
    words = " ".join((type(load).__doc__ or "").split())
    return words.partition(".")[0].partition(":")[0]

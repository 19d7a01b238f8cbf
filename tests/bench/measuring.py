"""One load on all its servers, turn by turn: A B A B, so that both meet the same neighbours."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench import machine
from tests.bench.client import Answer
from tests.bench.crowds import Decoding
from tests.bench.figures import Figures, Spread, over_runs
from tests.bench.load import Case, Load, Measured, Needs, Site
from tests.bench.prompts import Seed
from tests.bench.references import Reference
from tests.bench.servers import Maker, Setup, reach, running

CLIENT = "the bench itself, µs of processor a token"
IDLE = "processors idle before, %"
LOAD = "load average before"
SHOWN_ERRORS = 3


@dataclass
class Column:
    """What one server, or one reference, gave in a case."""

    name: str
    figures: dict[str, Spread]
    requests: int = 0
    failed: int = 0
    errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass
class Row:
    """One case of a load on all that was measured; the first column is compared with the rest."""

    load: str
    case: str
    columns: list[Column]


@dataclass
class Plan:
    """What is measured: servers to start, or the one at ``url``; how often; from which seed."""

    setup: Setup | None
    makers: Sequence[Maker]
    references: Sequence[Reference]
    url: str | None
    plain: bool
    runs: int
    seed: int


async def measure(load: Load, plan: Plan) -> AsyncIterator[Row]:
    """The cases of a load, one after the other. Raises ``CannotMeasure``."""
    async with contextlib.AsyncExitStack() as stack:
        sites = [await reach("server", plan.url, plain=plan.plain)] if plan.url else []
        for maker in plan.makers if plan.setup else ():
            sites.append(await _start(stack, maker, plan, load.needs()))
        for case in load.cases():
            yield await _row(load, case, sites, plan)


async def _start(stack: contextlib.AsyncExitStack, maker: Maker, plan: Plan, needs: Needs) -> Site:
    assert plan.setup is not None
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="konak-bench-")))
    command = maker(plan.setup, needs, folder)
    tell(f"starting {command.name}: {needs.slots} slots × {needs.context} tokens")
    site = await stack.enter_async_context(running(command, folder))
    site.plain = site.plain or plan.plain
    return site


async def _row(load: Load, case: Case, sites: Sequence[Site], plan: Plan) -> Row:
    seed = Seed(plan.seed, load.name, case.label)
    for site in sites:
        await case.prepare(site, seed)
    runs: dict[str, list[Measured]] = {site.name: [] for site in sites}
    against: dict[str, list[Figures]] = {}
    for number in range(plan.runs + 1):  # the first warms up and is left out
        for site in sites:
            measured = await _run(case, site, seed.run(number))
            if number:
                runs[site.name].append(measured)
            tell(f"{load.name}, {case.label}, {site.name}, {_which(number)}{_gist(measured)}")
        if not number or not isinstance(case, Decoding):
            continue
        for reference in plan.references:
            figures = await reference.measure(case)
            against.setdefault(reference.name, []).append(figures)
            tell(f"{load.name}, {case.label}, {reference.name}: {figures}")
    columns = [_column(name, measured) for name, measured in runs.items()]
    columns += [Column(name, over_runs(figures)) for name, figures in against.items()]
    return Row(load.name, case.label, columns)


async def _run(case: Case, site: Site, seed: Seed) -> Measured:
    """One run, with how busy the machine was before and what measuring cost."""
    idle, load = await machine.idle(), machine.facts()["load_average"][0]
    before = machine.own_cpu()
    measured = await case.measure(site, seed)
    spent = machine.own_cpu() - before
    tokens = sum(answer.tokens for answer in measured.answers)
    measured.figures |= {
        CLIENT: 1e6 * spent / tokens if tokens else float("nan"),
        IDLE: 100 * idle,
        LOAD: load,
    }
    if idle < machine.QUIET:
        measured.notes.append(f"the machine was busy before a run ({100 * idle:.0f} % idle)")
    return measured


def _column(name: str, runs: Sequence[Measured]) -> Column:
    answers: list[Answer] = [answer for run in runs for answer in run.answers]
    failed = [answer for answer in answers if not answer.ok]
    errors = dict.fromkeys(answer.error or "no finish reason" for answer in failed)
    notes = dict.fromkeys(note for run in runs for note in run.notes)
    if any(answer.usage is None for answer in answers if answer.ok):
        notes["tells no usage: tokens are those asked for"] = None
    if short := sum(a.ok and a.tokens < a.asked_tokens for a in answers):
        notes[f"{short} of {len(answers)} answers were shorter than asked for"] = None
    return Column(
        name,
        over_runs([run.figures for run in runs]),
        requests=len(answers),
        failed=len(failed),
        errors=list(errors)[:SHOWN_ERRORS],
        notes=list(notes),
    )


def tell(words: str) -> None:
    """What is going on, beside the results."""
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()


def _which(number: int) -> str:
    return f"run {number}" if number else "warm-up"


def _gist(measured: Measured) -> str:
    name, value = next(iter(measured.figures.items()))
    failed = sum(not answer.ok for answer in measured.answers)
    return f": {name} {value:.3g}" + (f", {failed} failed" if failed else "")

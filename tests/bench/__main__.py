"""``python -m tests.bench engine|web|markdown|search``: what ``deploy/bench`` hands over to."""

from __future__ import annotations

import json
import math
import secrets
import signal
import sys
from argparse import Namespace
from collections.abc import Sequence

import uvloop

from tests.bench import command_line, machine, markdown, search, table, web
from tests.bench.load import Load
from tests.bench.measuring import Plan, Row, measure, tell
from tests.bench.references import BareLoop, BatchedBench, Reference
from tests.bench.servers import CannotMeasure, Setup, own_host


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. 1 where something could not be measured, 130 where it was interrupted;
    what was measured by then is printed."""
    options = command_line.read(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.kind == "web":
        return web.run(options)
    if options.kind == "search":
        return search.run(options)
    if options.kind == "markdown":
        return markdown.run(options)
    rows: list[Row] = []
    try:
        loads = command_line.loads(options.loads, options.set)
        plan = _plan(options)
    except CannotMeasure as reason:
        tell(f"{reason}")
        return 1
    facts = machine.facts()
    try:
        complete = uvloop.run(_all(loads, plan, rows))
        code = 0 if complete else 1
    except KeyboardInterrupt:
        tell("Interrupted; every server that was started has ended.")
        code = 130
    if options.json:
        print(_json(rows, plan, facts))
    elif rows:
        print(table.render(rows, facts))
    return code


def _plan(options: Namespace) -> Plan:
    seed = secrets.randbits(32) if options.seed is None else options.seed
    if options.url:
        if options.against or options.limit or options.bare:
            raise CannotMeasure("--url measures one server; leave out --against, --limit, --bare.")
        return Plan(None, [], [], options.url, options.plain, options.runs, seed)
    setup = Setup(
        command_line.model(options.model),
        options.threads,
        serve=options.serve,
        python=options.python,
        library=options.library and options.library.resolve(),
    )
    references: list[Reference] = []
    if options.limit:
        references.append(BatchedBench(options.limit, setup))
    if options.bare:
        references.append(BareLoop(setup, plain=options.plain_weights))
    makers = [own_host, *command_line.peers(options.against)]
    return Plan(setup, makers, references, None, options.plain, options.runs, seed)


async def _all(loads: Sequence[Load], plan: Plan, rows: list[Row]) -> bool:
    """Measure load after load into ``rows``; whether all could be measured."""
    complete = True
    for load in loads:
        try:
            async for row in measure(load, plan):
                rows.append(row)
        except CannotMeasure as reason:
            tell(f"{load.name} cannot be measured. {reason}")
            complete = False
    return complete


def _json(rows: Sequence[Row], plan: Plan, facts: dict[str, object]) -> str:
    setup = plan.setup
    whole = table.as_json(
        rows,
        machine=facts,
        versions=machine.versions(),
        seed=plan.seed,
        runs=plan.runs,
        url=plan.url,
        model=setup and setup.model.name,
        threads=setup and setup.threads,
    )
    return json.dumps(_finite(whole), ensure_ascii=False, allow_nan=False)


def _finite(value: object) -> object:
    """The same with null where a first token never came: JSON has no infinity."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


if __name__ == "__main__":
    sys.exit(main())

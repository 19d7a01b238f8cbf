"""The order of a start and of a stop: which process when, with which environment.

The six: postgres, valkey, engine, web, runner, worker. A part whose URL is given is not started.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from deploy.appliance import checks, data, model, postgres, secret_key, signs, valkey
from deploy.appliance import config as configuration
from deploy.appliance.config import CHECKOUT, Configuration
from deploy.appliance.messages import Refusal, complain, say
from deploy.appliance.patience import MOST_SILENT
from deploy.appliance.processes import Program, harmless_environment
from deploy.appliance.supervisor import StopRequested, Supervisor

# A fresh cluster takes 70 MB, the model 98 MB; the rest is room for the first conversations.
FIRST_START_BYTES = 400_000_000
LATER_START_BYTES = 50_000_000
RECOVERY_LIMIT_S = 120.0
WEB_LIMIT_S = 60.0
LINK_PREFIX = "first-administrator:"
# Names and the seconds each group is given: together below ten.
STOP_ORDER = (
    (("web", "runner", "worker"), 4.0),
    (("engine",), 1.5),
    (("valkey",), 1.0),
    (("postgres",), 2.5),
)


def main(arguments: Sequence[str]) -> int:
    """Start, watch until asked to stop, stop. The exit code: 0, or 1 after a refusal."""
    os.umask(0o077)
    try:
        config = configuration.read(arguments, os.environ)
        if config.starter_model:
            model.check_given(config.starter_model)
        with data.taken(config):
            data.end_leftovers(config)
            checks.port_is_free(config.host, config.port)
            first = not (config.data / "postgres").exists()
            checks.room_for(config.data, FIRST_START_BYTES if first else LATER_START_BYTES)
            data.lay_out(config)
            return _run(config)
    except Refusal as refusal:
        complain(refusal)
        return 1


def _run(config: Configuration) -> int:
    supervisor = Supervisor(functools.partial(data.record, config), config.hang_s / MOST_SILENT)
    try:
        _start(config, supervisor)
        supervisor.watch()
    except StopRequested:
        say("stopping")
        supervisor.stop(STOP_ORDER)
        say("stopped")
        return 0
    finally:
        supervisor.stop(STOP_ORDER)
        data.clear(config)


def _start(config: Configuration, supervisor: Supervisor) -> None:
    say("starting", path=config.data)
    cluster = _cluster(config)
    if not config.database_url:
        if not cluster.directory.exists():
            say("making_cluster")
        account = postgres.ensure(cluster)
        supervisor.start(postgres.program(cluster, account, _log(config, "postgres")))
    if not config.valkey_url:
        supervisor.start(valkey.program(config.run, _log(config, "valkey")))
    if not config.engine_url:
        model.ensure(config.models, config.starter_model, supervisor.run)
        supervisor.start(_engine(config))
    if not config.database_url:
        ready = functools.partial(_database_is_ready, cluster, supervisor)
        _await(supervisor, "postgres", config, ready, RECOVERY_LIMIT_S)
    link = _prepare(config, supervisor)
    web, *others = _django(config)
    supervisor.start(web)
    answers = functools.partial(checks.web_answers, config.host, config.port, config.public_url)
    _await(supervisor, "web", config, answers, WEB_LIMIT_S)
    # Only now: on a small machine their start would hold up the page's.
    for program in others:
        supervisor.start(program)
    say("ready", url=config.public_url)
    if link:
        say("first_administrator", url=config.public_url + link)
    if not config.is_loopback and not config.public_url.startswith("https:"):
        say("tls")
    say("how_to_stop")


def _database_is_ready(cluster: postgres.Cluster, supervisor: Supervisor) -> bool:
    return postgres.is_ready(cluster, supervisor.pid("postgres"))


def _await(
    supervisor: Supervisor,
    name: str,
    config: Configuration,
    ready: functools.partial[bool],
    limit_s: float,
) -> None:
    if not supervisor.wait(ready, limit_s):
        raise Refusal("not_ready", name=name, log=_log(config, name))


def _prepare(config: Configuration, supervisor: Supervisor) -> str | None:
    """Bring database and files up to date; the path of the first administrator's link, if any."""
    program = _python(config, "prepare", "manage.py", "prepare")
    code, output = supervisor.run(program)
    lines = output.strip().splitlines()
    if code:
        log = program.log.read_text(errors="replace").strip().splitlines()
        raise Refusal("prepare_failed", reason=(log or lines or ["?"])[-1], log=program.log)
    if lines and lines[-1].startswith(LINK_PREFIX):
        return lines[-1].removeprefix(LINK_PREFIX).strip()
    return None


def _engine(config: Configuration) -> Program:
    socket = config.run / "engine.sock"
    options = ["--models", str(config.models), "--socket", str(socket), *config.engine_options]
    command = [sys.executable, "-m", "engine_adapter", "serve", *options]
    return Program(
        "engine", command, harmless_environment(), CHECKOUT, _log(config, "engine"),
        sign=signs.replies(socket, signs.get("/health", "engine")),
    )  # fmt: skip


def _django(config: Configuration) -> list[Program]:
    web = ["-m", "deploy.web", "--host", config.host, "--port", str(config.port)]
    # Threads, not processes: jobs wait for the database and for engines, and what computes runs in
    # a process that is thrown away. Several, so that a long job holds up no short one.
    worker = [
        *("-m", "celery", "--quiet", "-A", "deploy", "worker", "--beat-thread"),
        *("--pool", "threads", "--concurrency", "4", "--loglevel", "WARNING"),
        *("--without-gossip", "--without-mingle"),
    ]
    address = checks.web_address(config.host, config.port)
    page = signs.replies(address, checks.web_question(config.public_url))
    return [
        replace(_python(config, "web", *web), sign=page),
        _showing_life(config, _python(config, "runner", "manage.py", "run_generations")),
        _showing_life(config, _python(config, "worker", *worker)),
    ]


def _python(config: Configuration, name: str, *arguments: str) -> Program:
    command = [sys.executable, *arguments]
    return Program(name, command, _environment(config), CHECKOUT, _log(config, name))


def _showing_life(config: Configuration, program: Program) -> Program:
    """Whom nobody can ask touches a file as long as it lives."""
    file = config.run / f"{program.name}.lives"
    environment = {**program.environment, "KONAK_SIGN_OF_LIFE": str(file)}
    return replace(program, environment=environment, sign=signs.touches(file))


def _environment(config: Configuration) -> dict[str, str]:
    """Our environment and what the settings must know; what the person has set stays."""
    found = dict(os.environ, KONAK_DATA=str(config.data), KONAK_PUBLIC_URL=config.public_url)
    if not config.database_url:
        found["KONAK_DATABASE_URL"] = _cluster(config).url
    if not config.valkey_url:
        found["KONAK_VALKEY_URL"] = valkey.url(config.run)
    if not config.engine_url:
        found["KONAK_ENGINE_URL"] = f"unix://{config.run / 'engine.sock'}"
        found["KONAK_MODELS"] = str(config.models)
    if not (found.get("KONAK_SECRET_KEY") or found.get("KONAK_SECRET_KEY_FILE")):
        found["KONAK_SECRET_KEY_FILE"] = str(secret_key.ensure(config.data))
    return found


def _cluster(config: Configuration) -> postgres.Cluster:
    return postgres.Cluster(config.data / "postgres", config.run / "postgres")


def _log(config: Configuration, name: str) -> Path:
    return config.logs / f"{name}.log"

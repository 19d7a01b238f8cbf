"""Where this appliance lives and listens: command line and environment as one frozen value.

Knows names and addresses, touches no file.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.appliance import options
from deploy.appliance.messages import Refusal
from deploy.appliance.patience import LOOK_S, MOST_SILENT

CHECKOUT = Path(__file__).resolve().parent.parent.parent
# sockaddr_un holds 108 bytes with the closing zero; the longest name in the run directory is
# "postgres/.s.PGSQL.5432.lock".
SOCKET_PATH_BYTES = 107
LONGEST_SOCKET_NAME = "postgres/.s.PGSQL.5432.lock"
HANG = "KONAK_HANG_S"
HANG_S = (6.0, 3600.0)
# Variable → the engine host's option and what it may be: a range or a choice, as the host has it.
ENGINE_OPTIONS: dict[str, tuple[str, tuple[float, float] | tuple[str, ...]]] = {
    "KONAK_ENGINE_SLOTS": ("--slots", (1, 256)),
    "KONAK_ENGINE_CONTEXT": ("--context", (256, 1 << 20)),
    "KONAK_ENGINE_THREADS": ("--threads", (1, 512)),
    "KONAK_ENGINE_QUEUE": ("--queue", (1, 100_000)),
    "KONAK_ENGINE_BATCH": ("--batch", (32, 8192)),
    "KONAK_ENGINE_STEP_S": ("--step-s", (0.01, 10.0)),
    "KONAK_ENGINE_DEADLINE_S": ("--deadline-s", (1.0, 86_400.0)),
    "KONAK_ENGINE_CACHE_MIB": ("--cache-mib", (0, 1 << 22)),
    "KONAK_ENGINE_CACHE_DISK_MIB": ("--cache-disk-mib", (0, 1 << 24)),
    "KONAK_ENGINE_KV_TYPE": ("--kv-type", ("auto", "f16", "bf16", "q8_0", "q5_1", "q4_0")),
    "KONAK_ENGINE_FLASH_ATTENTION": ("--flash-attention", ("auto", "on", "off")),
    "KONAK_ENGINE_GPU_LAYERS": ("--gpu-layers", (-1, 1000)),
    "KONAK_ENGINE_IDLE_S": ("--idle-s", (0.0, float(1 << 31))),
    "KONAK_ENGINE_MEMORY_MIB": ("--memory-mib", (0, 1 << 30)),
    HANG: ("--hang-s", HANG_S),
}


@dataclass(frozen=True)
class Configuration:
    """What was asked for. The URLs are None where the embedded part is used; whoever gives no sign
    of life for ``hang_s`` is taken for hung."""

    host: str
    port: int
    data: Path
    public_url: str
    starter_model: Path | None
    database_url: str | None
    valkey_url: str | None
    engine_url: str | None
    engine_options: tuple[str, ...] = ()
    hang_s: float = LOOK_S * MOST_SILENT

    @property
    def run(self) -> Path:
        """The directory of sockets and process ids; short enough for a Unix socket path."""
        path = self.data / "run"
        if len(os.fsencode(path / LONGEST_SOCKET_NAME)) <= SOCKET_PATH_BYTES:
            return path
        digest = hashlib.sha256(os.fsencode(self.data)).hexdigest()[:12]
        own = "/run" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", "")
        runtime = own if os.access(own, os.W_OK) else "/tmp"  # noqa: S108 - its owner is checked
        return Path(runtime) / f"konak-{os.geteuid()}-{digest}"

    @property
    def logs(self) -> Path:
        return self.data / "logs"

    @property
    def models(self) -> Path:
        return self.data / "models"

    @property
    def is_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def arguments(self) -> list[str]:
        """The command line that asks for the same, from any working directory."""
        return ["--host", self.host, "--port", str(self.port), "--data", str(self.data)]


def read(arguments: Sequence[str], environment: Mapping[str, str]) -> Configuration:
    """Read the command line; a wrong one ends the program with a sentence and code 2. Raises
    ``Refusal`` where a number of it or a value of the environment is wrong."""
    default_data = environment.get("KONAK_DATA") or str(CHECKOUT / "var")
    asked = options.read(arguments, default_data=default_data)
    model = environment.get("KONAK_STARTER_MODEL")
    return Configuration(
        host=asked.host,
        port=asked.port,
        data=Path(asked.data).expanduser().resolve(),
        public_url=(environment.get("KONAK_PUBLIC_URL") or _url(asked.host, asked.port)).rstrip(
            "/"
        ),
        starter_model=Path(model).expanduser().resolve() if model else None,
        database_url=_external(environment, "KONAK_DATABASE_URL"),
        valkey_url=_external(environment, "KONAK_VALKEY_URL"),
        engine_url=_external(environment, "KONAK_ENGINE_URL"),
        engine_options=tuple(
            part
            for name, (option, allowed) in ENGINE_OPTIONS.items()
            if (value := environment.get(name))
            for part in (option, _allowed(name, value.strip(), allowed))
        ),
        hang_s=float(_allowed(HANG, environment.get(HANG) or str(LOOK_S * MOST_SILENT), HANG_S)),
    )


def _allowed(name: str, value: str, allowed: tuple[float, float] | tuple[str, ...]) -> str:
    first, last = allowed[0], allowed[-1]
    if isinstance(first, str) or isinstance(last, str):
        if value not in allowed:
            raise Refusal(
                "not_a_choice", name=name, choices=", ".join(map(str, allowed)), value=value
            )
        return value
    try:
        fits = first <= (int(value) if isinstance(first, int) else float(value)) <= last
    except ValueError:
        fits = False
    if not fits:
        raise Refusal("not_a_number", name=name, least=first, most=last, value=value)
    return value


def _external(environment: Mapping[str, str], name: str) -> str | None:
    return environment.get(name) or environment.get(f"{name}_FILE") or None


def _url(host: str, port: int) -> str:
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        host = _own_address()
    if ":" in host:
        host = f"[{host}]"
    return f"http://{host}" if port == 80 else f"http://{host}:{port}"


def _own_address() -> str:
    """The address other machines reach this one by. Connecting a datagram socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])

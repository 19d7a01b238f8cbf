"""The options of ``deploy/up``, explained and refused in the language of the console."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from deploy.appliance.messages import Refusal, complain, text

_MOST = 65535


class _Options(argparse.ArgumentParser):
    """argparse's own sentences are English only."""

    asked: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        """End with a sentence, as every refusal does."""
        complain(Refusal("not_understood", words=" ".join(self.asked)))
        sys.exit(2)

    def format_help(self) -> str:
        """What Konak is, and one option a line."""
        lines = [f"  {', '.join(each.option_strings):<12}{each.help}" for each in self._actions]
        return "\n".join([text("help"), "", f"  {self.prog} {self.usage}", "", *lines, ""])


def read(arguments: Sequence[str], *, default_data: str) -> argparse.Namespace:
    """``host``, ``port`` and ``data``. Raises ``Refusal`` for a port that is none; whatever else is
    wrong ends the program with a sentence and code 2."""
    parser = _Options(
        prog="./deploy/up",
        usage="[--host ADDRESS] [--port PORT] [--data DIR]",
        add_help=False,
        allow_abbrev=False,
    )
    parser.asked = arguments
    parser.add_argument("--host", default="127.0.0.1", help=text("help_host", value="127.0.0.1"))
    parser.add_argument("--port", default=8000, type=_port, help=text("help_port", value="8000"))
    parser.add_argument("--data", default=default_data, help=text("help_data", value=default_data))
    parser.add_argument("-h", "--help", action="help", help=text("help_help"))
    return parser.parse_args(arguments)


def _port(value: str) -> int:
    if not value.isascii() or not value.isdecimal() or not 1 <= int(value[:6]) <= _MOST:
        raise Refusal("not_a_number", name="--port", least=1, most=_MOST, value=value)
    return int(value)

"""Every ``KONAK_`` variable is documented in deploy/VARIABLES.md, and nothing else is."""

from __future__ import annotations

import ast
import inspect
import re

from django.conf import settings

from deploy import env
from tests.architecture import tree

PAGE = tree.CHECKOUT / "deploy" / "VARIABLES.md"
ROW = re.compile(r"^\| `(KONAK_\w+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$")
NAME = re.compile(r"\bKONAK_[A-Z]+(?:_[A-Z]+)*")


def rows() -> dict[str, tuple[str, str, str]]:
    """Name → default, what it does, who reads it."""
    found = [match for line in PAGE.read_text().splitlines() if (match := ROW.match(line))]
    names = [match[1] for match in found]
    assert names and len(names) == len(set(names))
    return {match[1]: (match[2], match[3], match[4]) for match in found}


def test_the_settings_read_what_is_documented() -> None:
    assert settings.SECRET_KEY
    documented = {name for name, (_, _, readers) in rows().items() if "Django" in readers}
    assert documented == env.READ


def test_every_name_in_the_tree_is_documented_and_every_documented_one_is_used() -> None:
    used = {
        name.removesuffix("_FILE")
        for path in tree.everything()
        if path != PAGE
        for name in NAME.findall(path.read_text())
    }
    assert used == set(rows())


def test_what_the_start_reads_is_documented_as_read_by_it() -> None:
    folder = tree.CHECKOUT / "deploy" / "appliance"
    read = set(NAME.findall((folder / "config.py").read_text()))
    assert len(read) > 3
    assert read == {name for name, (_, _, readers) in rows().items() if "`deploy/up`" in readers}


def test_the_defaults_are_the_documented_ones() -> None:
    """Numbers and switches; what is put together from other values is told in words."""
    table = rows()
    plain = 0
    source = ast.parse(inspect.getsource(__import__("deploy.settings", fromlist=["settings"])))
    for call in ast.walk(source):
        if not (isinstance(call, ast.Call) and _reader(call) in {"integer", "boolean", "text"}):
            continue
        name, *default = [a.value for a in call.args if isinstance(a, ast.Constant)]
        told = table[name][0].strip("`")
        if _reader(call) == "boolean":
            assert told == ("yes" if default and default[0] else "no"), name
        elif default and default[0] != "":
            assert told == str(default[0]), name
        else:
            continue
        plain += 1
    assert plain > 7


def test_a_page_in_a_file_is_explained() -> None:
    assert "NAME_FILE" in PAGE.read_text()


def _reader(call: ast.Call) -> str:
    function = call.func
    own = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
    return function.attr if own and function.value.id == "env" else ""

"""The files of the checkout, as the architecture tests walk them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent
PRODUCT = ("accounts", "chat", "deploy", "engine_adapter")
PAGE_FILES = ("*.html", "*.css", "*.js", "*.svg")


def files(*patterns: str, rooms: tuple[str, ...] = PRODUCT) -> list[Path]:
    """The files of ``rooms`` whose names match one of ``patterns``."""
    found = {path for room in rooms for p in patterns for path in (CHECKOUT / room).rglob(p)}
    return sorted(p for p in found if p.is_file() and "__pycache__" not in p.parts)


def python(*, rooms: tuple[str, ...] = PRODUCT) -> list[Path]:
    """The Python files of ``rooms``; migrations, which Django writes, are not among them."""
    own = [path for path in files("*.py", rooms=rooms) if "migrations" not in path.parts]
    return [*own, CHECKOUT / "manage.py"]


def everything() -> list[Path]:
    """Every text file that belongs to the tree."""
    top = [p for p in CHECKOUT.iterdir() if p.is_file() and p.name != ".git"]
    found = [*top, *files("*", rooms=(*PRODUCT, "tests", ".ci"))]
    kept = {".mo", ".pyc", ".png", ".woff2"}
    return [path for path in found if path.suffix not in kept and "output" not in path.parts]


def name(path: Path) -> str:
    """How a failure names a file."""
    return path.relative_to(CHECKOUT).as_posix()


def lines(path: Path) -> int:
    """How long a file is."""
    return len(path.read_text().splitlines())


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function in a Python file, methods and inner ones included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node

"""Who may import whom: the contracts of pyproject.toml, and a look at what is really loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture import tree

# What a process loads to do its work, with the pages' views and the tasks among it.
LOADS = {
    "web": "import deploy.asgi; from django.urls import get_resolver; get_resolver().url_patterns",
    "runner": "import django; django.setup(); import chat.runner",
    "worker": "import django; django.setup(); from deploy.celery import app; "
    "app.loader.import_default_modules(); assert 'chat.tasks' in sys.modules",
}
TELL = "print(sorted(n for n in sys.modules if n.startswith(('llama_cpp', 'engine_adapter'))))"


def test_the_contracts_hold() -> None:
    done = _python("-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-logo")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("process", LOADS)
def test_no_process_but_the_engine_host_loads_llama_cpp(process: str) -> None:
    done = _python("-c", f"import sys; {LOADS[process]}; {TELL}")
    assert done.returncode == 0, done.stderr
    assert "'engine_adapter.remote.client'" in done.stdout
    assert "llama_cpp" not in done.stdout
    assert "engine_adapter.bundled" not in done.stdout


def test_the_engine_host_loads_no_web_framework_of_ours() -> None:
    tell = "print(sorted({n.partition('.')[0] for n in sys.modules}))"
    done = _python("-c", f"import sys; import engine_adapter.__main__; {tell}")
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.strip("[]\n").replace("'", "").split(", "))
    assert "engine_adapter" in loaded
    assert loaded.isdisjoint({"django", "channels", "celery", "psycopg", "chat", "accounts"})


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=tree.CHECKOUT, capture_output=True, text=True, timeout=60)

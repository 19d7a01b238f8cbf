"""Starting the appliance where something is in the way: one sentence, no success, nothing left."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.appliance import checks, model
from deploy.appliance.messages import Refusal
from deploy.appliance.packages import Environment
from tests.appliance import CHECKOUT, environment, free_port, refused

# What a shell and Python need, and no compiler.
BARE_TOOLS = ("sh", "dirname", "env", "uname", "ldconfig")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory outside pytest's own, which is closed to the user PostgreSQL runs as."""
    path = Path(tempfile.mkdtemp(prefix="konak-start-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A PATH directory without Python and without a compiler."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in BARE_TOOLS:
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    return tools


@pytest.fixture
def fresh_checkout(tmp_path: Path) -> Path:
    """What a start needs of a checkout in which nothing was ever installed."""
    checkout = tmp_path / "checkout"
    (checkout / "deploy").mkdir(parents=True)
    for name in ("up", "python.sh", "bootstrap.py"):
        shutil.copy(CHECKOUT / "deploy" / name, checkout / "deploy" / name)
    for name in ("appliance", "lock"):
        shutil.copytree(CHECKOUT / "deploy" / name, checkout / "deploy" / name)
    return checkout


def one_sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The single line of a refusal."""
    assert done.returncode != 0
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    return line


def test_a_taken_port_is_named_and_nothing_is_made(place: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        data = place / "outer" / "data"
        line = one_sentence(refused("--port", str(port), "--data", str(data), env=environment()))
    assert f"Port {port}" in line and "--port" in line
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "english", "turkish"),
    [
        (("--port", "abc"), "--port must be a number from 1 to 65535, not abc.", "65535 arasında"),
        (("--prot", "9"), "does not understand “--prot 9”", "“--prot 9” ifadesini anlamıyor"),
    ],
)
def test_a_wrong_option_is_a_sentence_in_both_languages(
    arguments: tuple[str, ...], english: str, turkish: str
) -> None:
    for locale, words in (("C.UTF-8", english), ("tr_TR.UTF-8", turkish)):
        assert words in one_sentence(refused(*arguments, env=environment(LC_ALL=locale)))


@pytest.mark.parametrize(("locale", "words"), [("C.UTF-8", "port to"), ("tr_TR.UTF-8", "dinlenec")])
def test_the_options_are_explained_in_both_languages(locale: str, words: str) -> None:
    told = refused("--help", env=environment(LC_ALL=locale)).stdout
    assert words in told
    assert "usage" not in told and "show this help" not in told


def test_an_address_of_another_machine_is_refused(place: Path) -> None:
    arguments = ("--host", "192.0.2.7", "--port", str(free_port()), "--data", str(place / "data"))
    assert "192.0.2.7" in one_sentence(refused(*arguments, env=environment()))
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(("content", "word"), [(None, "cannot be read"), (b"PK\3\4", "not a GGUF")])
def test_a_starter_model_that_is_none_is_refused(
    place: Path, tmp_path: Path, content: bytes | None, word: str
) -> None:
    given = tmp_path / "given.gguf"
    if content is not None:
        given.write_bytes(content)
    arguments = ("--port", str(free_port()), "--data", str(place / "data"))
    line = one_sentence(refused(*arguments, env=environment(KONAK_STARTER_MODEL=str(given))))
    assert word in line and str(given) in line
    assert list(place.iterdir()) == []


def test_the_sentence_is_turkish_where_the_locale_is(place: Path) -> None:
    env = environment(KONAK_STARTER_MODEL=str(place / "none.gguf"), LC_ALL="tr_TR.UTF-8")
    done = refused("--data", str(place / "data"), env=env)
    # A shell in between may warn that the machine lacks the locale.
    assert "okunamıyor" in done.stderr.splitlines()[-1]


def test_a_database_that_cannot_be_made_leaves_nothing(place: Path, starter_model: Path) -> None:
    data = place / "data"
    command = ["prlimit", "--fsize=4000000", CHECKOUT / "deploy" / "up"]
    done = subprocess.run(
        [*command, "--port", str(free_port()), "--data", data],
        env=environment(KONAK_STARTER_MODEL=str(starter_model)),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode != 0
    assert "database could not be made" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(place.iterdir()) == []


def test_too_little_room_is_refused_with_both_numbers(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match=r"MB free, 10,000,000,000 MB needed"):
        checks.room_for(tmp_path / "not" / "yet", 10**16)
    checks.room_for(tmp_path, 1)


def test_a_missing_compiler_is_named(fresh_checkout: Path, bare_path: Path) -> None:
    python = bare_path / "python3"
    python.symlink_to(Path(sys.executable).resolve())
    arguments = ("--port", str(free_port()), "--data", str(fresh_checkout / "data"))
    env = environment(PATH=str(bare_path), HOME=os.environ["HOME"])
    line = one_sentence(refused(*arguments, env=env, up=fresh_checkout / "deploy" / "up"))
    assert "C++ compiler" in line
    assert not (fresh_checkout / ".venv").exists()
    assert not (fresh_checkout / "data").exists()


def test_a_python_that_is_too_old_is_named(fresh_checkout: Path, bare_path: Path) -> None:
    old = bare_path / "python3"
    old.write_text('#!/bin/sh\ncase "$2" in *print*) echo 3.9 ;; *) exit 1 ;; esac\n')
    old.chmod(0o755)
    up = fresh_checkout / "deploy" / "up"
    line = one_sentence(refused(env=environment(PATH=str(bare_path)), up=up))
    assert "3.11" in line and "3.9" in line
    old.unlink()
    line = one_sentence(refused(env=environment(PATH=str(bare_path)), up=up))
    assert "found: none" in line


def test_a_broken_off_install_is_not_taken_for_a_finished_one(fresh_checkout: Path) -> None:
    environment = Environment(fresh_checkout, "run.txt")
    assert not environment.is_installed()
    shutil.copy(CHECKOUT / ".venv" / "installed-test.txt", tmp := fresh_checkout / "stamp")
    environment.python.parent.mkdir(parents=True)
    environment.python.symlink_to(shutil.which("true") or "")
    tmp.rename(environment.directory / "installed-test.txt")
    assert environment.is_installed()
    (environment.directory / "unfinished").touch()
    assert not environment.is_installed()
    (environment.directory / "unfinished").unlink()
    with (fresh_checkout / "deploy" / "lock" / "test.txt").open("a") as lock:
        lock.write("# another one\n")
    assert not environment.is_installed()


def test_the_starter_model_is_the_expected_file(starter_model: Path) -> None:
    assert starter_model.stat().st_size == model.SIZE

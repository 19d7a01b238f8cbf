"""States on disk: what was put or nothing, sealed, within a size, and gone at the end."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_adapter.bundled.folder import default_directory, sweep
from engine_adapter.bundled.spill import CHUNK, MOST_WAITING, TAG, Spill

LARGE = 3 * CHUNK + 5
MUCH = 1 << 30


def state(seed: int, size: int = 1000) -> memoryview:
    return memoryview((f"{seed} is a secret of alice. " * (size // 20 + 1)).encode()[:size])


@pytest.fixture
def spill(tmp_path: Path) -> Iterator[Spill]:
    opened = Spill(tmp_path, MUCH)
    yield opened
    opened.close()


def files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def until(happens: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.001)


def size(directory: Path) -> int:
    """Of all files; one can vanish while they are looked at."""
    total = 0
    for path in files(directory):
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


def settle(spill: Spill, directory: Path) -> None:
    until(lambda: size(directory) == spill.bytes)


def written(spill: Spill, directory: Path, key: int, of: memoryview) -> Path:
    """The file of ``key``. A second, later one says that the first is let go of in memory."""
    before = set(files(directory))
    for number, one in ((key, of), (key + 1000, state(key, 10))):
        assert spill.put(number, one)
        settle(spill, directory)
    [path] = [p for p in files(directory) if p not in before and p.stat().st_size > 10 + TAG]
    return path


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, LARGE])
def test_a_state_comes_back_from_disk_once(spill: Spill, tmp_path: Path, size: int) -> None:
    spill.put(0, state(7, size))
    settle(spill, tmp_path)
    spill.put(1, state(8))
    settle(spill, tmp_path)
    assert spill.take(0) == state(7, size)
    assert spill.take(0) is None
    assert spill.take(1) == state(8)
    assert spill.bytes == 0
    until(lambda: not files(tmp_path))


def test_a_state_that_is_not_written_yet_comes_back_too(spill: Spill) -> None:
    for key in range(20):
        assert spill.put(key, state(key, LARGE))
        assert spill.take(key) == state(key, LARGE)


def test_nothing_can_be_read_in_the_files(spill: Spill, tmp_path: Path) -> None:
    one = written(spill, tmp_path, 1, state(1, LARGE)).read_bytes()
    two = written(spill, tmp_path, 2, state(1, LARGE)).read_bytes()
    assert bytes(state(1, LARGE)).count(b"secret") > 1000
    assert b"secret" not in one + two
    chunks = {file[at : at + 16] for file in (one, two) for at in range(0, len(one), CHUNK + TAG)}
    assert len(chunks) == 8


def test_only_the_owner_may_enter_and_read(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        directory = tmp_path / "new"
        spill = Spill(directory, MUCH)
        path = written(spill, directory, 1, state(1))
    finally:
        os.umask(before)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    spill.close()


def flip(path: Path, other: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def shorten(path: Path, other: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def drop_a_chunk(path: Path, other: Path) -> None:
    os.truncate(path, 3 * (CHUNK + TAG))


def swap_chunks(path: Path, other: Path) -> None:
    data, size = path.read_bytes(), CHUNK + TAG
    path.write_bytes(data[size : 2 * size] + data[:size] + data[2 * size :])


def swap_files(path: Path, other: Path) -> None:
    path.write_bytes(other.read_bytes())


def lose(path: Path, other: Path) -> None:
    path.unlink()


def make_a_folder(path: Path, other: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "damage", [flip, shorten, drop_a_chunk, swap_chunks, swap_files, lose, make_a_folder]
)
def test_a_file_that_is_not_the_one_written_is_a_miss(
    spill: Spill, tmp_path: Path, damage: Callable[[Path, Path], None]
) -> None:
    path = written(spill, tmp_path, 1, state(1, LARGE))
    other = written(spill, tmp_path, 2, state(2, LARGE))
    damage(path, other)
    assert spill.take(1) is None
    assert spill.take(2) == state(2, LARGE)
    assert spill.put(1, state(3))
    assert spill.take(1) == state(3)


def test_another_processs_file_is_a_miss(tmp_path: Path) -> None:
    paths, spills = [], []
    for name in "ab":
        spills.append(Spill(tmp_path / name, MUCH))
        paths.append(written(spills[-1], tmp_path / name, 1, state(1)))
    paths[0].write_bytes(paths[1].read_bytes())
    assert [spill.take(1) for spill in spills] == [None, state(1)]
    for spill in spills:
        spill.close()


def test_the_oldest_goes_first_when_the_size_is_reached(tmp_path: Path) -> None:
    spill = Spill(tmp_path, 3 * (1000 + TAG))
    for key in range(5):
        assert spill.put(key, state(key))
        settle(spill, tmp_path)
    assert spill.bytes == 3 * (1000 + TAG)
    assert not spill.put(5, state(5, 4000))
    assert [key for key in range(6) if spill.take(key)] == [2, 3, 4]
    spill.close()


def test_a_put_that_is_refused_leaves_nothing_of_the_old_state(tmp_path: Path) -> None:
    spill = Spill(tmp_path, 2000)
    assert spill.put(1, state(1))
    assert not spill.put(1, state(2, 3000))
    assert spill.take(1) is None
    spill.close()


def test_puts_are_refused_while_the_disk_is_behind(spill: Spill, tmp_path: Path) -> None:
    large = state(0, 32 * CHUNK)
    results = [spill.put(key, large) for key in range(100)]
    assert not all(results)
    assert results[: MOST_WAITING - 1] == [True] * (MOST_WAITING - 1)
    kept = [key for key in range(100) if results[key]]
    assert all(spill.take(key) == large for key in kept)


def test_a_write_that_fails_is_given_up_and_nothing_else_happens(
    spill: Spill, tmp_path: Path
) -> None:
    written(spill, tmp_path, 1, state(1))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * CHUNK, limits[1]))
    try:
        kept = spill.bytes
        assert spill.put(2, state(2, LARGE))
        until(lambda: spill.bytes == kept)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    settle(spill, tmp_path)
    assert spill.take(2) is None
    assert spill.take(1) == state(1)
    assert spill.put(2, state(2, LARGE))
    settle(spill, tmp_path)
    assert spill.take(2) == state(2, LARGE)


def test_closing_leaves_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    spill = Spill(tmp_path, MUCH)
    for key in range(3):
        spill.put(key, state(key, LARGE))
    spill.close()
    spill.close()
    assert list(tmp_path.iterdir()) == []
    assert (spill.put(1, state(1)), spill.take(0), spill.bytes) == (False, None, 0)


DIES = """
import sys, time
from pathlib import Path
from engine_adapter.bundled.spill import Spill
spill = Spill(Path(sys.argv[1]), 1 << 20)
spill.put(1, memoryview(b"x" * 1000))
print("put", flush=True)
time.sleep(60)
"""


def states(directory: Path) -> list[Path]:
    return [path for path in files(directory) if path.parent != directory]


@contextlib.contextmanager
def another_process(directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", DIES, directory], stdout=-1) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"put\n"
            until(lambda: states(directory))
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("cleans", [sweep, lambda directory: Spill(directory, MUCH).close()])
def test_what_a_killed_process_left_is_removed_and_a_living_ones_is_not(
    tmp_path: Path, cleans: Callable[[Path], None]
) -> None:
    (tmp_path / "letter.txt").write_text("not ours")
    (tmp_path / "konak-states-letter").write_text("not ours either")
    with another_process(tmp_path) as process:
        cleans(tmp_path)
        assert len(states(tmp_path)) == 1
        process.send_signal(signal.SIGKILL)
        process.wait()
        cleans(tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"letter.txt", "konak-states-letter"}


def test_somebody_elses_directory_is_not_used(tmp_path: Path) -> None:
    foreign = Path("/")
    if os.geteuid() == 0:
        foreign = tmp_path
        os.chown(foreign, 12345, -1)
    with pytest.raises(PermissionError):
        Spill(foreign, MUCH)
    sweep(foreign)
    sweep(tmp_path / "nowhere")


def test_the_default_is_a_place_of_ones_own() -> None:
    assert str(os.geteuid()) in default_directory().name


KEYS = st.integers(0, 5)


@given(
    st.lists(
        st.tuples(st.just("put"), KEYS, st.integers(0, 3000)) | st.tuples(st.just("take"), KEYS)
        | st.tuples(st.just("drop"), KEYS) | st.tuples(st.just("settle")),
        max_size=40,
    )
)  # fmt: skip
def test_any_order_gives_back_what_a_bounded_table_would(steps: list[tuple[str, int, int]]) -> None:
    limit = 5000
    table: dict[int, memoryview] = {}  # oldest first

    def taken() -> int:
        return sum(one.nbytes + TAG for one in table.values())

    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        spill = Spill(directory, limit)
        for number, step in enumerate(steps):
            match step:
                case "put", key, length:
                    table.pop(key, None)
                    if spill.put(key, state(number, length)):
                        while taken() + length + TAG > limit:
                            del table[next(iter(table))]
                        table[key] = state(number, length)
                case "take", key:
                    assert spill.take(key) == table.pop(key, None)
                case "drop", key:
                    spill.drop(key)
                    table.pop(key, None)
                case _:
                    settle(spill, directory)
            assert spill.bytes == taken()
            assert size(directory) <= limit
        settle(spill, directory)
        spill.close()
        assert list(directory.iterdir()) == []

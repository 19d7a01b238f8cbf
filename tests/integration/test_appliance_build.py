"""How llama-cpp-python is built is chosen by what is there and by what the person asks for."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from deploy.appliance import build, config, packages
from deploy.appliance.config import ENGINE_OPTIONS
from deploy.appliance.messages import Refusal
from engine_adapter.__main__ import _parser
from engine_adapter.bundled.attention import AUTO, CACHE_TYPES, FLASH_ATTENTION
from engine_adapter.bundled.config import Settings
from tests.appliance import CHECKOUT


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH folder of a shell and nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cat", "chmod"):
        (folder / name).symlink_to(shutil.which(name) or "")
    return folder


def compiler(folder: Path, trial: str, *, needs: str = "") -> None:
    """A c++ whose programs do ``trial``; with the option ``needs`` they end well."""
    (folder / "c++").write_text(
        "#!/bin/sh\ncat > /dev/null\nout=/dev/null; does='" + trial + "'\n"
        'for word; do case "$last" in -o) out=$word;; esac; last=$word\n'
        '[ "$word" = "' + (needs or "never") + "\" ] && does='exit 0'\ndone\n"
        '[ $out = /dev/null ] && exit 0\necho "#!/bin/sh\n$does" > $out; chmod +x $out\n'
    )
    (folder / "c++").chmod(0o755)


def chosen(tools: Path, root: Path | None = None, **variables: str) -> build.Build:
    return build.choose({"PATH": str(tools), **variables}, root or tools)


def test_a_machine_that_runs_its_native_code_builds_plainly(tools: Path) -> None:
    compiler(tools, "exit 0")
    plain = chosen(tools)
    assert plain == build.Build({})
    assert plain.key == ""


def test_tiles_that_kill_are_mended_or_left_out(tools: Path) -> None:
    compiler(tools, "kill -ILL $$", needs="-fno-dse")
    mended = chosen(tools)
    assert mended == build.Build({"CFLAGS": "-fno-dse", "CXXFLAGS": "-fno-dse"})
    compiler(tools, "kill -ILL $$")
    without = chosen(tools, CXXFLAGS="-g")
    assert without.without_tiles
    assert without.variables["CFLAGS"] == "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
    assert without.variables["CXXFLAGS"].endswith("-mno-amx-bf16 -g")
    assert len({mended.key, without.key, ""}) == 3


def test_nvcc_and_a_card_mean_cuda_unless_something_else_is_asked(tools: Path) -> None:
    compiler(tools, "exit 0")
    (tools / "nvcc").symlink_to(tools / "sh")
    no_card = chosen(tools)
    assert no_card == build.Build({}, without_card=True)
    (tools / "proc/driver/nvidia").mkdir(parents=True)
    (tools / "proc/driver/nvidia/version").touch()
    assert chosen(tools) == build.Build({"CMAKE_ARGS": "-DGGML_CUDA=on"}, for_cuda=True)
    asked = chosen(tools, CMAKE_ARGS="-DGGML_VULKAN=on")
    assert asked == build.Build({"CMAKE_ARGS": "-DGGML_VULKAN=on"})


def test_without_a_compiler_it_is_refused(tools: Path) -> None:
    with pytest.raises(Refusal, match="C\\+\\+ compiler"):
        chosen(tools)


def test_the_trial_ends_on_this_machine() -> None:
    assert build.tile_flags(build.find_compiler(os.environ)) in build.TILE_FLAGS


def test_another_cmake_args_than_the_last_one_builds_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(CHECKOUT / "deploy" / "lock", tmp_path / "deploy" / "lock")
    environment = packages.Environment(tmp_path, "run.txt")
    environment.python.parent.mkdir(parents=True)
    environment.python.symlink_to(shutil.which("true") or "")
    (environment.directory / "installed-run.txt").write_text(environment._digest("run.txt"))
    monkeypatch.delenv("CMAKE_ARGS", raising=False)
    assert environment.is_installed()
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_CUDA=on")
    assert not environment.is_installed()
    told = {"variables": {"CMAKE_ARGS": "-DGGML_CUDA=on"}, "lock": ""}
    (environment.directory / "built").write_text(json.dumps(told))
    assert environment.is_installed()
    monkeypatch.setenv("CMAKE_ARGS", "-DGGML_CUDA=off")
    assert not environment.is_installed()


def test_the_lock_holds_what_is_built_here_with_its_hashes() -> None:
    lines = packages._requirement(CHECKOUT / "deploy" / "lock" / "run.txt").splitlines()
    assert lines[0].startswith("llama-cpp-python==")
    assert len(lines) > 1 and all("--hash=sha256:" in line for line in lines[1:])


def test_the_engine_is_given_what_the_variables_say() -> None:
    told = {"KONAK_ENGINE_SLOTS": "4", "KONAK_ENGINE_KV_TYPE": "q8_0", "KONAK_ENGINE_IDLE_S": ""}
    options = config.read([], told).engine_options
    assert options == ("--slots", "4", "--kv-type", "q8_0")
    parsed = _parser().parse_args(["serve", "--models", ".", *options])
    assert (parsed.slots, parsed.kv_type) == (4, "q8_0")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KONAK_ENGINE_SLOTS", "0"),
        ("KONAK_ENGINE_SLOTS", "4.5"),
        ("KONAK_ENGINE_STEP_S", "nan"),
        ("KONAK_ENGINE_GPU_LAYERS", "all"),
        ("KONAK_ENGINE_KV_TYPE", "q9"),
    ],
)
def test_a_wrong_value_refuses_to_start_and_names_the_variable(name: str, value: str) -> None:
    with pytest.raises(Refusal, match=name):
        config.read([], {name: value})


def test_the_host_has_every_option_and_the_same_bounds() -> None:
    for option, allowed in ENGINE_OPTIONS.values():
        field = option.removeprefix("--").replace("-", "_")
        if field == "memory_mib":
            continue
        if isinstance(allowed[0], str):
            known = (AUTO, *CACHE_TYPES) if field == "kv_type" else tuple(FLASH_ATTENTION)
            assert allowed == known
            continue
        least, most = allowed
        for value in (least, most):
            Settings(**{field: value})
        below = least - 1 if field != "threads" else -1  # 0 is one a core, as none is
        for value in (below, most + 1):
            with pytest.raises(ValueError, match=field):
                Settings(**{field: value})

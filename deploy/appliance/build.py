"""How llama-cpp-python is built on this machine: for which graphics card, without which code.

Chooses and compiles a trial; builds nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.appliance.messages import Refusal

COMPILERS = ("c++", "g++", "clang++")
SMALL = "#include <vector>\nint main() { return static_cast<int>(std::vector<int>().size()); }\n"
TRIAL_LIMIT_S = 60.0
# What the compiler and llama.cpp's build read.
READ = ("CMAKE_ARGS", "CFLAGS", "CXXFLAGS", "CC", "CXX")
WITH_CUDA = "-DGGML_CUDA=on"
# What the compiler is told until its tile instructions (AMX) work, in this order. GCC before 12.4
# and 13.3 takes the tiles' configuration for unused and does not write most of it (its bug 114098;
# the pass is called dse); llama.cpp then dies of the first tile instruction.
TILE_FLAGS = ("", "-fno-dse", "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16")
TILES = r"""
#ifdef __AMX_TILE__
#include <immintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
struct Shape { unsigned char start[16]; unsigned short bytes[16]; unsigned char rows[16]; };
__attribute__((noinline)) static void configure() {
    alignas(64) Shape shape = {};
    shape.start[0] = 1;
    shape.rows[0] = 16; shape.bytes[0] = 64;
    shape.rows[4] = 16; shape.bytes[4] = 64;
    _tile_loadconfig(&shape);
}
alignas(64) static unsigned char before[1024], after[1024];
int main() {
    if (syscall(SYS_arch_prctl, 0x1023, 18)) return 0;  // not permitted: llama.cpp goes without
    for (int i = 0; i < 1024; i++) before[i] = i * 7;
    configure();
    for (int i = 0; i < 10; i++) {  // they must outlive that others have the core
        _tile_loadd(4, before, 64);
        usleep(1000);
        _tile_zero(0);
        _tile_stored(4, after, 64);
        if (memcmp(before, after, 1024)) return 1;
    }
    return 0;
}
#else
int main() { return 0; }
#endif
"""


@dataclass(frozen=True)
class Build:
    """``variables`` are added to the environment of the build."""

    variables: Mapping[str, str]
    for_cuda: bool = False
    without_card: bool = False
    without_tiles: bool = False

    @property
    def key(self) -> str:
        """Names this way of building; empty for the plain one."""
        told = json.dumps(dict(self.variables), sort_keys=True)
        return hashlib.sha256(told.encode()).hexdigest()[:16] if self.variables else ""


def choose(environment: Mapping[str, str], root: Path = Path("/")) -> Build:
    """What the person has set stays; nvcc and an NVIDIA card mean a build for it. Raises
    ``Refusal`` where no C++ compiler works."""
    compiler = find_compiler(environment)
    variables = {name: environment[name] for name in READ if environment.get(name)}
    nvcc = shutil.which("nvcc", path=environment.get("PATH", os.defpath))
    unasked = bool(nvcc) and "CMAKE_ARGS" not in variables
    has_card = (root / "proc/driver/nvidia/version").exists()
    if unasked and has_card:
        variables["CMAKE_ARGS"] = WITH_CUDA
    flags = tile_flags(compiler)
    for name in ("CFLAGS", "CXXFLAGS") if flags else ():
        variables[name] = f"{flags} {variables.get(name, '')}".strip()
    return Build(
        variables,
        for_cuda=unasked and has_card,
        without_card=unasked and not has_card,
        without_tiles=flags == TILE_FLAGS[-1],
    )


def find_compiler(environment: Mapping[str, str]) -> str:
    """Path of a C++ compiler that turns a small program into an object file. Raises
    ``Refusal``."""
    for name in filter(None, (environment.get("CXX"), *COMPILERS)):
        found = shutil.which(name.split()[0], path=environment.get("PATH", os.defpath))
        if found and _ends_well([found, "-x", "c++", "-c", "-o", os.devnull, "-"], SMALL):
            return found
    raise Refusal("no_compiler")


def tile_flags(compiler: str) -> str:
    """What the compiler must be told so that its native code runs here, as far as tiles go: the
    last of ``TILE_FLAGS``, to make none, where nothing else helps."""
    with tempfile.TemporaryDirectory() as folder:
        trial = str(Path(folder) / "tiles")
        for flags in TILE_FLAGS[:-1]:
            command = [compiler, *flags.split(), "-x", "c++", "-O3", "-march=native", "-o", trial]
            compiled = _ends_well([*command, "-"], TILES)
            if _ends_well([trial]) if compiled else not flags:
                return flags  # or it knows nothing of native code, and so nothing of tiles
    return TILE_FLAGS[-1]


def _ends_well(command: list[str], words: str = "") -> bool:
    try:
        done = subprocess.run(  # noqa: S603 - own words
            command, input=words.encode(), capture_output=True, check=False, timeout=TRIAL_LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0

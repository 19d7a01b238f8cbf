"""What the bench is told and what it prints: sizes, prompts, tables, JSON, other tools' tables."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.bench import command_line, table
from tests.bench.client import Endpoint
from tests.bench.crowds import Short
from tests.bench.figures import spread
from tests.bench.load import Site, resize
from tests.bench.measuring import LOAD, Column, Row
from tests.bench.prompts import EXTENSIONS, Seed, body, turn
from tests.bench.references import speeds_of
from tests.bench.servers import CannotMeasure

MACHINE = {"cpu": "A processor", "cores": 2, "memory_gib": 24.0, "load_average": [0.5, 0.5, 0.5]}
ROW = Row(
    "short",
    "8 at once",
    [
        Column("konak", {"tokens/s": spread([180.0, 200.0, 190.0]), LOAD: spread([1.0])}, 24),
        Column(
            "llama-server",
            {"tokens/s": spread([95.0]), "first token p95, s": spread([math.inf]),
             LOAD: spread([2.0])},
            24, failed=2, errors=["HTTP 500"], notes=["the machine was busy"],
        ),
    ],
)  # fmt: skip
BENCH = """
main: n_kv_max = 2048, n_batch = 2048, n_ubatch = 512, flash_attn = -1, n_threads = 2

|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|    32 |     64 |    1 |     96 |    0.100 |   320.00 |    0.529 |   121.00 |    0.629 |   152.62 |
|    32 |     64 |    8 |    768 |    0.800 |   320.00 |    2.188 |   234.01 |    2.988 |   257.03 |

llama_perf_context_print:        load time =     100.00 ms
"""


def test_the_limit_is_read_from_the_table_of_llama_batched_bench() -> None:
    assert speeds_of(BENCH) == {1: 121.0, 8: 234.01}
    assert speeds_of("error: unable to load model") == {}


def test_the_table_compares_the_first_column_with_the_others() -> None:
    text = table.render([ROW], MACHINE)
    speed = next(line for line in text.splitlines() if line.startswith("  tokens/s"))
    assert speed.split("  ")[-1].strip() == "2.00"
    assert "190 (180 to 200)" in speed
    assert "2 of 24 failed: HTTP 500" in text and "the machine was busy" in text
    assert "never" in text


def test_what_describes_the_machine_is_not_compared() -> None:
    assert table.ratios(ROW) == {"llama-server": {"tokens/s": 2.0}}


def test_the_json_holds_every_run() -> None:
    whole = table.as_json([ROW], seed=7)
    (row,) = whole["rows"]
    assert whole["seed"] == 7
    assert row["servers"][0]["figures"]["tokens/s"]["values"] == (180.0, 200.0, 190.0)
    assert row["ratios"]["llama-server"]["tokens/s"] == 2.0


def test_prompts_are_the_same_for_the_same_seed_and_differ_from_the_first_word() -> None:
    def words(seed: int, run: int, user: int) -> str:
        return Seed(seed, "short").run(run).of("user", user).words(24)

    assert words(1, 1, 1) == words(1, 1, 1)
    beginnings = {words(s, r, u)[:40] for s in range(3) for r in range(3) for u in range(8)}
    assert len(beginnings) == 72
    assert len(words(1, 1, 1).split()) == 24


def test_a_case_keeps_its_seed_in_all_runs() -> None:
    case = Seed(1, "deep")
    assert case.run(1).of("user", 0).lasting.opaque == case.run(2).lasting.opaque
    assert case.run(1).opaque != case.run(2).opaque


def test_a_request_has_a_salt_of_its_user() -> None:
    alice, bob = Seed("alice"), Seed("bob")
    turns = [turn("user", "Hello.")]
    one, other = (body(user, turns, tokens=8) for user in (alice, bob))
    assert one["cache_salt"] == one["user"] != other["cache_salt"]
    assert one["ignore_eos"] and one["max_tokens"] == 8 and "public_turns" not in one
    assert body(alice, turns, tokens=8, public=1)["public_turns"] == 1
    assert set(EXTENSIONS) <= set(body(alice, turns, tokens=8, public=1))


def test_sizes_are_changed_by_name() -> None:
    assert resize(Short(), {"users": "2,4", "tokens": "9"}) == Short(users=(2, 4), tokens=9)
    assert resize(Short(), {"users": "4"}).users == (4,)


@pytest.mark.parametrize("sizes", [{"user": "4"}, {"tokens": "1,2"}, {"tokens": "many"}])
def test_sizes_that_mean_nothing_are_refused(sizes: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="short"):
        resize(Short(), sizes)


def test_loads_are_named() -> None:
    assert [load.name for load in command_line.loads(["long", "short"], [])] == ["long", "short"]
    assert len(command_line.loads([], [])) == 11
    (load,) = command_line.loads(["short"], ["short.tokens=5"])
    assert isinstance(load, Short) and load.tokens == 5


@pytest.mark.parametrize(
    ("names", "sizes"),
    [(["shorts"], []), ([], ["short.tokens"]), ([], ["tokens=5"]), (["short"], ["short.x=5"])],
)
def test_what_is_not_understood_is_refused(names: list[str], sizes: list[str]) -> None:
    with pytest.raises(CannotMeasure):
        command_line.loads(names, sizes)


def test_peers_must_be_known_and_there(tmp_path: Path) -> None:
    program = tmp_path / "llama-server"
    program.touch()
    assert len(command_line.peers([f"llama-server={program}"])) == 1
    for wrong in (f"other={program}", "llama-server", f"llama-server={tmp_path / 'none'}"):
        with pytest.raises(CannotMeasure):
            command_line.peers([wrong])


def test_every_load_tells_what_it_needs_and_has_cases() -> None:
    for load in command_line.loads([], []):
        needs, cases = load.needs(), load.cases()
        assert needs.slots >= 1 and needs.context >= 256
        assert cases and len({case.label for case in cases}) == len(cases)


def test_a_plain_request_has_only_what_openai_has() -> None:
    asked = body(Seed("alice"), [turn("user", "Hello.")], tokens=8, public=1)
    site = Site("server", Endpoint(), "m", plain=True, extra={"logit_bias": {"2": -1000.0}})
    sent = site.words(asked)
    assert not set(EXTENSIONS) & set(sent)
    assert (sent["model"], sent["max_tokens"]) == ("m", 8)
    assert sent["logit_bias"] == {"2": -1000.0}


def test_a_model_must_be_one(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    with pytest.raises(CannotMeasure, match="no file"):
        command_line.model(file)
    file.write_bytes(b"PK")
    with pytest.raises(CannotMeasure, match="not a GGUF"):
        command_line.model(file)
    file.write_bytes(b"GGUF")
    assert command_line.model(file) == file

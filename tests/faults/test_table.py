"""What a reader heard nothing of, and for how long, is counted where the fault is to blame."""

from __future__ import annotations

from tests.faults import table
from tests.faults.checker import Broken
from tests.faults.record import Fault, Sight
from tests.faults.voices import LONG_WINDED, TAG, asked_for, choir, question


def sight(*times: float) -> Sight:
    return Sight("answer", grew=[(at, n) for n, at in enumerate(times)])


def test_a_kill_counts_from_itself() -> None:
    fault = Fault("kill web", began_at=10.0, healed_at=10.0, over_at=20.0)
    assert table.silence(sight(9.0, 9.5, 12.5, 13.0), fault) == 2.5


def test_a_freeze_counts_from_its_end() -> None:
    fault = Fault("freeze web", began_at=10.0, healed_at=15.0, over_at=20.0)
    assert table.silence(sight(9.9, 15.5, 15.6), fault) == 0.5
    # What the house does for itself while somebody is frozen counts as it is.
    assert table.silence(sight(9.9, 11.9, 15.1, 15.2), fault) == 2.0


def test_what_did_not_meet_the_fault_is_not_counted() -> None:
    fault = Fault("kill web", began_at=10.0, healed_at=10.0, over_at=20.0)
    assert table.silence(sight(1.0, 9.0), fault) is None
    assert table.silence(sight(11.0, 19.0), fault) is None
    assert table.silence(sight(), fault) is None
    assert table.silence(sight(9.5, 10.25, 19.75, 29.0), fault) == 9.5  # the rest is another's


def test_the_table_names_what_is_broken_and_its_seed() -> None:
    row = table.Row("kill web", 3.0, 2, [0.1], [1.0, 4.0], [0.5], [2.0, 3.0])
    told = table.render({"kill web": row}, [Broken("one final state", "run 1 ended twice", 7)])
    assert "| kill web | 2 | 0.10 |" in told and "1 of 2" in told
    assert told.endswith(
        "2 faults, 1 broken invariants\none final state (seed 7): run 1 ended twice"
    )


def test_the_choir_says_nothing_twice() -> None:
    voices = choir(words=60, pace=20.0)
    for letter, voice in voices.items():
        words = voice.text.split()
        assert len(set(words)) == len(words)
        assert all(word.startswith(letter) for word in words)
        assert ("\n\n" in voice.text) == (letter not in {*LONG_WINDED, "z"})
        assert abs(voice.seconds(len(voice.letters)) - len(voice.pieces) / 20.0) < 1e-9
        asked = question(letter, "q0123456789ab")
        assert asked_for(asked) == letter and TAG.search(asked)

"""The checker finds every invariant's breach: a lap in which all is well, spoilt in one place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.faults import voices
from tests.faults.checker import INVARIANTS, check
from tests.faults.record import Fault, Log, Look, Post, Sight, spoken
from tests.faults.rows import Entry, Fold, Message, Move, Rows, Run
from tests.faults.voices import squeezed

CHOIR = voices.choir(words=40, pace=20.0)
TEXT = CHOIR["a"].text
LETTERS = CHOIR["a"].letters
TAG = "q0123456789ab"
Lap = tuple[Log, Rows]


def well() -> Lap:
    """One question asked twice at once, killed in the middle, written on, read to its end."""
    log = Log(seed=7)
    log.posts = [Post("ask", "question", 1.0, TAG, "a", 2, 1.1, True)]
    sight = Sight("answer")
    for at, length in ((2.0, 40), (3.0, 80), (9.0, len(LETTERS))):
        sight.show(at, LETTERS[:length], least=0)
    sight.state, sight.ended_at = "done", 9.1
    log.sights = [sight]
    log.looks = [Look(3.0, "a stranger", "GET /answers/answer/", opened=False)]
    log.faults = [Fault("kill runner", 3.0, 3.0, 9.5, 0.4, {TAG: 84}, {TAG: 80})]
    rows = Rows(
        messages=[
            Message("question", "c", "o", None, "user", voices.question("a", TAG)),
            Message("answer", "c", "o", "question", "assistant", TEXT),
        ],
        runs=[Run("run", "answer", "done", "", 2, True, False)],
        moves=[
            Move("run", "queued", "running", 1),
            Move("run", "running", "running", 2),
            Move("run", "running", "done", 2),
        ],
        folds=[Fold("run", 5, 1, 5)],
        entries=[Entry("message.asked", "question"), Entry("session.started", "somebody")],
    )
    return log, rows


def test_a_lap_in_which_all_is_well() -> None:
    assert check(*well(), CHOIR) == []


def early_reply(log: Log, rows: Rows) -> None:
    log.posts[0].stored_then = False


def lost_message(log: Log, rows: Rows) -> None:
    rows.messages.clear()
    log.sights.clear()


def doubled_message(log: Log, rows: Rows) -> None:
    copy = Message("again", "c2", "o", None, "user", voices.question("a", TAG))
    rows.messages += [copy, Message("reply", "c2", "o", "again", "assistant", "")]


def doubled_answer(log: Log, rows: Rows) -> None:
    rows.messages.append(Message("other", "c", "o", "question", "assistant", TEXT))


def gap_in_the_watch(log: Log, rows: Rows) -> None:
    rows.gaps.append("run run has 3 chunks from 1 to 4")


def gap_at_the_end(log: Log, rows: Rows) -> None:
    rows.folds[0].count = 4


def second_end(log: Log, rows: Rows) -> None:
    rows.moves.append(Move("run", "running", "interrupted", 2))


def step_out_of_an_end(log: Log, rows: Rows) -> None:
    rows.moves += [Move("run", "done", "running", 3), Move("run", "running", "done", 3)]


def run_without_an_end(log: Log, rows: Rows) -> None:
    rows.runs[0].state, rows.runs[0].ended = "running", False


def chunks_left(log: Log, rows: Rows) -> None:
    rows.chunks = 3


def fenced_owner_is_back(log: Log, rows: Rows) -> None:
    rows.moves[2].attempt = 1


def expired_lease(log: Log, rows: Rows) -> None:
    rows.overdue.append("run run is owned by nobody since 16.0 s")


def act_without_audit(log: Log, rows: Rows) -> None:
    del rows.entries[0]


def act_recorded_twice(log: Log, rows: Rows) -> None:
    rows.entries.append(Entry("message.asked", "question"))


def audit_without_act(log: Log, rows: Rows) -> None:
    rows.entries.append(Entry("answer.retried", "nothing"))


def run_nobody_recorded(log: Log, rows: Rows) -> None:
    rows.runs.append(Run("more", "answer", "done", "", 1, True, False))
    rows.moves.append(Move("more", "running", "done", 1))


def stop_without_audit(log: Log, rows: Rows) -> None:
    rows.runs[0].stop_requested = True


def doubled_piece(log: Log, rows: Rows) -> None:
    rows.messages[1].text = TEXT[:100] + TEXT[95:]
    log.sights.clear()


def lost_piece(log: Log, rows: Rows) -> None:
    rows.messages[1].text = TEXT[:50] + TEXT[55:]
    log.sights.clear()


def reordered_pieces(log: Log, rows: Rows) -> None:
    rows.messages[1].text = TEXT[:50] + TEXT[55:60] + TEXT[50:55] + TEXT[60:]
    log.sights.clear()


def anothers_text(log: Log, rows: Rows) -> None:
    rows.messages[1].text = CHOIR["b"].text
    log.sights.clear()


def done_too_early(log: Log, rows: Rows) -> None:
    rows.messages[1].text = TEXT[:60]
    log.sights.clear()


def page_jumped_back(log: Log, rows: Rows) -> None:
    log.sights[0].show(9.2, LETTERS[:20], least=21)


def page_showed_anothers(log: Log, rows: Rows) -> None:
    log.sights[0].text = CHOIR["b"].letters


def seen_and_gone(log: Log, rows: Rows) -> None:
    rows.messages[1].text = TEXT[:60]
    rows.runs[0].state = rows.moves[2].new = "stopped"
    rows.runs[0].stop_requested = True
    rows.entries.append(Entry("answer.stopped", "answer"))
    log.sights[0].ended_at = None


def answer_gone(log: Log, rows: Rows) -> None:
    log.sights.append(Sight("nowhere"))


def two_seconds_lost(log: Log, rows: Rows) -> None:
    log.faults[0].generated[TAG] = 160


def page_without_the_end(log: Log, rows: Rows) -> None:
    log.sights[0].text = LETTERS[:-4]


def answer_without_end(log: Log, rows: Rows) -> None:
    log.stuck.append("answer answer came to no end")


def house_never_well(log: Log, rows: Rows) -> None:
    log.faults[0].well_after_s = None


def open_door(log: Log, rows: Rows) -> None:
    log.looks[0].opened = True


def somebody_signed_out(log: Log, rows: Rows) -> None:
    log.signed_out.append("the reader")


BREACHES: dict[Callable[[Log, Rows], None], str] = {
    early_reply: "committed before its 2xx",
    lost_message: "no acknowledged message is lost",
    doubled_message: "one action is one message",
    doubled_answer: "one action is one message",
    gap_in_the_watch: "deltas have no gap",
    gap_at_the_end: "deltas have no gap",
    second_end: "one final state",
    step_out_of_an_end: "one final state",
    run_without_an_end: "one final state",
    chunks_left: "one final state",
    fenced_owner_is_back: "owners follow one another",
    expired_lease: "no lease stays expired",
    act_without_audit: "act and audit together",
    act_recorded_twice: "act and audit together",
    audit_without_act: "act and audit together",
    run_nobody_recorded: "act and audit together",
    stop_without_audit: "act and audit together",
    doubled_piece: "every answer is its script",
    lost_piece: "every answer is its script",
    reordered_pieces: "every answer is its script",
    anothers_text: "every answer is its script",
    done_too_early: "every answer is its script",
    page_jumped_back: "what was seen is kept",
    page_showed_anothers: "what was seen is kept",
    seen_and_gone: "what was seen is kept",
    answer_gone: "what was seen is kept",
    two_seconds_lost: "no fault loses a second",
    page_without_the_end: "every page saw the end",
    answer_without_end: "every page saw the end",
    house_never_well: "every page saw the end",
    open_door: "nothing is readable by anyone new",
    somebody_signed_out: "nothing is readable by anyone new",
}


@pytest.mark.parametrize("spoil", BREACHES, ids=lambda spoil: spoil.__name__)
def test_a_breach_is_found(spoil: Callable[[Log, Rows], None]) -> None:
    log, rows = well()
    spoil(log, rows)
    found = check(log, rows, CHOIR)
    assert BREACHES[spoil] in {broken.invariant for broken in found}
    assert all(broken.seed == 7 and broken.what in str(broken) for broken in found)


def test_every_invariant_has_a_breach() -> None:
    names = {invariant.__name__.replace("_", " ") for invariant in INVARIANTS}
    assert set(BREACHES.values()) == names


def test_a_poll_older_than_a_frame_is_no_tear() -> None:
    sight = Sight("answer")
    for text in ("abcdef", "abcd", "abcdefgh"):
        sight.show(1.0, text, least=3)
    assert sight.torn is None and squeezed("ab cd\n") == "abcd"
    sight.show(2.0, "abcde", least=6)
    assert sight.torn == (2.0, "abcdefgh", "abcde")


def test_what_was_said_for_an_earlier_answer_is_not_said_for_this_one() -> None:
    written = "1.0 a 0\n1.2 a 40\n1.5 b 7\n2.0 a 0\n2.1 a 3\n2.5 b 9\n"
    assert spoken(written, {"a": 0.9, "b": 1.4}, 1.9) == {"a": 40, "b": 7}
    assert spoken(written, {"a": 1.7, "b": 1.4}, 1.9) == {"b": 7}, "it has not been begun"
    assert spoken(written, {"a": 1.7, "b": 1.4}, 3.0) == {"a": 3, "b": 9}

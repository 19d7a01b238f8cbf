"""The invariants: each joins the log of a lap with the rows and names what contradicts it.

Pure functions over plain values. A generator yields one sentence for each contradiction.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tests.faults.record import Log, Post, Sight
from tests.faults.rows import Message, Rows, Run
from tests.faults.voices import Voice, squeezed

MOST_LOST_S = 1.0
FINAL = {"done", "stopped", "failed", "interrupted"}
LEGAL = {
    ("queued", "running"), ("running", "running"), ("running", "queued"),
    *((old, new) for old in ("queued", "running") for new in FINAL),
}  # fmt: skip
NEW_RUNS = {"answer.retried", "answer.regenerated"}
NEW_QUESTIONS = {"message.asked", "message.edited"}


@dataclass(frozen=True)
class Broken:
    """An invariant that did not hold, and the seed that shows it."""

    invariant: str
    what: str
    seed: int

    def __str__(self) -> str:
        return f"{self.invariant} (seed {self.seed}): {self.what}"


class Joined:
    """Log and rows, looked up both ways. ``voices`` says what each answer had to become."""

    def __init__(self, log: Log, rows: Rows, voices: Mapping[str, Voice]) -> None:
        self.log, self.rows, self.voices = log, rows, voices
        self.messages = {message.id: message for message in rows.messages}
        self.asks = {post.id: post for post in log.posts if post.deed == "ask"}
        self.runs: dict[str, list[Run]] = defaultdict(list)
        for run in rows.runs:
            self.runs[run.answer].append(run)
        self.answers: dict[str, list[Message]] = defaultdict(list)
        for message in rows.messages:
            if message.role == "assistant" and message.parent:
                self.answers[message.parent].append(message)
        self.ledger = Counter((entry.verb, entry.about) for entry in rows.entries)

    def entries(self, verbs: set[str], about: str) -> int:
        """How often the ledger says one of these of this object."""
        return sum(self.ledger[verb, about] for verb in verbs)

    def during(self, at: float) -> str:
        """Which fault the house suffered just then."""
        hit = [f.kind for f in self.log.faults if f.began_at <= at <= (f.over_at or at)]
        return f" during {hit[-1]}" if hit else ""

    def asked_for(self, answer: Message) -> Post | None:
        """The question this answers, as its person sent it."""
        return self.asks.get(answer.parent or "")

    def voice_of(self, answer: Message) -> Voice | None:
        """What the answer had to become."""
        post = self.asked_for(answer)
        return self.voices.get(post.letter) if post else None


Check = Callable[[Joined], Iterator[str]]


def committed_before_its_2xx(it: Joined) -> Iterator[str]:
    """Whoever read a 2xx finds the message in the database at that moment, and for ever."""
    for post in it.asks.values():
        if post.acknowledged_at is not None and post.stored_then is False:
            yield f"question {post.id} was acknowledged and not yet stored"


def no_acknowledged_message_is_lost(it: Joined) -> Iterator[str]:
    """What was acknowledged is there, word for word."""
    for post in it.log.posts:
        if post.deed == "regenerate" and post.acknowledged_at and post.id not in it.messages:
            yield f"answer {post.id} was promised and is not there"
    for post in it.asks.values():
        if post.acknowledged_at is None:
            continue
        message = it.messages.get(post.id)
        if message is None:
            yield f"question {post.id} was acknowledged and is gone"
        elif post.tag != message.tag:
            yield f"question {post.id} has another text than was sent"


def one_action_is_one_message(it: Joined) -> Iterator[str]:
    """However often it was sent: one question, and an answer for it; a retry may add siblings."""
    for tag, count in Counter(m.tag for m in it.rows.messages if m.tag).items():
        if count > 1:
            yield f"question {tag} is there {count} times"
    for message in it.rows.messages:
        if message.role != "user":
            continue
        if message.id not in it.asks:
            yield f"question {message.id} was never sent"
        answers = it.answers[message.id]
        begun = [a for a in answers if not it.entries(NEW_RUNS, a.id)]
        again = sum(it.entries(NEW_RUNS, a.id) > 0 for a in answers)
        if not answers or len(begun) > 1 or len(answers) > 1 + again:
            yield f"question {message.id} has {len(answers)} answers"


def deltas_have_no_gap(it: Joined) -> Iterator[str]:
    """Chunks count from 1 without a hole, while a run writes and when it ends."""
    yield from it.rows.gaps
    for fold in it.rows.folds:
        if fold.least != 1 or fold.most != fold.count:
            yield f"run {fold.run} ended with {fold.count} chunks from {fold.least} to {fold.most}"


def one_final_state(it: Joined) -> Iterator[str]:
    """Every step is legal, nothing follows an end, and every run has one."""
    ends = Counter(move.run for move in it.rows.moves if move.new in FINAL)
    for move in it.rows.moves:
        if (move.old, move.new) not in LEGAL:
            yield f"run {move.run} went from {move.old} to {move.new}"
    for run in it.rows.runs:
        if run.state not in FINAL or not run.ended:
            yield f"run {run.id} is {run.state} when all is quiet"
        elif ends[run.id] != 1:
            yield f"run {run.id} ended {ends[run.id]} times"
    if it.rows.chunks:
        yield f"{it.rows.chunks} chunks are left when all is quiet"


def owners_follow_one_another(it: Joined) -> Iterator[str]:
    """``attempt`` only grows: an owner that was fenced off never comes back."""
    latest: dict[str, int] = defaultdict(int)
    for move in it.rows.moves:
        if move.attempt < latest[move.run]:
            yield f"run {move.run} went back to attempt {move.attempt}"
        latest[move.run] = move.attempt


def no_lease_stays_expired(it: Joined) -> Iterator[str]:
    """Nobody's run waits for an owner for more than 15 s."""
    yield from it.rows.overdue


def act_and_audit_together(it: Joined) -> Iterator[str]:
    """Each question, run and stop has its line in the ledger, and each line its act."""
    for message in it.rows.messages:
        count = it.entries(NEW_QUESTIONS, message.id)
        if count != (message.role == "user"):
            yield f"message {message.id} ({message.role}) was recorded {count} times as asked"
        if message.role != "assistant":
            continue
        begun = len(it.runs[message.id]) - it.entries(NEW_RUNS, message.id)
        if begun not in {0, 1}:
            yield f"answer {message.id} has {begun} runs more than the ledger knows"
        stopped = any(run.stop_requested or run.state == "stopped" for run in it.runs[message.id])
        if stopped != bool(it.entries({"answer.stopped"}, message.id)):
            yield f"answer {message.id}: stopped is {stopped}, and the ledger says otherwise"
    for verb, about in it.ledger:
        if verb in NEW_QUESTIONS | NEW_RUNS | {"answer.stopped"} and about not in it.messages:
            yield f"the ledger tells of {verb} of {about}, which is not there"


def every_answer_is_its_script(it: Joined) -> Iterator[str]:
    """Nothing lost in the middle, doubled, reordered or another's; whole where it is done."""
    for answer in it.rows.messages:
        voice = it.voice_of(answer) if answer.role == "assistant" else None
        runs = it.runs.get(answer.id, [])
        if voice is None or not runs:
            continue
        said = squeezed(answer.text)
        if not voice.letters.startswith(said):
            yield f"answer {answer.id} {_difference(voice.letters, said)}"
        elif voice.is_whole and any(r.state == "done" for r in runs) and said != voice.letters:
            yield f"answer {answer.id} is done after {len(said)} of {len(voice.letters)} letters"


def what_was_seen_is_kept(it: Joined) -> Iterator[str]:
    """A page's text is the script's, never jumps, and what it showed is in the end stored."""
    for sight in it.log.sights:
        answer = it.messages.get(sight.answer)
        voice = it.voice_of(answer) if answer else None
        if answer is None or voice is None:
            yield f"answer {sight.answer} was shown and is gone"
            continue
        if sight.torn:
            at, before, after = sight.torn
            yield f"answer {sight.answer} on a page {_difference(before, after)}{it.during(at)}"
        if not voice.letters.startswith(sight.text):
            yield f"answer {sight.answer} on a page {_difference(voice.letters, sight.text)}"
        lost_s = voice.seconds(len(sight.text) - len(squeezed(answer.text)))
        if lost_s > MOST_LOST_S:
            yield f"answer {sight.answer} lost {lost_s:.1f} s that a page had shown"


def no_fault_loses_a_second(it: Joined) -> Iterator[str]:
    """What the engine had said when the fault came was stored, but for at most one second."""
    for fault in it.log.faults:
        for tag, lost_s in lost_seconds(fault.generated, fault.stored, it).items():
            if lost_s > MOST_LOST_S:
                yield f"{fault.kind}: {lost_s:.2f} s of {tag} were not stored"


def every_page_saw_the_end(it: Joined) -> Iterator[str]:
    """Whoever stayed saw the whole answer; nobody waits for ever; new questions work."""
    yield from it.log.stuck
    for sight in it.log.sights:
        answer = it.messages.get(sight.answer)
        if answer and _whole(sight) and sight.text != squeezed(answer.text):
            difference = _difference(squeezed(answer.text), sight.text)
            yield f"answer {sight.answer} as a page left it {difference}"
    for fault in it.log.faults:
        if fault.well_after_s is None:
            yield f"{fault.kind}: new questions were not answered any more"


def nothing_is_readable_by_anyone_new(it: Joined) -> Iterator[str]:
    """A stranger finds every door shut, and nobody of the house is signed out."""
    for look in it.log.looks:
        if look.opened:
            yield f"{look.who} could open {look.what}"
    for who in it.log.signed_out:
        yield f"{who} was signed out"


INVARIANTS: tuple[Check, ...] = (
    committed_before_its_2xx,
    no_acknowledged_message_is_lost,
    one_action_is_one_message,
    deltas_have_no_gap,
    one_final_state,
    owners_follow_one_another,
    no_lease_stays_expired,
    act_and_audit_together,
    every_answer_is_its_script,
    what_was_seen_is_kept,
    no_fault_loses_a_second,
    every_page_saw_the_end,
    nothing_is_readable_by_anyone_new,
)


def check(log: Log, rows: Rows, voices: Mapping[str, Voice]) -> list[Broken]:
    """Every contradiction, in the order of the invariants; empty when all is well."""
    it = Joined(log, rows, voices)
    return [
        Broken(invariant.__name__.replace("_", " "), what, log.seed)
        for invariant in INVARIANTS
        for what in invariant(it)
    ]


def lost_seconds(
    generated: Mapping[str, int], stored: Mapping[str, int], it: Joined
) -> dict[str, float]:
    """Seconds of speech by tag that were said and not stored."""
    letters = {post.tag: post.letter for post in it.asks.values()}
    return {
        tag: max(0.0, it.voices[letters[tag]].seconds(generated[tag] - stored[tag]))
        for tag in generated.keys() & stored.keys() & letters.keys()
    }


def _whole(sight: Sight) -> bool:
    return sight.ended_at is not None


def _difference(right: str, wrong: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(right, wrong, strict=False)) if a != b), None)
    at = min(len(right), len(wrong)) if at is None else at
    said, meant = wrong[max(0, at - 12) : at + 16], right[max(0, at - 12) : at + 16]
    return f"goes wrong at letter {at} with {said!r}, not {meant!r}"

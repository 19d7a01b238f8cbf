"""Who computes how much in the next step, who waits, who makes room. Pure bookkeeping.

The one rule (as in vLLM's scheduler): there is no prefill and no decode phase. Every sequence has
known and computed tokens; a step closes the gaps within a budget. Users have equal shares, of
lanes as of steps, inside a class of priority. Lanes themselves are given by ``cache.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeVar

from engine_adapter.bundled.pace import GRAIN, Reading
from engine_adapter.bundled.portion import Portion
from engine_adapter.bundled.sequence import Sequence
from engine_adapter.bundled.shares import READ, WRITTEN, Shares
from engine_adapter.bundled.slots import Slots
from engine_adapter.errors import Overloaded

T = TypeVar("T")
_Key = Callable[[Sequence], tuple[int, int, int]]

AGED_S = 60.0  # after so long in line nobody is less urgent than priority 0
EXPECTED = 64  # tokens written by each request in line, to say who comes after whom


class Scheduler:
    """Sequences with a lane (``running``) and in line (``waiting``, who is next first)."""

    def __init__(self, *, slots: int, queue: int) -> None:
        self.slots = Slots(slots)
        self.queue = queue
        self.running: list[Sequence] = []
        self.waiting: list[Sequence] = []
        self._shares = Shares()
        self._arrivals = 0
        self._steps = 0

    # ---- coming and going -------------------------------------------------------------------

    def submit(self, sequence: Sequence) -> None:
        """Put a new sequence in line. Raises ``Overloaded`` when the line is full."""
        if len(self.waiting) >= self.queue + self.slots.free:
            raise Overloaded("The engine's waiting line is full.")
        self._arrivals += 1
        sequence.arrival = self._arrivals
        self.waiting.append(sequence)
        self._shares.join(sequence.user)

    def admit(self, sequence: Sequence) -> None:
        """The sequence, until now in line, has got a lane."""
        if sequence.slot is None:
            raise ValueError("only who has a lane runs")
        self.waiting.remove(sequence)
        self.running.append(sequence)
        self._shares.charge(sequence.user, READ * sequence.gap)

    def set_aside(self, sequence: Sequence) -> None:
        """The sequence, until now running, has lost its lane and waits again."""
        if sequence.slot is not None:
            raise ValueError("who has a lane still runs")
        self.running.remove(sequence)
        self.waiting.append(sequence)

    def finish(self, sequence: Sequence) -> None:
        """Forget the sequence."""
        (self.running if sequence in self.running else self.waiting).remove(sequence)
        self._shares.leave(sequence.user)

    def charge_written(self, sequence: Sequence) -> None:
        """The sequence has drawn a token."""
        self._shares.charge(sequence.user, WRITTEN)

    # ---- the line ---------------------------------------------------------------------------

    def order(self, now: float) -> None:
        """Sort the line: by class, then whose user had least so far and has least before it in
        line, then by arrival."""
        spent: dict[str, float] = {}
        tags: dict[int, float] = {}
        for sequence in sorted(self.waiting, key=lambda s: (_urgency(s, now), s.arrival)):
            user = sequence.user
            tags[sequence.id] = spent.get(user, self._shares.spent(user))
            cost = READ * sequence.gap + WRITTEN * min(sequence.room, EXPECTED)
            spent[user] = tags[sequence.id] + cost
        self.waiting.sort(key=lambda s: (_urgency(s, now), tags[s.id], s.arrival))

    def displaced_by(self, newcomer: Sequence) -> Sequence | None:
        """Whose lane ``newcomer`` may have though it is not free: somebody's of a later class,
        or of a user who holds more than a fair share while the newcomer's holds less."""
        held = Counter(sequence.user for sequence in self.running)
        users = {sequence.user for sequence in self.running} | {newcomer.user}
        share = max(1, self.slots.total // len(users))

        def may_go(sequence: Sequence) -> bool:
            if sequence.priority != newcomer.priority:
                return sequence.priority > newcomer.priority
            return held[sequence.user] > share > held[newcomer.user]

        return max(filter(may_go, self.running), key=self._victim_key(held), default=None)

    def victim(self) -> Sequence:
        """Whom to set aside when memory is short: least urgent, of who holds most, latest come."""
        held = Counter(sequence.user for sequence in self.running)
        return max(self.running, key=self._victim_key(held))

    @staticmethod
    def _victim_key(held: Counter[str]) -> _Key:
        return lambda sequence: (sequence.priority, held[sequence.user], sequence.arrival)

    # ---- a step -----------------------------------------------------------------------------

    def writers(self) -> list[Sequence]:
        """Who draws a token in the next step.

        Everybody with a gap of one; but while another user's prompt is being read, those whose
        user writes more than a fair share take turns.
        """
        writers = [sequence for sequence in self.running if sequence.gap == 1]
        readers = {sequence.user for sequence in self.running if sequence.gap > 1}
        count = Counter(sequence.user for sequence in writers)
        share = max(1, self.slots.total // max(1, len(readers | count.keys())))
        excess = {user for user in count if count[user] > share and readers - {user}}
        if not excess:
            return writers
        turns: Counter[str] = Counter()
        chosen = []
        for sequence in sorted(writers, key=lambda s: s.served):
            turns[sequence.user] += 1
            if sequence.user not in excess or turns[sequence.user] <= share:
                chosen.append(sequence)
        return chosen

    def reading(self, writers: list[Sequence]) -> Reading:
        """What is read beside ``writers``. Whoever is less urgent than they makes nobody wait."""
        readers = [sequence for sequence in self.running if sequence.gap > 1]
        most = min((writer.priority for writer in writers), default=0)
        waiting = {reader.user for reader in readers if reader.priority <= most}
        users = max(1, len({writer.user for writer in writers}))
        longest = max((reader.gap for reader in readers), default=0)
        return Reading(len(readers), longest, len(waiting) / users)

    def plan(self, writers: list[Sequence], prompt_tokens: int) -> list[Portion]:
        """The next step: each of ``writers`` one token, prompts ``prompt_tokens`` together.

        The most urgent class reads first; in it users share evenly and so do one user's prompts,
        and what a short one leaves goes to the others. Long ones take turns where there is not
        enough for all. No portion passes a mark.
        """
        self._steps += 1
        portions = [Portion(sequence, sequence.computed, 1) for sequence in writers]
        left = prompt_tokens
        prompts = _taking_turns([s for s in self.running if s.gap > 1], prompt_tokens)
        for priority in sorted({sequence.priority for sequence in prompts}):
            by_user: dict[str, list[Sequence]] = {}
            for sequence in prompts:
                if sequence.priority == priority:
                    by_user.setdefault(sequence.user, []).append(sequence)
            wants = {user: sum(map(_portion, theirs)) for user, theirs in by_user.items()}
            for user, quota in _share_out(left, wants):
                sizes = {sequence: _portion(sequence) for sequence in by_user[user]}
                for sequence, count in _share_out(quota, sizes):
                    if count:
                        portions.append(Portion(sequence, sequence.computed, count))
                        left -= count
        for portion in portions:
            portion.sequence.served = self._steps
        return portions

    def check_integrity(self) -> None:
        """Raise ``RuntimeError`` unless the books balance."""
        self.slots.check_integrity()
        if len(self.running) + self.slots.free != self.slots.total:
            raise RuntimeError(f"{len(self.running)} run, {self.slots.free} slots are free")
        if any(sequence.slot is not None for sequence in self.waiting):
            raise RuntimeError("a waiting sequence holds a slot")
        users = {sequence.user for sequence in [*self.running, *self.waiting]}
        if len(users) != self._shares.users:
            raise RuntimeError(f"{self._shares.users} users have shares, {len(users)} are here")


def _urgency(sequence: Sequence, now: float) -> int:
    aged = now - sequence.arrived_at > AGED_S
    return min(sequence.priority, 0) if aged else sequence.priority


def _portion(sequence: Sequence) -> int:
    """What the sequence can read at most in one step."""
    upto = sequence.marks[0] if sequence.marks else len(sequence.known)
    return min(upto, len(sequence.known)) - sequence.computed


def _taking_turns(prompts: list[Sequence], tokens: int) -> list[Sequence]:
    """All short ones, and so many of the long ones that each gets a good portion: of the most
    urgent class, whose user and then which of the user's was not served for longest."""
    most = max(1, tokens // GRAIN)
    long = [sequence for sequence in prompts if _portion(sequence) >= GRAIN]
    if len(long) <= most:
        return prompts
    long.sort(key=lambda s: s.served)
    users: dict[str, int] = {}
    for sequence in long:
        users[sequence.user] = max(sequence.served, users.get(sequence.user, 0))
    place: Counter[str] = Counter()
    keys: dict[Sequence, tuple[int, int, int]] = {}
    for sequence in long:
        keys[sequence] = sequence.priority, place[sequence.user], users[sequence.user]
        place[sequence.user] += 1
    resting = set(sorted(long, key=keys.__getitem__)[most:])
    return [sequence for sequence in prompts if sequence not in resting]


def _share_out(total: int, wants: Mapping[T, int]) -> list[tuple[T, int]]:
    """``total`` among those who want some: evenly, the modest first, so that what they leave
    goes to the others. Equal portions are computed together, each other length by itself."""
    shares = []
    for done, (who, wanted) in enumerate(sorted(wants.items(), key=lambda item: item[1])):
        share = min(wanted, total, max(1, total // (len(wants) - done)))
        shares.append((who, share))
        total -= share
    return shares

"""What each user has had of the engine, so that everybody gets as much. Knows no slots.

The virtual token counter of Sheng et al., "Fairness in Serving Large Language Models" (OSDI 2024,
arXiv 2401.00588): who has been served least is served next; who was away does not come back with
credit.
"""

from __future__ import annotations

from collections import Counter

READ, WRITTEN = 1.0, 2.0  # the paper's weights: a token written costs a step, one read a part of it
REMEMBERED = 4096  # users that are away


class Shares:
    """A counter a user. ``join`` and ``leave`` bracket each of a user's requests."""

    def __init__(self) -> None:
        self._spent: dict[str, float] = {}
        self._present: Counter[str] = Counter()

    def join(self, user: str) -> None:
        """One more request of this user. Who was away is lifted to the least of those present."""
        if not self._present[user]:
            least = min((self._spent[other] for other in +self._present), default=0.0)
            self._spent[user] = max(self._spent.pop(user, 0.0), least)
        self._present[user] += 1

    def leave(self, user: str) -> None:
        """One request less. Some of those who are away stay known, so that nobody gains by
        going and coming back."""
        self._present[user] -= 1
        if self._present[user] > 0:
            return
        del self._present[user]
        if not self._present:
            self._spent.clear()  # all start even again
        elif len(self._spent) > REMEMBERED + len(self._present):
            away = next(user for user in self._spent if user not in self._present)
            del self._spent[away]

    def charge(self, user: str, tokens: float) -> None:
        """The user was served this much."""
        self._spent[user] += tokens

    def spent(self, user: str) -> float:
        """What the user, who must be present, was served."""
        return self._spent[user]

    @property
    def users(self) -> int:
        """How many users have a request here."""
        return len(self._present)

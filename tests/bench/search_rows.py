"""The million messages of ``deploy/bench search``: who wrote them, when, in which words."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from uuid import UUID

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
A_CONVERSATION = 20
YEARS_S = 2 * 365 * 86400
_SYLLABLES = (
    "ka le mü ve ki lı şı ğı çe di İs tan bul the of and re in on ar er ır dı ni ya ce gö "
    "söz mah ke me da va tab let dok tor re çe te has ta kan ser zi ra at or man ve kil"
)
_KANJI = "東京都大阪府北海道医療裁判所契約書診断病院法律銀行猫犬山川田中村上下左右前後"


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation: whose it is, when it began, how many messages it has."""

    id: UUID
    owner: UUID
    began: datetime
    messages: int


class Words:
    """Texts whose words are as unevenly common as those of people: the first is in half of them."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        made = {
            "".join(chance.choices(_SYLLABLES.split(), k=chance.randint(1, 5)))
            for _ in range(60_000)
        }
        self.all = sorted(made, key=lambda word: (len(word), word))
        self._weights = list(accumulate(1 / (rank + 8) for rank in range(len(self.all))))

    def text(self, least: int, most: int) -> str:
        """A text of so many words; one in thirty is in a script without spaces."""
        count = self._chance.randint(least, most)
        if not self._chance.randrange(30):
            return "".join(self._chance.choices(_KANJI, k=count)) + "。"
        words = self._chance.choices(self.all, cum_weights=self._weights, k=count)
        return " ".join(words).capitalize() + "."

    @staticmethod
    def kanji(chance: random.Random) -> str:
        """Two characters that may stand side by side."""
        return "".join(chance.choices(_KANJI, k=2))


def shares(people: int, messages: int) -> list[int]:
    """How many each of ``people`` wrote: the busiest some eight times as many as the quietest."""
    weights = [1 / (number + 10) ** 0.7 for number in range(people)]
    whole = sum(weights)
    return [max(1, round(messages * weight / whole)) for weight in weights]


def talks(owners: list[UUID], messages: int, chance: random.Random) -> list[Talk]:
    """Everybody's conversations, in the order in which they began."""
    found = []
    for owner, count in zip(owners, shares(len(owners), messages), strict=True):
        while count > 0:
            size = min(count, A_CONVERSATION)
            began = EPOCH - timedelta(seconds=chance.randrange(YEARS_S))
            found.append(Talk(_uuid(chance), owner, began, size))
            count -= size
    return sorted(found, key=lambda talk: talk.began)


def rows(
    talk: Talk, words: Words, chance: random.Random
) -> Iterator[tuple[UUID, UUID, UUID | None, str, str, datetime]]:
    """A talk's messages as columns: id, conversation, parent, role, text, created at."""
    parent = None
    for number in range(talk.messages):
        pk, answer = _uuid(chance), number % 2
        text = words.text(30, 180) if answer else words.text(5, 45)
        at = talk.began + timedelta(minutes=number)
        yield pk, talk.id, parent, "assistant" if answer else "user", text, at
        parent = pk


def _uuid(chance: random.Random) -> UUID:
    return UUID(int=chance.getrandbits(128), version=4)

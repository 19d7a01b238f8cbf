"""A block that is still being written, shown part by part: what is finished in it stays.

What a shape shows is for the moment; the finished block is rendered anew and in one piece.
"""

from __future__ import annotations

import re

from markdown_it.utils import EnvType

from chat.markdown import notes
from chat.markdown.reading import read, write

# A line that begins so goes on with the paragraph before it and is no block of another kind.
WORDS = re.compile(
    r" {0,3}(?:[^\W\d_]|[*_]{1,2}\w|[\"'(“‘«¿¡„]|`[^`]|\$[^$]|\d+[^\d.)]|[^\x00-\x7f\W])"
)
# A line that begins so begins a block, however it goes on.
STARTS = re.compile(r" {0,3}(?:[-+*] +[^\s*_+-]|1[.)] +\S|#{1,6} +\S|>)")


class Shape:
    """A block about which nothing is known but its text: it is rendered whole, each time.

    Others know where parts end, how one looks, and which line may be the last.
    """

    before = ""
    after = ""
    bare: tuple[str, str] = ("", "")  # what stands around text that nobody rendered yet
    marks: re.Pattern[str] = re.compile(r"[^\w\s,.;:()'\"/?%@=-]|\n")  # worth a look

    def __init__(self, definitions: EnvType) -> None:
        self._definitions = definitions

    def key(self) -> object:
        """Two shapes of the same key show the same block in the same way."""
        return type(self)

    def goes_on(self, line: str, *, whole: bool, after_blank: bool) -> bool:
        """Whether this line is certainly a part of the block."""
        return False

    def cut(self, rest: str) -> int:
        """How many characters of the rest are finished."""
        return 0

    def part(self, source: str) -> str:
        """Finished characters of the block as clean HTML."""
        return write(read(source), self._env(source))

    def rest(self, source: str) -> str:
        """What is not finished, as clean HTML. ``source`` may end within anything."""
        return self.part(source)

    def cost(self, source: str) -> int:
        """What rendering this source costs, in characters given to the parser."""
        return len(source) + 60

    def _env(self, source: str) -> EnvType:
        return notes.expecting(source, self._definitions)

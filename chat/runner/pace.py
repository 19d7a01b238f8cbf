"""How often the runner does what, in seconds."""

from typing import Final

# Half a word of English at 20 tokens a second. A reader sees no difference to a shorter one, and
# each tick costs a statement, a ring, and a frame a reader (README, "What an answer costs").
TICK_S: Final = 0.08
LEAST_TICK_S: Final = 0.02  # between two, however many first words are due
BREATH_S: Final = 0.005  # for what engines have said to be read, before it is stored
HEARTBEAT_S: Final = 2.0
CLAIM_S: Final = 1.0
LEAST_CLAIM_S: Final = 0.04  # between two; who asks alone is claimed at once
WATCH_S: Final = 0.5
LINE_S: Final = 1.0
LEAST_LINE_S: Final = 0.25  # between two tellings of the line
PLACES_S: Final = 1.0  # between two times that places are stored
CATALOGUE_S: Final = 15.0
CATALOGUE_SILENT_S: Final = 1.0
PATIENCE_S: Final = 5.0  # with an engine that is away
QUEUE_PATIENCE_S: Final = 120.0  # with an engine that is full
AWAY_S: Final = 0.5  # between two tries

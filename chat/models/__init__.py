"""The rows of conversations, answers being written, and the models that write them."""

from chat.models.arrivals import ModelArrival
from chat.models.catalogue import CapacityTest, Costs, EngineConnection, LanguageModel
from chat.models.conversations import (
    Chunk,
    Conversation,
    Folder,
    Generation,
    Message,
    Share,
    Starter,
)
from chat.models.gauges import GaugeMinute
from chat.models.versions import ModelVersion

__all__ = [
    "CapacityTest",
    "Chunk",
    "Conversation",
    "Costs",
    "EngineConnection",
    "Folder",
    "GaugeMinute",
    "Generation",
    "LanguageModel",
    "Message",
    "ModelArrival",
    "ModelVersion",
    "Share",
    "Starter",
]

"""Conversations from elsewhere: read a file that was exported, and move in all of it or nothing."""

from chat.domain.imports.moving import Report, move_in
from chat.domain.imports.reading import Unreadable, read

__all__ = ["Report", "Unreadable", "move_in", "read"]

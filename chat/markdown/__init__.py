"""Markdown to sanitised HTML, once for every surface: stream, history, share, export.

``render`` is for finished text. ``Live`` is for text that grows.
"""

from chat.markdown.live import Live
from chat.markdown.reading import render

__all__ = ["Live", "render"]

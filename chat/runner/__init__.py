"""The runner owns every answer that is being written: claims, streams, stores, tells.

Knows no page and no socket. A database that is away delays it; nothing written meanwhile is lost.
"""

from chat.runner.running import Runner

__all__ = ["Runner"]

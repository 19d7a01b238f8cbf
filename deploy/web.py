"""``python -m deploy.web``: the web processes. uvicorn, with what its command line cannot say."""

from __future__ import annotations

import argparse
import os
import socket
import sys

import uvicorn
from django.conf import settings

from deploy import memory
from deploy.family import Beat, Family

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deploy.settings")

# A page that takes nothing any more is dropped by the kernel; its buffers go with it.
STUCK_MS = 30_000
SWITCH_S = 0.001  # the loop, which everybody reads by, waits that long for a page's thread
TICKS_A_BEAT = 10  # uvicorn's, ten a second
SEND_BUFFER = 128 * 1024  # of a socket, in the kernel: some 300 frames


class Beating(uvicorn.Server):
    """A server whose loop calls ``beat`` every second as long as it turns."""

    def __init__(self, config: uvicorn.Config, beat: Beat) -> None:
        super().__init__(config)
        self._beat = beat

    async def on_tick(self, counter: int) -> bool:
        """See ``uvicorn.Server``; true when it is to end."""
        if counter % TICKS_A_BEAT == 0:
            self._beat()
        return await super().on_tick(counter)


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m deploy.web", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    sys.setswitchinterval(SWITCH_S)
    config = uvicorn.Config(
        "deploy.asgi:application",
        host=options.host,
        port=options.port,
        ws="websockets-sansio",
        # The longest question of a temporary chat, each character as JSON's longest escape.
        ws_max_size=settings.MESSAGE_MAX_CHARS * 6 + 8_192,
        # Compressing each frame of each page costs more than all else that is done for it.
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=3,
        server_header=False,
        proxy_headers=False,
        access_log=False,
        log_level="warning",
    )
    # Before the second that loading takes: who comes back after a crash waits in line meanwhile,
    # instead of being refused and staying away for longer each time.
    listener = listen(config)
    config.load()
    memory.settle()
    # One alone has a parent too, which notices when it stands still.
    size = int(settings.WEB_PROCESSES)
    Family(size, lambda beat: Beating(config, beat).run(sockets=[listener])).run()


def listen(config: uvicorn.Config) -> socket.socket:
    """The socket to serve on, which lets people stand in line from now on; what it accepts holds
    little for a reader that takes nothing."""
    listener = config.bind_socket()
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STUCK_MS)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    listener.listen(config.backlog)
    return listener


if __name__ == "__main__":
    main()

"""``python -m deploy.web``: the web process. uvicorn, with what its command line cannot say."""

from __future__ import annotations

import argparse
import socket
import sys

import uvicorn

from deploy import memory

# A page that takes nothing any more is dropped by the kernel; its buffers go with it.
STUCK_MS = 30_000
SWITCH_S = 0.001  # the loop, which everybody reads by, waits that long for a page's thread
SEND_BUFFER = 128 * 1024  # of a socket, in the kernel: some 300 frames


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """The application is loaded by now."""
        await super().startup(sockets)
        memory.settle()


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
        ws_max_size=65_536,
        # Compressing each frame of each page costs more than all else that is done for it.
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=3,
        server_header=False,
        proxy_headers=False,
        access_log=False,
        log_level="warning",
    )
    _Server(config).run(sockets=[listen(config)])


def listen(config: uvicorn.Config) -> socket.socket:
    """The socket to serve on; what it accepts holds little for a reader that takes nothing."""
    listener = config.bind_socket()
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STUCK_MS)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    return listener


if __name__ == "__main__":
    main()

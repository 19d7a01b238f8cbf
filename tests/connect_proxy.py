"""A proxy that knows only CONNECT and leads every name to one place; or says what it is told to."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Proxy:
    """A running proxy. ``asked`` are the heads it saw, ``says`` the beginning of its reply."""

    url: str
    asked: list[str] = field(default_factory=list)
    says: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n"


@contextlib.contextmanager
def open_proxy(port: int) -> Iterator[Proxy]:
    """A proxy that connects to ``port`` of this machine, whoever is asked for."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        proxy = Proxy(f"http://127.0.0.1:{door.getsockname()[1]}")

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=talk, args=(door.accept()[0],), daemon=True).start()

        def talk(peer: socket.socket) -> None:
            with peer, contextlib.suppress(OSError):
                head = b""
                while b"\r\n\r\n" not in head and (more := peer.recv(4096)):
                    head += more
                proxy.asked.append(head.decode())
                peer.sendall(proxy.says)
                if b" 200 " in proxy.says:
                    with socket.create_connection(("127.0.0.1", port)) as there:
                        back = threading.Thread(target=carry, args=(there, peer), daemon=True)
                        back.start()
                        carry(peer, there)
                        back.join()

        serving = threading.Thread(target=serve)
        serving.start()
        try:
            yield proxy
        finally:
            door.shutdown(socket.SHUT_RDWR)
            serving.join()


def carry(one: socket.socket, other: socket.socket) -> None:
    """What one side says, until it is done."""
    with contextlib.suppress(OSError):
        while data := one.recv(65_536):
            other.sendall(data)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_WR)

"""An https server of files on this machine: it goes on in the middle, and fails in every way."""

from __future__ import annotations

import contextlib
import hashlib
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.unit.engine_remote import certificates

Page = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Book:
    """A file. ``cuts`` are the bytes after which the line breaks, one for each reply that comes;
    ``before`` is called ahead of each reply."""

    data: bytes
    cuts: list[int] = field(default_factory=list)
    ranges: bool = True
    before: Callable[[], None] = lambda: None

    @property
    def tag(self) -> str:
        return f'"{hashlib.md5(self.data).hexdigest()}"'

    def __call__(self, ask: BaseHTTPRequestHandler) -> None:
        self.before()
        begin, size = 0, len(self.data)
        wanted = ask.headers.get("Range", "")
        if wanted and self.ranges and ask.headers.get("If-Range") in {None, self.tag}:
            begin = int(wanted.removeprefix("bytes=").rstrip("-"))
        ask.send_response(206 if begin else 200)
        ask.send_header("ETag", self.tag)
        ask.send_header("Content-Length", str(size - begin))
        if begin:
            ask.send_header("Content-Range", f"bytes {begin}-{size - 1}/{size}")
        ask.end_headers()
        end = begin + self.cuts.pop(0) if self.cuts else size
        ask.wfile.write(self.data[begin:end])
        ask.close_connection = end < size


@dataclass
class Shelf:
    """A running server; ``asked`` are the requests it saw, a path with its ``Range``;
    ``keys`` are what they told of who asks."""

    url: str
    ca_file: Path
    pages: dict[str, Page] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)


def says(status: int, body: bytes = b"", **headers: str) -> Page:
    """Another reply than a file. A header's name has underscores for hyphens."""

    def page(ask: BaseHTTPRequestHandler) -> None:
        ask.send_response(status)
        for name, value in headers.items():
            ask.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers and "Transfer_Encoding" not in headers:
            ask.send_header("Content-Length", str(len(body)))
        ask.end_headers()
        ask.wfile.write(body)
        ask.close_connection = True

    return page


@contextlib.contextmanager
def open_shelf(folder: Path) -> Iterator[Shelf]:
    """A server whose certificate only the ``ca_file`` vouches for, until the block ends."""
    certificate, key = certificates.make(folder)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)

    class Ask(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            shelf.asked.append((self.path, self.headers.get("Range", "")))
            shelf.keys.append(self.headers.get("Authorization"))
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                shelf.pages.get(self.path, says(404))(self)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A line that broke is what some tests are about."""

    with Server(("127.0.0.1", 0), Ask) as server:
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        shelf = Shelf(f"https://127.0.0.1:{server.server_address[1]}", certificate)
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        serving.start()
        try:
            yield shelf
        finally:
            server.shutdown()
            serving.join()

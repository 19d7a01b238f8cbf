"""Models fetched over https: gone on with, started anew, refused; and those that Ollama fetches."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from django.db import connections as databases
from django.test import Client

from chat import fetching, tasks
from chat.domain import arrivals, connections
from chat.models import LanguageModel, ModelArrival
from engine_adapter.remote import download
from engine_adapter.scripted import ScriptedEngine
from tests import gguf
from tests.conformance.ollama import Ollama
from tests.conformance.server import serving
from tests.people import People, browser
from tests.scripts import SCRIPT
from tests.shelf import Book, Page, Shelf, open_shelf, says

pytestmark = pytest.mark.django_db(transaction=True)

ADD = "/models/add/"
FILE = gguf.model() + bytes(range(256)) * 2000
SHA256 = hashlib.sha256(FILE).hexdigest()
PATH = "/files/small.gguf"


@pytest.fixture
def shelf(tmp_path: Path, settings: Any, folder: Path) -> Iterator[Shelf]:
    """A server that may be asked, and whose certificate is known."""
    with open_shelf(tmp_path) as there:
        settings.OUTGOING = settings.OUTGOING_PRIVATE = True
        settings.OUTGOING_CA = str(there.ca_file)
        settings.HUB_URL = there.url
        yield there


@pytest.fixture(autouse=True)
def _in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same steps with shorter waits between them."""
    monkeypatch.setattr(fetching, "AGAIN_S", 0.01)
    monkeypatch.setattr(fetching, "TELL_S", 0.05)


@pytest.fixture
def client(people: People) -> Client:
    """Of who manages the models."""
    return browser(people.administrator)


def ordered(client: Client, url: str, sha256: str = "") -> ModelArrival:
    told = {"way": "address", "address-url": url, "address-sha256": sha256}
    reply = client.post(ADD, told)
    assert reply.status_code == 302, reply.content.decode()
    return ModelArrival.objects.get(ended_at=None)


def fetched(client: Client, url: str, sha256: str = "") -> ModelArrival:
    row = ordered(client, url, sha256)
    tasks.bring_models()
    row.refresh_from_db()
    return row


def content(folder: Path, row: ModelArrival) -> bytes:
    return (folder / "incoming" / f"{row.pk}.part").read_bytes()


def left(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


def test_a_download_that_breaks_goes_on_where_it_was(
    folder: Path, shelf: Shelf, client: Client
) -> None:
    shelf.pages[PATH] = Book(FILE, cuts=[100_000, 200_000])
    row = fetched(client, shelf.url + PATH, SHA256)
    ranges = [wanted for _, wanted in shelf.asked]
    assert ranges == ["", "bytes=100000-", "bytes=300000-"]
    assert (row.state, row.sha256, row.trouble) == ("ready", SHA256, "")
    assert content(folder, row) == FILE
    assert "It is the one expected" in client.get(ADD).content.decode()
    client.post(f"/models/arrivals/{row.pk}/", {"act": "take"})
    assert left(folder) == ["small.gguf"]
    assert LanguageModel.objects.filter(name="small", available=True).exists()


def test_from_a_hub_the_checksum_comes_along(folder: Path, shelf: Shelf, client: Client) -> None:
    path = "/acme/small-GGUF/resolve/main/small.gguf"
    moved = {"Location": PATH, "X_Linked_Etag": f'"{SHA256}"'}
    shelf.pages |= {path: says(302, **moved), PATH: Book(FILE)}
    told = {
        "way": "hub", "hub-repository": "acme/small-GGUF", "hub-path": "small.gguf",
        "hub-revision": "main",
    }  # fmt: skip
    assert client.post(ADD, told).status_code == 302
    tasks.bring_models()
    row = ModelArrival.objects.get()
    assert (row.state, row.expected_sha256) == ("ready", SHA256)
    arrivals.cancel(row.pk, actor=None)
    shelf.pages[path] = says(302, **moved | {"X_Linked_Etag": f'"{"0" * 64}"'})
    client.post(ADD, told)
    tasks.bring_models()
    assert ModelArrival.objects.filter(state="refused", trouble="checksum").exists()
    for wrong in ({"hub-repository": "../.."}, {"hub-path": "../x.gguf"}, {"hub-path": "x.bin"}):
        assert client.post(ADD, told | wrong).status_code == 422


@pytest.mark.parametrize("ranges", [True, False])
def test_a_file_that_changes_in_the_middle_is_fetched_anew_and_never_mixed(
    folder: Path, shelf: Shelf, client: Client, ranges: bool
) -> None:
    other = FILE[:5000] + b"\1" * 700 + FILE[5500:]
    book = Book(FILE, cuts=[100_000], ranges=ranges)

    def change() -> None:
        if len(shelf.asked) == 2:
            book.data = other

    book.before = change
    shelf.pages[PATH] = book
    row = fetched(client, shelf.url + PATH)
    assert row.state == "ready"
    assert content(folder, row) == other


def test_a_file_that_changes_all_the_time_is_given_up(
    folder: Path, shelf: Shelf, client: Client
) -> None:
    book = Book(FILE, cuts=[1000] * 50)

    def change() -> None:
        book.data = FILE + b"%d" % len(shelf.asked)

    book.before = change
    shelf.pages[PATH] = book
    row = fetched(client, shelf.url + PATH)
    assert (row.state, row.trouble) == ("refused", "changes")
    assert left(folder) == []


def chunked(ask: Any) -> None:
    says(200, b"5\r\nGGUF!\r\n0\r\n\r\n", Transfer_Encoding="chunked")(ask)


def long_head(ask: Any) -> None:
    ask.wfile.write(b"HTTP/1.1 200 OK\r\nX: " + b"x" * (1 << 20))


FAULTS: list[tuple[Page, str, str]] = [
    (says(302, Location="http://127.0.0.1:1/x.gguf"), "not_https", "is not https"),
    (says(302, Location="file:///etc/passwd"), "not_https", "is not https"),
    (says(302, Location="https://user:pw@127.0.0.1/x"), "address", "no address"),
    (says(302, Location=PATH), "redirects", "again and again"),
    (says(404), "path", "no such file"),
    (says(401), "key", "asks who is there"),
    (says(418), "refused_there", "refuses"),
    (says(200, FILE, Content_Encoding="gzip"), "packed", "packed"),
    (says(200), "odd_size", "no model has"),
    (says(200, b"x", Content_Length="9" * 18), "odd_size", "no model has"),
    (long_head, "tls", "no https"),
    (chunked, "no_size", "how large"),
    (says(200, b"<!doctype html><p>Hello"), "not_gguf", "not a GGUF file"),
]


def test_what_a_server_may_do_is_a_sentence_and_leaves_nothing(
    folder: Path, shelf: Shelf, client: Client, settings: Any
) -> None:
    settings.HUB_URL = ""  # what a hub says is told in other words
    for page, code, words in FAULTS:
        shelf.pages[PATH] = page
        shelf.asked.clear()
        row = fetched(client, shelf.url + PATH)
        assert (row.state, row.trouble) == ("refused", code)
        assert words in client.get(ADD).content.decode()
        assert left(folder) == []
        assert len(shelf.asked) <= download.MOST_MOVES + 1


def test_what_may_pass_waits_for_somebody_to_say_go_on(
    folder: Path, shelf: Shelf, client: Client
) -> None:
    shelf.pages[PATH] = says(503)
    row = fetched(client, shelf.url + PATH)
    assert row.state == "paused" and row.trouble
    shelf.pages[PATH] = Book(FILE)
    client.post(f"/models/arrivals/{row.pk}/", {"act": "resume"})
    tasks.bring_models()
    row.refresh_from_db()
    assert (row.state, row.trouble) == ("ready", "")


def test_a_server_that_falls_silent_is_left(
    folder: Path, shelf: Shelf, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the patience is shorter."""
    monkeypatch.setattr(download, "PATIENCE", replace(download.PATIENCE, between_s=0.2))
    monkeypatch.setattr(fetching, "TRIES", 0)
    over = threading.Event()

    def stall(ask: Any) -> None:
        ask.send_response(200)
        ask.send_header("Content-Length", str(len(FILE)))
        ask.end_headers()
        ask.wfile.write(FILE[:5000])
        over.wait(30)

    shelf.pages[PATH] = stall
    row = fetched(client, shelf.url + PATH)
    over.set()
    assert (row.state, row.trouble, row.received_bytes) == ("paused", "silent", 5000)
    assert "says nothing any more" in client.get(ADD).content.decode()


def test_private_addresses_and_strangers_certificates_are_refused(
    folder: Path, shelf: Shelf, client: Client, settings: Any
) -> None:
    shelf.pages[PATH] = Book(FILE)
    settings.OUTGOING_CA = ""
    assert fetched(client, shelf.url + PATH).trouble == "certificate"
    settings.OUTGOING_PRIVATE = False
    for host in ("127.0.0.1", "localhost", "[::1]", "10.1.2.3", "169.254.169.254", "0.0.0.0"):
        url = f"{shelf.url.replace('127.0.0.1', host)}{PATH}"
        assert fetched(client, url).trouble == "private", host
    assert "a network of your own" in client.get(ADD).content.decode()
    assert shelf.asked == [] and left(folder) == []


def test_switched_off_nothing_goes_out(
    folder: Path, shelf: Shelf, client: Client, settings: Any
) -> None:
    shelf.pages[PATH] = Book(FILE)
    row = ordered(client, shelf.url + PATH)
    settings.OUTGOING = False
    tasks.bring_models()
    row.refresh_from_db()
    assert (row.state, row.trouble) == ("refused", "off")
    page = client.get(ADD).content.decode()
    assert "KONAK_OUTGOING" in page and 'name="address-url"' not in page
    told = {"way": "address", "address-url": shelf.url + PATH}
    assert "switched off" in client.post(ADD, told).content.decode()
    assert shelf.asked == []


NO_ADDRESSES = (
    "http://x.example/a.gguf", "https://", "https://u:p@x.example/a.gguf", "ftp://x/a.gguf",
    "https://x.example/", "https://x.example/a%00.gguf", "https://x.example/..%2Fa.gguf",
    "https://x.example/a.bin", "https://x.example:0/a.gguf",
)  # fmt: skip


def test_what_is_no_address_of_a_model_is_said_beside_the_field(
    shelf: Shelf, client: Client
) -> None:
    for url in NO_ADDRESSES:
        reply = client.post(ADD, {"way": "address", "address-url": url})
        assert reply.status_code == 422, url
        assert "_error" in reply.content.decode()
    assert not ModelArrival.objects.exists()


def test_a_pause_stops_it_and_it_goes_on_later(folder: Path, shelf: Shelf, client: Client) -> None:
    """The server sends the second half only when it is asked a second time."""
    half, over = len(FILE) // 2, threading.Event()

    def first(ask: Any) -> None:
        book = Book(FILE)
        ask.send_response(200)
        ask.send_header("ETag", book.tag)
        ask.send_header("Content-Length", str(len(FILE)))
        ask.end_headers()
        at = 0
        while at < half and not over.is_set():
            ask.wfile.write(FILE[at : at + 1000])
            ask.wfile.flush()
            at += 1000
            over.wait(0.02)
        over.wait(30)

    shelf.pages[PATH] = first
    row = ordered(client, shelf.url + PATH)

    def work() -> None:
        tasks.bring_models()
        databases.close_all()

    worker = threading.Thread(target=work)
    worker.start()
    while not ModelArrival.objects.filter(state="running", received_bytes__gt=0).exists():
        over.wait(0.02)
    assert arrivals.claim() is None, "one at a time"
    client.post(f"/models/arrivals/{row.pk}/", {"act": "pause"})
    worker.join()
    over.set()
    row.refresh_from_db()
    assert row.state == "paused" and 0 < row.received_bytes < half
    shelf.pages[PATH] = Book(FILE)
    client.post(f"/models/arrivals/{row.pk}/", {"act": "resume"})
    tasks.bring_models()
    row.refresh_from_db()
    assert row.state == "ready" and content(folder, row) == FILE
    assert shelf.asked[-1][1].startswith("bytes=")


PULLS = [
    {"status": "pulling manifest"},
    {"status": "pulling a", "digest": "sha256:a", "total": 900, "completed": 300},
    {"status": "pulling a", "digest": "sha256:a", "total": 900, "completed": 900},
    {"status": "success"},
]


@contextlib.contextmanager
def ollama(pulls: list[Any]) -> Iterator[str]:
    """An Ollama in a thread of its own; its address."""
    profile, addresses, over = Ollama(ScriptedEngine(SCRIPT)), Queue[str](), threading.Event()
    profile.pulls = pulls

    async def serve() -> None:
        async with serving(profile) as notes:
            addresses.put(notes.url)
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        yield addresses.get()
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize(
    ("pulls", "state"), [(PULLS, "done"), ([{"error": "no such model"}], "refused"),
                         (PULLS[:2], "paused")],
)  # fmt: skip
def test_ollama_fetches_by_name(
    client: Client, people: People, pulls: list[Any], state: str
) -> None:
    with ollama(pulls) as url:
        row = connections.add(
            name="Den", kind="ollama", url=url, key="", ca_file="", actor=people.administrator
        )
        assert "Fetch a model by its name" in client.get(ADD).content.decode()
        told = {"way": "engine", "engine-engine": str(row.pk), "engine-name": "llama3.2:3b"}
        assert client.post(ADD, told).status_code == 302
        assert "on its way already" in client.post(ADD, told).content.decode()
        tasks.bring_models()
        arrival = ModelArrival.objects.get()
        assert arrival.state == state, arrival.trouble
        if state == "done":
            assert (arrival.received_bytes, arrival.total_bytes) == (900, 900)
            assert LanguageModel.objects.filter(engine=row).exists()
        for wrong in ("", "../x", "-rf", "a b", "x" * 300):
            assert client.post(ADD, told | {"engine-name": wrong}).status_code == 422

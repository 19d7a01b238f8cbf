"""Repositories that ask who is there, and a proxy that is the only way out."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from chat import fetching, tasks
from chat.models import ModelArrival
from tests import gguf
from tests.connect_proxy import Proxy, open_proxy
from tests.people import People, browser
from tests.shelf import Book, Shelf, open_shelf, says

pytestmark = pytest.mark.django_db(transaction=True)

ADD = "/models/add/"
FILE = gguf.model() + bytes(range(256)) * 2000
SHA256 = hashlib.sha256(FILE).hexdigest()
TOKEN = "hf_never-to-be-seen"
AT_HUB = "/acme/small-GGUF/resolve/main/small.gguf"
WANTED = {
    "way": "hub", "hub-repository": "acme/small-GGUF", "hub-path": "small.gguf",
    "hub-revision": "main",
}  # fmt: skip


@pytest.fixture
def client(people: People) -> Client:
    """Of who manages the models."""
    return browser(people.administrator)


@pytest.fixture
def shelves(
    tmp_path: Path, settings: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Shelf, Shelf]]:
    """A hub, and the place where its files are; both are trusted."""
    monkeypatch.setattr(fetching, "AGAIN_S", 0.01)
    with contextlib.ExitStack() as stack:
        both = []
        for name in ("hub", "store"):
            (tmp_path / name).mkdir()
            both.append(stack.enter_context(open_shelf(tmp_path / name)))
        trusted = tmp_path / "trusted.pem"
        trusted.write_text("".join(shelf.ca_file.read_text() for shelf in both))
        settings.OUTGOING = settings.OUTGOING_PRIVATE = True
        settings.OUTGOING_CA = str(trusted)
        hub, store = both
        settings.HUB_URL = hub.url
        moved = {"Location": f"{store.url}/small.gguf", "X_Linked_Etag": f'"{SHA256}"'}
        hub.pages[AT_HUB] = says(302, **moved)
        store.pages["/small.gguf"] = Book(FILE, cuts=[100_000])
        yield hub, store


@pytest.fixture
def proxy(shelves: tuple[Shelf, Shelf], settings: Any) -> Iterator[Proxy]:
    """A proxy that leads to the store, and a hub that is nowhere but behind it."""
    _, store = shelves
    with open_proxy(urlsplit(store.url).port or 0) as there:
        settings.OUTGOING_PRIVATE = False
        settings.OUTGOING_PROXY = there.url
        settings.HUB_URL = "https://hub.example"
        store.pages[AT_HUB] = Book(FILE, cuts=[100_000])
        yield there


def fetched(client: Client, told: dict[str, str]) -> ModelArrival:
    reply = client.post(ADD, told)
    assert reply.status_code == 302, reply.content.decode()
    tasks.bring_models()
    return ModelArrival.objects.latest("created_at")


def at(url: str) -> dict[str, str]:
    return {"way": "address", "address-url": url}


def test_the_token_goes_to_the_hub_and_to_nobody_else(
    shelves: tuple[Shelf, Shelf], client: Client, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    hub, store = shelves
    settings.HUB_TOKEN = TOKEN
    row = fetched(client, WANTED)
    assert (row.state, row.sha256) == ("ready", SHA256)
    assert hub.keys == [f"Bearer {TOKEN}"] * 2
    assert store.keys == [None] * 2
    assert TOKEN not in client.get(ADD).content.decode() + caplog.text
    # The hub's name does not make a hub of another port.
    settings.HUB_URL = store.url.replace(str(urlsplit(store.url).port), "1")
    assert not fetching._access().at_hub(store.url)
    assert TOKEN not in repr(fetching._access())


def test_a_repository_that_asks_for_consent_says_what_to_do(
    shelves: tuple[Shelf, Shelf], client: Client, settings: Any
) -> None:
    hub, store = shelves
    store.pages["/small.gguf"] = says(403)
    row = fetched(client, WANTED)
    assert (row.state, row.trouble) == ("refused", "key"), "it is not the hub that asks"
    for token, status, code, words in (
        ("", 401, "hub_asks", "KONAK_HUB_TOKEN"),
        ("", 403, "hub_asks", "asks for consent"),
        (TOKEN, 401, "hub_token", "expired"),
        (TOKEN, 403, "hub_terms", "Sign in at the hub"),
    ):
        settings.HUB_TOKEN = token
        hub.pages[AT_HUB] = says(status)
        row = fetched(client, WANTED)
        assert (row.state, row.trouble) == ("refused", code)
        assert words in client.get(ADD).content.decode()


def test_everything_goes_through_the_proxy_and_stays_sealed(
    shelves: tuple[Shelf, Shelf], proxy: Proxy, client: Client, settings: Any
) -> None:
    _, store = shelves
    settings.HUB_TOKEN = TOKEN
    settings.OUTGOING_PROXY = proxy.url.replace("//", "//us%65r:pass@")
    row = fetched(client, WANTED)
    assert (row.state, row.sha256) == ("ready", SHA256)
    assert [wanted for _, wanted in store.asked] == ["", "bytes=100000-"]
    told = base64.b64encode(b"user:pass").decode()
    for head in proxy.asked:
        assert head.startswith("CONNECT hub.example:443 HTTP/1.1\r\n")
        assert f"Proxy-Authorization: Basic {told}\r\n" in head
        assert TOKEN not in head
    assert len(proxy.asked) == 2


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "10.1.2.3", "2130706433", "intranet", "nas.local"]
)
def test_the_proxy_is_not_asked_for_what_is_ones_own(
    proxy: Proxy, client: Client, host: str
) -> None:
    assert fetched(client, at(f"https://{host}/small.gguf")).trouble == "private"
    assert proxy.asked == []


def test_what_a_proxy_may_do_is_a_sentence(proxy: Proxy, client: Client, settings: Any) -> None:
    for said, state, code, words in (
        (b"HTTP/1.1 407 Who\r\n\r\n", "refused", "proxy_key", "a name and a password"),
        (b"HTTP/1.1 403 No\r\n\r\n", "refused", "proxy_no", "forbids it"),
        (b"HTTP/1.1 502 No\r\nX: " + b"x" * 9000 + b"\r\n\r\n", "refused", "proxy_no", "no such"),
        (b"", "paused", "proxy", "does not answer"),
        (b"SSH-2.0-x\r\n\r\n", "paused", "proxy", "does not answer"),
        (b"HTTP/1.1 200 " + b"x" * 200_000, "paused", "proxy", "does not answer"),
    ):
        proxy.says = said
        row = fetched(client, WANTED)
        assert (row.state, row.trouble) == (state, code), said[:40]
        assert words in client.get(ADD).content.decode()
        client.post(f"/models/arrivals/{row.pk}/", {"act": "cancel"})
    settings.OUTGOING_PROXY = "http://127.0.0.1:1"
    assert fetched(client, WANTED).trouble == "proxy"


def test_a_certificate_is_looked_at_through_the_proxy_too(proxy: Proxy, client: Client) -> None:
    assert fetched(client, at("https://other.example/small.gguf")).trouble == "certificate"

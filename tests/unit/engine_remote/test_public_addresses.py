"""What counts as the open internet, and that nothing else is connected to."""

from __future__ import annotations

import asyncio

import pytest

from engine_adapter.remote import wires
from engine_adapter.remote.tunnel import is_public, may_be_public
from engine_adapter.remote.wires import Address, NotPublic, Wires
from tests.talks import talking


@pytest.mark.parametrize("host", ["8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8"])
def test_these_are(host: str) -> None:
    assert is_public(host)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
     "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%lo", "fd00::1", "ff02::1",
     "::ffff:127.0.0.1", "::ffff:10.0.0.1"],
)  # fmt: skip
def test_these_are_not(host: str) -> None:
    assert not is_public(host)


@pytest.mark.parametrize("host", ["hub.example", "Hub.Example.", "a-1.b.org", "8.8.8.8"])
def test_these_names_may_be(host: str) -> None:
    assert may_be_public(host)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "::1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "10.0.0.1.",
     "localhost", "localhost.", "a.localhost", "intranet", "intranet.", "nas.local", "x.internal",
     "x.home.arpa", "", "."],
)  # fmt: skip
def test_these_names_are_ones_own(host: str) -> None:
    assert not may_be_public(host)


async def test_a_name_is_connected_to_where_it_was_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    met = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        met.set()
        await reader.read()

    async with talking(talk) as server:
        port = server.sockets[0].getsockname()[1]
        there = Wires(Address("localhost", port, public_only=True))
        with pytest.raises(NotPublic, match="not on the open internet"):
            await there.take(connect_s=5, wait_s=1)
        assert not met.is_set()
        monkeypatch.setattr(wires, "is_public", lambda host: True)
        wire, used = await there.take(connect_s=5, wait_s=1)
        await met.wait()
        assert not used
        there.drop(wire)

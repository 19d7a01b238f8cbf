"""The first load of the chat page, with everything and nothing kept from before."""

from __future__ import annotations

from typing import Any

from tests.e2e.rich import bring_in
from tests.e2e.visitor import Visitor

MOST_BYTES = 150_000
MOST_REQUESTS = 25


async def test_a_first_load_is_light(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    path = await bring_in(alice.page, visitor.house.url)
    line = await alice.page.context.new_cdp_session(alice.page)
    await line.send("Network.enable")
    await line.send("Network.setCacheDisabled", {"cacheDisabled": True})
    asked: dict[str, str] = {}
    sizes: dict[str, float] = {}

    def note(event: dict[str, Any]) -> None:
        asked[event["requestId"]] = event["request"]["url"]

    line.on("Network.requestWillBeSent", note)
    line.on(
        "Network.loadingFinished",
        lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}),
    )
    for page in ("/", path):
        asked.clear()
        sizes.clear()
        await alice.page.goto(visitor.house.url + page, wait_until="networkidle")
        whole = sum(sizes.values())
        print(f"first load of {page[:16]}: {whole / 1000:.1f} KB, {len(asked)} requests")
        assert len(asked) == len(sizes) > 5
        assert all(url.startswith(visitor.house.url) for url in asked.values())
        assert whole <= MOST_BYTES
        assert len(asked) <= MOST_REQUESTS

"""A model's file is uploaded, broken off, gone on with, taken into service and removed."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Route, expect

from tests import gguf
from tests.e2e.test_accessible import no_fault
from tests.e2e.visitor import Visitor

SIZE = 9_000_000  # two pieces


async def test_an_upload_breaks_off_and_goes_on(visitor: Visitor, tmp_path: Path) -> None:
    file = tmp_path / "arriving.gguf"
    file.write_bytes(gguf.model().ljust(SIZE, b"\7"))
    visitor.forgive("ERR_FAILED")
    ada = await visitor.person(visitor.house.administrator)
    page, sent = ada.page, 0

    async def break_off(route: Route) -> None:
        nonlocal sent
        sent += route.request.method == "POST"
        await (route.abort() if sent > 1 else route.continue_())

    await page.get_by_role("link", name="Models", exact=True).click()
    await page.get_by_role("link", name="Add a model").click()
    await page.route("**/models/arrivals/*/upload/", break_off)
    await page.locator("#upload-file").set_input_files(file)
    await page.get_by_role("button", name="Upload it").click()
    await expect(page.locator(".arrival").first).to_contain_text("8 MB of 9 MB", timeout=20_000)
    await page.unroute_all()
    await page.reload()
    await page.locator("#upload-file").set_input_files(file)
    await page.get_by_role("button", name="Upload it").click()
    taking = page.get_by_role("button", name="Take into service arriving.gguf")
    await expect(taking).to_be_visible(timeout=20_000)
    await expect(page.locator(".arrival").first).to_contain_text("it will load")
    assert not await no_fault(ada, "a model that arrived")
    await taking.click()
    await expect(page.locator(".arrival").first).to_contain_text("In service")
    await page.get_by_role("link", name="Files of the engine").click()
    await page.get_by_role("link", name="Remove arriving.gguf").click()
    await page.get_by_role("button", name="Remove it").click()
    await expect(page.get_by_text("arriving.gguf")).to_have_count(0)
    assert not await no_fault(ada, "files of the engine")

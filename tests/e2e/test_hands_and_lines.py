"""Keyboard only, no scripts, no sockets: the chat works for every pair of hands and every line."""

from __future__ import annotations

from playwright.async_api import Page, WebSocketRoute, expect

from tests.e2e.visitor import Visitor


async def test_everything_by_keyboard(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    page = alice.page
    await expect(alice.composer).to_be_focused()
    await page.keyboard.type("Tell me a long story")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("about a bridge.")
    await page.keyboard.press("Enter")
    await alice.until_words(3)
    await expect(page.locator("article.question .text")).to_have_text(
        "Tell me a long story\nabout a bridge.", use_inner_text=True
    )

    await expect(alice.composer).to_be_focused()
    await _tab_to(alice.page, "Stop")
    await page.keyboard.press("Enter")
    await alice.until_state("stopped", "done")

    await page.reload()
    await _tab_to(page, "New chat", "Shift+Tab")
    await page.keyboard.press("Enter")
    await page.wait_for_url(visitor.house.url + "/")
    await expect(alice.composer).to_be_focused()


async def _tab_to(page: Page, name: str, key: str = "Tab") -> None:
    for _ in range(400):  # the people of the house are shared: Alice may have many conversations
        if await page.evaluate("document.activeElement.textContent.trim()") == name:
            return
        await page.keyboard.press(key)
    raise AssertionError(f"{name} is not reached by {key}")


async def test_an_input_methods_enter_does_not_send(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice)
    await alice.composer.fill("今日")
    await alice.composer.dispatch_event(
        "keydown", {"key": "Enter", "keyCode": 229, "isComposing": True}
    )
    assert await alice.composer.input_value() == "今日"
    await expect(alice.page.locator("article")).to_have_count(0)


async def test_sending_and_reading_without_scripts(visitor: Visitor) -> None:
    alice = await visitor.person(visitor.house.alice, java_script_enabled=False)
    page = alice.page
    await alice.composer.fill("What is a book? Answer in one sentence.")
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator("article.question")).to_have_count(1)
    # The page looks again by itself until the answer is complete.
    words = await alice.until_state("done")
    assert len(words.split()) > 2

    await page.get_by_role("button", name="More for this conversation").click()
    await page.get_by_role("link", name="Rename").click()
    await page.get_by_label("Title").fill("About books")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("About books")
    await expect(page.locator("nav a[aria-current=page]")).to_have_text("About books")
    await page.get_by_role("button", name="More for this conversation").click()
    await page.get_by_role("link", name="Delete", exact=True).click()
    await page.get_by_role("button", name="Delete").click()
    await page.wait_for_url(visitor.house.url + "/")
    await expect(page.locator("nav a", has_text="About books")).to_have_count(0)


async def test_reading_by_polling_where_sockets_are_blocked(visitor: Visitor) -> None:
    visitor.forgive("WebSocket connection to|wsError|htmx:wsError")
    context = await visitor.context()
    await context.route_web_socket("**/ws/**", _refuse)
    alice = await visitor.window(context)
    await alice.sign_in(visitor.house.alice)
    await alice.ask("Describe a mountain in two sentences.")
    first = await alice.until_state("done")
    await alice.ask("And a river.")
    second = await alice.until_state("done")
    assert first and second and first != second


async def test_a_socket_that_brings_nothing_any_more_is_replaced(visitor: Visitor) -> None:
    lines: list[WebSocketRoute] = []
    dead: list[WebSocketRoute] = []

    def carry(line: WebSocketRoute) -> None:
        lines.append(line)
        server = line.connect_to_server()
        server.on_message(lambda frame: None if line in dead else line.send(frame))

    context = await visitor.context()
    await context.route_web_socket("**/ws/**", carry)
    alice = await visitor.window(context)
    await alice.page.clock.install()
    await alice.sign_in(visitor.house.alice)
    path = await alice.ask("Name a mountain.")
    await alice.until_state("done")
    dead.extend(lines)
    other = await visitor.person(visitor.house.alice)
    await other.open(path)
    await other.ask("Name a river.")
    await other.until_state("done")
    questions = alice.page.locator("article.question")
    await expect(questions).to_have_count(1)

    # Neither end was told, so only the silence can be noticed. The new line brings what comes.
    await alice.page.clock.fast_forward("01:00")
    await other.ask("Name a lake.")
    await expect(questions).to_have_count(3)
    await alice.until_state("done")
    assert len(lines) > len(dead)


async def _refuse(socket: WebSocketRoute) -> None:
    await socket.close(code=1001)

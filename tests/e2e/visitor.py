"""A person at a browser: signs in, asks, reads; remembers every complaint of the page."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Browser, BrowserContext, Locator, Page, expect

from tests.e2e.house import PASSWORD, House

ANSWER_LIMIT_MS = 90_000
PAGE_LIMIT_MS = 20_000


class Window:
    """One page of one person."""

    def __init__(self, page: Page, house: House) -> None:
        self.page, self._house = page, house

    async def open(self, path: str = "/") -> None:
        """Go there."""
        await self.page.goto(self._house.url + path)

    async def sign_in(self, email: str) -> None:
        """Through the door."""
        await self.open("/accounts/sign-in/")
        await self.page.get_by_label(re.compile("E-mail address|E-posta")).fill(email)
        await self.page.get_by_label(re.compile("^(Password|Parola|Şifre)")).fill(PASSWORD)
        await self.page.locator("main button.primary").click()
        await expect(self.composer).to_be_visible(timeout=PAGE_LIMIT_MS)
        await self.page.wait_for_load_state("load")

    @property
    def composer(self) -> Locator:
        """The field to write in."""
        return self.page.locator("#text")

    @property
    def answer(self) -> Locator:
        """The newest answer."""
        return self.page.locator("article.answer").last

    async def ask(self, text: str) -> str:
        """Write and press Enter; returns the conversation's path once the answer is awaited."""
        await self.page.wait_for_load_state("load")
        before = await self.page.locator("article.answer").count()
        await self.composer.fill(text)
        await self.composer.press("Enter")
        await expect(self.page.locator("article.answer")).to_have_count(
            before + 1, timeout=PAGE_LIMIT_MS
        )
        return re.sub(r"^https?://[^/]+", "", self.page.url)

    async def words(self) -> str:
        """What the newest answer says so far, without its frame."""
        return (await self.answer.locator(".prose").inner_text()).strip()

    async def until_words(self, count: int = 3) -> str:
        """Wait until the answer has more than ``count`` words, or has ended with fewer."""
        # Looks at every frame the browser paints, since an answer may be short.
        await self.page.wait_for_function(
            """count => {
                const answer = [...document.querySelectorAll("article.answer")].at(-1);
                const words = answer?.querySelector(".prose")?.innerText.match(/\\S+/g) ?? [];
                return words.length > count || (answer && !answer.matches("[aria-busy]"));
            }""",
            arg=count,
            polling="raf",
            timeout=ANSWER_LIMIT_MS,
        )
        return await self.words()

    async def until_state(self, *states: str) -> str:
        """Wait until the newest answer has come to one of ``states``; its words."""
        pattern = re.compile("^(" + "|".join(states) + ")$")
        await expect(self.answer).to_have_attribute("data-state", pattern, timeout=ANSWER_LIMIT_MS)
        return await self.words()


class Visitor:
    """Opens windows, each with cookies of its own unless it shares a context."""

    def __init__(self, browser: Browser, house: House) -> None:
        self._browser, self.house = browser, house
        self._contexts: list[BrowserContext] = []
        self.complaints: list[str] = []
        self.forgiven: list[str] = []

    async def context(self, **options: Any) -> BrowserContext:
        """Cookies and storage of one person at one machine."""
        options.setdefault("viewport", {"width": 1280, "height": 800})
        options.setdefault("locale", "en-GB")
        context = await self._browser.new_context(**options)
        self._contexts.append(context)
        return context

    async def window(self, context: BrowserContext | None = None, **options: Any) -> Window:
        """A page whose complaints are noted."""
        page = await (context or await self.context(**options)).new_page()
        page.on("console", lambda m: self._complain(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self._complain(str(error)))
        page.on("request", lambda request: self._look_where(request.url))
        return Window(page, self.house)

    async def person(self, email: str, **options: Any) -> Window:
        """A signed-in person's page."""
        window = await self.window(**options)
        await window.sign_in(email)
        return window

    def forgive(self, pattern: str) -> None:
        """A complaint that this test provokes itself."""
        self.forgiven.append(pattern)

    def _complain(self, text: str) -> None:
        if not any(re.search(pattern, text) for pattern in self.forgiven):
            self.complaints.append(text)

    def _look_where(self, url: str) -> None:
        if not url.startswith((self.house.url, "data:", "about:", "blob:")):
            self.complaints.append(f"a request left the house: {url}")

    async def leave(self) -> None:
        """Close every window."""
        for context in self._contexts:
            await context.close()

"""A file of 200 MB, really sent: refused in the form, and held neither in memory nor in part."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import uvicorn
from django.conf import settings

from chat.models import Conversation
from deploy import web
from tests.people import People, session_of
from tests.scripts import in_database, until

pytestmark = pytest.mark.django_db(transaction=True)

MB = 1_000_000
BOUNDARY = "a-file"
HEAD = (
    f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="c.json"\r\n'
    'Content-Type: application/json\r\n\r\n[{"title": "'
).encode()
FOOT = f"\r\n--{BOUNDARY}--\r\n".encode()
HEADERS = {
    "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
    "Content-Length": str(len(HEAD) + 200 * MB + len(FOOT)),
    "X-CSRFToken": "b" * 32,
    "Origin": "http://testserver",
    "Host": "testserver",
}


def in_memory() -> int:
    """What this process holds, in bytes. The web application and its visitor are both in it."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
async def address() -> AsyncIterator[str]:
    """The web application behind a listener like that of the web process."""
    from deploy.asgi import application

    config = uvicorn.Config(
        application, port=0, ws="websockets-sansio", lifespan="off", log_config=None,
        access_log=False,
    )  # fmt: skip
    listener = web.listen(config)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve(sockets=[listener]))
    await until(lambda: server.started)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    await serving


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "This file is larger than 64 MB. Nothing was taken over."), ("tr", "64 MB")],
)
async def test_a_file_of_200_mb_is_refused_beside_the_field(
    people: People, address: str, language: str, words: str
) -> None:
    assert settings.IMPORT_MAX_MIB == 64
    before, most, sent = in_memory(), 0, 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal most, sent
        yield HEAD
        for _ in range(200):
            yield b"x" * MB
            sent, most = sent + MB, max(most, in_memory())
        yield FOOT

    session = await in_database(session_of)(people.alice)
    cookies = {"sessionid": session.session_key, "csrftoken": "b" * 32}
    headers = {"Accept-Language": language}
    async with httpx.AsyncClient(base_url=address, cookies=cookies, headers=headers) as alice:
        reply = await alice.post("/conversations/import/", content=body(), headers=HEADERS)
        assert sent == 200 * MB
        assert reply.status_code == 302
        page = await alice.get(reply.headers["location"], headers={"Host": "testserver"})
    assert page.status_code == 422
    assert words in page.text
    assert 'id="id_file_error"' in page.text
    assert most - before < 60 * MB
    assert not await in_database(Conversation.objects.exists)()

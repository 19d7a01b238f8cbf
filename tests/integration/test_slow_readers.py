"""A reader that takes nothing: bounded, sent away, and no burden to the others. Over real TCP."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
from collections.abc import AsyncIterator

import pytest
import uvicorn
from websockets.asyncio.client import connect

from chat import consumers
from chat.live import fanout, hub
from deploy import web
from tests import factories
from tests.integration.test_socket import Answer
from tests.people import People, session_of
from tests.scripts import in_database, until

pytestmark = pytest.mark.django_db(transaction=True)

PARAGRAPH = "word " * 20_000 + "\n\n"


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """The web application behind a listener like that of the web process."""
    from deploy.asgi import application

    config = uvicorn.Config(
        application, port=0, ws="websockets-sansio", ws_per_message_deflate=False,
        lifespan="off", log_config=None, access_log=False,
    )  # fmt: skip
    listener = web.listen(config)
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server._serve(sockets=[listener]))
    await until(lambda: server.started)
    yield listener.getsockname()[1]
    server.should_exit = True
    await serving


async def test_a_reader_that_takes_nothing_is_sent_away(
    people: People, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "STUCK_S", 0.3)
    monkeypatch.setattr(fanout, "SESSION_CHECK_S", 0.1)
    asked = await in_database(factories.asked)(people.alice)
    answer = await Answer(asked).begin()
    session = await in_database(session_of)(people.alice)
    path = f"/ws/conversations/{asked.conversation.pk}/"
    headers = {"Cookie": f"sessionid={session.session_key}", "Host": "testserver"}

    def page(sock: socket.socket) -> connect:
        return connect(
            f"ws://testserver{path}", sock=sock, origin="http://testserver",
            additional_headers=headers, max_size=None, max_queue=1, ping_interval=None,
        )  # fmt: skip

    stuck_line, line = socket.socket(), socket.socket()
    stuck_line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for one in (stuck_line, line):
        one.connect(("127.0.0.1", port))
        one.setblocking(False)
    async with page(stuck_line), page(line) as reads:
        await until(lambda: len(hub().readers) == 2)
        frames = asyncio.create_task(_all(reads))
        for _ in range(8):
            await answer.write(PARAGRAPH)
        await until(lambda: len(hub().readers) == 1)
        await answer.end()
        assert (await frames).count('data-state="done"') == 1
        await until(lambda: not hub().answers)


async def test_a_page_that_hangs_up_is_told_nothing_more_and_nobody_complains(
    people: People, port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(consumers, "PULSE_S", 0.0)
    session = await in_database(session_of)(people.alice)
    complaints: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, about: complaints.append(about))
    line = socket.create_connection(("127.0.0.1", port))
    headers = {"Cookie": f"sessionid={session.session_key}", "Host": "testserver"}
    page = await connect(
        "ws://testserver/ws/", sock=line, origin="http://testserver", additional_headers=headers
    )
    await until(lambda: hub().readers)
    [reader] = hub().readers
    page.transport.abort()
    while hub().readers:  # at every turn of the loop: also between the end and the news of it
        reader.look_after()
        await asyncio.sleep(0)
    await page.wait_closed()
    gc.collect()
    assert not complaints
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


async def _all(page: connect) -> str:
    """Everything up to the end of the answer."""
    told = ""
    async for frame in page:
        told += frame
        if 'data-state="done"' in frame:
            break
    return told

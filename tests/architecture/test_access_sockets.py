"""Every socket as each of the six: whether the door opens, and that it tells nobody why not."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async
from django.conf import settings

from chat.routing import websocket_urlpatterns
from tests.architecture import house
from tests.architecture.access_matrix import PEOPLE, SOCKETS

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("valkey_server"),
]

CELLS = [
    pytest.param(name, who, opens, id=f"{name}-{who}")
    for name, cells in SOCKETS.items()
    for who, opens in cells.items()
]
PATIENCE_S = 30
REFUSED = [who for who, opens in SOCKETS["socket_of"].items() if not opens]


def test_every_socket_has_its_row_and_every_row_its_socket() -> None:
    names = [pattern.name for pattern in websocket_urlpatterns]
    assert len(names) == len(set(names))
    assert set(names) == set(SOCKETS)


def address(name: str | None, conversation: UUID) -> str:
    """Where the socket ``name`` is."""
    known = {
        "socket": "/ws/",
        "temporary_socket": "/ws/temporary/",
        "models_socket": "/ws/models/",
        "socket_of": f"/ws/conversations/{conversation}/",
    }
    return known.get(name or "", "/elsewhere/")


async def knock(path: str, session: str | None) -> tuple[bool, int | None]:
    """Whether the door opens for this browser, and the code it is closed with if not."""
    from deploy.asgi import application  # the static files must be gathered before

    headers = [(b"origin", b"http://testserver"), (b"host", b"testserver")]
    if session:
        headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={session}".encode()))
    scope = {"type": "websocket", "path": path, "query_string": b"", "headers": headers}
    socket = ApplicationCommunicator(application, {**scope, "subprotocols": []})
    await socket.send_input({"type": "websocket.connect"})
    reply = await socket.receive_output(PATIENCE_S)
    await socket.send_input({"type": "websocket.disconnect", "code": 1000})
    await socket.wait(PATIENCE_S)
    return reply["type"] == "websocket.accept", reply.get("code")


def session(at: house.House, who: str) -> str | None:
    """The session id in somebody's browser."""
    cookie = at.browser(who).cookies.get(settings.SESSION_COOKIE_NAME)
    return cookie.value if cookie else None


@pytest.mark.parametrize(("name", "who", "opens"), CELLS)
async def test_the_cell(name: str | None, who: str, opens: bool) -> None:
    at = await database_sync_to_async(house.build)()
    key = await database_sync_to_async(session)(at, who)
    assert (key is not None) == (who != "anonymous")
    opened, _ = await knock(address(name, at.asked.conversation.pk), key)
    assert opened is opens


@pytest.mark.parametrize("who", REFUSED)
async def test_a_foreign_conversation_looks_like_a_missing_one(who: str) -> None:
    assert set(REFUSED) < set(PEOPLE)
    at = await database_sync_to_async(house.build)()
    key = await database_sync_to_async(session)(at, who)
    foreign = await knock(address("socket_of", at.asked.conversation.pk), key)
    missing = await knock(address("socket_of", uuid4()), key)
    assert foreign == missing

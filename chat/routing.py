"""Addresses of the sockets."""

from channels.generic.websocket import AsyncWebsocketConsumer
from django.urls import path, re_path

from chat.consumers import PageConsumer
from chat.temporary.consumer import TemporaryConsumer
from chat.watch.consumer import ModelsConsumer


class NoSuchSocket(AsyncWebsocketConsumer):
    """Any other address: the door stays shut."""

    async def connect(self) -> None:
        """Refuse."""
        await self.close()


websocket_urlpatterns = [
    path("ws/", PageConsumer.as_asgi(), name="socket"),
    path("ws/models/", ModelsConsumer.as_asgi(), name="models_socket"),
    path("ws/temporary/", TemporaryConsumer.as_asgi(), name="temporary_socket"),
    path("ws/conversations/<uuid:conversation_id>/", PageConsumer.as_asgi(), name="socket_of"),
    re_path("", NoSuchSocket.as_asgi()),
]

"""What the web process serves: pages over HTTP, news over WebSocket."""

import os

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import SessionMiddlewareStack
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deploy.settings")

pages = get_asgi_application()

from chat.routing import websocket_urlpatterns  # noqa: E402 - needs the apps to be ready

application = ProtocolTypeRouter(
    {"http": pages, "websocket": SessionMiddlewareStack(URLRouter(websocket_urlpatterns))}
)

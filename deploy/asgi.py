"""What the web process serves: pages over HTTP, news over WebSocket."""

import os
import warnings

import django
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import SessionMiddlewareStack

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deploy.settings")

# Static files are small and read in a thread; Django only points out that they are not awaited.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous")

django.setup(set_prefix=False)

from chat.routing import websocket_urlpatterns  # noqa: E402 - needs the apps to be ready
from chat.views.warming import warm  # noqa: E402 - likewise
from deploy.pages import Pages  # noqa: E402 - likewise

pages = Pages()
warm()

application = ProtocolTypeRouter(
    {"http": pages, "websocket": SessionMiddlewareStack(URLRouter(websocket_urlpatterns))}
)

"""The chat room."""

from django.apps import AppConfig


class ChatConfig(AppConfig):
    """Conversations, answers, and what readers see of them."""

    name = "chat"

    def ready(self) -> None:
        """Hear of ended sessions, to close their sockets."""
        from accounts.signals import sessions_ended
        from chat import events

        sessions_ended.connect(events.on_sessions_ended)

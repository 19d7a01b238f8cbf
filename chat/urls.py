"""Addresses of the chat room."""

from django.urls import path

from chat.views import conversations, messages, pages

app_name = "chat"

urlpatterns = [
    path("", pages.new, name="new"),
    path("conversations/", messages.start, name="start"),
    path("conversations/<uuid:conversation_id>/", pages.conversation, name="conversation"),
    path("conversations/<uuid:conversation_id>/messages/", messages.ask, name="ask"),
    path("conversations/<uuid:conversation_id>/rename/", conversations.rename, name="rename"),
    path("conversations/<uuid:conversation_id>/delete/", conversations.delete, name="delete"),
    path("answers/<uuid:message_id>/", messages.answer, name="answer"),
    path("answers/<uuid:message_id>/stop/", messages.stop, name="stop"),
    path("answers/<uuid:message_id>/retry/", messages.retry, name="retry"),
]

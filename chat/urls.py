"""Addresses of the chat room."""

from django.urls import path

from chat.views import answers, branches, conversations, messages, pages, search

app_name = "chat"

urlpatterns = [
    path("", pages.new, name="new"),
    path("search/", search.search, name="search"),
    path("conversations/", messages.start, name="start"),
    path("conversations/<uuid:conversation_id>/", pages.conversation, name="conversation"),
    path("conversations/<uuid:conversation_id>/messages/", messages.ask, name="ask"),
    path("conversations/<uuid:conversation_id>/rename/", conversations.rename, name="rename"),
    path("conversations/<uuid:conversation_id>/delete/", conversations.delete, name="delete"),
    path(
        "conversations/<uuid:conversation_id>/restore/<uuid:branch_id>/",
        branches.restore,
        name="restore",
    ),
    path("messages/<uuid:message_id>/edit/", branches.edit, name="edit"),
    path("messages/<uuid:message_id>/delete/", branches.delete, name="delete_branch"),
    path("answers/<uuid:message_id>/", answers.answer, name="answer"),
    path("answers/<uuid:message_id>/stop/", answers.stop, name="stop"),
    path("answers/<uuid:message_id>/retry/", answers.retry, name="retry"),
    path("answers/<uuid:message_id>/regenerate/", answers.regenerate, name="regenerate"),
    path("answers/<uuid:message_id>/fork/", branches.fork, name="fork"),
]

"""Addresses of the chat room."""

from django.urls import path

from chat.views import (
    answers,
    branches,
    conversations,
    engines,
    export,
    history,
    imports,
    language_models,
    messages,
    pages,
    ratings,
    search,
    sharing,
    starters,
    switches,
    temporary,
)

app_name = "chat"

urlpatterns = [
    path("", pages.new, name="new"),
    path("temporary/", temporary.temporary, name="temporary"),
    path("starters/", starters.change, name="starters"),
    path("models/", language_models.models, name="models"),
    path("models/now/", language_models.now, name="models_now"),
    path("models/<uuid:model_id>/", language_models.change, name="model"),
    path("engines/add/", engines.add, name="add_engine"),
    path("engines/<uuid:engine_id>/", engines.change, name="engine"),
    path("engines/<uuid:engine_id>/remove/", engines.remove, name="remove_engine"),
    path("search/", search.search, name="search"),
    path("switch/", switches.switch, name="switch"),
    path("conversations/", messages.start, name="start"),
    path("history/", history.history, name="history"),
    path("history/archive/", history.archive, name="archive"),
    path("history/act/", history.act, name="act"),
    path("history/restore/", history.restore, name="restore_conversations"),
    path("history/folders/", history.add_folder, name="add_folder"),
    path("history/folders/<uuid:folder_id>/", history.folder, name="folder"),
    path("history/folders/<uuid:folder_id>/rename/", history.rename_folder, name="rename_folder"),
    path("history/folders/<uuid:folder_id>/delete/", history.delete_folder, name="delete_folder"),
    path("conversations/export/", export.everything, name="export_all"),
    path("conversations/import/", imports.move_in, name="import"),
    path("conversations/<uuid:conversation_id>/", pages.conversation, name="conversation"),
    path("conversations/<uuid:conversation_id>/messages/", messages.ask, name="ask"),
    path("conversations/<uuid:conversation_id>/rename/", conversations.rename, name="rename"),
    path(
        "conversations/<uuid:conversation_id>/model/",
        conversations.choose_model,
        name="choose_model",
    ),
    path("conversations/<uuid:conversation_id>/delete/", conversations.delete, name="delete"),
    path(
        "conversations/<uuid:conversation_id>/restore/<uuid:branch_id>/",
        branches.restore,
        name="restore",
    ),
    path(
        "conversations/<uuid:conversation_id>/export.md", export.as_markdown, name="export_markdown"
    ),
    path("conversations/<uuid:conversation_id>/export.json", export.as_json, name="export_json"),
    path("conversations/<uuid:conversation_id>/share/", sharing.share, name="share"),
    path("shared/<uuid:share_id>/", sharing.shared, name="shared"),
    path("shared/<uuid:share_id>/revoke/", sharing.revoke, name="revoke_share"),
    path("messages/<uuid:message_id>/edit/", branches.edit, name="edit"),
    path("messages/<uuid:message_id>/delete/", branches.delete, name="delete_branch"),
    path("answers/<uuid:message_id>/", answers.answer, name="answer"),
    path("answers/<uuid:message_id>/reasoning/", answers.reasoning, name="reasoning"),
    path("answers/<uuid:message_id>/stop/", answers.stop, name="stop"),
    path("answers/<uuid:message_id>/retry/", answers.retry, name="retry"),
    path("answers/<uuid:message_id>/regenerate/", answers.regenerate, name="regenerate"),
    path("answers/<uuid:message_id>/rate/", ratings.rate, name="rate"),
    path("answers/<uuid:message_id>/fork/", branches.fork, name="fork"),
]

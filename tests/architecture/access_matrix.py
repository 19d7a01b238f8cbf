"""Who may open what: one row for each URL and method, and one for each socket.

A new URL is not in the house until it has its rows here. Objects are alice's: the conversation, the
answer, her account, her group, her one-time link. The columns say what each of the six gets, and
which entries the ledger has afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

PEOPLE = ("owner", "member", "stranger", "administrator", "anonymous", "deactivated")


@dataclass(frozen=True)
class Cell:
    """What one of the six gets: the status, where a redirect leads, what the ledger notes."""

    status: int
    to: str = ""
    verbs: tuple[str, ...] = ()


def done(to: str, *verbs: str) -> Cell:
    """The act is done; the browser goes on to ``to``."""
    return Cell(302, to, verbs)


SHOWN = Cell(200)
NOT_THERE = Cell(404)
NOT_SO = Cell(405)
NOT_READY = Cell(503)
DOOR = Cell(302, "/accounts/sign-in/")
HOME = done("/")
TALK = "/conversations/"
READ = Cell(200, verbs=("share.read",))
PERSONS = "/accounts/people/"
GROUPS = "/accounts/groups/"
ME = "/accounts/me/"
MY_DATA = "/accounts/me/data/"

Row = tuple[str, str, Cell, Cell, Cell, Cell, Cell, Cell]


def everybody(name: str, method: str, cell: Cell) -> Row:
    """The same for all."""
    return (name, method, cell, cell, cell, cell, cell, cell)


def signed_in(name: str, method: str, cell: Cell) -> Row:
    """The same for all who are signed in."""
    return (name, method, cell, cell, cell, cell, DOOR, DOOR)


def owner_only(name: str, method: str, cell: Cell, others: Cell = NOT_THERE) -> Row:
    """Whose object it is; to everybody else it is not there."""
    return (name, method, cell, others, others, others, DOOR, DOOR)


def administrator_only(name: str, method: str, cell: Cell) -> Row:
    """Who manages people; to everybody else the page is not there."""
    return (name, method, NOT_THERE, NOT_THERE, NOT_THERE, cell, DOOR, DOOR)


STARTED = done("/", "session.started")
FAILED = Cell(422, verbs=("session.failed",))
PASSWORD_SET = done("/", "person.password_set", "session.started")

ROWS: tuple[Row, ...] = (
    # Health
    everybody("healthz", "GET", SHOWN),
    everybody("healthz", "POST", NOT_SO),
    everybody("readyz", "GET", NOT_READY),
    everybody("readyz", "POST", NOT_SO),
    everybody("manifest", "GET", SHOWN),
    everybody("manifest", "POST", NOT_SO),
    # For developers: elsewhere it is not there
    signed_in("design", "GET", NOT_THERE),
    signed_in("design", "POST", NOT_SO),
    # Entrance: an own password opens the door, unless the account is closed
    ("accounts:sign_in", "GET", HOME, HOME, HOME, HOME, SHOWN, SHOWN),
    ("accounts:sign_in", "POST", HOME, HOME, HOME, HOME, STARTED, FAILED),
    signed_in("accounts:sign_out", "GET", NOT_SO),
    signed_in("accounts:sign_out", "POST", done("/accounts/sign-in/", "session.ended")),
    everybody("accounts:welcome", "GET", SHOWN),
    everybody("accounts:welcome", "POST", PASSWORD_SET),
    everybody("accounts:set_language", "GET", NOT_SO),
    everybody("accounts:set_language", "POST", HOME),
    # Sharing: the owner makes and takes back; who was named reads, and that is noted
    owner_only("chat:share", "GET", SHOWN),
    owner_only("chat:share", "POST", done(TALK, "share.made")),
    owner_only("chat:revoke_share", "GET", NOT_SO, NOT_SO),
    owner_only("chat:revoke_share", "POST", done(TALK, "share.revoked")),
    ("chat:shared", "GET", SHOWN, READ, NOT_THERE, NOT_THERE, DOOR, DOOR),
    signed_in("chat:shared", "POST", NOT_SO),
    owner_only("chat:rate", "GET", SHOWN),
    owner_only("chat:rate", "POST", done(TALK, "answer.rated")),
    # What an empty page offers
    administrator_only("chat:starters", "GET", SHOWN),
    administrator_only("chat:starters", "POST", done("/starters/", "starters.changed")),
    administrator_only("chat:models", "GET", SHOWN),
    administrator_only("chat:models", "POST", NOT_SO),
    administrator_only("chat:models_now", "GET", SHOWN),
    administrator_only("chat:models_now", "POST", NOT_SO),
    administrator_only("chat:load_model", "GET", NOT_SO),
    administrator_only("chat:load_model", "POST", Cell(409)),
    administrator_only("chat:unload_model", "GET", NOT_SO),
    administrator_only("chat:unload_model", "POST", Cell(409)),
    administrator_only("chat:pin_model", "GET", NOT_SO),
    administrator_only("chat:pin_model", "POST", Cell(409)),
    administrator_only("chat:unpin_model", "GET", NOT_SO),
    administrator_only("chat:unpin_model", "POST", Cell(409)),
    administrator_only("chat:model_state", "GET", SHOWN),
    administrator_only("chat:model_state", "POST", NOT_SO),
    administrator_only("chat:capacity", "GET", SHOWN),
    administrator_only("chat:capacity", "POST", NOT_SO),
    administrator_only("chat:begin_capacity", "GET", NOT_SO),
    administrator_only("chat:begin_capacity", "POST", done("/models/", "capacity_test.begun")),
    administrator_only("chat:stop_capacity", "GET", NOT_SO),
    administrator_only("chat:stop_capacity", "POST", done("/models/", "capacity_test.stopped")),
    administrator_only("chat:load", "GET", SHOWN),
    administrator_only("chat:load", "POST", NOT_SO),
    administrator_only("chat:usage", "GET", SHOWN),
    administrator_only("chat:usage", "POST", NOT_SO),
    administrator_only("chat:usage_table", "GET", SHOWN),
    administrator_only("chat:usage_table", "POST", NOT_SO),
    administrator_only("chat:set_costs", "GET", NOT_SO),
    administrator_only("chat:set_costs", "POST", done("/models/usage/", "costs.changed")),
    administrator_only("chat:model", "GET", SHOWN),
    administrator_only("chat:model", "POST", done("/models/", "model.changed")),
    administrator_only("chat:model_history", "GET", Cell(200, verbs=("ledger.read",))),
    administrator_only("chat:model_history", "POST", NOT_SO),
    administrator_only("chat:versions", "GET", SHOWN),
    administrator_only("chat:versions", "POST", NOT_SO),
    administrator_only("chat:approve_version", "GET", NOT_SO),
    administrator_only("chat:approve_version", "POST", done("/models/", "model.version_approved")),
    administrator_only("chat:add_version", "GET", NOT_SO),
    administrator_only("chat:add_version", "POST", done("/models/", "model.version_added")),
    administrator_only("chat:version_rule", "GET", NOT_SO),
    administrator_only("chat:version_rule", "POST", done("/models/", "model.changed")),
    # The host's file of a model is chosen; without tus' headers an upload is none
    administrator_only("chat:add_model", "GET", SHOWN),
    administrator_only("chat:add_model", "POST", done("/models/add/", "model_file.begun")),
    administrator_only("chat:begin_model_upload", "GET", NOT_SO),
    administrator_only("chat:begin_model_upload", "POST", Cell(422)),
    administrator_only("chat:model_upload", "GET", SHOWN),
    administrator_only("chat:model_upload", "POST", Cell(415)),
    administrator_only("chat:model_arrival", "GET", NOT_SO),
    administrator_only("chat:model_arrival", "POST", done("/models/add/", "model_file.paused")),
    administrator_only("chat:model_files", "GET", SHOWN),
    administrator_only("chat:model_files", "POST", Cell(409)),
    administrator_only("chat:add_engine", "GET", SHOWN),
    administrator_only("chat:add_engine", "POST", done("/models/", "engine.added")),
    administrator_only("chat:engine", "GET", SHOWN),
    administrator_only("chat:engine", "POST", done("/models/", "engine.changed")),
    administrator_only("chat:remove_engine", "GET", NOT_SO),
    administrator_only("chat:remove_engine", "POST", done("/models/", "engine.removed")),
    administrator_only("chat:pool", "GET", SHOWN),
    administrator_only("chat:pool", "POST", done("/models/", "pool.changed")),
    # Switches of the page: this browser's own
    signed_in("chat:switch", "GET", NOT_SO),
    signed_in("chat:switch", "POST", Cell(204)),
    # Keeping in order: acts say nothing of ids that are not one's own, and do nothing to them
    signed_in("chat:history", "GET", SHOWN),
    signed_in("chat:history", "POST", NOT_SO),
    signed_in("chat:archive", "GET", SHOWN),
    signed_in("chat:archive", "POST", NOT_SO),
    signed_in("chat:act", "GET", NOT_SO),
    signed_in("chat:act", "POST", done("/history/", "conversation.pinned")),
    signed_in("chat:restore_conversations", "GET", NOT_SO),
    signed_in("chat:restore_conversations", "POST", done("/history/", "conversation.restored")),
    signed_in("chat:add_folder", "GET", NOT_SO),
    signed_in("chat:add_folder", "POST", done("/history/folders/", "folder.added")),
    owner_only("chat:folder", "GET", SHOWN),
    owner_only("chat:folder", "POST", NOT_SO, NOT_SO),
    owner_only("chat:rename_folder", "GET", NOT_SO, NOT_SO),
    owner_only("chat:rename_folder", "POST", done("/history/folders/", "folder.renamed")),
    owner_only("chat:delete_folder", "GET", NOT_SO, NOT_SO),
    owner_only("chat:delete_folder", "POST", done("/history/", "folder.deleted")),
    # Taking along and bringing in: everybody their own
    signed_in("chat:export_all", "GET", NOT_SO),
    signed_in("chat:export_all", "POST", Cell(200, verbs=("person.data_exported",))),
    owner_only("chat:export_markdown", "GET", SHOWN),
    owner_only("chat:export_markdown", "POST", NOT_SO, NOT_SO),
    owner_only("chat:export_json", "GET", SHOWN),
    owner_only("chat:export_json", "POST", NOT_SO, NOT_SO),
    signed_in("chat:import", "GET", SHOWN),
    signed_in("chat:import", "POST", Cell(200, verbs=("conversations.imported",))),
    # A person's own pages: everybody their own
    signed_in("accounts:profile", "GET", SHOWN),
    signed_in("accounts:profile", "POST", done(ME, "profile.changed")),
    signed_in("accounts:password", "GET", SHOWN),
    signed_in("accounts:password", "POST", done(ME + "password/", "person.password_set")),
    signed_in("accounts:sessions", "GET", SHOWN),
    signed_in("accounts:sessions", "POST", done(ME + "sessions/", "session.ended")),
    signed_in("accounts:data", "GET", SHOWN),
    signed_in("accounts:data", "POST", NOT_SO),
    signed_in("accounts:request_deletion", "GET", NOT_SO),
    signed_in("accounts:request_deletion", "POST", done(MY_DATA, "person.deletion_requested")),
    signed_in("accounts:withdraw_deletion", "GET", NOT_SO),
    signed_in("accounts:withdraw_deletion", "POST", done(MY_DATA, "person.deletion_withdrawn")),
    # People and groups
    administrator_only("accounts:people", "GET", SHOWN),
    administrator_only("accounts:people", "POST", NOT_SO),
    administrator_only("accounts:add_person", "GET", SHOWN),
    administrator_only(
        "accounts:add_person", "POST", Cell(200, verbs=("person.added", "person.link_made"))
    ),
    administrator_only("accounts:person", "GET", SHOWN),
    administrator_only("accounts:person", "POST", done(PERSONS, "person.changed")),
    administrator_only("accounts:make_link", "GET", NOT_SO),
    administrator_only("accounts:make_link", "POST", Cell(200, verbs=("person.link_made",))),
    administrator_only("accounts:deactivate", "GET", NOT_SO),
    administrator_only("accounts:deactivate", "POST", done(PERSONS, "person.deactivated")),
    administrator_only("accounts:activate", "GET", NOT_SO),
    administrator_only("accounts:activate", "POST", done(PERSONS, "person.activated")),
    administrator_only("accounts:groups", "GET", SHOWN),
    administrator_only("accounts:groups", "POST", done(GROUPS, "group.added")),
    administrator_only("accounts:group", "GET", SHOWN),
    administrator_only("accounts:group", "POST", done(GROUPS, "group.membership_changed")),
    administrator_only("accounts:group_rule", "GET", NOT_SO),
    administrator_only("accounts:group_rule", "POST", done(GROUPS, "group.rule_changed")),
    administrator_only("accounts:delete_group", "GET", NOT_SO),
    administrator_only("accounts:delete_group", "POST", done(GROUPS, "group.deleted")),
    # Chat: the administrator is a stranger to other people's conversations
    signed_in("chat:new", "GET", SHOWN),
    signed_in("chat:new", "POST", NOT_SO),
    signed_in("chat:temporary", "GET", SHOWN),
    signed_in("chat:temporary", "POST", NOT_SO),
    signed_in("chat:search", "GET", SHOWN),
    signed_in("chat:search", "POST", NOT_SO),
    signed_in("chat:start", "GET", NOT_SO),
    signed_in("chat:start", "POST", done(TALK, "message.asked")),
    owner_only("chat:conversation", "GET", SHOWN),
    owner_only("chat:conversation", "POST", NOT_SO, others=NOT_SO),
    owner_only("chat:ask", "GET", NOT_SO, others=NOT_SO),
    owner_only("chat:ask", "POST", done(TALK, "message.asked")),
    owner_only("chat:rename", "GET", SHOWN),
    owner_only("chat:rename", "POST", done(TALK, "conversation.renamed")),
    owner_only("chat:choose_model", "GET", NOT_SO, others=NOT_SO),
    owner_only("chat:choose_model", "POST", done(TALK, "conversation.model_chosen")),
    owner_only("chat:delete", "GET", SHOWN),
    owner_only("chat:delete", "POST", done("/", "conversation.deleted")),
    owner_only("chat:answer", "GET", done(TALK)),
    owner_only("chat:answer", "POST", NOT_SO, others=NOT_SO),
    owner_only("chat:stop", "GET", NOT_SO, others=NOT_SO),
    owner_only("chat:reasoning", "GET", SHOWN),
    owner_only("chat:reasoning", "POST", NOT_SO, others=NOT_SO),
    owner_only("chat:stop", "POST", done(TALK, "answer.stopped")),
    owner_only("chat:retry", "GET", NOT_SO, others=NOT_SO),
    owner_only("chat:retry", "POST", done(TALK, "answer.retried")),
    owner_only("chat:regenerate", "GET", SHOWN),
    owner_only("chat:regenerate", "POST", done(TALK, "answer.regenerated")),
    owner_only("chat:fork", "GET", NOT_SO, others=NOT_SO),
    owner_only("chat:fork", "POST", done(TALK, "conversation.forked")),
    owner_only("chat:edit", "GET", SHOWN),
    owner_only("chat:edit", "POST", done(TALK, "message.edited")),
    owner_only("chat:delete_branch", "GET", SHOWN),
    owner_only("chat:delete_branch", "POST", done(TALK, "branch.deleted")),
    owner_only("chat:restore", "GET", NOT_SO, others=NOT_SO),
    owner_only("chat:restore", "POST", done(TALK, "branch.restored")),
)

# What no URL does: the house does it by itself, when its time has come.
BY_ITSELF = {
    "branch.erased", "conversation.erased", "model.version_found", "model_file.refused",
}  # fmt: skip
# What no URL does either: a socket does it.
BY_SOCKET = {"temporary_chat.begun"}
# What needs an engine that is told to: ``test_engine_pages`` does it.
BY_ENGINE = {"model.loaded", "model.pinned", "model.unloaded", "model.unpinned"}
# What needs a file that came in: ``test_arrivals`` does it.
BY_FILE = {
    "model_file.added", "model_file.cancelled", "model_file.removed", "model_file.resumed",
}  # fmt: skip
# What else the one URL of acts can do, beside what its row above does.
ACTS = {
    "unpin": "conversation.unpinned",
    "archive": "conversation.archived",
    "unarchive": "conversation.unarchived",
    "move": "conversation.moved",
    "delete": "conversation.deleted",
}

# Sockets: whether the door opens
SOCKETS: dict[str | None, dict[str, bool]] = {
    "socket": dict(zip(PEOPLE, (True, True, True, True, False, False), strict=True)),
    "temporary_socket": dict(zip(PEOPLE, (True, True, True, True, False, False), strict=True)),
    "models_socket": dict(zip(PEOPLE, (False, False, False, True, False, False), strict=True)),
    "socket_of": dict(zip(PEOPLE, (True, False, False, False, False, False), strict=True)),
    None: dict.fromkeys(PEOPLE, False),
}

"""A small house for the access matrix: alice's objects, and the six who try to open them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from uuid import UUID, uuid4

from django.contrib.auth.hashers import make_password
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.domain import provisioning
from accounts.models import Group, SetupLink, User
from chat.domain import (
    arrivals,
    branches,
    capacity,
    messages,
    model_files,
    rewriting,
    sharing,
    shelves,
)
from chat.models import (
    EngineConnection,
    Folder,
    Generation,
    LanguageModel,
    ModelVersion,
    Share,
)
from tests import factories
from tests.people import PASSWORD, browser, move_in, person

EXPORTED = """[{"id": "1", "chat": {"messages": [{"role": "user", "content": "Hello"}]}}]"""
PRICES = ("read_price", "written_price", "machine_price", "monthly_price")
# Nobody is there; it is to be kept all the same.
ENGINE = {
    "name": "GPU", "url": "http://127.0.0.1:9", "kind": "vllm", "act": "save", "anyway": "yes",
}  # fmt: skip
ANOTHER_PASSWORD = "nine slow otters"
# What a verb needs to find: an answer in this state. Everywhere else alice's answer is done.
STATES = {"chat:stop": None, "chat:retry": Generation.State.FAILED}


@functools.cache
def hashed() -> str:
    """``PASSWORD`` as it is stored; hashing is slow by intent."""
    return make_password(PASSWORD)


@dataclass(frozen=True)
class House:
    """Who is there, and what alice has. ``token`` opens her one-time link; ``branch_id`` is that of
    a branch she has just deleted."""

    people: dict[str, User | None]
    asked: messages.Asked
    group: Group
    share: Share
    folder: Folder
    engine: EngineConnection
    version: ModelVersion
    token: str
    branch_id: UUID
    arrival_id: UUID

    def browser(self, who: str, **options: object) -> Client:
        """The browser of one of the six; the deactivated one still holds an old session."""
        user = self.people[who]
        client = browser(user, **options)
        if who == "deactivated":
            User.objects.filter(pk=user.pk).update(is_active=False)
        return client

    def address(self, name: str, *, id: UUID | None = None) -> str:
        """The URL ``name`` of alice's object, or of the one with this ``id``."""
        alice = self.people["owner"]
        ids = {
            "conversation_id": self.asked.conversation.pk,
            "message_id": self.asked.answer.pk,
            "question_id": self.asked.question.pk,
            "person_id": alice.pk,
            "group_id": self.group.pk,
            "token": self.token,
            "share_id": self.share.pk,
            "folder_id": self.folder.pk,
            "model_id": self.asked.answer.language_model_id,
            "engine_id": self.engine.pk,
            "version_id": self.version.pk,
            "arrival_id": self.arrival_id,
        }
        wanted = ARGUMENTS.get(name)
        more = [self.branch_id] if name == "chat:restore" else []
        return reverse(name, args=[id or ids[wanted], *more] if wanted else [])

    def form(self, name: str, who: str) -> dict[str, object]:
        """What somebody sends who fills in the page correctly."""
        user = self.people[who] or self.people["owner"]
        if name == "accounts:sign_in":
            return {"email": user.email, "password": PASSWORD}
        once = {"message_id": str(uuid4())}
        question = {"text": "Why is the sky blue?", **once}
        return {
            "accounts:welcome": {"password": ANOTHER_PASSWORD, "again": ANOTHER_PASSWORD},
            "accounts:set_language": {"language": "tr"},
            "accounts:profile": {"name": "Someone Else", "language": "tr", "theme": "dark"},
            "accounts:password": {
                "current": PASSWORD,
                "password": ANOTHER_PASSWORD,
                "again": ANOTHER_PASSWORD,
            },
            "accounts:add_person": {"name": "Carol", "email": "carol@example.org"},
            "accounts:person": {"name": "Alice B.", "groups": [str(self.group.pk)]},
            "accounts:groups": {"name": "Pharmacy"},
            "accounts:group": {"people": [str(self.people["member"].pk)]},
            "chat:set_costs": {"currency": "€", **dict.fromkeys(PRICES, "1.50")},
            "chat:add_model": {"way": "host", "host-file_name": "small.gguf"},
            "chat:model_arrival": {"act": "pause"},
            "chat:add_engine": {**ENGINE, "name": "Another"},
            "chat:engine": ENGINE,
            "chat:model": {"display_name": "Quick one", "standing": "offered", "place": "1"},
            "chat:add_version": {"file": _id_of("another")},
            "chat:start": question,
            "chat:ask": question,
            "chat:edit": question,
            "chat:regenerate": once,
            "chat:fork": once,
            "chat:import": {"file": SimpleUploadedFile("a.json", EXPORTED.encode())},
            "chat:rate": {"rating": "-1", "reason": "Wrong"},
            "chat:act": {"conversation": [str(self.asked.conversation.pk)], "act": "pin"},
            "chat:add_folder": {"name": "Travel"},
            "chat:rename_folder": {"name": "Travel"},
            "chat:share": {"people": self.people["member"].email},
            "chat:choose_model": {"language_model": self.asked.answer.language_model_id},
            "chat:switch": {"what": "sidebar", "on": "on"},
            "chat:rename": {"title": "The colour of the sky"},
        }.get(name, {})


ARGUMENTS = {
    **dict.fromkeys(
        (
            *("chat:model", "chat:load_model", "chat:unload_model", "chat:model_state"),
            *("chat:pin_model", "chat:unpin_model"),
            *("chat:capacity", "chat:begin_capacity", "chat:stop_capacity"),
            *("chat:versions", "chat:add_version", "chat:version_rule", "chat:model_history"),
        ),
        "model_id",
    ),
    "chat:approve_version": "version_id",
    **dict.fromkeys(("chat:model_arrival", "chat:model_upload"), "arrival_id"),
    **dict.fromkeys(("chat:engine", "chat:remove_engine"), "engine_id"),
    "accounts:welcome": "token",
    **dict.fromkeys(
        ("accounts:person", "accounts:make_link", "accounts:deactivate", "accounts:activate"),
        "person_id",
    ),
    **dict.fromkeys(("accounts:group", "accounts:group_rule", "accounts:delete_group"), "group_id"),
    **dict.fromkeys(
        (
            "chat:conversation",
            "chat:ask",
            "chat:rename",
            "chat:choose_model",
            "chat:delete",
            "chat:export_markdown",
            "chat:share",
            "chat:export_json",
            "chat:restore",
        ),
        "conversation_id",
    ),
    **dict.fromkeys(
        (
            *(
                "chat:answer",
                "chat:reasoning",
                "chat:stop",
                "chat:retry",
                "chat:regenerate",
                "chat:fork",
                "chat:rate",
            ),
            "chat:delete_branch",
        ),
        "message_id",
    ),
    "chat:edit": "question_id",
    "chat:pool": "model_id",
    **dict.fromkeys(("chat:shared", "chat:revoke_share"), "share_id"),
    **dict.fromkeys(("chat:folder", "chat:rename_folder", "chat:delete_folder"), "folder_id"),
}


def _id_of(name: str) -> UUID | str:
    """The model of this name, if it is in this house."""
    return LanguageModel.objects.filter(name=name).values_list("pk", flat=True).first() or ""


def build(name: str = "") -> House:
    """Everybody moves in; alice's answer is as the URL ``name`` needs to find it."""
    them = move_in()
    state = STATES.get(name, Generation.State.DONE)
    model = factories.language_model()
    asked = (
        factories.answered(them.alice, state=state)
        if state
        else factories.asked(them.alice, model=model)
    )
    branch_id = uuid4()
    if name in {"chat:delete_branch", "chat:restore"}:
        # The only answer to the only question is the whole of it: there is another one.
        other = rewriting.regenerate(asked.answer, actor=them.alice, sibling_id=uuid4())
        if name == "chat:restore":
            branch_id = branches.delete(other, actor=them.alice).branch.pk
    people = {
        "owner": them.alice,
        "member": them.bob,
        "stranger": them.mallory,
        "administrator": them.administrator,
        "anonymous": None,
        "deactivated": person("Dana"),
    }
    for user in filter(None, people.values()):
        user.password = hashed()
        if name == "accounts:withdraw_deletion":
            user.deletion_requested_at = timezone.now()
        user.save(update_fields=["password", "deletion_requested_at"])
    token = provisioning.make_link(SetupLink.Purpose.PASSWORD, user=them.alice)
    group = Group.objects.get()
    share = sharing.share(asked.answer, people=[], groups=[group], actor=them.alice)
    folder = shelves.add_folder(them.alice, "Taxes")
    if name == "chat:stop_capacity":
        capacity.begin(asked.answer.language_model, actor=them.administrator)
    if name == "chat:add_version":
        factories.language_model("another")
    version = ModelVersion.objects.create(
        language_model=model, name="scripted", sha256="a" * 64, first_seen_at=timezone.now()
    )
    engine = EngineConnection.objects.create(name="GPU", kind="vllm", url=ENGINE["url"])
    arrival_id = uuid4()
    if ARGUMENTS.get(name) == "arrival_id":
        begun = {"file_name": "coming.gguf", "total_bytes": 9, "sha256": ""}
        arrival_id = arrivals.begin_upload(**begun, actor=them.administrator).pk
    if name == "chat:add_model":
        (model_files.incoming() / "small.gguf").touch()
    return House(people, asked, group, share, folder, engine, version, token, branch_id, arrival_id)

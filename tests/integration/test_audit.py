"""The ledger: act and entry together or not at all, and nothing changes what is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse

from accounts.domain import audit, provisioning
from accounts.models import AuditEntry, Group, Session, SetupLink, User
from chat.models import Conversation, Generation, Message
from tests import factories
from tests.people import PASSWORD, People, browser, person

pytestmark = pytest.mark.django_db

State = Generation.State
CANARY = "canary-1f0c9e"


@dataclass
class Act:
    """One post: who sends what where, and the verbs that it writes."""

    client: Client
    url: str
    verbs: list[str]
    form: dict[str, object] = field(default_factory=dict)


def chats(people: People) -> Callable[..., Act]:
    alice = browser(people.alice, raise_request_exception=False)

    def act(name: str, pk: object, /, *verbs: str, **form: object) -> Act:
        url = reverse(f"chat:{name}", args=[pk] if pk else [])
        return Act(alice, url, list(verbs), {"message_id": uuid4(), **form})

    return act


def house(people: People) -> Callable[..., Act]:
    ada = browser(people.administrator, raise_request_exception=False)

    def act(name: str, pk: object, /, *verbs: str, **form: object) -> Act:
        return Act(ada, reverse(f"accounts:{name}", args=[pk] if pk else []), list(verbs), form)

    return act


def start(people: People) -> Act:
    factories.language_model()
    return chats(people)("start", None, "message.asked", text=CANARY)


def ask(people: People) -> Act:
    conversation = factories.answered(people.alice, CANARY, CANARY).conversation
    return chats(people)("ask", conversation.pk, "message.asked", text=CANARY)


def stop_queued(people: People) -> Act:
    return chats(people)("stop", factories.asked(people.alice).answer.pk, "answer.stopped")


def stop_running(people: People) -> Act:
    asked = factories.asked(people.alice)
    factories.claimed()
    return chats(people)("stop", asked.answer.pk, "answer.stopped")


def retry(people: People) -> Act:
    asked = factories.answered(people.alice, state=State.STOPPED)
    return chats(people)("retry", asked.answer.pk, "answer.retried")


def rename(people: People) -> Act:
    conversation = factories.answered(people.alice).conversation
    return chats(people)("rename", conversation.pk, "conversation.renamed", title=CANARY)


def delete(people: People) -> Act:
    conversation = factories.answered(people.alice, CANARY).conversation
    return chats(people)("delete", conversation.pk, "conversation.deleted")


def add_group(people: People) -> Act:
    return house(people)("groups", None, "group.added", name=CANARY)


def delete_group(people: People) -> Act:
    return house(people)("delete_group", Group.objects.get().pk, "group.deleted")


def change_membership(people: People) -> Act:
    form = {"people": [people.mallory.pk]}
    return house(people)("group", Group.objects.get().pk, "group.membership_changed", **form)


def add_person(people: People) -> Act:
    form = {"name": CANARY, "email": f"{CANARY}@example.org", "groups": [Group.objects.get().pk]}
    return house(people)("add_person", None, "person.added", "person.link_made", **form)


def change_person(people: People) -> Act:
    form = {"name": CANARY, "is_administrator": "on"}
    return house(people)("person", people.bob.pk, "person.changed", **form)


def deactivate(people: People) -> Act:
    return house(people)("deactivate", people.bob.pk, "person.deactivated")


def activate(people: People) -> Act:
    carol = person("Carol", is_active=False)
    return house(people)("activate", carol.pk, "person.activated")


def make_link(people: People) -> Act:
    return house(people)("make_link", people.bob.pk, "person.link_made")


def set_password(people: People) -> Act:
    token = provisioning.make_link(SetupLink.Purpose.PASSWORD, user=people.bob)
    url = reverse("accounts:welcome", args=[token])
    form = {"password": CANARY, "again": CANARY}
    client = Client(raise_request_exception=False)
    return Act(client, url, ["person.password_set", "session.started"], form)


def first_administrator(people: People) -> Act:
    User.objects.filter(pk=people.administrator.pk).update(is_administrator=False)
    url = reverse("accounts:welcome", args=[provisioning.first_administrator_token()])
    form = {"name": CANARY, "email": f"{CANARY}@example.org", "password": PASSWORD}
    verbs = ["person.added", "person.password_set", "session.started"]
    return Act(Client(raise_request_exception=False), url, verbs, {**form, "again": PASSWORD})


def sign_in(people: People) -> Act:
    person("Carol", password=CANARY)
    form = {"email": "carol@example.org", "password": CANARY}
    client = Client(raise_request_exception=False)
    return Act(client, reverse("accounts:sign_in"), ["session.started"], form)


def fail_to_sign_in(people: People) -> Act:
    form = {"email": f"{CANARY}@example.org", "password": CANARY}
    client = Client(raise_request_exception=False)
    return Act(client, reverse("accounts:sign_in"), ["session.failed"], form)


def sign_out(people: People) -> Act:
    client = browser(people.alice, raise_request_exception=False)
    return Act(client, reverse("accounts:sign_out"), ["session.ended"])


ACTS = [
    start, ask, stop_queued, stop_running, retry, rename, delete, add_group, delete_group,
    change_membership, add_person, change_person, deactivate, activate, make_link, set_password,
    first_administrator, sign_in, fail_to_sign_in, sign_out,
]  # fmt: skip


def stored() -> list[object]:
    """Everything an act can change, but not what the ledger says of it."""
    rows: list[object] = [
        set(User.objects.values_list("pk", "name", "password", "is_active", "is_administrator")),
        set(User.groups.through.objects.values_list("user_id", "group_id")),
        set(Session.objects.values_list("pk", "user_id")),
        set(SetupLink.objects.values_list("token_hash", "used_at")),
        set(Group.objects.values_list("pk", "name")),
        set(Conversation.objects.values_list("pk", "title", "titled_by")),
        set(Message.objects.values_list("pk", "text")),
        set(Generation.objects.values_list("pk", "state", "stop_requested")),
    ]
    return rows


@pytest.mark.parametrize("prepare", ACTS)
def test_every_act_is_written_once_with_who_what_and_where(
    people: People, prepare: Callable[[People], Act]
) -> None:
    act = prepare(people)
    before = AuditEntry.objects.count()
    response = act.client.post(act.url, act.form)
    assert response.status_code < 500
    entries = list(AuditEntry.objects.order_by("pk")[before:])
    assert sorted(entry.verb for entry in entries) == sorted(act.verbs)
    known = set(User.objects.values_list("pk", flat=True))
    for entry in entries:
        denied = entry.verb == "session.failed"
        assert (entry.actor_id in known) is not denied
        assert entry.outcome == ("denied" if denied else "done")
        assert entry.address == "127.0.0.1"
        assert bool(entry.object_id) is not entry.verb.startswith("session.")


@pytest.mark.parametrize("prepare", [act for act in ACTS if act is not fail_to_sign_in])
def test_what_cannot_be_written_down_is_not_done(
    people: People, prepare: Callable[[People], Act]
) -> None:
    act = prepare(people)
    before, entries = stored(), AuditEntry.objects.count()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE accounts_auditentry ADD CHECK (at IS NULL) NOT VALID")
    response = act.client.post(act.url, act.form)
    assert response.status_code == 500
    assert "Traceback" not in response.content.decode()
    assert stored() == before
    assert AuditEntry.objects.count() == entries


@pytest.mark.parametrize("prepare", ACTS)
def test_nothing_that_people_typed_is_in_it(
    people: People, prepare: Callable[[People], Act], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    act = prepare(people)
    act.client.post(act.url, act.form)
    with connection.cursor() as cursor:
        cursor.execute("SELECT accounts_auditentry::text FROM accounts_auditentry")
        rows = "\n".join(row for (row,) in cursor.fetchall())
    assert rows
    assert CANARY not in rows
    ours = [r for r in caplog.records if not r.name.startswith("django.db.backends")]
    assert not [r for r in ours if CANARY in r.getMessage()]


@pytest.mark.parametrize(
    "change",
    [
        lambda: AuditEntry.objects.update(verb="message.asked"),
        lambda: AuditEntry.objects.all().delete(),
        lambda: AuditEntry.objects.first().delete(),
        lambda: AuditEntry.objects.first().save(),
        lambda: execute("UPDATE accounts_auditentry SET at = now()"),
        lambda: execute("DELETE FROM accounts_auditentry"),
        lambda: execute("UPDATE accounts_auditentry SET actor_id = NULL WHERE false OR true"),
    ],
)
def test_the_database_refuses_every_change(people: People, change: Callable[[], object]) -> None:
    audit.record("session.started", actor=people.alice)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        change()
    assert AuditEntry.objects.get().verb == "session.started"


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def test_a_word_that_is_not_on_the_list_is_no_verb(people: People) -> None:
    with pytest.raises(ValueError, match="no such thing"):
        audit.record("no such thing", actor=people.alice)
    assert not AuditEntry.objects.exists()


def test_an_entry_outlives_what_it_names(people: People) -> None:
    conversation = factories.answered(people.alice).conversation
    browser(people.alice).post(reverse("chat:delete", args=[conversation.pk]))
    entry = AuditEntry.objects.get(verb="conversation.deleted")
    assert (entry.object_type, entry.object_id) == ("conversation", str(conversation.pk))

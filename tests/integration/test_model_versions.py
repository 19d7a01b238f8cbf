"""Which file answers for a model: taken, held when it changed, approved, rolled back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from uuid import UUID, uuid4

import pytest
from django.db import connections as databases
from django.urls import reverse
from django.utils import translation

from accounts.models import AuditEntry, User
from chat.domain import catalogue, connections, pools, rights, serving, versions
from chat.models import LanguageModel, ModelVersion
from engine_adapter.types import ModelCard
from tests import factories
from tests.people import People, browser

pytestmark = pytest.mark.django_db

OLD, NEW, THIRD = ("a" * 64, "b" * 64, "c" * 64)


def look(**files: str | tuple[str | None, int] | None) -> None:
    """The bundled engine is looked at: these are its files, each with its SHA-256 (and size)."""
    cards = []
    for name, told in files.items():
        sha256, size = told if isinstance(told, tuple) else (told, 100)
        cards.append(ModelCard(name, sha256=sha256, size_bytes=size, quantization="Q4_K_M"))
    catalogue.refresh(connections.bundled(), cards)


def row(name: str = "quick") -> LanguageModel:
    return LanguageModel.objects.select_related("runs").get(name=name)


def version(sha256: str, of: str = "quick") -> ModelVersion:
    return ModelVersion.objects.get(language_model__name=of, sha256=sha256)


def page_of(who: User) -> str:
    return browser(who).get(reverse("chat:versions", args=[row().pk])).content.decode()


def press_approve(who: User, sha256: str, *, instead_of: UUID | None) -> int:
    address = reverse("chat:approve_version", args=[version(sha256).pk])
    return browser(who).post(address, {"instead_of": instead_of or ""}).status_code


def test_the_first_file_is_taken_as_it_is(people: People) -> None:
    look(quick=None)
    assert versions.running(row()) == versions.Running("quick", None)
    look(quick=OLD)
    assert (row().runs.sha256, row().held, row().runs.approved_by) == (OLD, False, None)
    assert versions.running(row()) == versions.Running("quick", OLD)
    look(quick=OLD)
    found = AuditEntry.objects.get(verb="model.version_found")
    assert (found.actor_id, found.facts["sha256"]) == (None, OLD)


def test_a_changed_file_is_held_and_nobody_is_offered_it(people: People) -> None:
    look(quick=OLD, other=THIRD)
    LanguageModel.objects.filter(name="quick").update(successor=row("other"))
    asked = factories.answered(people.alice, model=row())
    look(quick=NEW, other=THIRD)
    assert row().held
    assert row().runs.sha256 == OLD
    assert list(rights.usable_by(people.alice)) == [row("other")]
    assert not rights.may_use(people.alice.pk, row())
    with pytest.raises(rights.Held):
        versions.running(row())
    talk = browser(people.alice).get(reverse("chat:conversation", args=[asked.conversation.pk]))
    page = talk.content.decode()
    assert "waits for an administrator’s approval. What was said is kept." in page
    assert f'value="{row("other").pk}">Go on with other<' in page
    listed = browser(people.administrator).get(reverse("chat:models")).content.decode()
    assert "Waits for approval" in listed
    look(quick=OLD, other=THIRD)
    assert not row().held, "the file that was approved is there again"


def test_both_are_seen_side_by_side_and_one_press_approves(people: People) -> None:
    look(quick=OLD)
    look(quick=NEW)
    page = page_of(people.administrator)
    assert OLD in page and NEW in page
    assert page.count("Approve this version") == 1
    assert page.index(NEW) < page.index(OLD), "the newest first"
    before = row().runs_id
    assert press_approve(people.administrator, NEW, instead_of=before) == 302
    assert (row().held, row().runs.sha256, row().sha256) == (False, NEW, NEW)
    assert row().runs.approved_by == people.administrator
    noted = AuditEntry.objects.get(verb="model.version_approved")
    assert (noted.facts["sha256"], noted.facts["instead_of"]) == (NEW, OLD)
    look(quick=NEW)
    assert not row().held


def test_what_is_not_on_the_machine_cannot_be_approved(people: People) -> None:
    look(quick=OLD)
    look(quick=NEW)
    press_approve(people.administrator, NEW, instead_of=row().runs_id)
    assert press_approve(people.administrator, OLD, instead_of=row().runs_id) == 409
    assert row().runs.sha256 == NEW
    assert "Go back to this version" not in page_of(people.administrator)
    assert "not on the machine" in page_of(people.administrator)


def test_another_file_becomes_a_version_and_one_press_goes_back(people: People) -> None:
    look(quick=OLD, better=NEW)
    asked = factories.answered(people.alice, model=row("better"))
    client = browser(people.administrator)
    first = row().runs_id
    client.post(reverse("chat:add_version", args=[row().pk]), {"file": row("better").pk})
    assert row("better").standing == LanguageModel.Standing.RETIRED
    assert rights.successor_of(row("better"), people.alice) == row()
    assert versions.running(row()).name == "quick", "not before it is approved"
    assert press_approve(people.administrator, NEW, instead_of=first) == 302
    look(quick=OLD, better=NEW)
    second = row().runs_id
    assert versions.running(row()) == versions.Running("better", NEW)
    assert (row().name, row().display_name, row().held) == ("quick", "quick", False)
    look(better=NEW)
    assert row().available, "its own file is not needed meanwhile"
    look(quick=OLD)
    assert not row().available, "the file that answers for it is gone"
    look(quick=OLD, better=THIRD)
    assert row().held, "it is watched under its other name too"
    assert press_approve(people.administrator, OLD, instead_of=second) == 302
    assert versions.running(row()) == versions.Running("quick", OLD)
    assert list(rights.usable_by(people.alice)) == [row()]
    noted = AuditEntry.objects.filter(verb="model.version_approved").order_by("-pk")[0]
    assert (noted.facts["sha256"], noted.facts["instead_of"]) == (OLD, NEW)
    asked.conversation.refresh_from_db()
    assert asked.conversation.language_model == row("better"), "never changed in silence"


def test_a_file_that_is_none_of_the_engine_s_becomes_no_version(people: People) -> None:
    look(quick=OLD, better=None)
    elsewhere = connections.add(
        name="GPU", kind="vllm", url="http://127.0.0.1:9", key="", ca_file="",
        actor=people.administrator,
    )  # fmt: skip
    catalogue.refresh(elsewhere, [ModelCard("far")])
    address = reverse("chat:add_version", args=[row().pk])
    for name in ("far", "better", "quick"):
        reply = browser(people.administrator).post(address, {"file": row(name).pk})
        assert (reply.status_code, row(name).standing) == (409, "offered"), name
    assert row().versions.count() == 1


def test_an_engine_that_tells_no_sha256_holds_nothing_and_says_so(people: People) -> None:
    look(quick=None, better=None)
    look(quick=(None, 200), better=None)
    assert not row().held
    assert "cannot be checked here" in page_of(people.administrator)
    versions.add(row(), row("better"), actor=people.administrator)
    added = row().versions.get(name="better")
    versions.approve(added, instead_of=row().runs_id, actor=people.administrator)
    look(quick=None, better=None)
    assert versions.running(row()) == versions.Running("better", None)
    back = row().versions.get(name="quick")
    versions.approve(back, instead_of=added.pk, actor=people.administrator)
    assert versions.running(row()).name == "quick"


def test_while_a_sha256_is_not_told_again_the_approved_one_is_asked_for(people: People) -> None:
    look(quick=OLD)
    look(quick=None)
    assert versions.running(row()).sha256 == OLD
    look(quick=(None, 101))
    assert row().held, "another size is another file"
    look(quick=None)
    assert row().held, "until it is told to be the same"
    look(quick=OLD)
    assert not row().held


def test_where_no_approval_is_needed_a_change_is_taken_and_noted(people: People) -> None:
    look(quick=OLD)
    look(quick=NEW)
    rule = reverse("chat:version_rule", args=[row().pk])
    browser(people.administrator).post(rule, {})
    assert (row().held, row().runs.sha256) == (False, NEW), "what waited is taken"
    assert versions.running(row()).sha256 is None, "the next change is to be taken too"
    look(quick=THIRD)
    assert (row().held, row().runs.sha256) == (False, THIRD)
    assert AuditEntry.objects.filter(verb="model.version_found").count() == 3
    browser(people.administrator).post(rule, {"needs_approval": "on"})
    look(quick=OLD)
    assert row().held


def at_once(*acts: Callable[[], None]) -> list[str]:
    """What became of each act, all begun at the same moment."""
    together, became = threading.Barrier(len(acts)), [""] * len(acts)

    def do(place: int, act: Callable[[], None]) -> None:
        try:
            together.wait()
            act()
            became[place] = "done"
        except versions.Overtaken:
            became[place] = "overtaken"
        finally:
            databases.close_all()

    threads = [threading.Thread(target=do, args=each) for each in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return became


@pytest.mark.django_db(transaction=True)
def test_of_two_administrators_who_approve_at_once_one_does(people: People) -> None:
    look(quick=OLD, better=THIRD)
    versions.add(row(), row("better"), actor=people.administrator)
    look(quick=NEW, better=THIRD)
    before = row().runs_id

    def approve(sha256: str) -> Callable[[], None]:
        chosen = version(sha256, "quick")
        return lambda: versions.approve(chosen, instead_of=before, actor=people.administrator)

    entries = AuditEntry.objects.filter(verb="model.version_approved")
    assert sorted(at_once(approve(NEW), approve(THIRD))) == ["done", "overtaken"]
    assert entries.count() == 1
    assert row().runs.sha256 == entries.get().facts["sha256"]
    before = row().runs_id
    other = next(sha256 for sha256 in (NEW, THIRD) if sha256 != row().runs.sha256)
    assert at_once(approve(other), approve(other)) == ["done", "done"]
    assert entries.count() == 2, "the second found it done"


@pytest.mark.django_db(transaction=True)
def test_an_approval_is_not_undone_by_who_looks_meanwhile(people: People) -> None:
    look(quick=OLD)
    look(quick=NEW)
    new, before = version(NEW), row().runs_id
    at_once(
        lambda: versions.approve(new, instead_of=before, actor=people.administrator),
        *[lambda: look(quick=NEW)] * 3,
    )
    assert (row().held, row().runs) == (False, new)
    assert ModelVersion.objects.count() == 2


def test_the_description_is_read_in_one_s_language_else_in_the_other(people: People) -> None:
    look(quick=None)
    form = {"display_name": "Quick", "standing": "offered", "place": "1"}
    address = reverse("chat:model", args=[row().pk])
    told = {"description": "For letters.", "description_tr": "Mektuplar için."}
    names = {"display_name_tr": "  Çabuk\tolan "}
    browser(people.administrator).post(address, {**form, **told, **names})
    with translation.override("tr"):
        assert (row().described, row().named) == ("Mektuplar için.", "Çabuk olan")
    assert (row().described, row().named) == ("For letters.", "Quick")
    page = browser(people.alice).get("/").content.decode()
    assert "For letters." in page and "Quick" in page and "Çabuk" not in page
    turkish = {"accept-language": "tr"}
    page = browser(people.alice).get("/", headers=turkish).content.decode()
    assert "Mektuplar için." in page and "Çabuk olan" in page and "Quick" not in page
    found = browser(people.administrator).get("/models/?q=çabuk").content.decode()
    assert "Quick" in found
    browser(people.administrator).post(address, {**form, "description_tr": "Mektuplar için."})
    assert row().named == "Quick"
    assert row().described == "Mektuplar için."


def test_a_stranger_s_version_id_opens_nothing(people: People) -> None:
    address = reverse("chat:approve_version", args=[uuid4()])
    assert browser(people.administrator).post(address).status_code == 404


def test_of_several_engines_the_one_whose_file_was_changed_is_left_out(people: People) -> None:
    look(quick=OLD)
    elsewhere = connections.add(
        name="GPU", kind="openai", url="http://127.0.0.1:9", key="", ca_file="",
        actor=people.administrator,
    )  # fmt: skip

    def look_there(sha256: str) -> None:
        catalogue.refresh(elsewhere, [ModelCard("far", sha256=sha256)])

    look_there(OLD)
    pools.share(row(), [row("far")], actor=people.administrator)
    assert serving.members(row()) == [row(), row("far")]
    look_there(NEW)
    assert serving.members(row()) == [row()]
    look_there(OLD)
    look(quick=NEW)
    assert serving.members(row()) == [row("far")]
    rights.check(people.alice.pk, row())
    assert list(rights.offered_to(people.alice)) == [row()]
    look_there(NEW)
    assert serving.members(row()) == []
    assert list(rights.offered_to(people.alice)) == []
    with pytest.raises(rights.Held):
        rights.check(people.alice.pk, row())

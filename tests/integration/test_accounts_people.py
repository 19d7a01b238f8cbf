"""What an administrator does with people and groups."""

from __future__ import annotations

import re
import threading
from uuid import uuid4

import pytest
from django.db import IntegrityError, connections, transaction
from django.urls import reverse

from accounts.domain import provisioning
from accounts.models import Group, User
from tests.people import PASSWORD, People, browser, person

pytestmark = pytest.mark.django_db

NEW = {"name": " Carol ", "email": "Carol@Example.org"}
LAST = "This is the only active administrator. Make somebody else one first."


def url(name: str, *args: object) -> str:
    return reverse(f"accounts:{name}", args=args)


def test_a_person_is_added_and_the_link_is_shown_once(people: People) -> None:
    ada, group = browser(people.administrator), Group.objects.get()
    response = ada.post(url("add_person"), {**NEW, "groups": [group.pk]})
    body = response.content.decode()
    carol = User.objects.get(email="carol@example.org")
    assert response.status_code == 200
    assert (carol.name, carol.is_administrator, carol.is_active) == ("Carol", False, True)
    assert list(carol.groups.all()) == [group]
    assert "No mail server is set up. Hand the link over yourself." in body
    [link] = re.findall(r"http://testserver(/accounts/welcome/[\w-]+/)", body)
    form = {"password": PASSWORD, "again": PASSWORD}
    assert browser().post(link, form).status_code == 302
    assert link not in ada.get(url("person", carol.pk)).content.decode()


@pytest.mark.parametrize("email", ["alice@example.org", "ALICE@Example.org", " alice@example.org "])
def test_an_address_is_one_persons_in_any_case(people: People, email: str) -> None:
    response = browser(people.administrator).post(url("add_person"), {**NEW, "email": email})
    assert response.status_code == 422
    assert "Somebody with this e-mail address is already here." in response.content.decode()
    assert User.objects.count() == 4


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("ışıl", ["Işıl Ünver"]),
        ("ISIL unver", ["Işıl Ünver"]),
        ("UNV ward", ["Işıl Ünver"]),
        ("@example.org zz", []),
        ("ward", ["Alice", "Bob", "Işıl Ünver"]),
    ],
)
def test_somebody_is_found_by_a_part_of_name_address_or_group(
    people: People, words: str, names: list[str]
) -> None:
    user = User.objects.create(name="Işıl Ünver", email="iu@example.org")
    user.groups.set(Group.objects.all())
    page = browser(people.administrator).get(url("people"), {"q": words})
    assert [found.name for found in page.context["page"]] == names
    assert ("Nobody here has that" in page.content.decode()) is not bool(names)


def test_many_people_have_pages(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("accounts.views.people.PAGE", 3)
    ada = browser(people.administrator)
    first = ada.get(url("people"), {"q": "example.org"}).content.decode()
    assert "1 / 2" in first and 'href="?page=2&amp;q=example.org"' in first
    assert "2 / 2" in ada.get(url("people"), {"page": "99"}).content.decode()


def test_the_database_knows_it_too(people: People) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create(name="Other", email="ALICE@example.org")


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"name": "", "email": "c@example.org"},
        {"name": "C", "email": "not an address"},
        {"name": "C", "email": "c@example.org\0"},
        {"name": "x" * 121, "email": "c@example.org"},
        {"name": "C", "email": "c@example.org", "groups": [str(uuid4())]},
        {"name": "C", "email": "c@example.org", "groups": ["1"]},
    ],
)
def test_what_cannot_be_a_person_is_refused_in_words(
    people: People, form: dict[str, object]
) -> None:
    response = browser(people.administrator).post(url("add_person"), {**form, "sent": "1"})
    assert response.status_code == 422
    assert 'class="error"' in response.content.decode()
    assert User.objects.count() == 4


def test_name_rights_and_groups_are_changed(people: People) -> None:
    ada = browser(people.administrator)
    form = {"name": "Bobby", "is_administrator": "on", "groups": []}
    assert ada.post(url("person", people.bob.pk), form).url == url("people")
    people.bob.refresh_from_db()
    assert (people.bob.name, people.bob.is_administrator) == ("Bobby", True)
    assert not people.bob.groups.exists()
    assert people.bob.email == "bob@example.org"


def test_deactivated_people_cannot_come_in_until_they_are_activated(people: People) -> None:
    ada = browser(people.administrator)
    carol = person("Carol", password=PASSWORD)
    form = {"email": "carol@example.org", "password": PASSWORD}
    assert ada.post(url("deactivate", carol.pk)).url == url("people")
    assert browser().post(url("sign_in"), form).status_code == 422
    assert "Carol cannot sign in." in ada.get(url("person", carol.pk)).content.decode()
    assert ada.post(url("make_link", carol.pk)).status_code == 404
    assert ada.post(url("activate", carol.pk)).url == url("people")
    assert browser().post(url("sign_in"), form).status_code == 302


def test_the_last_administrator_stays(people: People) -> None:
    ada = people.administrator
    client = browser(ada)
    for address, form, status in (
        (url("deactivate", ada.pk), {}, 409),
        (url("person", ada.pk), {"name": "Ada"}, 422),
    ):
        response = client.post(address, form)
        assert response.status_code == status
        assert LAST in response.content.decode()
        ada.refresh_from_db()
        assert ada.is_active
        assert ada.is_administrator
    # One who cannot sign in does not count.
    person("Retired", is_administrator=True, is_active=False)
    assert client.post(url("deactivate", ada.pk)).status_code == 409
    person("Second", is_administrator=True)
    assert client.post(url("deactivate", ada.pk)).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_two_administrators_cannot_dismiss_each_other_at_once(people: People) -> None:
    second = person("Second", is_administrator=True)
    pair = [people.administrator, second]
    gate, refused = threading.Barrier(2), []

    def dismiss(actor: User, other: User) -> None:
        gate.wait()
        try:
            provisioning.deactivate(User.objects.get(pk=other.pk), actor=actor)
        except provisioning.LastAdministrator:
            refused.append(other)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=dismiss, args=order) for order in (pair, pair[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    assert provisioning.has_administrator()


def test_a_former_administrator_has_no_pages_any_more(people: People) -> None:
    ada = browser(people.administrator)
    provisioning.change_person(
        people.alice, actor=people.administrator, name="A", is_administrator=True, groups=[]
    )
    provisioning.change_person(
        people.administrator, actor=people.alice, name="Ada", is_administrator=False, groups=[]
    )
    assert ada.get(url("people")).status_code == 404
    assert ada.post(url("deactivate", people.bob.pk)).status_code == 404


def test_groups_come_fill_and_go(people: People) -> None:
    ada = browser(people.administrator)
    response = ada.post(url("groups"), {"name": " Ward 4 "})
    group = Group.objects.get(name="Ward 4")
    assert response.url == url("group", group.pk)
    form = {"people": [people.mallory.pk, people.bob.pk]}
    assert ada.post(url("group", group.pk), form).url == url("groups")
    assert set(group.people.all()) == {people.mallory, people.bob}
    assert "2 people" in ada.get(url("groups")).content.decode()
    assert ada.post(url("group", group.pk), {}).status_code == 302
    assert not group.people.exists()
    assert ada.post(url("delete_group", group.pk)).url == url("groups")
    assert not Group.objects.filter(name="Ward 4").exists()
    assert User.objects.count() == 4


def test_whoever_is_away_keeps_their_groups(people: People) -> None:
    ada, group = browser(people.administrator), Group.objects.get()
    provisioning.deactivate(people.bob, actor=people.administrator)
    ada.post(url("group", group.pk), {"people": [people.mallory.pk]})
    assert set(group.people.all()) == {people.mallory, people.bob}


@pytest.mark.parametrize("name", ["", "  ", "Ward 3", "WARD 3", " ward 3 ", "x" * 81, "a\0b"])
def test_a_group_needs_a_name_of_its_own(people: People, name: str) -> None:
    response = browser(people.administrator).post(url("groups"), {"name": name})
    assert response.status_code == 422
    assert 'class="error"' in response.content.decode()
    assert Group.objects.count() == 1


def test_what_is_not_there_is_not_there(people: People) -> None:
    ada = browser(people.administrator)
    for name in ("person", "make_link", "deactivate", "activate", "group", "delete_group"):
        assert ada.post(url(name, uuid4()), {"name": "x"}).status_code == 404
    for path in ("/accounts/people/1/", "/accounts/groups/x/", "/accounts/people/1/deactivate/"):
        assert ada.post(path).status_code == 404


def test_names_are_text_not_markup(people: People) -> None:
    ada = browser(people.administrator)
    ada.post(url("add_person"), {"name": "<b>Carol</b>", "email": "c@example.org"})
    ada.post(url("groups"), {"name": "<i>Ward</i>"})
    for name in ("people", "groups"):
        body = ada.get(url(name)).content.decode()
        assert "<b>Carol" not in body
        assert "<i>Ward" not in body


@pytest.mark.parametrize("count", [0, 1, 2])
def test_the_groups_to_choose_from_stand_under_their_heading(people: People, count: int) -> None:
    Group.objects.all().delete()
    for number in range(count):
        Group.objects.create(name=f"Ward {number}")
    body = browser(people.administrator).get(url("add_person")).content.decode()
    fieldset = body[body.index("<fieldset>") : body.index("</fieldset>")]
    assert "<legend>Groups</legend>" in fieldset
    assert fieldset.count('type="checkbox"') == count
    assert ("There is nothing to choose from yet." in fieldset) == (count == 0)

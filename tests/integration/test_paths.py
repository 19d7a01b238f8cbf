"""The tree of a conversation: what is shown of it, at which address, and what an address tells."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID, uuid4

import pytest
from django.urls import reverse

from chat.domain import paths, tree
from chat.models import Conversation, Message
from tests import factories
from tests.people import People, browser
from tests.readers import elements

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
_clock: Iterator[int] = count()


def say(conversation: Conversation, parent: Message | None, text: str, role: str = "") -> Message:
    """One more message, newer than all before it."""
    spoke = parent.role if parent else "assistant"
    return Message(
        id=uuid4(),
        conversation=conversation,
        parent=parent,
        role=role or ("user" if spoke == "assistant" else "assistant"),
        text=text,
        language_model=conversation.language_model,
        created_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(_clock)),
    )


def talk(
    conversation: Conversation, parent: Message | None, length: int, name: str = ""
) -> list[Message]:
    """``length`` messages, one under the other."""
    made: list[Message] = []
    for n in range(length):
        made.append(say(conversation, made[-1] if made else parent, f"{name}{n}."))
    return Message.objects.bulk_create(made)


@pytest.fixture
def conversation(people: People) -> Conversation:
    return Conversation.objects.create(
        owner=people.alice,
        title="Many words",
        language_model=factories.language_model(),
        updated_at=datetime.now(UTC),
    )


def shown(html: str) -> list[UUID]:
    """The messages on a page, from top to bottom."""
    names = [n for n, (attributes, _) in elements(html).items() if is_message(attributes)]
    places = sorted(names, key=lambda name: html.index(f'id="{name}"'))
    return [UUID(name[2:]) for name in places]


def is_message(attributes: dict[str, str]) -> bool:
    return attributes.get("class") in {"question", "answer"}


def ids(messages: list[Message]) -> list[UUID]:
    return [message.pk for message in messages]


def page(people: People, conversation: Conversation, query: str = "", **headers: str) -> str:
    url = reverse("chat:conversation", args=[conversation.pk]) + query
    response = browser(people.alice).get(url, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def parent_in(html: str) -> str:
    """The message that the composer's question will come after."""
    return html.partition('name="parent"')[2].partition('value="')[2].partition('"')[0]


def test_without_a_name_the_newest_branch_is_shown_with_one_the_newest_through_it(
    people: People, conversation: Conversation
) -> None:
    trunk = talk(conversation, None, 2)
    old, new = talk(conversation, trunk[1], 4, "old"), talk(conversation, trunk[1], 2, "new")
    twig = talk(conversation, old[1], 2, "twig")
    assert tree.leaf(conversation) == twig[-1]
    assert shown(page(people, conversation)) == ids([*trunk, *old[:2], *twig])
    for name, path in {
        new[0]: [*trunk, *new],
        old[3]: [*trunk, *old],
        old[1]: [*trunk, *old[:2], *twig],
        trunk[0]: [*trunk, *old[:2], *twig],
    }.items():
        html = page(people, conversation, f"?at={name.pk}")
        assert shown(html) == ids(path)
        assert parent_in(html) == str(path[-1].pk)


@pytest.mark.parametrize("at", ["", "1", "%00", "é", str(uuid4())])
def test_a_name_that_is_gone_or_never_was_shows_the_newest(
    people: People, conversation: Conversation, at: str
) -> None:
    trunk = talk(conversation, None, 2)
    assert shown(page(people, conversation, f"?at={at}")) == ids(trunk)


def test_each_message_says_which_of_its_versions_it_is_and_leads_to_the_others(
    people: People, conversation: Conversation
) -> None:
    roots = [talk(conversation, None, 2, name) for name in "abc"]
    html = page(people, conversation, f"?at={roots[1][0].pk}")
    article = elements(html)[f"m-{roots[1][0].pk}"][1]
    assert ">2/3<" in article and "Version 2 of 3" in article
    address = reverse("chat:conversation", args=[conversation.pk])
    before, after = roots[0][0].pk, roots[2][0].pk
    assert f'href="{address}?at={before}#m-{before}"' in article
    assert f'href="{address}?at={after}#m-{after}"' in article
    assert "Version" not in elements(html)[f"m-{roots[1][1].pk}"][1]
    # After the last comes the first, so that neither button ever goes away under a finger.
    last = elements(page(people, conversation))[f"m-{roots[2][0].pk}"][1]
    assert f'href="{address}?at={roots[0][0].pk}#' in last


def test_a_long_path_is_read_a_page_at_a_time_upwards(
    people: People, conversation: Conversation
) -> None:
    path = talk(conversation, None, 2 * paths.SIZE + 10)
    html = page(people, conversation)
    read = path[-paths.SIZE :]
    assert shown(html) == ids(read)
    while read[0].parent_id:
        link = elements(html)["earlier"][0]
        assert link["href"].startswith(link["hx-get"].replace("&", "&"))
        query = "?" + link["hx-get"].replace("&amp;", "&").partition("?")[2]
        html = page(people, conversation, query, **HTMX)
        assert "<html" not in html and 'id="parent"' not in html
        read = [*path[len(path) - len(read) - len(shown(html)) : -len(read)], *read]
        assert shown(html) == ids(read[: len(shown(html))])
    assert read == path and "earlier" not in elements(html)


def test_a_long_path_is_read_upwards_and_downwards_without_scripts(
    people: People, conversation: Conversation
) -> None:
    path = talk(conversation, None, 3 * paths.SIZE)
    query, read = "", set()
    while True:
        html = page(people, conversation, query)
        read |= set(shown(html))
        assert parent_in(html) == str(path[-1].pk)
        link = elements(html).get("earlier")
        if link is None:
            break
        query = "?" + link[0]["href"].partition("?")[2].partition("#")[0]
    assert read == set(ids(path))
    while link := elements(html).get("later"):
        query = "?" + link[0]["href"].partition("?")[2].partition("#")[0]
        html = page(people, conversation, query)
        assert parent_in(html) == str(path[-1].pk)
    assert shown(html)[-1] == path[-1].pk


def test_a_switch_high_up_a_long_path_shows_its_surroundings_and_leads_on(
    people: People, conversation: Conversation
) -> None:
    path = talk(conversation, None, 3 * paths.SIZE)
    html = page(people, conversation, f"?at={path[50].pk}")
    there = shown(html)
    assert there[0] == path[50 - paths.CONTEXT + 1].pk and path[50].pk in there
    assert there == ids(path[50 - paths.CONTEXT + 1 : 51 + paths.SIZE])
    assert parent_in(html) == str(path[-1].pk)
    fragment = page(people, conversation, f"?at={path[50].pk}", **HTMX)
    assert shown(fragment) == ids(path[50 : 51 + paths.SIZE])
    assert parent_in(fragment) == str(path[-1].pk)
    query = "?" + elements(fragment)["later"][0]["hx-get"].partition("?")[2]
    more = page(people, conversation, query.replace("&amp;", "&"), **HTMX)
    assert shown(more) == ids(path[51 + paths.SIZE :])
    assert "parent" not in elements(more) and 'id="parent"' not in more


def test_an_open_page_asks_what_came_after_its_last_message(
    people: People, conversation: Conversation
) -> None:
    path = talk(conversation, None, 6)
    other = talk(conversation, path[1], 2, "elsewhere")
    fragment = page(people, conversation, f"?after={path[3].pk}", **HTMX)
    assert shown(fragment) == ids(path[4:])
    assert parent_in(fragment) == str(path[-1].pk)
    # Another branch is none of its business.
    nothing = page(people, conversation, f"?after={path[-1].pk}", **HTMX)
    assert shown(nothing) == [] and parent_in(nothing) == str(path[-1].pk)
    assert ids(other)[0] not in shown(fragment)


def test_a_way_that_does_not_lead_there_shows_nothing(
    people: People, conversation: Conversation
) -> None:
    trunk = talk(conversation, None, 2)
    one, other = talk(conversation, trunk[1], 2), talk(conversation, trunk[1], 2)
    assert tree.descent(one[0], other[1], limit=10) == []
    query = f"?at={other[1].pk}&after={one[1].pk}"
    assert shown(page(people, conversation, query, **HTMX)) == []

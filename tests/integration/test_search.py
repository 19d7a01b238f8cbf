"""Search over one's own conversations: through the index, the door, and the page."""

from __future__ import annotations

import sys
import unicodedata
from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import AuditEntry
from chat.domain import branches, conversations, folding, forks, rewriting, search
from chat.domain.search import Found
from chat.models import Conversation, Message
from tests import factories
from tests.people import People, browser

pytestmark = pytest.mark.django_db
_SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def in_database(*texts: str) -> list[set[str]]:
    """What the index keeps of each text."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT tsvector_to_array(konak_words('', t)) FROM unnest(%s::text[])"
            " WITH ORDINALITY AS given (t, place) ORDER BY place",
            [list(texts)],
        )
        return [set(row[0]) for row in cursor.fetchall()]


def in_python(text: str) -> set[str]:
    return {form for word in folding.words(text) for form in folding.kept(word)}


def test_the_index_folds_every_character_as_the_query_is_folded() -> None:
    given = [
        character
        for character in map(chr, range(1, sys.maxunicode + 1))
        if unicodedata.category(character) not in {"Cn", "Co", "Cs"}
        and not unicodedata.name(character, "").startswith(("CJK UNIFIED", "HANGUL SYL", "TANGUT"))
    ]
    assert len(given) > 30_000
    texts = [f"a{character}b" for character in given]
    differs = {
        character: (kept, in_python(text))
        for character, text, kept in zip(given, texts, in_database(*texts), strict=True)
        if kept != in_python(text)
    }
    assert differs == {}


@_SHARED
@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cn"], exclude_characters="\0"))))
def test_the_index_folds_every_text_as_the_query_is_folded(db: None, texts: list[str]) -> None:
    assert in_database(*texts) == list(map(in_python, texts))


def test_a_text_with_more_words_than_a_vector_holds_is_kept_as_far_as_it_goes() -> None:
    many = " ".join(f"{number:x}" + "ğ" * 30 for number in range(30_000))
    [kept] = in_database(many)
    assert 5_000 < len(kept) < 30_000
    [long] = in_database("ç" * 100_000)
    assert long == {"ç" * 32, "c" * 32}


def titles(found: Found) -> list[str]:
    return [hit.conversation.title for hit in found.hits]


def marked(found: Found) -> list[str]:
    return [
        part.text
        for hit in found.hits
        for quotation in hit.quotations
        for part in quotation.parts
        if part.found
    ]


def talk(people: People, question: str, answer: str = "Evet.") -> Message:
    """Alice's conversation of one question; its answer."""
    return factories.answered(people.alice, question, answer).answer


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("istanbul", "İSTANBUL'da"),
        ("dilekçe", "DİLEKÇE"),
        ("muvekkil", "Müvekkil"),
        ("ışık", "IŞIK"),
        ("strasse", "Straße"),
        ("λογος", "ΛΌΓΟΣ"),
        ("都に", "東京都に住む"),
        ("猫", "吾輩は猫"),
        ("dilek", "dilekçeniz"),
        ("🎉", "Tamam🎉"),
    ],
)
def test_questions_and_answers_are_found(people: People, asked: str, text: str) -> None:
    question = talk(people, f"Şu nedir: {text}?")
    answer = talk(people, "Nedir?", f"Bence {text}.")
    talk(people, "Başka bir şey.", "Hayır.")
    found = search.find(people.alice, asked)
    assert {hit.quotations[0].message.pk for hit in found.hits} == {question.parent_id, answer.pk}
    assert len(marked(found)) == 2
    assert not found.more


def test_a_dotless_i_finds_nothing_else(people: People) -> None:
    talk(people, "isik ISIK işik İŞİK")
    assert search.find(people.alice, "ışık") == Found()
    talk(people, "IŞIK")
    assert marked(search.find(people.alice, "ışık")) == ["IŞIK"]


def test_an_answer_is_found_as_soon_as_it_has_ended_and_not_before(people: People) -> None:
    factories.asked(people.alice)
    run = factories.claimed()
    factories.write(run, "Pelikan ", "kuşları")
    assert search.find(people.alice, "pelikan") == Found()
    factories.end(run)
    assert marked(search.find(people.alice, "pelikan")) == ["Pelikan"]


def test_titles_are_found(people: People) -> None:
    answer = talk(people, "Nedir?")
    conversations.rename(answer.conversation, "Boşanma davası", actor=people.alice)
    [hit] = search.find(people.alice, "bosanma").hits
    assert [part.text for part in hit.title if part.found] == ["Boşanma"]
    assert hit.quotations == []


def test_nobody_finds_what_is_somebody_elses(people: People) -> None:
    talk(people, "Pelikan?", "Pelikan!")
    for other in (people.bob, people.mallory, people.administrator):
        assert search.find(other, "pelikan") == Found()
    people.alice.is_active = False
    assert search.find(people.alice, "pelikan") == Found()


def test_a_neighbour_whose_key_is_the_same_finds_nothing(people: People) -> None:
    """The key only shortens the way; the door decides."""
    talk(people, "Pelikan?")
    twin = type(people.alice).objects.create(
        id=f"{str(people.alice.pk)[:8]}-0000-4000-8000-000000000000",
        name="Twin",
        email="twin@example.org",
    )
    assert search.find(twin, "pelikan") == Found()


def test_what_is_deleted_is_not_found(people: People) -> None:
    whole = talk(people, "Pelikan nedir?")
    page = f"/conversations/{whole.conversation_id}/delete/"
    assert browser(people.alice).post(page).status_code == 302
    asked = factories.answered(people.alice, "Leylek?", "Pelikan değil.")
    second = rewriting.regenerate(asked.answer, actor=people.alice, sibling_id=uuid4())
    factories.end(factories.claimed())
    branches.delete(asked.answer, actor=people.alice)
    assert search.find(people.alice, "pelikan") == Found()
    assert Message.objects.filter(pk=second.pk).exists()


def test_a_fork_is_found_as_well(people: People) -> None:
    answer = talk(people, "Leylek?", "Pelikan.")
    forks.fork(answer, conversation_id=uuid4(), actor=people.alice)
    assert len(search.find(people.alice, "pelikan").hits) == 2


def test_newer_and_whole_words_come_first(people: People) -> None:
    for question, days in (
        ("eski dava", 400), ("yeni dava", 1), ("yeni davalı", 1), ("yeni ücretsiz", 0),
    ):  # fmt: skip
        answer = talk(people, question)
        at = timezone.now() - timedelta(days=days)
        Message.objects.filter(conversation=answer.conversation).update(created_at=at)
        Conversation.objects.filter(pk=answer.conversation_id).update(updated_at=at)
    assert titles(search.find(people.alice, "dava"))[0] == "yeni dava"
    assert set(titles(search.find(people.alice, "dava"))[1:]) == {"yeni davalı", "eski dava"}


def test_a_conversation_comes_once_with_its_best_messages(people: People) -> None:
    first = talk(people, "Pelikan?", "Pelikan bir kuştur.")
    for _ in range(3):
        factories.answered(people.alice, "Ve?", "Pelikan!", conversation=first.conversation)
    [hit] = search.find(people.alice, "pelikan").hits
    assert len(hit.quotations) == search.MESSAGES_SHOWN


def test_many_are_bounded(people: People) -> None:
    for number in range(search.SHOWN + 2):
        talk(people, f"Pelikan {number}?")
    found = search.find(people.alice, "pelikan")
    assert len(found.hits) == search.SHOWN and found.more


@pytest.mark.parametrize("pieces", [("mavi gök", 1), ('"mavi gök"', 1), ('"gök mavi"', 0),
                                    ("mavi -gök", 0), ("mavi -deniz", 1)])  # fmt: skip
def test_words_phrases_and_words_left_out(people: People, pieces: tuple[str, int]) -> None:
    talk(people, "Mavi gök yüzü.")
    asked, count = pieces
    assert len(search.find(people.alice, asked).hits) == count


@pytest.mark.parametrize(
    "asked", ["", '"', "& | ! :* ()", "\0", "\ud800", "-pelikan", "'" * 10_000, "🏽"]
)
def test_what_asks_for_nothing_finds_nothing(people: People, asked: str) -> None:
    talk(people, "Pelikan?")
    assert search.find(people.alice, asked) == Found(asked=False)


@pytest.mark.parametrize(
    "asked", ["x" * 10_000, "ğ " * 5_000, '"' + "a b " * 3000, "\0\ud800a", "a'b\\c:*", "<b>&amp;"]
)
def test_bad_input_is_only_input(people: People, asked: str) -> None:
    talk(people, "Pelikan?")
    assert search.find(people.alice, asked).asked


def test_the_page_shows_links_to_the_branch_and_escapes_what_it_quotes(people: People) -> None:
    answer = talk(people, "Nedir?", "<script>alert(1)</script> pelikan <b>x</b>")
    before = AuditEntry.objects.count()
    page = browser(people.alice).get("/search/", {"q": "pelikan"}).content.decode()
    assert "<mark>pelikan</mark>" in page
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page
    address = f"/conversations/{answer.conversation_id}/?at={answer.pk}#m-{answer.pk}"
    assert address in page
    assert browser(people.alice).get(address).status_code == 200
    assert "1 conversation found" in page
    assert AuditEntry.objects.count() == before


def test_while_typing_only_the_list_comes_and_the_count_is_announced(people: People) -> None:
    talk(people, "Pelikan?")
    headers = {"HX-Request": "true", "Accept-Language": "tr"}
    part = browser(people.alice).get("/search/", {"q": "peli"}, headers=headers).content.decode()
    assert "<html" not in part and "<mark>Pelikan</mark>" in part
    announced = part.partition('id="announcer"')[2]
    assert "1 sohbet bulundu" in announced
    empty = browser(people.alice).get("/search/", {"q": " "}, headers=headers).content.decode()
    assert "<p" not in empty and 'id="announcer"' in empty


@pytest.mark.parametrize("q", ['"&|"', "\0", "%ED%A0%80", "x" * 10_000, "<script>", "'\"><b>"])
def test_a_page_for_every_query(people: People, q: str) -> None:
    client = browser(people.alice)
    for headers in ({}, {"HX-Request": "true"}):
        response = client.get("/search/", {"q": q}, headers=headers)
        assert response.status_code == 200
        assert "<b>" not in response.content.decode()
    raw = client.get("/search/?q=%ED%A0%80%00%FF")
    assert raw.status_code == 200
    assert "There is no word in this to look for" in raw.content.decode()

"""Engines that answer nonsense: a sentence for the administrator, a calm page for everybody else,
and nothing that others notice."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from django.db import connection
from django.db import connections as databases
from django.utils import timezone

from chat import engines, tasks
from chat.domain import catalogue, connections
from chat.models import EngineConnection, Generation, LanguageModel
from tests import factories
from tests.people import People, browser
from tests.scripts import in_database, running, until
from tests.unit.engine_remote.certificates import self_made
from tests.unit.engine_remote.replay import Reply, plain, serve, stream

pytestmark = pytest.mark.django_db(transaction=True)

MANY = json.dumps({"data": [{"id": f"m{n}"} for n in range(10_000)]}).encode()
NONSENSE = {
    "a web page": (plain("200 OK", b"<!DOCTYPE html><p>Welcome"), "no engine at this path"),
    "another page": (plain("404 Not Found", b"<html>"), "no engine at this path"),
    "some other JSON": (plain("200 OK", b'{"hello": 1}'), "not as an engine does"),
    "a redirect": (plain("302 Found", b"", "Location: http://127.0.0.1:9/"), "sends on to another"),
    "ten thousand models": (plain("200 OK", MANY), "more than any engine has to say"),
    "a line of a gigabyte": (
        Reply(b"HTTP/1.1 200 OK\r\n\r\n", [b"x" * (1 << 20)] * 1024, stay=True),
        "more than any engine has to say",
    ),
    "silence": (Reply(b"", stay=True), "did not answer in time"),
    "silence in the middle": (
        Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", [b"{"], stay=True),
        "did not answer in time",
    ),
    "a hang-up": (Reply(b"", reset=True), "broke before an answer came"),
    "a failure": (plain("500 Oops", b"secret"), "something went wrong in it"),
}


def engine_at(people: People, url: str, kind: str = "openai", **more: str) -> EngineConnection:
    told = {"key": "", "ca_file": "", **more}
    return connections.add(name="GPU room", kind=kind, url=url, actor=people.administrator, **told)


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages wait for silent engines as before, but not as long."""
    monkeypatch.setattr(engines, "LOOK_S", 1.0)


@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("what", NONSENSE)
async def test_nonsense_is_a_sentence_and_nobody_else_notices(people: People, what: str) -> None:
    reply, words = NONSENSE[what]
    asked = await in_database(factories.answered)(people.alice)
    async with serve(reply) as server:
        row = await in_database(engine_at)(people, server.url)
        told = await in_database(_now)(people, row)
        await asyncio.to_thread(_note_gauges)
    assert words in told
    assert "secret" not in told
    path = f"/conversations/{asked.conversation.pk}/"
    page = await in_database(lambda: browser(people.alice).get(path))()
    assert page.status_code == 200
    assert "GPU room" not in page.content.decode()


def _note_gauges() -> None:
    try:
        tasks.note_gauges()
    finally:
        databases.close_all()


def _now(people: People, row: EngineConnection) -> str:
    client = browser(people.administrator)
    page = client.get("/models/").content.decode()
    [asks] = re.findall('hx-get="(/models/now/[^"]*)"', page)
    told = client.get(asks.replace("&amp;", "&")).content.decode()
    [mine] = re.findall(f'<div id="e-{row.pk}".*?</div>', told, re.DOTALL)
    return mine


async def test_a_bad_certificate_is_a_sentence(people: People, tmp_path: Path) -> None:
    async with self_made(tmp_path, plain("200 OK", b'{"data": []}')) as port:
        row = await in_database(engine_at)(people, f"https://127.0.0.1:{port}")
        assert "certificate is not trusted here" in await in_database(_now)(people, row)


async def test_lies_about_models_are_kept_out_of_the_rows(people: People) -> None:
    rows = [
        {"id": "odd", "max_model_len": 1 << 60, "parent": "p" * 9999,
         "meta": {"size": 1 << 80, "quantization": "Q" * 99, "sha256": "\0" * 64, "reason": "\0"}},
        {"id": "odd\0", "max_model_len": 7},
        {"id": "good", "max_model_len": 4096},
    ]  # fmt: skip
    body = json.dumps({"data": rows}).encode()
    async with serve(plain("200 OK", body)) as server:
        row = await in_database(engine_at)(people, server.url)
        await in_database(catalogue.refresh)(row, await engines.cards(row))
    kept = {
        model.name: model.context_length async for model in LanguageModel.objects.filter(engine=row)
    }
    assert kept == {"odd": None, "good": 4096}


LIES = {
    "too many tokens": {"prompt_tokens": 1 << 40, "completion_tokens": 1 << 70},
    "fewer than none": {"prompt_tokens": -5, "completion_tokens": -1},
    "no numbers": {"prompt_tokens": "many", "completion_tokens": None},
    "a truth value": {"prompt_tokens": True, "completion_tokens": 2.5},
    "more from the cache than there is": {
        "prompt_tokens": 1, "completion_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": 1 << 50},
    },
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
async def test_a_lie_about_usage_ends_the_answer_in_order(people: People, lie: str) -> None:
    frames = [
        {"choices": [{"index": 0, "delta": {"content": "Blue."}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": LIES[lie]},
    ]
    body = b"".join(b"data: %s\n\n" % json.dumps(frame).encode() for frame in frames)
    async with serve(stream(body, b"data: [DONE]\n\n")) as server:
        model = await in_database(_model)(people, server.url)
        asked = await in_database(factories.asked)(people.alice, model=model)
        async with running():
            ended = await until(lambda: in_database(_ended)(asked.answer.pk))
    assert ended.state == Generation.State.DONE
    assert 0 <= (ended.prompt_tokens or 0) < 1 << 31
    assert 0 <= (ended.completion_tokens or 0) < 1 << 31
    page = await in_database(lambda: browser(people.administrator).get("/models/usage/"))()
    assert "Tokens written" in page.content.decode()


def _model(people: People, url: str) -> LanguageModel:
    row = engine_at(people, url)
    return LanguageModel.objects.create(
        engine=row, name="odd", display_name="Odd", seen_at=timezone.now()
    )


def _ended(answer: object) -> Generation | None:
    return Generation.objects.filter(message=answer, ended_at__isnull=False).first()


COPIES = """
    INSERT INTO chat_languagemodel SELECT (jsonb_populate_record(m, jsonb_build_object(
        'id', gen_random_uuid(), 'name', 'model-' || lpad(n::text, 5, '0'), 'available', n % 2 = 0
    ))).* FROM chat_languagemodel m, generate_series(0, 9998) AS n
"""


def test_ten_thousand_rows_are_a_page_that_can_be_used(
    people: People, django_assert_max_num_queries: object
) -> None:
    LanguageModel.objects.create(
        engine=engine_at(people, "http://127.0.0.1:9"), name="model-09999",
        display_name="Model", seen_at=timezone.now(), available=False,
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(COPIES)
    client = browser(people.administrator)
    with django_assert_max_num_queries(12):
        page = client.get("/models/").content.decode()
    assert page.count("<tr>") == 51, "a head and fifty"
    assert "1 to 50 of 10000 models" in page.replace(",", "")
    assert "Gone" not in page, "those that are there come first"
    [more] = re.findall(r'href="\?(engine=[^"]*)"', page)
    second = client.get(f"/models/?{more}&page=3").content.decode()
    assert "401 to 600 of 10000 models" in second.replace(",", "")
    found = client.get("/models/", {"q": "model-00777"}).content.decode()
    assert found.count("<tr>") == 2
    assert "No model is called" in client.get("/models/", {"q": "nothing"}).content.decode()
    odds = ("page=0", "page=-1", "page=9999999999", "engine=x&page=y", "q=%00", f"q={'x' * 999}")
    for odd in odds:
        assert client.get(f"/models/?{odd}").status_code == 200, odd

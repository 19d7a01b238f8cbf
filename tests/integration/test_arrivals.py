"""Models that come in: uploaded in pieces, or laid into the folder; checked before they serve."""

from __future__ import annotations

import base64
import hashlib
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEntry
from chat import tasks
from chat.domain import arrivals, connections, model_files
from chat.domain.model_files import Refusal
from chat.models import LanguageModel, ModelArrival
from deploy.appliance import model as starter
from tests import gguf
from tests.people import People, browser, person

pytestmark = pytest.mark.django_db

ADD = "/models/add/"
FILE = gguf.model() + b"\7" * 3000
SHA256 = hashlib.sha256(FILE).hexdigest()


@pytest.fixture
def client(people: People) -> Client:
    """Of who manages the models."""
    return browser(people.administrator)


def coded(**told: str) -> str:
    pairs = (f"{n} {base64.b64encode(v.encode()).decode()}" for n, v in told.items())
    return ",".join(pairs)


def create(client: Client, name: str = "small.gguf", size: int = len(FILE), **told: str) -> Any:
    headers = {
        "Tus-Resumable": "1.0.0",
        "Upload-Length": str(size),
        "Upload-Metadata": coded(filename=name, **told),
    }
    return client.post(f"{ADD}upload/", headers=headers)


def send(client: Client, where: str, offset: int, data: bytes) -> HttpResponse:
    headers = {"Upload-Offset": str(offset), "X-HTTP-Method-Override": "PATCH"}
    kind = "application/offset+octet-stream"
    return client.post(where, data, content_type=kind, headers=headers)


def here(client: Client, where: str) -> int:
    return int(client.head(where).headers["Upload-Offset"])


def uploaded(client: Client, data: bytes, **told: str) -> ModelArrival:
    """Sent in one piece, and looked into."""
    where = create(client, size=len(data), **told).headers["Location"]
    assert send(client, where, 0, data).status_code == 204
    tasks.bring_models()
    return ModelArrival.objects.get()


def act(client: Client, row: ModelArrival, what: str) -> HttpResponse:
    return client.post(f"/models/arrivals/{row.pk}/", {"act": what})


def left(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_an_upload_breaks_off_goes_on_is_checked_and_serves(folder: Path, client: Client) -> None:
    where = create(client, sha256=SHA256).headers["Location"]
    assert send(client, where, 0, FILE[:1000]).headers["Upload-Offset"] == "1000"
    assert send(client, where, 0, FILE[:1000]).status_code == 409, "it is here already"
    assert send(client, where, 1500, FILE[1500:]).status_code == 409, "there would be a hole"
    again = create(client, sha256=SHA256)
    assert again.headers["Location"] == where, "the same file goes on where it was"
    assert here(client, where) == 1000
    assert send(client, where, 1000, FILE[1000:]).status_code == 204
    assert left(folder) == [f"incoming/{ModelArrival.objects.get().pk}.part"]
    assert here(client, where) == len(FILE), "nothing is to be sent any more"
    assert send(client, where, len(FILE), b"more").status_code == 409
    tasks.bring_models()
    page = client.get(ADD).content.decode()
    for words in (SHA256, "Küçük", "Q4_1", "It is the one expected", "are free: it will load"):
        assert words in page
    row = ModelArrival.objects.get()
    assert act(client, row, "take").headers["Location"] == ADD
    assert left(folder) == ["small.gguf"]
    assert (folder / "small.gguf").read_bytes() == FILE
    assert LanguageModel.objects.get().name == "small"
    assert act(client, row, "take").status_code == 422, "once is enough"
    verbs = AuditEntry.objects.filter(verb__startswith="model_file.").order_by("pk")
    assert list(verbs.values_list("verb", flat=True)) == ["model_file.begun", "model_file.added"]


NAMES = [
    ("../../etc/cron.gguf", "without a path"), ("a\\b.gguf", "without a path"),
    ("nul\0.gguf", "ull characters"), (".gguf", "without a path"), ("..", "without a path"),
    ("ä" * 150 + ".gguf", "longer than 200 bytes"), ("model.bin", "must end in .gguf"),
    ("zero\u200bwidth.gguf", "without a path"), ("", "required"),
]  # fmt: skip


def test_names_and_sizes_that_are_none_are_refused_in_a_sentence(
    folder: Path, client: Client
) -> None:
    for name, words in NAMES:
        reply = create(client, name)
        assert reply.status_code == 422
        assert words in reply.content.decode()
    for length in ("", "-1", "0", "x", str(1 << 62), "٣".encode().decode("latin-1")):
        told = {"Upload-Length": length, "Upload-Metadata": coded(filename="a.gguf")}
        assert client.post(f"{ADD}upload/", headers=told).status_code == 422, length
    assert left(folder) == []
    assert not ModelArrival.objects.exists()


@pytest.mark.parametrize(
    ("data", "sha256", "words"),
    [
        (b"<html>" + FILE, "", "This is not a GGUF file"),
        (gguf.model()[:-1], "", "It is cut short"),
        (FILE[:60], "", "It ends in the middle"),
        (FILE, "0" * 64, "Its SHA-256 is not the expected one"),
    ],
)
def test_what_is_no_model_or_another_one_is_refused_and_nothing_stays(
    folder: Path, client: Client, data: bytes, sha256: str, words: str
) -> None:
    row = uploaded(client, data, sha256=sha256)
    assert row.state == "refused"
    assert words in client.get(ADD).content.decode()
    assert left(folder) == []
    assert AuditEntry.objects.get(verb="model_file.refused").actor_id is None
    assert create(client).status_code == 201, "the name is free again"


def test_more_than_was_announced_is_not_taken(folder: Path, client: Client) -> None:
    where = create(client, size=100).headers["Location"]
    assert send(client, where, 0, FILE[:101]).status_code == 409
    assert here(client, where) == 0
    assert send(client, where, 0, FILE[:100]).status_code == 204
    assert client.post(where, b"x", content_type="text/plain").status_code == 415


def test_a_pause_holds_and_a_cancelled_one_leaves_nothing(folder: Path, client: Client) -> None:
    where = create(client).headers["Location"]
    send(client, where, 0, FILE[:500])
    row = ModelArrival.objects.get()
    act(client, row, "pause")
    assert send(client, where, 500, FILE[500:]).status_code == 409
    assert here(client, where) == 500
    act(client, row, "resume")
    assert send(client, where, 500, FILE[500:900]).status_code == 204
    act(client, row, "cancel")
    assert client.head(where).status_code == 404
    assert left(folder) == []
    for late in ("pause", "resume", "cancel", "take"):
        assert "Somebody else was faster" in act(client, row, late).content.decode()


def test_two_administrators_bring_the_same_name_and_one_is_told(
    folder: Path, client: Client
) -> None:
    other = browser(person("Kim", manages_models=True))
    create(client)
    reply = create(other, "SMALL.gguf", size=17)
    assert reply.status_code == 422
    assert "is on its way already" in reply.content.decode()
    (folder / "Big.GGUF").write_bytes(FILE)
    assert "There is a model named big.gguf already" in create(other, "big.gguf").content.decode()


def test_a_name_that_was_taken_meanwhile_replaces_nothing(folder: Path, client: Client) -> None:
    row = uploaded(client, FILE)
    (folder / "small.gguf").write_bytes(b"mine")
    assert "There is a model named" in act(client, row, "take").content.decode()
    assert (folder / "small.gguf").read_bytes() == b"mine"
    (folder / "small.gguf").unlink()
    assert act(client, row, "take").status_code == 302


def test_what_lies_in_the_folder_is_chosen_from_a_list_and_given_back(
    folder: Path, client: Client, starter_model: Path
) -> None:
    client.get(ADD)
    incoming = folder / "incoming"
    (incoming / "tiny.gguf").hardlink_to(starter_model)
    (incoming / "link.gguf").symlink_to("/etc/hostname")
    (incoming / "note.txt").write_text("x")
    page = client.get(ADD).content.decode()
    assert 'value="tiny.gguf"' in page and "link.gguf" not in page and "note.txt" not in page
    chosen = {"way": "host", "host-file_name": "tiny.gguf", "host-sha256": starter.SHA256.upper()}
    for wrong in ("../engine.sock", "link.gguf", "/etc/passwd", "note.txt"):
        assert client.post(ADD, chosen | {"host-file_name": wrong}).status_code == 422
    assert client.post(ADD, chosen).status_code == 302
    tasks.bring_models()
    row = ModelArrival.objects.get()
    assert (row.state, row.sha256) == ("ready", starter.SHA256)
    page = client.get(ADD).content.decode()
    assert "135" in page and "Q4_1" in page and "llama" in page
    act(client, row, "cancel")
    assert (incoming / "tiny.gguf").stat().st_size == starter.SIZE, "it is not ours to delete"
    assert client.post(ADD, chosen).status_code == 302
    with pytest.raises(Refusal, match="begun"):
        arrivals.begin_by_hand(file_name="tiny.gguf", sha256="", actor=row.begun_by)
    tasks.bring_models()
    act(client, ModelArrival.objects.filter(state="ready").get(), "take")
    assert (folder / "tiny.gguf").exists() and not (incoming / "tiny.gguf").exists()


def test_the_disk_is_looked_at_first(
    folder: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = create(client).headers["Location"]
    monkeypatch.setattr(model_files, "RESERVE_BYTES", 1 << 60)
    reply = create(client, "other.gguf", size=5_100_000_000)
    assert "needs 5.1 GB, 0 MB are free" in reply.content.decode()
    assert send(client, where, 0, FILE).status_code == 409
    assert here(client, where) == 0


def test_while_the_engine_is_away_nobody_guesses(
    folder: Path, client: Client, settings: Any
) -> None:
    url, settings.ENGINE_URL = settings.ENGINE_URL, "http://127.0.0.1:9"
    row = uploaded(client, FILE)
    assert row.state == "checking"
    assert "The engine does not answer" in client.get(ADD).content.decode()
    settings.ENGINE_URL = url
    ModelArrival.objects.update(seen_at=timezone.now() - arrivals.SILENCE)
    tasks.bring_models()
    row.refresh_from_db()
    assert (row.state, row.trouble) == ("ready", "")


def test_what_cannot_fit_is_said_with_the_numbers(folder: Path, client: Client) -> None:
    entries = gguf.ENTRIES | {"llama.block_count": 4000, "llama.attention.head_count": 60_000,
                              "llama.embedding_length": 960_000}  # fmt: skip
    uploaded(client, gguf.model(entries))
    page = client.get(ADD).content.decode()
    assert "of memory" in page and "it will not load on this machine" in page
    assert "Take into service" in page


def test_what_was_left_is_swept_after_days(folder: Path, client: Client) -> None:
    where = create(client).headers["Location"]
    send(client, where, 0, FILE[:100])
    stray = folder / "incoming" / "11111111-1111-1111-1111-111111111111.part"
    stray.write_bytes(b"x")
    arrivals.sweep()
    assert len(left(folder)) == 2
    before = timezone.now() - arrivals.ABANDONED - timedelta(minutes=1)
    ModelArrival.objects.update(seen_at=before)
    os.utime(stray, (before.timestamp(), before.timestamp()))
    tasks.sweep_arrivals()
    assert left(folder) == []
    assert ModelArrival.objects.get().state == "cancelled"


def test_where_the_engine_is_elsewhere_nothing_false_is_offered(
    client: Client, settings: Any
) -> None:
    settings.MODELS_DIR = ""
    page = client.get(ADD).content.decode()
    assert "not on this machine" in page and 'type="file"' not in page
    assert "not on this machine" in create(client).content.decode()
    assert "not on this machine" in client.get("/models/files/").content.decode()


def test_a_file_goes_for_good_but_never_one_that_is_needed(
    folder: Path, client: Client, settings: Any
) -> None:
    page, file = "/models/files/", {"file": "small.gguf"}
    for name in ("small.gguf", "other.gguf"):
        (folder / name).write_bytes(FILE)
    told = client.get(page, {"remove": "small.gguf"}).content.decode()
    assert "Remove small.gguf" in told and "other.gguf" in told
    for wrong in ("../x.gguf", "none.gguf", "incoming", ""):
        assert client.post(page, {"file": wrong}).status_code == 409
    model = LanguageModel.objects.create(
        engine=connections.bundled(), name="small", display_name="Small", is_default=True,
        seen_at=timezone.now(),
    )  # fmt: skip
    assert "New chats begin with small.gguf" in client.post(page, file).content.decode()
    LanguageModel.objects.filter(pk=model.pk).update(is_default=False)
    url, settings.ENGINE_URL = settings.ENGINE_URL, "http://127.0.0.1:9"
    assert "does not say whether" in client.post(page, file).content.decode()
    assert len(left(folder)) == 2
    settings.ENGINE_URL = url
    assert client.post(page, file).status_code == 302
    assert left(folder) == ["other.gguf"]
    model.refresh_from_db()
    assert not model.available
    assert AuditEntry.objects.filter(verb="model_file.removed").count() == 1

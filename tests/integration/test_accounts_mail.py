"""Letters with the one-time link, through a real SMTP server on this machine."""

from __future__ import annotations

import re
import socketserver
import threading
from collections.abc import Iterator
from email import message_from_string, policy
from typing import Any

import pytest
from django.urls import reverse

from tests.people import People, browser

pytestmark = pytest.mark.django_db


class _Conversation(socketserver.StreamRequestHandler):
    """The little of SMTP that a client without TLS and password needs."""

    def handle(self) -> None:
        self._say("220 here")
        while line := self.rfile.readline().decode():
            word = line.split()[0].upper() if line.split() else ""
            if word == "RCPT" and self.server.refuses:
                self._say("550 nobody of that name")
            elif word == "DATA":
                self._say("354 go on")
                body = iter(lambda: self.rfile.readline().decode(), ".\r\n")
                self.server.letters.append("".join(body))
                self._say("250 taken")
            elif word == "QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 fine")

    def _say(self, words: str) -> None:
        self.wfile.write(f"{words}\r\n".encode())


class PostOffice(socketserver.ThreadingTCPServer):
    """Takes letters, unless it ``refuses`` the people they are for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.letters: list[str] = []
        self.refuses = False


@pytest.fixture
def office(settings: Any) -> Iterator[PostOffice]:
    with PostOffice() as server:
        thread = threading.Thread(target=server.serve_forever, args=[0.05])
        thread.start()
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = server.server_address
        settings.EMAIL_USE_TLS = False
        yield server
        server.shutdown()
        thread.join()


def add_carol(people: People, **headers: str) -> str:
    form = {"name": "Carol & <Co>", "email": "carol@example.org"}
    url = reverse("accounts:add_person")
    return browser(people.administrator).post(url, form, headers=headers).content.decode()


def link_on(page: str) -> str:
    """The path of the one-time link."""
    [path] = re.findall(r"http://testserver(/accounts/welcome/[\w-]+/)", page)
    return path


def test_the_link_is_sent_and_shown(people: People, office: PostOffice) -> None:
    page = add_carol(people)
    assert "It was also sent to carol@example.org." in page
    [letter] = office.letters
    message = message_from_string(letter, policy=policy.default)
    assert message["To"] == "carol@example.org"
    assert message["From"] == "konak@testserver"
    assert message["Subject"] == "Your account in Konak"
    assert "Hello Carol & <Co>," in message.get_content()
    assert f"http://testserver{link_on(page)}" in message.get_content().splitlines()


def test_the_letter_is_in_the_readers_language(people: People, office: PostOffice) -> None:
    people.bob.language = "tr"
    people.bob.save()
    browser(people.administrator).post(reverse("accounts:make_link", args=[people.bob.pk]))
    message = message_from_string(office.letters[0], policy=policy.default)
    assert message["Subject"] != "Your account in Konak"
    assert "Hello" not in message.get_content()
    assert "Bob" in message.get_content()


def test_a_letter_that_is_not_taken_is_said(people: People, office: PostOffice) -> None:
    office.refuses = True
    page = add_carol(people)
    assert "The mail server did not take the letter. Hand the link over yourself." in page
    assert browser().get(link_on(page)).status_code == 200


def test_a_mail_server_that_is_away_is_said(
    people: People, office: PostOffice, settings: Any
) -> None:
    settings.EMAIL_PORT = 1
    page = add_carol(people)
    assert "The mail server did not take the letter. Hand the link over yourself." in page
    assert link_on(page)

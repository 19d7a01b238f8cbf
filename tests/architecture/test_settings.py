"""The settings that keep a house safe: the policy, sessions, cookies, what a task may carry."""

from __future__ import annotations

import ast

import pytest
from django.conf import settings
from django.test import Client
from django.utils.module_loading import import_string

from accounts.models import Session
from deploy.celery import app
from tests.architecture import tree
from tests.people import PASSWORD, person


def test_a_page_may_load_only_what_the_house_itself_serves() -> None:
    sources = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    assert sources["default-src"] == ["'none'"]
    assert {"base-uri", "form-action", "frame-ancestors", "object-src"} <= set(sources)
    allowed = {str(source) for values in sources.values() for source in values}
    loose = ("'unsafe", "http", "data:", "*")
    assert {source for source in allowed if source.startswith(loose)} == set()
    assert sources["style-src"] == ["'self'"]


@pytest.mark.django_db
def test_the_policy_is_sent_with_a_page() -> None:
    policy = Client().get("/accounts/sign-in/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-" not in policy


def test_sessions_are_in_the_database() -> None:
    store = import_string(f"{settings.SESSION_ENGINE}.SessionStore")
    assert store.get_model_class() is Session


@pytest.mark.django_db
def test_no_cookie_can_be_read_by_a_script_or_sent_by_another_site() -> None:
    person("Alice", password=PASSWORD)
    client = Client()
    form = {"email": "alice@example.org", "password": PASSWORD}
    client.get("/accounts/sign-in/")
    client.post("/accounts/language/", {"language": "tr"})
    assert client.post("/accounts/sign-in/", form).status_code == 302
    assert set(client.cookies) == {"csrftoken", "django_language", "sessionid", "theme"}
    for cookie in client.cookies.values():
        assert cookie["httponly"] is True, cookie
        assert cookie["samesite"] == "Lax", cookie
        assert bool(cookie["secure"]) is settings.HTTPS, cookie


def test_tasks_carry_json_only() -> None:
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == app.conf.result_serializer == app.conf.event_serializer
    assert app.conf.task_serializer == "json"


def test_debugging_is_off_and_pages_are_closed_unless_a_view_says_otherwise() -> None:
    assert settings.DEBUG is False
    assert settings.MIDDLEWARE[-1] == "accounts.middleware.SignInRequired"
    opened = {
        (tree.name(path), node.name)
        for path in tree.python()
        for node in tree.functions(path)
        if any("login_not_required" in ast.unparse(d) for d in node.decorator_list)
    }
    assert {name for _, name in opened} == {
        "healthz", "manifest", "readyz", "sign_in", "welcome", "set_language",
    }  # fmt: skip

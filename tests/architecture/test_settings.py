"""The settings that keep a house safe: the page's policy, sessions, cookies, what a task may carry."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from django.test import Client
from django.utils.module_loading import import_string

from accounts.models import Session
from deploy.celery import app
from tests.architecture import tree

# Settings whose value decides what a stranger can do, as a house with TLS has them.
COOKIES = ("SESSION_COOKIE", "CSRF_COOKIE", "LANGUAGE_COOKIE")


def test_a_page_may_load_only_what_the_house_itself_serves() -> None:
    sources = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    assert sources["default-src"] == ["'none'"]
    assert {"base-uri", "form-action", "frame-ancestors", "object-src"} <= set(sources)
    allowed = {str(source) for values in sources.values() for source in values}
    assert not {
        source for source in allowed if source.startswith(("'unsafe", "http", "data:", "*"))
    }
    assert sources["style-src"] == ["'self'"]


@pytest.mark.django_db
def test_the_policy_is_sent_with_a_page() -> None:
    policy = Client().get("/accounts/sign-in/").headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe-" not in policy


def test_sessions_are_in_the_database() -> None:
    store = import_string(f"{settings.SESSION_ENGINE}.SessionStore")
    assert store.get_model_class() is Session


def test_no_cookie_can_be_read_by_a_script_or_sent_by_another_site() -> None:
    for cookie in COOKIES:
        assert getattr(settings, f"{cookie}_HTTPONLY") is True
        assert getattr(settings, f"{cookie}_SAMESITE") == "Lax"
        assert getattr(settings, f"{cookie}_SECURE") is settings.HTTPS


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
        if any(re.search(r"login_not_required", ast_name(d)) for d in node.decorator_list)
    }
    assert {name for _, name in opened} == {
        "healthz", "readyz", "sign_in", "welcome", "set_language",
    }  # fmt: skip


def ast_name(decorator: object) -> str:
    """The name of a decorator without arguments."""
    return str(getattr(decorator, "id", ""))

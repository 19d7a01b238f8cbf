"""The accounts room."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """People, groups, sessions and the audit ledger."""

    name = "accounts"

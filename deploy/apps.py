"""The composition root as an app: its commands, checks and the Celery application."""

from django.apps import AppConfig


class DeployConfig(AppConfig):
    """Wires what the rooms need of each other at start."""

    name = "deploy"

    def ready(self) -> None:
        """Register the checks; load Celery, so that tasks can be sent from every process."""
        from deploy import celery, checks  # noqa: F401 - importing registers them

"""The Celery application: work that nobody is watching. JSON only, arguments are ids.

On a small machine the worker is one process: its jobs are threads, and so is its beat.
"""

import os
import threading
from typing import Any

from celery import Celery, bootsteps, signals
from celery.beat import EmbeddedService
from click import Option

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deploy.settings")

app = Celery("konak")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["accounts", "chat"])
app.user_options["worker"].add(
    Option(("--beat-thread",), is_flag=True, help="Beat as a thread (--beat is a process).")
)


class BeatThread(bootsteps.StartStopStep):
    """A beat that starts and stops with the worker. Its times are kept nowhere: what is due now
    and then is due again after a start."""

    label = "Beat thread"

    def __init__(self, worker: Any, beat_thread: bool = False, **options: Any) -> None:
        super().__init__(worker, **options)
        self.enabled = beat_thread

    def create(self, worker: Any) -> Any:
        """The service."""
        return EmbeddedService(worker.app, thread=True, scheduler_cls="celery.beat:Scheduler")


app.steps["worker"].add(BeatThread)


@signals.worker_init.connect
def show_life(**details: Any) -> None:
    """A thread, not the worker's loop: that one waits, however long Valkey is away."""
    from chat import life

    threading.Thread(target=life.show_in_thread, daemon=True, name="life").start()

"""Models on their way in: begun, written, paused, gone on with, cancelled, taken into service.

Asks nothing over the network; that is ``chat.fetching``'s, which comes here to say how far it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from accounts.domain import audit
from accounts.models import User
from chat.domain import connections, model_files
from chat.domain.model_files import Refusal
from chat.models import EngineConnection, LanguageModel, ModelArrival

SILENCE: Final = timedelta(seconds=60)  # then who was at work on it is taken for dead
ABANDONED: Final = timedelta(days=7)
SHOWN: Final = 5  # of those that are over
_BLOCK: Final = 1 << 20
_State, _Source = ModelArrival.State, ModelArrival.Source


def listed() -> list[ModelArrival]:
    """What is on its way, and the last that came or did not, newest first."""
    rows = ModelArrival.objects.select_related("engine", "begun_by")
    return [*rows.filter(ended_at=None), *rows.exclude(ended_at=None)[:SHOWN]]


def begin_upload(*, file_name: str, total_bytes: int, sha256: str, actor: User) -> ModelArrival:
    """A row to send the file to, piece by piece: that of the same file where it broke off. Raises
    ``Refusal``."""
    begun = ModelArrival.objects.filter(
        source=_Source.UPLOAD, state__in=(_State.RUNNING, _State.PAUSED),
        file_name=file_name, total_bytes=total_bytes,
    ).first()  # fmt: skip
    if begun is not None:
        if begun.state == _State.PAUSED:
            resume(begun.pk, actor=actor)
        if sha256:
            ModelArrival.objects.filter(pk=begun.pk).update(expected_sha256=sha256)
        return begun
    if total_bytes < 1:
        raise Refusal("empty")
    model_files.check_room(total_bytes)
    return _begin(
        _Source.UPLOAD, _State.RUNNING, file_name=file_name, total_bytes=total_bytes,
        expected_sha256=sha256, actor=actor,
    )  # fmt: skip


def begin_by_hand(*, file_name: str, sha256: str, actor: User) -> ModelArrival:
    """A file that lies in the folder is checked. Raises ``Refusal``."""
    # The row first: without one a file that was taken over would belong to nothing.
    made = _begin(
        _Source.HOST, _State.CHECKING, file_name=file_name, expected_sha256=sha256, actor=actor,
        seen_at=timezone.now(),
    )  # fmt: skip
    try:
        size = model_files.take_over(file_name, made.pk)
    except Refusal as refusal:
        facts: dict[str, Any] = dict(refusal.facts)
        refuse(made, refusal.code, **facts)
        raise
    ModelArrival.objects.filter(pk=made.pk).update(
        total_bytes=size, received_bytes=size, seen_at=None
    )
    return made


def begin_fetch(
    source: ModelArrival.Source, *, origin: str, file_name: str, sha256: str, actor: User
) -> ModelArrival:
    """The worker fetches it from an address. Raises ``Refusal``."""
    model_files.check_room(0)
    return _begin(
        source, _State.WAITING, origin=origin, file_name=file_name, expected_sha256=sha256,
        actor=actor,
    )  # fmt: skip


def begin_pull(engine: EngineConnection, *, name: str, actor: User) -> ModelArrival:
    """The engine is asked to fetch a model itself. Raises ``Refusal``."""
    return _begin(_Source.ENGINE, _State.WAITING, engine=engine, origin=name, actor=actor)


def _begin(
    source: ModelArrival.Source, state: ModelArrival.State, *, actor: User,
    engine: EngineConnection | None = None, file_name: str = "", **told: Any,
) -> ModelArrival:  # fmt: skip
    if file_name:
        model_files.check_free(model_files.checked_name(file_name))
    try:
        with transaction.atomic():
            made = ModelArrival.objects.create(
                source=source, state=state, engine=engine or connections.bundled(),
                file_name=file_name, begun_by=actor, **told,
            )  # fmt: skip
            audit.record("model_file.begun", actor=actor, about=made, source=source)
    except IntegrityError:
        raise Refusal("begun", name=file_name or told["origin"]) from None
    return made


def write(arrival_id: UUID, *, offset: int, read: Callable[[int], bytes]) -> int:
    """The next piece of an upload, read block by block; how much is here now. A piece that does not
    begin where the last one ended is not taken. Raises ``Refusal``."""
    with transaction.atomic():
        row = _locked(arrival_id, _State.RUNNING, source=_Source.UPLOAD)
        total = row.total_bytes or 0
        if row.received_bytes != offset:
            raise Refusal("offset")
        model_files.check_room(total - offset)
        with model_files.writing(row.pk, offset) as file:
            while block := read(_BLOCK):
                if file.tell() + len(block) > total:
                    raise Refusal("size")
                file.write(block)
            row.received_bytes = file.tell()
        row.seen_at = timezone.now()
        if row.received_bytes == total:
            row.state, row.seen_at = _State.CHECKING, None
        row.save(update_fields=["received_bytes", "seen_at", "state"])
    return row.received_bytes


def pause(arrival_id: UUID, *, actor: User) -> None:
    """What has come is kept. Raises ``Refusal``."""
    with transaction.atomic():
        row = _locked(arrival_id, _State.RUNNING, _State.WAITING)
        row.state, row.trouble, row.facts = _State.PAUSED, "", {}
        row.save(update_fields=["state", "trouble", "facts"])
        audit.record("model_file.paused", actor=actor, about=row)


def resume(arrival_id: UUID, *, actor: User) -> None:
    """On from where it is. Raises ``Refusal``."""
    with transaction.atomic():
        row = _locked(arrival_id, _State.PAUSED)
        row.state = _State.WAITING if row.source in ModelArrival.FETCHED else _State.RUNNING
        row.seen_at, row.trouble, row.facts = None, "", {}
        row.save(update_fields=["state", "seen_at", "trouble", "facts"])
        audit.record("model_file.resumed", actor=actor, about=row)


def cancel(arrival_id: UUID, *, actor: User | None) -> None:
    """Nothing of it is kept, but what an administrator had put there lies there again. Raises
    ``Refusal``."""
    with transaction.atomic():
        row = _locked(arrival_id)
        _end(row, _State.CANCELLED)
        audit.record("model_file.cancelled", actor=actor, about=row)


def take(arrival_id: UUID, *, actor: User) -> ModelArrival:
    """The engine serves it from now on. Raises ``Refusal``."""
    with transaction.atomic():
        row = _locked(arrival_id, _State.READY)
        model_files.move_in(row.pk, row.file_name)
        row.state, row.ended_at = _State.DONE, timezone.now()
        row.save(update_fields=["state", "ended_at"])
        audit.record("model_file.added", actor=actor, about=row, sha256=row.sha256)
    return row


def begins_chats(engine: EngineConnection, name: str) -> bool:
    """Whether new chats of the house or of a group begin with this model."""
    told = LanguageModel.objects.filter(engine=engine, name=name)
    return told.filter(Q(is_default=True) | Q(first_of__isnull=False)).exists()


def remove_file(name: str, *, sha256: str, actor: User) -> None:
    """A model's file leaves the engine's folder. Raises ``Refusal``."""
    with transaction.atomic():
        audit.record("model_file.removed", actor=actor, sha256=sha256)
        model_files.remove(name)


# What the worker says


def claim() -> ModelArrival | None:
    """The next for the worker: to be checked, or to be fetched where nothing else is. Two workers
    never have the same."""
    silent = Q(seen_at=None) | Q(seen_at__lt=timezone.now() - SILENCE)
    checks = Q(state=_State.CHECKING)
    fetches = Q(state__in=(_State.WAITING, _State.RUNNING), source__in=ModelArrival.FETCHED)
    with transaction.atomic():
        rows = list(
            ModelArrival.objects.select_for_update(of=("self",))
            .select_related("engine")
            .filter(checks | fetches)
            .order_by("created_at")
        )
        free = ModelArrival.objects.filter(silent, pk__in=[row.pk for row in rows])
        is_free = set(free.values_list("pk", flat=True))
        fetching = any(r.state == _State.RUNNING and r.pk not in is_free for r in rows)
        for row in sorted(rows, key=lambda row: row.state != _State.CHECKING):
            if row.pk in is_free and (row.state == _State.CHECKING or not fetching):
                row.seen_at = timezone.now()
                if row.state == _State.WAITING:
                    row.state = _State.RUNNING
                row.save(update_fields=["seen_at", "state"])
                return row
    return None


def goes_on(row: ModelArrival) -> bool:
    """A sign of life, and how far it is; whether anybody still wants it."""
    told = {
        name: getattr(row, name)
        for name in ("received_bytes", "total_bytes", "mark", "expected_sha256", "trouble")
    }
    going = ModelArrival.objects.filter(pk=row.pk, state=row.state)
    return bool(going.update(seen_at=timezone.now(), **told))


def is_here(row: ModelArrival) -> None:
    """All of it has come; what was fetched by an engine itself is in service then."""
    own = row.source == _Source.ENGINE
    now = {"state": _State.DONE, "ended_at": timezone.now()} if own else {"state": _State.CHECKING}
    ModelArrival.objects.filter(pk=row.pk, state=_State.RUNNING).update(
        seen_at=None,
        trouble="",
        received_bytes=row.received_bytes,
        total_bytes=row.total_bytes,
        **now,
    )


def is_checked(row: ModelArrival, *, sha256: str, facts: Mapping[str, Any]) -> None:
    """It can be taken into service."""
    ModelArrival.objects.filter(pk=row.pk, state=_State.CHECKING).update(
        state=_State.READY, sha256=sha256, facts=dict(facts), trouble="", seen_at=timezone.now()
    )


def halt(row: ModelArrival, code: str, **facts: Any) -> None:
    """It broke off; what has come is kept for when somebody says go on."""
    ModelArrival.objects.filter(pk=row.pk, state=row.state).update(
        state=_State.PAUSED, trouble=code, facts=facts, received_bytes=row.received_bytes
    )


def refuse(row: ModelArrival, code: str, *, sha256: str = "", **facts: Any) -> None:
    """It is not taken in, and nothing of it is kept."""
    with transaction.atomic():
        try:
            locked = _locked(row.pk, _State.RUNNING, _State.CHECKING)
        except Refusal:
            return  # cancelled meanwhile
        locked.trouble, locked.facts, locked.sha256 = code, facts, sha256
        locked.save(update_fields=["trouble", "facts", "sha256"])
        _end(locked, _State.REFUSED)
        audit.record("model_file.refused", actor=None, about=locked, reason=code)


def clear(row: ModelArrival) -> None:
    """What was written after it was cancelled goes too."""
    if not ModelArrival.objects.filter(pk=row.pk, ended_at=None).exists():
        model_files.drop(row.pk)


def sweep() -> None:
    """Cancel what nobody has gone on with for days, and remove what belongs to nothing."""
    before = timezone.now() - ABANDONED
    quiet = Q(seen_at__lt=before) | Q(seen_at=None, created_at__lt=before)
    waits = (_State.RUNNING, _State.PAUSED, _State.READY)
    for row in ModelArrival.objects.filter(quiet, state__in=waits):
        cancel(row.pk, actor=None)
    if model_files.are_here():
        rows = ModelArrival.objects.filter(ended_at=None)
        model_files.sweep(set(rows.values_list("pk", flat=True)), before.timestamp())


def _locked(arrival_id: UUID, *states: ModelArrival.State, **more: Any) -> ModelArrival:
    row = ModelArrival.objects.select_for_update().filter(pk=arrival_id, ended_at=None, **more)
    found = row.first()
    if found is None or (states and found.state not in states):
        raise Refusal("moved_on")
    return found


def _end(row: ModelArrival, state: ModelArrival.State) -> None:
    row.state, row.ended_at = state, timezone.now()
    row.save(update_fields=["state", "ended_at"])
    if row.source == _Source.HOST:
        model_files.give_back(row.pk, row.file_name)
    else:
        model_files.drop(row.pk)

"""The rows of conversations, of answers being written, and of what people arrange around them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from chat.models.catalogue import LanguageModel


class Starter(models.Model):
    """A beginning that an empty page offers, in one language."""

    language = models.CharField(max_length=10)
    place = models.PositiveSmallIntegerField()
    text = models.CharField(max_length=300)

    class Meta:
        ordering = ["place"]
        constraints = [
            models.UniqueConstraint(fields=["language", "place"], name="one_starter_a_place"),
        ]

    def __str__(self) -> str:
        return f"{self.language} {self.place}"


class Folder(models.Model):
    """A person's own drawer for conversations. When it goes, they stay."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="folders"
    )
    name = models.CharField(max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = [Lower("name")]
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="one_folder_a_name"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Conversation(models.Model):
    """A person's conversation. Its messages form a tree; only ``parent`` is stored.

    What was deleted waits with ``cut_at`` set, seen by nobody, until it is brought back or erased:
    a whole conversation as it is, a branch in a conversation of its own. That was ``cut_from``
    there, ``cut_below`` that message (none: at the very beginning).
    """

    class TitledBy(models.TextChoices):
        """Who named it: its first words, a model in idle time, or the person."""

        FIRST_WORDS = "first_words"
        MODEL = "model"
        PERSON = "person"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="conversations"
    )
    title = models.CharField(max_length=200)
    titled_by = models.CharField(max_length=12, choices=TitledBy, default=TitledBy.FIRST_WORDS)
    title_due = models.BooleanField(default=True)
    language_model = models.ForeignKey(
        LanguageModel, on_delete=models.PROTECT, related_name="conversations"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField()
    folder = models.ForeignKey(
        "Folder", on_delete=models.SET_NULL, null=True, related_name="conversations"
    )
    pinned_at = models.DateTimeField(null=True)
    archived_at = models.DateTimeField(null=True)
    cut_from = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="cuts")
    cut_below = models.ForeignKey(
        "Message", on_delete=models.CASCADE, null=True, related_name="cuts"
    )
    cut_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(cut_from=None, cut_below=None)
                | Q(cut_from__isnull=False, cut_at__isnull=False),
                name="cut_off_with_all_that_belongs_to_it",
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "-updated_at"], name="conversations_by_owner"),
            models.Index(
                fields=["owner", "-pinned_at"],
                condition=Q(pinned_at__isnull=False),
                name="conversations_pinned",
            ),
            models.Index(fields=["folder", "-updated_at"], name="conversations_by_folder"),
            models.Index(
                fields=["cut_at"], condition=Q(cut_at__isnull=False), name="conversations_cut_off"
            ),
            models.Index(
                fields=["updated_at"], condition=Q(title_due=True), name="conversations_untitled"
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Message(models.Model):
    """A question or an answer. An answer's text is complete once its generation has ended."""

    class Role(models.TextChoices):
        """Who speaks."""

        USER = "user"
        ASSISTANT = "assistant"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    conversation = models.ForeignKey(
        Conversation, on_delete=models.CASCADE, related_name="messages"
    )
    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="children")
    role = models.CharField(max_length=10, choices=Role)
    text = models.TextField(blank=True)
    # What the model thought before it spoke, and for how long; ``None``: it did not.
    reasoning = models.TextField(blank=True, db_default="")
    reasoned_ms = models.PositiveIntegerField(null=True)
    language_model = models.ForeignKey(LanguageModel, on_delete=models.PROTECT, null=True)
    # The name of a model elsewhere, where the answer came with an import.
    written_by = models.CharField(max_length=200, blank=True, db_default="")
    # What the person thinks of an answer: 1 good, -1 not good, 0 nothing said.
    rating = models.SmallIntegerField(default=0, db_default=0)
    rating_reason = models.CharField(max_length=500, blank=True, db_default="")
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["conversation", "-created_at"], name="messages_in_order")]

    def __str__(self) -> str:
        return str(self.id)


class Share(models.Model):
    """A read-only link to a conversation as it was, the path up to ``leaf``, for colleagues."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    leaf = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="shares")
    people = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="shares", blank=True)
    groups = models.ManyToManyField("accounts.Group", related_name="shares", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return str(self.id)


class Generation(models.Model):
    """One run of an answer.

    ``queued → running → done | stopped | failed | interrupted``, each step a conditional UPDATE.
    The runner that owns it renews ``lease_until``; ``attempt`` counts the owners and fences the
    earlier ones off.
    """

    class State(models.TextChoices):
        """Where the run stands."""

        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        STOPPED = "stopped"
        FAILED = "failed"
        INTERRUPTED = "interrupted"

    ACTIVE = (State.QUEUED, State.RUNNING)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    message = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="generations")
    state = models.CharField(max_length=12, choices=State, default=State.QUEUED)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    first_text_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    runner = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    attempt = models.PositiveIntegerField(default=0)
    stop_requested = models.BooleanField(default=False)
    # Its place in line as it was last told, and the seconds until its turn where anybody can say.
    ahead = models.PositiveIntegerField(default=0, db_default=0)
    wait_s = models.PositiveIntegerField(null=True)
    reason = models.CharField(max_length=40, blank=True)
    facts = models.JSONField(default=dict)
    prompt_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    cached_tokens = models.PositiveIntegerField(null=True)
    # Which of several engines wrote it, where it was not the one that people see.
    served_by = models.ForeignKey(
        LanguageModel, on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    # The version of the model that wrote it, where there is one.
    version = models.ForeignKey(
        "ModelVersion", on_delete=models.SET_NULL, null=True, related_name="generations"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["message"],
                condition=Q(state__in=["queued", "running"]),
                name="one_active_run_an_answer",
            ),
        ]
        indexes = [
            models.Index(
                fields=["created_at"],
                condition=Q(state__in=["queued", "running"]),
                name="active_generations",
            ),
            BrinIndex(fields=["created_at"], name="generations_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.state}"

    @property
    def is_active(self) -> bool:
        """Whether the answer is still coming."""
        return self.state in self.ACTIVE


class Chunk(models.Model):
    """What an active generation wrote in one tick. ``seq`` counts from 1 without a gap.

    Chunks live until the run ends; then the message holds their text. One that has reasoning tells
    how long the run has reasoned up to it.
    """

    pk = models.CompositePrimaryKey("generation_id", "seq")
    generation = models.ForeignKey(Generation, on_delete=models.CASCADE, related_name="chunks")
    seq = models.PositiveIntegerField()
    text = models.TextField()
    reasoning = models.TextField(blank=True, db_default="")
    reasoned_ms = models.PositiveIntegerField(null=True)

    def __str__(self) -> str:
        return f"{self.generation_id} {self.seq}"

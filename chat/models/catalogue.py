"""The rows of engines and models, of what they cost, and of how many people they can serve."""

from __future__ import annotations

import uuid

from django.db import models
from django.db.models import F, Q, Value
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _


class EngineConnection(models.Model):
    """An engine the house can ask. The bundled one has no address here: it is in the settings."""

    class Kind(models.TextChoices):
        """Which dialect it speaks."""

        BUNDLED = "bundled", _("Bundled engine")
        LLAMACPP = "llamacpp", "llama.cpp server"
        OLLAMA = "ollama", "Ollama"
        LMSTUDIO = "lmstudio", "LM Studio"
        VLLM = "vllm", "vLLM"
        SGLANG = "sglang", "SGLang"
        TRTLLM = "trtllm", "TensorRT-LLM"
        LLMD = "llmd", "llm-d"
        OPENAI = "openai", _("OpenAI-compatible server")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=80, unique=True)
    kind = models.CharField(max_length=16, choices=Kind)
    url = models.CharField(max_length=500, blank=True)
    # Sealed by ``chat.domain.vault``; shown to nobody.
    sealed_key = models.CharField(max_length=4000, blank=True, db_default="")
    ca_file = models.CharField(max_length=500, blank=True, db_default="")
    removed_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind"], condition=Q(kind="bundled"), name="one_bundled_engine"
            ),
            models.CheckConstraint(
                condition=Q(kind="bundled", url="") | ~Q(kind="bundled") & ~Q(url=""),
                name="address_where_it_belongs",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class LanguageModel(models.Model):
    """A model an engine serves. Kept when it goes away, so that old answers can name it.

    The engine tells what it is and can do; administrators say who may use it, and how.
    """

    class Standing(models.TextChoices):
        """Whether people are offered it. Who has a hidden one keeps it; a retired one nobody."""

        OFFERED = "offered", _("Offered")
        HIDDEN = "hidden", _("Not offered for new chats")
        RETIRED = "retired", _("Retired")

    class DataClass(models.TextChoices):
        """The most delicate data that it may be told."""

        PUBLIC = "public", _("Public")
        INTERNAL = "internal", _("Internal")
        CONFIDENTIAL = "confidential", _("Confidential")
        SECRET = "secret", _("Strictly confidential")

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    engine = models.ForeignKey(
        EngineConnection, on_delete=models.PROTECT, related_name="language_models"
    )
    name = models.CharField(max_length=200)
    # For everybody, and where it differs for who reads Turkish; see ``named_in``.
    display_name = models.CharField(max_length=200)
    display_name_tr = models.CharField(max_length=200, blank=True, default="", db_default="")
    # In English, and in Turkish; see ``described``.
    description = models.CharField(max_length=300, blank=True, default="", db_default="")
    description_tr = models.CharField(max_length=300, blank=True, default="", db_default="")
    context_length = models.PositiveIntegerField(null=True)
    size_bytes = models.PositiveBigIntegerField(null=True)
    quantization = models.CharField(max_length=24, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    continues = models.BooleanField(default=False)
    vision = models.BooleanField(null=True)
    tools = models.BooleanField(null=True)
    reasoning = models.BooleanField(null=True)
    # The model that an adapter is laid over, and what its file says of itself (``FileFacts``).
    parent = models.CharField(max_length=200, blank=True, db_default="")
    facts = models.JSONField(default=dict, db_default=Value({}, models.JSONField()))
    # Kept in memory or not, where an administrator said so: null is as the engine's own files say.
    pinned = models.BooleanField(null=True)
    available = models.BooleanField(default=True)
    # What administrators say that it reads, where the engine tells nothing; see ``reads``.
    given_length = models.PositiveIntegerField(null=True)
    # Several engines behind one name: people see the one that the others serve for. What its row
    # tells of them (that there are some, and how little one of them reads) saves a look at them.
    serves_for = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, related_name="others"
    )
    is_pool = models.BooleanField(default=False, db_default=False)
    others_length = models.PositiveIntegerField(null=True)
    standing = models.CharField(
        max_length=8, choices=Standing, default=Standing.OFFERED, db_default=Standing.OFFERED
    )
    successor = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="+")
    is_default = models.BooleanField(default=False, db_default=False)
    place = models.PositiveSmallIntegerField(default=100, db_default=100)
    restricted = models.BooleanField(default=False, db_default=False)
    groups = models.ManyToManyField("accounts.Group", related_name="language_models", blank=True)
    first_of = models.ManyToManyField("accounts.Group", related_name="first_models", blank=True)
    data_class = models.CharField(max_length=12, choices=DataClass, blank=True, db_default="")
    instruction = models.TextField(blank=True, db_default="")
    temperature = models.FloatField(null=True)
    top_p = models.FloatField(null=True)
    # The version that answers. Looked at with every answer, so it is told here too what that means:
    # the name it has at the engine where that is not the model's own, and whether its file was
    # replaced by one that nobody has approved. Where neither is so, ``sha256`` is its SHA-256.
    runs = models.ForeignKey(
        "ModelVersion", on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    runs_name = models.CharField(max_length=200, blank=True, default="", db_default="")
    held = models.BooleanField(default=False, db_default=False)
    needs_approval = models.BooleanField(default=True, db_default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField()

    class Meta:
        ordering = ["place", "display_name", "name"]
        constraints = [
            models.UniqueConstraint(fields=["engine", "name"], name="one_model_a_name"),
            models.UniqueConstraint(
                fields=["is_default"], condition=Q(is_default=True), name="one_default_model"
            ),
            models.CheckConstraint(
                condition=Q(serves_for=None) | Q(is_pool=False) & ~Q(serves_for=F("id")),
                name="who_serves_for_another_has_no_others",
            ),
        ]

    def __str__(self) -> str:
        return self.named

    @property
    def named(self) -> str:
        """What people call it, in the reader's language."""
        return self.named_in(get_language() or "")

    def named_in(self, language: str) -> str:
        """What people who read ``language`` call it."""
        return (self.display_name_tr if language.startswith("tr") else "") or self.display_name

    @property
    def reads(self) -> int | None:
        """Tokens of one request, by which prompts and pages go; several engines together read what
        each of them does. ``None`` where nobody tells."""
        told = [self.context_length or self.given_length, self.others_length]
        return min((length for length in told if length), default=None)

    @property
    def described(self) -> str:
        """What it is good for, in the reader's language; where that says nothing, in the other."""
        texts = [self.description, self.description_tr]
        if (get_language() or "").startswith("tr"):
            texts.reverse()
        return texts[0] or texts[1]


class CapacityTest(models.Model):
    """How a model fared with more and more virtual people. ``points`` are ``measuring.Point`` as
    JSON, in the order in which they were measured. ``seen_at`` is a sign of life."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    language_model = models.ForeignKey(
        LanguageModel, on_delete=models.CASCADE, related_name="capacity_tests"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    stop_requested = models.BooleanField(default=False)
    trouble = models.CharField(max_length=40, blank=True)
    points = models.JSONField(default=list)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["language_model"],
                condition=Q(ended_at=None),
                name="one_capacity_test_at_a_time",
            ),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Costs(models.Model):
    """What tokens would cost elsewhere, and what the house's own machine costs. One row."""

    only = models.BooleanField(primary_key=True, default=True, editable=False)
    currency = models.CharField(max_length=8, default="€")
    # Per million tokens.
    read_price = models.DecimalField(max_digits=10, decimal_places=2, default=0)
    written_price = models.DecimalField(max_digits=10, decimal_places=2, default=0)
    machine_price = models.DecimalField(max_digits=12, decimal_places=2, default=0)
    monthly_price = models.DecimalField(max_digits=12, decimal_places=2, default=0)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(only=True), name="costs_in_one_row")]

    def __str__(self) -> str:
        return self.currency

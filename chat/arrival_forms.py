"""What administrators type about a model that is to come in, checked."""

from __future__ import annotations

import contextlib
import re
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from django import forms
from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from chat.domain import arrival_words, model_files
from chat.domain.model_files import Refusal
from chat.models import EngineConnection

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_REPOSITORY: Final = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)
_WORD: Final = {"spellcheck": "false", "autocomplete": "off"}


class _ArrivalForm(forms.Form):
    """The checksum that most ways in have."""

    sha256 = forms.CharField(
        label="SHA-256",
        max_length=80,
        required=False,
        help_text=gettext_lazy("Where you know it. A file with another one is not taken in."),
        widget=forms.TextInput(attrs=_WORD),
    )

    def clean_sha256(self) -> str:
        """64 digits, or nothing."""
        told: str = self.cleaned_data["sha256"].strip().lower().removeprefix("sha256:")
        if told and not _SHA256.fullmatch(told):
            raise forms.ValidationError(_("A SHA-256 has 64 digits from 0 to 9 and a to f."))
        return told


def _named(name: str) -> str:
    """Raises ``ValidationError`` with the sentence."""
    try:
        return model_files.checked_name(name)
    except Refusal as refusal:
        words = arrival_words.sentence(refusal.code, refusal.facts)
        raise forms.ValidationError(words) from refusal


class UploadForm(_ArrivalForm):
    """What is told of a file before its first piece."""

    file_name = forms.CharField(max_length=1000, strip=False)
    total_bytes = forms.IntegerField(min_value=0, max_value=1 << 40)

    def clean_file_name(self) -> str:
        """See ``model_files.checked_name``."""
        return _named(self.cleaned_data["file_name"])


class HostForm(_ArrivalForm):
    """One of the files that lie there. Nobody types a path: a page that opened whatever somebody
    names would open the server's disk to everybody who manages models."""

    file_name = forms.ChoiceField(label=gettext_lazy("File"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        there = []
        with contextlib.suppress(Refusal):  # the page says it above
            there = model_files.left_by_hand()
        choice: Any = self.fields["file_name"]
        choice.choices = [(file.name, file.name) for file in there]
        self.order_fields(["file_name", "sha256"])

    def clean_file_name(self) -> str:
        """See ``model_files.checked_name``."""
        return _named(self.cleaned_data["file_name"])


class AddressForm(_ArrivalForm):
    """A file anywhere on the open internet."""

    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=2000,
        help_text=gettext_lazy("For example https://models.example.org/small.Q4_K_M.gguf"),
        widget=forms.TextInput(attrs={"inputmode": "url", **_WORD}),
    )
    file_name = forms.CharField(
        label=gettext_lazy("Name of the file here"),
        max_length=1000,
        required=False,
        help_text=gettext_lazy("Left empty, it is the one at the end of the address."),
        widget=forms.TextInput(attrs=_WORD),
    )
    field_order = ("url", "file_name", "sha256")

    def clean_url(self) -> str:
        """https, and a host."""
        url: str = self.cleaned_data["url"].strip()
        try:
            parts = urlsplit(url)
            in_order = parts.scheme == "https" and parts.hostname and parts.port != 0
        except ValueError:
            in_order = False
        if not in_order or parts.username:
            raise forms.ValidationError(_("Write the address as https://host/path/name.gguf."))
        return parts._replace(fragment="").geturl()

    def clean(self) -> dict[str, Any]:
        """A name, typed or from the address."""
        data = super().clean() or {}
        if "url" in data and "file_name" in data:
            told = data["file_name"] or unquote(urlsplit(data["url"]).path.rpartition("/")[2])
            try:
                data["file_name"] = _named(told)
            except forms.ValidationError as error:
                self.add_error("file_name", error)
        return data


class HubForm(forms.Form):
    """A file of a repository; the hub tells its checksum."""

    repository = forms.CharField(
        label=gettext_lazy("Repository"),
        max_length=200,
        help_text=gettext_lazy("Its owner and its name, for example somebody/small-model-GGUF"),
        widget=forms.TextInput(attrs=_WORD),
    )
    path = forms.CharField(
        label=gettext_lazy("File"),
        max_length=500,
        help_text=gettext_lazy("As it stands in the repository’s list of files."),
        widget=forms.TextInput(attrs=_WORD),
    )
    revision = forms.CharField(
        label=gettext_lazy("Revision"),
        max_length=100,
        initial="main",
        help_text=gettext_lazy("A branch, a tag or a commit."),
        widget=forms.TextInput(attrs=_WORD),
    )

    def clean_repository(self) -> str:
        """Two words."""
        told: str = self.cleaned_data["repository"].strip().strip("/")
        if not _REPOSITORY.fullmatch(told) or ".." in told:
            raise forms.ValidationError(_("Write it as owner/name."))
        return told

    def clean(self) -> dict[str, Any]:
        """The address, and the name of the file here."""
        data = super().clean() or {}
        if {"repository", "path", "revision"} <= data.keys():
            parts = data["path"].strip().split("/")
            try:
                data["file_name"] = _named(parts[-1])
            except forms.ValidationError as error:
                self.add_error("path", error)
            if {"", ".", ".."} & {*parts, data["revision"]}:
                self.add_error("path", _("There is no such file in a repository."))
            where = "/".join(map(quote, parts))
            revision = quote(data["revision"], safe="")
            hub = settings.HUB_URL
            data["url"] = f"{hub}/{data['repository']}/resolve/{revision}/{where}"
        return data


class PullForm(forms.Form):
    """A model's name at an engine that fetches its models itself."""

    engine = forms.ModelChoiceField(
        label=gettext_lazy("Engine"),
        queryset=EngineConnection.objects.filter(
            kind=EngineConnection.Kind.OLLAMA, removed_at=None
        ).order_by("name"),
        empty_label=None,
    )
    name = forms.RegexField(
        r"^[\w][\w./:-]*$",
        label=gettext_lazy("Name of the model"),
        max_length=200,
        help_text=gettext_lazy("For example llama3.2:3b"),
        widget=forms.TextInput(attrs=_WORD),
        error_messages={"invalid": gettext_lazy("This cannot be the name of a model.")},
    )

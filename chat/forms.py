"""What people type in a chat, checked. A text that is refused is shown again, never dropped."""

from __future__ import annotations

import re
import unicodedata
from typing import Any, cast

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.datastructures import MultiValueDict
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.models import Group, User
from chat.domain import catalogue, rights, starters, titles
from chat.models import LanguageModel

_OUT_OF_DATE = gettext_lazy("This page is out of date. Reload it; your text is kept.")


def _is_seen(text: str) -> bool:
    """Whether there is a letter, a number, a sign or a symbol among what only has an effect."""
    return any(unicodedata.category(each)[0] in "LNPS" for each in text)


class ShortForm(forms.Form):
    """A form in the middle of a page, with one place for what is wrong."""

    @property
    def problem(self) -> str:
        """The first thing that is wrong, as one sentence."""
        return str(next(iter(self.errors.values()))[0]) if self.errors else ""


class OnceForm(ShortForm):
    """Something that is made once: its id comes with the page, so a repeated post is one act."""

    message_id = forms.UUIDField(error_messages={"required": _OUT_OF_DATE, "invalid": _OUT_OF_DATE})


class MessageForm(OnceForm):
    """A question."""

    text = forms.CharField(
        strip=False,
        error_messages={
            "required": gettext_lazy("There is nothing to send yet. Write something first.")
        },
    )
    field_order = ["text", "message_id"]

    def clean_text(self) -> str:
        """Something visible, and not more than the limit the page names."""
        text: str = self.cleaned_data["text"].replace("\r\n", "\n").strip("\n")
        if not _is_seen(text):
            raise forms.ValidationError(self.fields["text"].error_messages["required"])
        over = len(text) - settings.MESSAGE_MAX_CHARS
        if over > 0:
            raise forms.ValidationError(
                ngettext(
                    "The message is %(over)s character too long (limit: %(limit)s). Shorten it.",
                    "The message is %(over)s characters too long (limit: %(limit)s). Shorten it.",
                    over,
                )
                % {
                    "over": number_format(over, force_grouping=True),
                    "limit": number_format(settings.MESSAGE_MAX_CHARS, force_grouping=True),
                }
            )
        return text


class NextMessageForm(MessageForm):
    """A question after the message ``parent``, the last one that its page shows."""

    parent = forms.UUIDField(required=False, error_messages={"invalid": _OUT_OF_DATE})


class LanguageModelForm(OnceForm):
    """Who is to answer."""

    language_model = forms.ModelChoiceField(
        queryset=LanguageModel.objects.none(),
        required=False,
        error_messages={
            "invalid_choice": gettext_lazy(
                "This model is not available any more. Choose another one."
            )
        },
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._user = user
        choice = cast("forms.ModelChoiceField[LanguageModel]", self.fields["language_model"])
        choice.queryset = rights.offered_to(user)


class NewConversationForm(LanguageModelForm, MessageForm):
    """The first question, and the model that is to answer."""

    def clean(self) -> dict[str, Any]:
        """Without a choice the person's usual model answers."""
        data = super().clean() or {}
        if "language_model" not in self.errors and not data.get("language_model"):
            data["language_model"] = catalogue.default_for(self._user)
            if data["language_model"] is None:
                self.add_error(
                    "language_model",
                    _("No model is ready yet. Your text is kept; try again in a moment."),
                )
        return data


class TitleForm(ShortForm):
    """Another title for a conversation."""

    title = forms.CharField(label=gettext_lazy("Title"), max_length=200)

    def clean_title(self) -> str:
        """Something that can be seen, else it could not be found in the list."""
        title: str = titles.tidy(self.cleaned_data["title"])
        if not _is_seen(title):
            raise forms.ValidationError(_("This title cannot be seen. Use letters or numbers."))
        return title


class ImportForm(forms.Form):
    """A file that another product exported."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        widget=forms.ClearableFileInput(attrs={"accept": ".json,application/json"}),
        error_messages={
            "required": gettext_lazy("Choose a file first."),
            "empty": gettext_lazy("This file is empty. Export it again and choose the whole file."),
        },
    )

    def clean_file(self) -> UploadedFile[Any]:
        """Not larger than what can be read in one go."""
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if (file.size or 0) > settings.IMPORT_MAX_MIB * 1024 * 1024:
            raise self._too_large()
        return file

    @classmethod
    def refused(cls) -> ImportForm:
        """The form after a file so large that it was not even read."""
        form = cls({}, MultiValueDict())
        form.full_clean()
        form.errors.clear()
        form.add_error("file", cls._too_large())
        return form

    @staticmethod
    def _too_large() -> forms.ValidationError:
        return forms.ValidationError(
            _("This file is larger than %(limit)s MB. Nothing was taken over.")
            % {"limit": settings.IMPORT_MAX_MIB}
        )


class ShareForm(forms.Form):
    """Colleagues, by their addresses or by the person's own groups."""

    people = forms.CharField(
        label=gettext_lazy("E-mail addresses"),
        required=False,
        max_length=5000,
        help_text=gettext_lazy("Of colleagues here, one a line or separated by commas."),
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off"}),
    )
    groups = forms.ModelMultipleChoiceField(
        label=gettext_lazy("Your groups"),
        queryset=Group.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._user = user
        choice = cast("forms.ModelMultipleChoiceField[Group]", self.fields["groups"])
        choice.queryset = Group.objects.filter(people=user)
        if not choice.queryset.exists():
            del self.fields["groups"]

    def clean_people(self) -> list[User]:
        """People of the house who can sign in."""
        wanted = {
            each.lower() for each in re.split(r"[\s,;]+", self.cleaned_data["people"]) if each
        }
        found = {user.email: user for user in User.objects.filter(email__in=wanted, is_active=True)}
        if missing := sorted(wanted - found.keys()):
            raise forms.ValidationError(
                _("Nobody here has this address: %(addresses)s")
                % {"addresses": ", ".join(missing[:5])}
            )
        return list(found.values())

    def clean(self) -> dict[str, Any]:
        """Somebody at least."""
        data = super().clean() or {}
        data.setdefault("groups", [])
        if "people" in data and not data["people"] and not data["groups"]:
            self.add_error("people", _("Name somebody who is to read it."))
        return data


class FolderForm(forms.Form):
    """The name of a folder."""

    name = forms.CharField(label=gettext_lazy("Name of the folder"), max_length=80)


class StartersForm(forms.Form):
    """What an empty page offers to begin with, in each language of the house."""

    def __init__(self, *args: Any, now: dict[str, list[str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._languages = list(now)
        names = dict(settings.LANGUAGES)
        for language, texts in now.items():
            for place in range(starters.COUNT):
                self.fields[f"{language}_{place}"] = forms.CharField(
                    label=f"{names[language]}, {place + 1}",
                    required=False,
                    strip=False,
                    max_length=300,
                    initial=texts[place] if place < len(texts) else "",
                )

    def texts(self) -> dict[str, list[str]]:
        """Language → what was typed."""
        return {
            language: [
                self.cleaned_data[f"{language}_{place}"].lstrip() for place in range(starters.COUNT)
            ]
            for language in self._languages
        }


class RatingForm(ShortForm):
    """What a person thinks of an answer."""

    rating = forms.TypedChoiceField(coerce=int, choices=[(value, value) for value in (-1, 0, 1)])
    reason = forms.CharField(required=False, max_length=500)

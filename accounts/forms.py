"""What people type about themselves and each other, checked."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import authenticate, password_validation
from django.utils.translation import gettext_lazy as _

from accounts.models import Group, User


class SignInForm(forms.Form):
    """E-mail and password. One answer for every failure, so that no address can be probed."""

    email = forms.CharField(
        label=_("E-mail address"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "username", "autofocus": True}),
    )
    password = forms.CharField(
        label=_("Password"),
        max_length=1024,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    user: User | None = None

    def clean(self) -> dict[str, Any]:
        """Find the person. The hasher runs whether or not the address exists."""
        data = super().clean() or {}
        if "email" in data and "password" in data:
            user = authenticate(username=data["email"], password=data["password"])
            if not isinstance(user, User):
                raise forms.ValidationError(
                    _("The e-mail address or the password is not right, or the account is closed.")
                )
            self.user = user
        return data


class PasswordForm(forms.Form):
    """A new password, typed twice."""

    password = forms.CharField(
        label=_("Password"),
        max_length=1024,
        strip=False,
        help_text=_("At least 10 characters. A few unrelated words are easy to keep in mind."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label=_("The same password again"),
        max_length=1024,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, *args: Any, user: User | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._user = user

    def clean(self) -> dict[str, Any]:
        """Both the same, and strong enough."""
        data = super().clean() or {}
        password, again = data.get("password"), data.get("again")
        if password and again and password != again:
            self.add_error("again", _("The two passwords differ."))
        elif password:
            user = self._user or User(name=data.get("name", ""), email=data.get("email", ""))
            try:
                password_validation.validate_password(password, user)
            except forms.ValidationError as error:
                self.add_error("password", error)
        return data


class ChangePasswordForm(PasswordForm):
    """A new password, for who knows the one there is."""

    current = forms.CharField(
        label=_("Your password now"),
        max_length=1024,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    field_order = ["current", "password", "again"]

    def clean_current(self) -> str:
        """The right one."""
        current: str = self.cleaned_data["current"]
        if self._user is None or not self._user.check_password(current):
            raise forms.ValidationError(_("This is not your password."))
        return current


class ProfileForm(forms.Form):
    """How a person is called, and how pages speak and look to them."""

    name = forms.CharField(
        label=_("Name"), max_length=120, widget=forms.TextInput(attrs={"autocomplete": "name"})
    )
    language = forms.ChoiceField(label=_("Language"), choices=[("en", "English"), ("tr", "Türkçe")])
    theme = forms.ChoiceField(
        label=_("Appearance"),
        choices=[("", _("As my system")), *User.Theme.choices],
        required=False,
        widget=forms.RadioSelect,
    )


class FirstAdministratorForm(PasswordForm):
    """The person who manages the house from the first day on."""

    name = forms.CharField(
        label=_("Your name"),
        max_length=120,
        widget=forms.TextInput(attrs={"autocomplete": "name", "autofocus": True}),
    )
    email = forms.EmailField(
        label=_("E-mail address"),
        max_length=254,
        help_text=_("You sign in with it."),
        widget=forms.EmailInput(attrs={"autocomplete": "username"}),
    )

    field_order = ["name", "email", "password", "again"]


class PersonForm(forms.Form):
    """Name, rights and groups of a person."""

    name = forms.CharField(label=_("Name"), max_length=120)
    is_administrator = forms.BooleanField(
        label=_("Administrator"),
        required=False,
        help_text=_("Manages people and groups. Cannot read other people’s conversations."),
    )
    manages_models = forms.BooleanField(
        label=_("Manages models"),
        required=False,
        help_text=_("Adds engines and decides who may use which model. Reads no conversations."),
    )
    groups = forms.ModelMultipleChoiceField(
        label=_("Groups"),
        queryset=Group.objects.all(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )


class NewPersonForm(PersonForm):
    """A person to be invited."""

    email = forms.EmailField(label=_("E-mail address"), max_length=254)

    field_order = ["name", "email", "is_administrator", "manages_models", "groups"]


class GroupForm(forms.Form):
    """A new group."""

    name = forms.CharField(label=_("Name of the new group"), max_length=80)

    def clean_name(self) -> str:
        """Not taken yet."""
        name: str = self.cleaned_data["name"].strip()
        if Group.objects.filter(name__iexact=name).exists():
            raise forms.ValidationError(_("A group with this name exists already."))
        return name


class GroupPeopleForm(forms.Form):
    """Who is in the group."""

    people = forms.ModelMultipleChoiceField(
        label=_("People"),
        queryset=User.objects.filter(is_active=True),
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

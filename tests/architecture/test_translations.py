"""Everything a person reads is there in English and in Turkish, and says the same."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from django.template import engines
from django.utils import translation

from deploy import texts, translating
from deploy.appliance import messages
from tests.architecture import tree

CATALOGUE = translating.LOCALES / "tr" / "LC_MESSAGES" / "django.po"
SLOTS = re.compile(r"%\(\w+\)[sd]|%%[a-z]?|\{\w*\}")
# Sentences that are the same word in both languages.
SAME_WORD = {"Model", "%(n)s GB", "%(n)s MB"}


@pytest.fixture(scope="module")
def catalogue() -> Catalog:
    """The Turkish one as it lies in the tree."""
    return translating.read(CATALOGUE)


@pytest.fixture(scope="module")
def entries(catalogue: Catalog) -> list[Message]:
    """Its entries without the header."""
    found = [message for message in catalogue if message.id]
    assert len(found) > 100
    return found


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A checkout of one Python file and one template."""
    (tmp_path / "chat" / "templates").mkdir(parents=True)
    (tmp_path / "chat" / "a.py").write_text(
        "a = gettext_lazy('la' 'zy')\nb = ngettext('one', 'many', 2)\n"
        "c = pgettext('month', 'May')\n# Translators: a note\nd = _('said')\ne = other('no')\n"
    )
    (tmp_path / "chat" / "templates" / "b.html").write_text(
        '{% load i18n %}\n    <p title="{% translate "said" %}">\n'
        '  {{ x|default:_("in a filter") }}'
        "\n      {% translate '50%' as y %}{% blocktranslate trimmed with x=1 %}\n   It is\n"
        "  {{ x }}.\n{% endblocktranslate %}{% blocktranslate count n=n %}{{ n }} thing"
        "{% plural %}{{ n }} things{% endblocktranslate %}\n"
    )
    return tmp_path


def forms(words: str | list[str] | tuple[str, ...]) -> list[str]:
    """The sentence, or its singular and plural."""
    return [words] if isinstance(words, str) else list(words)


def test_the_catalogue_is_what_deploy_translate_writes() -> None:
    assert CATALOGUE.read_text() == translating.refreshed(CATALOGUE, texts.find(tree.CHECKOUT)), (
        "run ./deploy/translate"
    )


def test_every_sentence_has_its_turkish(catalogue: Catalog, entries: list[Message]) -> None:
    missing = [
        sentence.singular
        for sentence in texts.find(tree.CHECKOUT)
        if not (entry := catalogue.get(sentence.singular, sentence.context))
        or not translating.is_translated(entry)
    ]
    assert missing == []
    assert [m.id for m in entries if m.string == m.id and m.id not in SAME_WORD] == []


def test_nothing_in_the_catalogue_is_no_longer_said(
    catalogue: Catalog, entries: list[Message]
) -> None:
    said = {sentence.key for sentence in texts.find(tree.CHECKOUT)}
    assert [m.id for m in entries if (forms(m.id)[0], m.context) not in said] == []
    assert list(catalogue.obsolete) == []


def test_what_is_filled_in_is_the_same_in_both(entries: list[Message]) -> None:
    for entry in entries:
        for english, turkish in zip(forms(entry.id), forms(entry.string), strict=True):
            wanted = Counter(SLOTS.findall(english))
            assert Counter(SLOTS.findall(turkish)) == wanted, (entry.id, turkish)


def test_what_counts_has_the_number_of_forms_of_the_language(
    catalogue: Catalog, entries: list[Message]
) -> None:
    assert catalogue.num_plurals == 2
    counting = [entry for entry in entries if not isinstance(entry.id, str)]
    assert counting
    assert {len(forms(entry.string)) for entry in counting} == {catalogue.num_plurals}


def test_turkish_is_written_as_turkish_is(entries: list[Message]) -> None:
    for entry in entries:
        for english, turkish in zip(forms(entry.id), forms(entry.string), strict=True):
            assert not re.search(r"""["'\u0307]""", turkish), turkish
            assert turkish == turkish.strip() or english != english.strip(), turkish
            assert english[-1:] not in ".?…:" or turkish[-1] == english[-1], turkish


def test_every_language_of_the_house_has_a_catalogue() -> None:
    from django.conf import settings

    folders = {path.name for path in translating.LOCALES.iterdir()}
    assert folders == {code for code, _ in settings.LANGUAGES} - {settings.LANGUAGE_CODE}


def test_pages_are_rendered_in_turkish(entries: list[Message]) -> None:
    """Through the compiled catalogue, as a page does it."""
    template = engines["django"].from_string(
        '{% load i18n %}{% translate "Sign in" %}, {% translate "%n characters left" %}, '
        "{% blocktranslate count size=3 %}{{ size }} person{% plural %}{{ size }} people"
        "{% endblocktranslate %}"
    )
    with translation.override("tr"):
        assert template.render() == "Oturum aç, %n karakter kaldı, 3 kişi"


def test_a_refresh_keeps_drops_lists_and_settles(
    example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = example / "locale" / "tr" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    (folder / "django.po").write_text(
        'msgid ""\nmsgstr ""\n"Plural-Forms: nplurals=2; plural=(n > 1);\\n"\n\n'
        'msgid "said"\nmsgstr "dendi"\n\nmsgid "gone"\nmsgstr "gitti"\n\n'
        '#, fuzzy\nmsgid "lazy"\nmsgstr "belki"\n\nmsgid "one"\nmsgstr "bir"\n'
    )
    assert not translating.refresh(example, example / "locale")
    told = capsys.readouterr().out
    assert "lazy\n" in told and "one; many\n" in told and "said" not in told
    assert told.endswith("8 sentences, 7 not translated.\n")
    first = (folder / "django.po").read_text()
    assert '#. Translators: a note\n#: chat/a.py chat/templates/b.html\nmsgid "said"' in first
    assert "dendi" in first and "gitti" not in first and "belki" not in first
    assert str(example) not in first and "Date" not in first
    translating.refresh(example, example / "locale")
    assert (folder / "django.po").read_text() == first
    assert (folder / "django.mo").exists()


def test_the_console_speaks_both_languages() -> None:
    for key, both in messages.TEXTS.items():
        assert len(both) == 2, key
        english, turkish = both
        assert english and turkish and english != turkish, key
        assert Counter(SLOTS.findall(english)) == Counter(SLOTS.findall(turkish)), key
        assert (english[-1] in ".?:") == (turkish[-1] in ".?:"), key


def test_every_sentence_of_the_console_is_said_and_every_one_said_is_there() -> None:
    sources = [p for p in tree.python() if "appliance" in p.parts and p.stem != "messages"]
    said = {
        key
        for path in sources
        for key in re.findall(r"""(?:say|text|Refusal)\(\s*"(\w+)\"""", path.read_text())
    }
    assert said == set(messages.TEXTS)


def test_extraction_finds_every_way_of_saying_something(example: Path) -> None:
    """Lazy and counted ones, contexts, template blocks with trimming, notes for translators."""
    found = {s.key: s for s in texts.find(example)}
    assert set(found) == {
        ("lazy", None), ("one", None), ("May", "month"), ("said", None), ("It is %(x)s.", None),
        ("%(n)s thing", None), ("50%%", None), ("in a filter", None),
    }  # fmt: skip
    assert found["one", None].plural == "many"
    assert found["%(n)s thing", None].plural == "%(n)s things"
    assert found["said", None].comments == ["Translators: a note"]
    assert found["said", None].files == ["chat/a.py", "chat/templates/b.html"]

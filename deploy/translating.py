"""``deploy/translate``: brings every catalogue up to date with the sentences of the product.

What is translated is kept, what is no longer said goes, what is new stays empty and is listed.
Nothing is guessed, and the same sentences always give the same file.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po, write_po

from deploy import texts, translations

CHECKOUT = Path(__file__).resolve().parent.parent
LOCALES = Path(__file__).resolve().parent / "locale"
WIDTH = 100
HEADER = """\
# {name} texts of Konak. After changing a sentence: ./deploy/translate
msgid ""
msgstr ""
"Language: {code}\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: {plural}\\n"

"""


def main() -> int:
    """Refresh and compile all. 1 while a sentence is not translated, and says which."""
    return 0 if refresh(CHECKOUT, LOCALES) else 1


def refresh(checkout: Path, locales: Path) -> bool:
    """Bring the catalogues in ``locales`` up to date; whether every sentence is translated."""
    complete = True
    sentences = texts.find(checkout)
    for path in sorted(locales.glob("*/LC_MESSAGES/django.po")):
        path.write_text(refreshed(path, sentences))
        name = path.relative_to(checkout)
        missing = [message for message in read(path) if message.id and not is_translated(message)]
        for message in missing:
            sys.stdout.write(f"{name}: {'; '.join(_forms(message.id))}\n")
        sys.stdout.write(f"{name}: {len(sentences)} sentences, {len(missing)} not translated.\n")
        complete = complete and not missing
    translations.compile_all(locales)
    return complete


def read(path: Path) -> Catalog:
    """The catalogue in ``path``, whose folder names its language."""
    with path.open("rb") as file:
        return read_po(file, locale=path.parts[-3])


def refreshed(path: Path, sentences: list[texts.Sentence]) -> str:
    """What ``path`` should hold."""
    old = read(path)
    new = Catalog(locale=old.locale)
    for sentence in sentences:
        known = old.get(sentence.singular, sentence.context)
        new.add(
            (sentence.singular, sentence.plural) if sentence.plural else sentence.singular,
            _kept(known, sentence, forms=old.num_plurals),
            locations=[(name, 0) for name in sentence.files],
            auto_comments=sentence.comments,
            user_comments=known.user_comments if known else (),
            context=sentence.context,
        )
    body = io.BytesIO()
    write_po(body, new, width=WIDTH, omit_header=True, include_lineno=False)
    code = str(old.locale)
    name = old.locale.english_name if old.locale else code
    header = HEADER.format(name=name, code=code, plural=old.plural_forms)
    return header + body.getvalue().decode().rstrip("\n") + "\n"


def is_translated(message: Message) -> bool:
    """Every form is there, and nobody doubts it."""
    return all(_forms(message.string)) and not message.fuzzy


def _kept(known: Message | None, sentence: texts.Sentence, *, forms: int) -> str | tuple[str, ...]:
    """The translation so far, where the sentence still counts or does not count as before."""
    words = _forms(known.string) if known and not known.fuzzy else ()
    if sentence.plural:
        return words if len(words) == forms else ("",) * forms
    return words[0] if len(words) == 1 else ""


def _forms(words: str | Sequence[str] | None) -> tuple[str, ...]:
    return (words,) if isinstance(words, str) else tuple(words or ("",))


if __name__ == "__main__":
    sys.exit(main())

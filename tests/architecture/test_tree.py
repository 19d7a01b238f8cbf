"""What the tree holds and what it must not: layout, strangers' addresses, inline markup."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.architecture import tree

TOP = {
    *("manage.py", "pyproject.toml", "README.md", "LICENSE"),
    *("accounts", "chat", "engine_adapter", "deploy", "tests"),
}
# Put together, so that this file does not name them either.
REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"),
        ("docker", "io"), ("ghcr", "io"), ("quay", "io"), ("huggingface", "co"),
        ("proxy", "golang", "org"), ("unpkg", "com"), ("jsdelivr", "net"),
    )
]  # fmt: skip
_HOMES = "|".join(("ho" + "me", "Us" + "ers", "ro" + "ot", "wo" + "rk"))
HOMES = re.compile(rf"(?<![\w.])/(?:{_HOMES})/\w")
ADDRESS = re.compile(r"""(?:https?:)?//(?!www\.w3\.org/)[\w-]+\.[\w.-]+""")
COMMENT = re.compile(r"<!--.*?-->|/\*.*?\*/|^\s*//.*?$|\{#.*?#\}", re.DOTALL | re.MULTILINE)
INLINE = {
    "a script": re.compile(r"<script(?![^>]*\ssrc=)", re.IGNORECASE),
    "a style sheet": re.compile(r"<style\b", re.IGNORECASE),
    "a style": re.compile(r"""\sstyle\s*=""", re.IGNORECASE),
    "a handler": re.compile(r"""\s(?:hx-)?on[\w:-]+\s*=\s*["']""", re.IGNORECASE),
    "an address that is a script": re.compile(r"javascript:|[\"']js:", re.IGNORECASE),
    "an evaluated filter": re.compile(r"""hx-trigger=["'][^"']*\["""),
}


def test_the_top_level_is_fixed() -> None:
    listed = _git("ls-files")
    top = {name.partition("/")[0] for name in listed}
    assert {name for name in top if not name.startswith(".")} == TOP


def test_nothing_that_is_made_is_kept() -> None:
    made = re.compile(r"\.(mo|pyc|gguf|log|sock|whl)$|__pycache__|^var/|^\.venv/|\.orig$")
    assert [name for name in _git("ls-files") if made.search(name)] == []


def test_no_file_knows_a_developers_machine() -> None:
    assert _lines_with(HOMES) == []


def test_no_file_names_a_registry() -> None:
    assert _lines_with(re.compile("|".join(map(re.escape, REGISTRIES)))) == []


def test_pages_ask_nobody_but_the_house() -> None:
    found = []
    for path in tree.files(*tree.PAGE_FILES):
        words = COMMENT.sub("", path.read_text())
        found += [f"{tree.name(path)}: {m[0]}" for m in ADDRESS.finditer(words)]
    assert found == []


@pytest.mark.parametrize("what", INLINE)
def test_no_template_has_inline(what: str) -> None:
    templates = tree.files("*.html")
    assert len(templates) > 20
    found = [
        f"{tree.name(path)}: {match[0].strip()}"
        for path in templates
        for match in INLINE[what].finditer(path.read_text())
    ]
    assert found == []


def test_the_patterns_find_what_they_are_for() -> None:
    bad = {
        "a script": "<script>", "a style sheet": "<style>", "a style": '<p style="x">',
        "a handler": '<p hx-on:click="x">', "an address that is a script": 'href="javascript:x"',
        "an evaluated filter": 'hx-trigger="keyup[enter]"',
    }  # fmt: skip
    assert {what for what, markup in bad.items() if INLINE[what].search(markup)} == set(INLINE)
    assert not INLINE["a script"].search('<script type="module" src="x">')
    assert ADDRESS.search('src="//cdn.example.com/x"')
    assert HOMES.search("/" + "home/somebody") and REGISTRIES[0] == "pypi" + ".org"


def test_scripts_evaluate_nothing_and_write_no_markup_from_text() -> None:
    words = r"\beval\(|new Function\(|document\.write|insertAdjacentHTML|outerHTML\s*="
    forbidden = re.compile(words)
    assert _lines_with(forbidden, names=(".js",)) == []


def _lines_with(pattern: re.Pattern[str], names: tuple[str, ...] = ("",)) -> list[str]:
    return [
        f"{tree.name(path)}: {line.strip()[:120]}"
        for path in tree.everything()
        if path.name.endswith(names)
        for line in path.read_text().splitlines()
        if pattern.search(line)
    ]


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(
        ["git", *arguments], cwd=tree.CHECKOUT, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()

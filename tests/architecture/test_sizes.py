"""Sizes, names and openings of files: what DESIGN.md's section on names, comments, sizes asks."""

from __future__ import annotations

import ast
import re
import statistics
import tokenize

from tests.architecture import tree

WITH_TESTS = (*tree.PRODUCT, "tests")
NAMELESS = {"utils", "helpers", "common", "core", "services", "managers"}
# tests/services.py runs real services; it is a pytest plugin, not a room for odds and ends.
NAMED_ON_PURPOSE = {"tests/services.py"}
SILENCED = re.compile(r"#\s*(noqa|type:\s*ignore)")
NOQA = re.compile(r"#\s*noqa:\s*[A-Z]+\d+(,\s*[A-Z]+\d+)*\s+--?\s+\S+")
IGNORE = re.compile(r"#\s*type:\s*ignore\[[\w-]+(,\s*[\w-]+)*\]\s+#\s+\S+")


def test_no_file_is_longer_than_400_lines() -> None:
    sizes = {tree.name(p): tree.lines(p) for p in tree.python(rooms=WITH_TESTS)}
    assert {name: size for name, size in sizes.items() if size > 400} == {}


def test_half_of_the_files_have_at_most_90_lines() -> None:
    sizes = [size for p in tree.python() if (size := tree.lines(p))]
    assert statistics.median(sizes) <= 90


def test_no_function_is_longer_than_50_lines() -> None:
    long = {
        f"{tree.name(path)}:{node.name}": size
        for path in tree.python(rooms=WITH_TESTS)
        for node in tree.functions(path)
        if (size := _length(node)) > 50
    }
    assert long == {}


def test_no_view_is_longer_than_25_lines() -> None:
    paths = [p for p in tree.python() if "views" in p.parts or p.stem == "views"]
    assert len(paths) >= 5
    views = {
        f"{tree.name(path)}:{node.name}": _length(node)
        for path in paths
        for node in tree.functions(path)
        if node.args.args and node.args.args[0].arg == "request"
    }
    assert len(views) > 20
    assert {name: size for name, size in views.items() if size > 25} == {}


def test_no_template_is_longer_than_120_lines() -> None:
    templates = tree.files("*.html")
    assert templates
    assert {tree.name(p): n for p in templates if (n := tree.lines(p)) > 120} == {}


def test_all_javascript_of_ours_together_has_at_most_400_lines() -> None:
    scripts = [path for path in tree.files("*.js") if path.parent.name != "vendor"]
    assert scripts
    assert sum(map(tree.lines, scripts)) <= 400


def test_every_module_has_a_name_that_says_something() -> None:
    nameless = {tree.name(p) for p in tree.python(rooms=WITH_TESTS) if p.stem in NAMELESS}
    folders = {tree.name(p.parent) for p in tree.python() if p.parent.name in NAMELESS}
    assert nameless | folders == NAMED_ON_PURPOSE


def test_every_module_opens_with_a_docstring_of_one_to_four_lines() -> None:
    """What it owns and what it does not know; an error tree's drawing may follow."""
    silent = []
    for path in tree.python(rooms=WITH_TESTS):
        docstring = ast.get_docstring(ast.parse(path.read_text()))
        words = [line for line in (docstring or "").split("::")[0].splitlines() if line]
        empty = path.stem == "__init__" and not path.read_text().strip()
        if not empty and not 1 <= len(words) <= 4:
            silent.append(f"{tree.name(path)}: {len(words)}")
    assert silent == []


def test_whatever_is_silenced_names_its_code_and_its_reason() -> None:
    bare = []
    for path in tree.python(rooms=WITH_TESTS):
        with path.open("rb") as file:
            comments = [t for t in tokenize.tokenize(file.readline) if t.type == tokenize.COMMENT]
        for token in comments:
            silenced = SILENCED.search(token.string)
            fits = NOQA if silenced and silenced[1] == "noqa" else IGNORE
            if silenced and not fits.search(token.string):
                bare.append(f"{tree.name(path)}:{token.start[0]} {token.string}")
    assert bare == []


def test_nothing_is_left_to_do() -> None:
    """An open end belongs into an issue, not into the tree."""
    words = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")) + r")\b")
    found = [
        f"{tree.name(path)}: {line.strip()}"
        for path in tree.python(rooms=WITH_TESTS)
        for line in path.read_text().splitlines()
        if words.search(line)
    ]
    assert found == []


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1

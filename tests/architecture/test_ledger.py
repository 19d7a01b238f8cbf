"""The ledger's closed list of verbs is what the product writes; the matrix says which URL does."""

from __future__ import annotations

import ast

from accounts.domain import audit
from tests.architecture import tree


def written() -> dict[str, list[str]]:
    """Verb → the files that record it. Only a literal verb can be counted, so nothing else is."""
    found: dict[str, list[str]] = {}
    for path in tree.python():
        for call in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(call, ast.Call) and _is_record(call.func)):
                continue
            verb = call.args[0] if call.args else None
            assert isinstance(verb, ast.Constant), f"{tree.name(path)}:{call.lineno}"
            found.setdefault(str(verb.value), []).append(tree.name(path))
    return found


def test_every_verb_is_written_and_every_written_verb_is_on_the_list() -> None:
    assert set(written()) == audit.VERBS


def test_only_the_ledger_itself_makes_entries() -> None:
    makers = {
        tree.name(path)
        for path in tree.python()
        for line in path.read_text().splitlines()
        if "AuditEntry.objects.create" in line or "AuditEntry(" in line
    }
    assert makers == {"accounts/domain/audit.py", "accounts/models.py"}


def test_every_verb_that_changes_something_is_recorded_in_a_domain_or_at_the_door() -> None:
    rooms = {name.rpartition("/")[0] for files in written().values() for name in files}
    assert rooms == {"accounts/domain", "chat/domain", "chat/domain/imports", "accounts/views"}


def _is_record(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "record"
        and isinstance(function.value, ast.Name)
        and function.value.id == "audit"
    )

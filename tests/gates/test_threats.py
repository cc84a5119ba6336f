"""Each attack of `docs/reference/security.md` has a defence, a test, and a mutant."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.mutants.threats import MUTANTS
from tests.support.page_tables import rows
from tests.support.pages import ROOT, read_page
from tests.support.settings_page import declared

if TYPE_CHECKING:
    from tests.mutants.mutant import Mutant

THREATS = {int(row["#"]): row for row in rows(read_page("security.md"), "#")}
N_OF_THE_BEGINNING = 28
_code = re.compile(r"`([^`]+)`").findall


@cache
def names_in(path: str) -> frozenset[str]:
    """Return the functions and classes of a module of tests."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, kinds))


def test_all_threats_are_there() -> None:
    """If the rows are counted, then none is missing, and none without a mutant."""
    assert list(THREATS) == list(range(1, len(THREATS) + 1))
    assert len(THREATS) >= N_OF_THE_BEGINNING
    assert {each.threat for each in MUTANTS} == set(THREATS)
    told = re.search(r"lists (\d+) attacks", (ROOT / "SECURITY.md").read_text())
    assert told is not None
    assert int(told[1]) == len(THREATS)


@pytest.mark.parametrize("number", THREATS)
def test_tests_of_a_threat_are_there(number: int) -> None:
    """If a row names tests, then they exist; those of its mutants are among them."""
    named = _code(THREATS[number]["test"])
    assert named
    for node in named:
        path, _, name = node.partition("::")
        assert not name or name in names_in(path), node
    assert {each.tests for each in MUTANTS if each.threat == number} <= set(named)


@pytest.mark.parametrize("number", THREATS)
def test_defence_of_a_threat_is_there(number: int) -> None:
    """If a row names files or settings as the defence, then they exist."""
    for name in _code(THREATS[number]["defence"]):
        if "/" in name:
            assert (ROOT / name).exists(), name
        elif name.isupper():
            assert name in declared(), name


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.path)
def test_defence_can_be_taken_out(mutant: Mutant) -> None:
    """If a defence is taken out, then its text was there once, and the rest is code."""
    text = (ROOT / mutant.path).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1
    if mutant.path.endswith(".py"):
        ast.parse(text.replace(mutant.old, mutant.new))

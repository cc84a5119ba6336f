"""Mutants that follow from the code are code, and those left out are among them."""

from __future__ import annotations

import ast
from functools import cache, partial
from typing import TYPE_CHECKING

import pytest

from tests.mutants.derived import derived_mutants
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.modules import TESTS
from tests.support.pages import ROOT

if TYPE_CHECKING:
    from pathlib import Path

mutants_of = cache(partial(derived_mutants, ROOT))


@pytest.mark.parametrize("path", TESTS)
def test_module_has_mutants(path: str) -> None:
    """If a module defends something, then its parts have names, and there are tests."""
    assert all((ROOT / test).is_file() for test in TESTS[path])
    text = (ROOT / path).read_text(encoding="utf-8")
    mutants = mutants_of(path)
    assert mutants
    assert len({each.name for each in mutants}) == len(mutants)
    assert all(each.text != text for each in mutants)


def test_equivalent_mutants_are_there() -> None:
    """If a mutant is left out, then it is one of a module, and there is a reason."""
    names = {each.name for path in TESTS for each in mutants_of(path)}
    assert EQUIVALENT.keys() <= names
    assert all(EQUIVALENT.values())


MODULE = '''"""A module."""
import re

_PORTS = (80, 443)
_WORDS = re.compile(r"a|[bc-d]{1,9}", re.I)
_POLICY = "a 'self'; b 'none'; c"
_NETS = {"10.0.0.0/8": 1}
_MOST = 2 * 8


def check(text, *, is_open=False):
    """Check."""
    if len(text) > 99 and not is_open:
        raise ValueError("long text of 500")
    record(text[:50], is_open=True)
    is_open &= 0 < len(text) <= 9
    return text in ("x", "y") or is_open
'''
CHANGES = """
_PORTS: without 80 | _PORTS: without 443
_WORDS: pattern without 'a' | _WORDS: pattern without '[bc-d]{1,9}'
_WORDS: pattern without 'b' | _WORDS: pattern without 'c-d'
_WORDS: pattern without '{1,9}'
_POLICY: without a 'self' | _POLICY: without b 'none' | _POLICY: without c
_NETS: without "10.0.0.0/8": 1 | _NETS: 10.0.0.0/8 halved
_MOST: 2 * 8 times 1_000_000
check(): if len(text) > 99 and not is_open
check(): without and (len(text) > 99) | check(): without and (not is_open)
check(): 99 times 1_000_000 | check(): call record(text[:50], is_open=True)
check(): is_open=False | check(): 50 times 1_000_000
check(): len(text) >= 99, not > | check(): 0 <= len(text), not <
check(): len(text) < 9, not <=
check(): without "x" | check(): without "y"
check(): without or (text in ("x", "y")) | check(): without or (is_open)
"""


def test_each_part_of_a_module_is_taken_out(tmp_path: Path) -> None:
    """If a module has tables, patterns, limits and checks, then each is taken out."""
    (tmp_path / "m.py").write_text(MODULE)
    found = derived_mutants(tmp_path, "m.py")
    for each in found:
        ast.parse(each.text)
    names = {each.name.removeprefix("m.py: ") for each in found}
    parts = CHANGES.replace("\n", " | ").split(" | ")
    assert names == set(filter(None, parts))

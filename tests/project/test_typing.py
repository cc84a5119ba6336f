"""The types of the interface, for users who check their projects."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import rdfcrawl

if TYPE_CHECKING:
    from tests.support.project import InstalledPackage

PROJECT = Path(__file__).parents[1] / "support" / "typed_project.py"


def test_each_public_name_is_in_a_typed_project() -> None:
    """If a name is public, then it is in the project that mypy checks strictly."""
    used = {
        alias.name
        for node in ast.walk(ast.parse(PROJECT.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "rdfcrawl"
        for alias in node.names
    }
    assert used == set(rdfcrawl.__all__)


def test_the_wheel_has_its_types(installed: InstalledPackage) -> None:
    """If the wheel is installed, then type checkers find its types."""
    folder = installed.python.parents[1]
    (marker,) = folder.glob("lib/python*/site-packages/rdfcrawl/py.typed")
    assert marker.is_file()

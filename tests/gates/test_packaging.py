"""The package has all of its files, however it is installed."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "rdfcrawl"
# Names by which a module finds where it lies: in an archive, there is no such folder.
_PLACES = {"__file__", "__path__", "__spec__", "__cached__"}


def test_folders_with_files_are_packages() -> None:
    """If a folder has files, then it is a package, whose files an archive can give."""
    folders = {path.parent for path in PACKAGE.rglob("*") if path.is_file()}
    bare = {
        str(folder.relative_to(ROOT))
        for folder in folders
        if folder.name != "__pycache__" and not (folder / "__init__.py").exists()
    }
    assert not bare, f"add an __init__.py to {sorted(bare)}: an egg has no such folder"


def test_no_module_looks_for_files_next_to_itself() -> None:
    """If a module reads a file of the package, then through `importlib.resources`."""
    texts = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, text in texts.items()
        if any(name in text for name in _PLACES)
        for node in ast.walk(ast.parse(text))
        if (isinstance(node, ast.Name) and node.id in _PLACES)
        or (isinstance(node, ast.Attribute) and node.attr in _PLACES)
    }
    assert not found, f"use importlib.resources.files: {sorted(found)}"

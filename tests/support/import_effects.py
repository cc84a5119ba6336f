"""Print the attributes of libraries that an import of all our modules changes."""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

LIBRARIES = {
    *("aiohttp", "asyncio", "itemadapter", "logging", "lxml", "pyld", "rdflib"),
    *("redis", "scrapy", "twisted"),
}
_OF_PYTHON = {"__abstractmethods__", "__dict__", "__weakref__", "_abc_impl"}


def import_ours() -> None:
    """Import each module of rdfcrawl."""
    import rdfcrawl

    for module in walk_packages(rdfcrawl.__path__, "rdfcrawl."):
        if not module.name.endswith("__main__"):
            import_module(module.name)


def modules_of_libraries() -> list[str]:
    """Return the modules of libraries that ours import, without importing them."""
    receiving, sending = os.pipe()
    if os.fork() == 0:
        import_ours()
        found = [name for name in sys.modules if name.partition(".")[0] in LIBRARIES]
        os.write(sending, json.dumps(found).encode())
        os._exit(0)
    os.close(sending)
    with os.fdopen(receiving) as names:
        return list(json.load(names))


def attributes(modules: list[str]) -> dict[str, object]:
    """Return the values of all attributes of modules and of their classes."""
    root = vars(sys.modules["logging"].root)
    found = {f"logging.root.{name}": _value(its) for name, its in root.items()}
    for module in modules:
        for name, value in list(vars(sys.modules[module]).items()):
            if not isinstance(value, ModuleType) and name != "__warningregistry__":
                found[f"{module}.{name}"] = id(value)
            if isinstance(value, type) and value.__module__ == module:
                for attribute, its in list(vars(value).items()):
                    if attribute not in _OF_PYTHON:
                        found[f"{module}.{name}.{attribute}"] = _value(its)
    return found


def _value(value: Any) -> object:
    if isinstance(value, list | tuple | set | deque):
        return id(value), [id(each) for each in value]
    return id(value)


def main() -> None:
    """Compare before and after."""
    modules = modules_of_libraries()
    for name in modules:
        import_module(name)
    before = attributes(modules)
    import_ours()
    after = attributes(modules)
    names = before.keys() | after.keys()
    changed = sorted(n for n in names if before.get(n) != after.get(n))
    sys.stdout.write(json.dumps([len(modules), changed]))


if __name__ == "__main__":
    main()

"""The rooms of the package stand in one order, and nothing in them goes in circles."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.pages import read_page
from tests.support.source_trees import statements

if TYPE_CHECKING:
    from collections.abc import Container

ROOT = Path(__file__).parents[2] / "rdfcrawl"

# The lowest row first. A room imports what is in rows below its own, for type checkers
# and inside functions, too; rooms of one row do not know each other. A room is a folder
# or a file; what has a dot is taken out of its folder.
ROWS = """
clock counting data errors json_logs options.defaults rdf.namespaces signals sorting
codec columns duplicates extras faultlog formats options.values reservations uri
bytesource guard links.relations measures ranking sniffing stores tasks templates
log options.conflicts options.merging records refresh small_server terminal unpack
console shared_tasks tasks.records
rdf visits warc
request_turns
description followers html links robots
export extraction sitemaps
catalogs changes shapes urldb
crawl_index report
arguments spark
frontier
fetch refreshing
harvest middlewares operating pings
explaining options.feeds options.spider pipelines
callbacks metrics
page
progress settings spiders
dataweb launch
commands
addon
cli
__main__
"""
# They talk to nobody: bytes go in, values come out.
PURE = """
arguments bytesource catalogs codec columns counting description duplicates errors
faultlog formats frontier.blocked_hosts frontier.url_kind guard.policy html links
measures pings.judging pipelines.provenance ranking rdf records refresh request_turns
reservations robots.parser robots.paths robots.policy sitemaps sniffing sorting
stores.deflate tasks unpack uri visits warc
"""
IMPURE_LIBRARIES = {"aiohttp", "redis", "scrapy", "twisted"}


@cache
def modules() -> dict[str, set[str]]:
    """Return what each module imports by its name, without `rdfcrawl.`."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = imports(ast.parse(path.read_text(encoding="utf-8")))
    return found


def imports(tree: ast.Module) -> set[str]:
    """Return the dotted names of all that is imported anywhere in a module."""
    found = set()
    for node in statements(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


@cache
def arrows() -> dict[str, set[str]]:
    """Return which modules each module imports; the root with the version is none."""
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


def rows() -> dict[str, int]:
    """Return the row of each room."""
    lines = ROWS.strip().splitlines()
    return {room: row for row, line in enumerate(lines) for room in line.split()}


def room_of(module: str, rooms: Container[str]) -> str:
    """Return the room of a module: the longest name among them that it begins with."""
    while module and module not in rooms:
        module = module.rpartition(".")[0]
    return module


def circles() -> set[frozenset[str]]:
    """Return the modules that import one another, however far around."""
    reached: dict[str, set[str]] = {}
    for start in arrows():
        found, waiting = set[str](), [start]
        while waiting:
            new = arrows()[waiting.pop()] - found
            found |= new
            waiting += new
        reached[start] = found
    return {
        frozenset(each for each in reached[name] if name in reached[each])
        for name in reached
        if name in reached[name]
    }


def test_rooms_import_only_rooms_below() -> None:
    """If a module imports one of another room, then that room is in a row below."""
    order = rows()
    up = set()
    for module, targets in arrows().items():
        own = room_of(module, order)
        for target in targets if module else ():
            other = room_of(target, order)
            assert own, f"{module}: name its room in ROWS of this test"
            assert other, f"{target}: name its room in ROWS of this test"
            if other != own and order[other] >= order[own]:
                up.add((module, target))
    assert not up, "\n".join(
        f"{module} imports {target}: {room_of(target, order)} is not below"
        f" {room_of(module, order)} (ROWS of this test)"
        for module, target in sorted(up)
    )


def test_modules_import_in_no_circle() -> None:
    """If a module imports another one, then that one does not import it in turn."""
    assert not circles(), "\n".join(" <-> ".join(sorted(x)) for x in circles())


def test_pure_rooms_import_no_network() -> None:
    """If a room is pure, then it imports no library that talks to anybody."""
    pure = set(PURE.split())
    wrong = [
        f"{module} imports {library}, but {room_of(module, pure)} is pure"
        for module, names in modules().items()
        if room_of(module, pure)
        for library in sorted({name.partition(".")[0] for name in names})
        if library in IMPURE_LIBRARIES
    ]
    assert not wrong, "\n".join(wrong)


def test_docs_name_each_room() -> None:
    """If a room stands in the order, then `architecture.md` says what it is."""
    text = read_page("architecture.md")
    rooms = {room for room in rows() if "." not in room} - {"__main__"}
    assert not {x for x in rooms if f"`{x}/`" not in text and f"`{x}.py`" not in text}

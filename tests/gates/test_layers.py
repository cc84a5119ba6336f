"""The rooms of the package stand in one order, and nothing in them goes in circles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.import_graph import arrows, arrows_in, below, folders, modules
from tests.support.pages import read_page
from tests.support.room_picture import PAGE, drawn

if TYPE_CHECKING:
    from collections.abc import Container

# The lowest first. A room imports rooms before its own, for type checkers and inside
# functions, too. A room is a folder or a file.
ROOMS = [
    *("core", "uri", "rdf", "stores", "analysis", "frontier", "downloader", "sources"),
    *("pipelines", "middlewares", "spiders", "monitor", "dataweb", "settings", "addon"),
    *("launch", "commands", "cli", "__main__"),
]
# They connect to nothing: bytes go in, values come out.
PURE = """
analysis.description analysis.duplicates analysis.measures analysis.ranking
analysis.refresh core.codec core.content core.errors core.last_copies core.messages
core.source_tasks core.formats core.records core.reservations core.sorting core.tasks
core.visits
downloader.robots.parser downloader.robots.policy
downloader.warc frontier.arguments frontier.queue.candidate frontier.queue.form_yields
frontier.queue.host_rules
frontier.request_turns monitor.pings.judging pipelines.provenance rdf sources.ckan
sources.resourcesync
sources.sitemaps sources.sparql stores.columns uri
uri.guard.policy
"""
IMPURE = ["rdf.extraction", "uri.guard"]  # in pure rooms
IMPURE_LIBRARIES = {"aiohttp", "redis", "scrapy", "twisted"}


def pure_of(module: str, parts: Container[str]) -> str:
    """Return the pure part that a module is in; empty if none."""
    while module and module not in parts and module not in IMPURE:
        module = module.rpartition(".")[0]
    return module if module in parts else ""


def test_rooms_import_only_rooms_below() -> None:
    """If a module imports one of another room, then that room is below its own."""
    graph = arrows_in("")
    unknown = (set(graph) | {each for others in graph.values() for each in others}) - {
        *ROOMS
    }
    assert not unknown, f"{sorted(unknown)}: add to ROOMS, or move into a room"
    up = [
        f"{module} imports {target}: {other} is not below {room} (ROOMS of this test)"
        for room, others in graph.items()
        for other, pairs in others.items()
        if ROOMS.index(other) >= ROOMS.index(room)
        for module, target in sorted(pairs)
    ]
    assert not up, "\n".join(up)


@pytest.mark.parametrize("folder", folders())
def test_folders_have_an_order(folder: str) -> None:
    """If a part of a folder imports another one, then that does not import it in turn.

    Parts are files and folders; a way around by others counts, too.
    """
    pairs = arrows_in(folder)
    graph = {part: set(others) for part, others in pairs.items()}
    around = {part for part in graph if part in below(part, graph)}
    wrong = sorted(
        f"{module} imports {target}"
        for part in around
        for other in around & set(pairs[part])
        if part in below(other, graph)
        for module, target in pairs[part][other]
    )
    assert not wrong, "\n".join(wrong)


def test_pure_parts_import_no_network() -> None:
    """If a part is pure, then it imports no library that opens connections."""
    pure = set(PURE.split())
    known = {*modules()}
    assert not pure - known, f"{sorted(pure - known)} of PURE are no modules"
    wrong = [
        f"{module} imports {library}, but {pure_of(module, pure)} is pure"
        for module, names in modules().items()
        if pure_of(module, pure)
        for library in sorted({name.partition(".")[0] for name in names})
        if library in IMPURE_LIBRARIES
    ]
    assert not wrong, "\n".join(wrong)


def test_docs_name_each_room() -> None:
    """If a room or a folder of one exists, then `architecture.md` says its contents."""
    text = read_page("architecture.md")
    rooms = [f"{each}/" for each in ROOMS if each in folders()]
    rooms += ["settings.py", "addon.py", "cli.py"]
    inner = {each.replace(".", "/") + "/" for each in folders() if each.count(".") == 1}
    rooms += inner - {"dataweb/evolution/", "dataweb/nodes/"}  # described in dataweb.md
    assert not {room for room in rooms if f"`{room}`" not in text}


def test_picture_is_drawn_from_imports() -> None:
    """If imports between rooms change, then the picture in the docs does, too."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == drawn(page), "run python -m tests.support.room_picture"
    assert any(arrows().values())

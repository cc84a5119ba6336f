"""Read extensions of the sitemap protocol as names and texts."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from rdfcrawl.sitemaps.entry import EntryExtension

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.sitemaps.elements import Element

_MAX_DEPTH = 8


def extension_of(element: Element, max_values: int) -> EntryExtension:
    """Return the data of an extension element, at most `max_values` values."""
    values = tuple(islice(_values(element, ""), max_values))
    return EntryExtension(element.local.lower(), values)


def name_of(path: str) -> str:
    """Return a local name for a term, made of the path of its value."""
    plain = "".join(x if x.isalnum() and x.isascii() else " " for x in path).split()
    first, *others = plain or ["value"]
    return first + "".join(word[:1].upper() + word[1:] for word in others)


def _values(element: Element, path: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    for name, value in element.attributes.items():
        if not name.startswith("xmlns"):
            yield f"{path}@{name.rpartition(':')[2]}", value.strip()
    text = element.text.strip()
    if text:
        yield path.removesuffix("/"), text
    if depth < _MAX_DEPTH:
        for child in element.children:
            yield from _values(child, f"{path}{child.local}/", depth + 1)

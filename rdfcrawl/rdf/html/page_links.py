"""Extract the links of a page to data and to other pages.

Source: HTML Standard 4.6.7 "Link types".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.link_relations import Link, Relation, strongest_relation
from rdfcrawl.core.reservations import read_directives
from rdfcrawl.uri import BadUri, requestable

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from rdfcrawl.core.faultlog import FaultLog
    from rdfcrawl.rdf.html.page import ParsedPage

MAX_LINKS: Final = 10_000  # of one page

# Relations in the body; without one of these the head is enough. Values are cut:
# without quotes, each would be read to the end of all others.
_RELATION = re.compile(
    rb"rel=(?<=[\s\"'/]rel=)[\"']?(?:[^\"'>]{0,250}\s)?"
    rb"(?:next|alternate|describedby|linkset|canonical)(?=[\s\"'>])"
)
_ROOT = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]+)?(?=/)")
_IS_FROM_ROOT = re.compile(r"/(?![/\\\t\n\r])").match
_NOT_VOUCHED_FOR: Final = frozenset({"nofollow", "ugc", "sponsored"})
_ROBOTS: Final = frozenset({"robots", "rdfcrawl"})


def links_of_page(
    page: ParsedPage,
    *,
    wants_hyperlinks: bool,
    log: FaultLog,
    is_full_page: bool | None = None,
) -> set[Link]:
    """Return the requestable links of a page.

    Each link has the strongest relation of its element. `ALTERNATE` links are limited
    to media types of readable data formats. If the page contains `nofollow` for robots,
    all hyperlinks are `NOFOLLOW`. `is_full_page` is the result of `has_links_in_body`
    if known; `log` takes `TOO_LARGE` beyond `MAX_LINKS`.

    Raises:
        SourceFault: see `ParsedPage.tree`.
    """
    if is_full_page is None:
        is_full_page = has_links_in_body(page, wants_hyperlinks=wants_hyperlinks)
    tree = page.tree if is_full_page else page.head_tree
    base = page.base
    own = page.url.partition("#")[0]
    # Scheme and host of the base, if they are plain.
    root = match[0] if (match := _ROOT.match(base)) else ""
    found: set[Link] = set()
    for href, relation, media_type in _raw_links(tree, wants_hyperlinks):
        # Same result as resolving, but faster.
        text = root + href if root and _IS_FROM_ROOT(href) else href
        try:
            url = requestable(text, base)
        except BadUri:
            continue
        if relation is Relation.CANONICAL:
            page.canonical = page.canonical or url
        if url != own:
            found.add(Link(url, relation, media_type))
            if len(found) == MAX_LINKS:
                log.note(Reason.TOO_LARGE, f"more than {MAX_LINKS} links")
                break
    return found


def has_links_in_body(page: ParsedPage, *, wants_hyperlinks: bool) -> bool:
    """Return whether links need the tree of the full page, not just its head."""
    if wants_hyperlinks or not page.head_bytes:
        return True
    return _RELATION.search(page.lower, page.head_bytes) is not None


def _raw_links(
    tree: LexborHTMLParser, wants_hyperlinks: bool
) -> Iterable[tuple[str, Relation, str]]:
    """Return targets, relations and media types; those with a relation come first."""
    related: dict[tuple[str, Relation, str], None] = {}
    hyperlinks: dict[tuple[str, Relation, str], None] = {}
    metas = tree.css("meta[name][content]") if wants_hyperlinks else ()
    is_nofollow = any(map(_is_nofollow, metas))
    ordinary = Relation.NOFOLLOW if is_nofollow else Relation.HYPERLINK
    selector = "link[href],a[href],area[href]" if wants_hyperlinks else "[rel][href]"
    for node in tree.css(selector):
        attrs = node.attributes
        href = (attrs["href"] or "").strip()
        if not href or href[0] == "#":
            continue
        relations = (attrs.get("rel") or "").lower().split()
        relation, media_type = None, ""
        if relations:
            media_type = (attrs.get("type") or "").partition(";")[0].strip().lower()
            relation = strongest_relation(relations, media_type)
        if relation is not None:
            related[href, relation, media_type] = None
        elif wants_hyperlinks and node.tag != "link":
            is_free = _NOT_VOUCHED_FOR.isdisjoint(relations)
            hyperlinks[href, ordinary if is_free else Relation.NOFOLLOW, ""] = None
    return chain(related, hyperlinks)


def _is_nofollow(meta: LexborNode) -> bool:
    attrs = meta.attributes
    if (attrs["name"] or "").strip().lower() not in _ROBOTS:
        return False
    parsed = read_directives(attrs["content"] or "", now=0.0)
    return "nofollow" in parsed.directives

"""Extract the links of a page, and the reservations of its publisher.

Sources: HTML Standard 4.6.7 "Link types"; the `<meta>` elements of reservations
against robots and text mining count in the body, too, as in search engines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.formats import Link, Relation, strongest_relation
from rdfcrawl.core.reservations import (
    IGNORE_ALL,
    NOTHING,
    ReservationPolicy,
    read_directives,
    read_metas,
)
from rdfcrawl.rdf.html.prescan import TAG
from rdfcrawl.uri import BadUri, requestable

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.core.reservations import Reservations
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


MAX_METAS: Final = 1000
_AFTER_META_BYTES: Final = 16 * 1024
_WORDS: Final = (b"robots", b"tdm-")


@dataclass(slots=True, eq=False)
class PageReservations:
    """Reservations of a page and of its headers."""

    found: Reservations = NOTHING  # initially those of the headers
    policy: ReservationPolicy = IGNORE_ALL
    _: KW_ONLY
    at_secs: float = 0.0  # Unix time of the response
    is_member: bool = False  # one of several documents in an archive
    is_hinted: bool = False  # set by `are_in_body`: the page may have some

    def are_in_body(self, page: ParsedPage) -> bool:
        """Return whether the body may have reservations, and set `is_hinted`."""
        if not self.policy.reads_any or page.is_json:
            return False
        agent = self.policy.agent.encode()
        metas = metas_in(page.lower)
        self.is_hinted = any(word in metas for word in (*_WORDS, agent))
        return bool(
            self.is_hinted and _named(agent).search(page.lower, page.head_bytes)
        )

    def read(self, tree: LexborHTMLParser) -> None:
        """Read the `<meta>` elements of a page."""
        metas = read_metas(_iter_metas(tree), self.policy, now=self.at_secs)
        self.found = self.found.refined(metas)

    @property
    def are_against_reading(self) -> bool:
        """Whether nothing may be taken from the page.

        A page that may not be stored is still read for its links, except in an archive,
        where everything read is stored.
        """
        is_withheld = self.found.withholds(self.policy) is not None
        return self.found.closes(self.policy) or (self.is_member and is_withheld)

    @property
    def are_against_links(self) -> bool:
        """Whether the links of the page are left out here.

        For single documents, this is decided later, with the policies at hand.
        """
        is_forbidden = self.found.forbids_following(self.policy)
        return self.found.closes(self.policy) or (self.is_member and is_forbidden)


def metas_in(lower: bytes) -> bytes:
    """Return the part of a page that has all `<meta>` elements; usually of the head.

    `lower` is the page in UTF-8 and in lower case.
    """
    first = lower.find(b"<meta")
    if first < 0:
        return b""
    last = lower.rfind(b"<meta")
    tag = TAG.match(lower, last)
    # If the last one is within a value, the tag around it ends later.
    end = last + _AFTER_META_BYTES
    return lower[first : max(end, tag.end()) if tag else end]


def _iter_metas(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    for meta in tree.css("meta[name][content]")[:MAX_METAS]:
        attrs = meta.attributes
        yield (attrs["name"] or "").strip().lower(), attrs["content"] or ""


@lru_cache(maxsize=8)
def _named(agent: bytes) -> re.Pattern[bytes]:
    # The literal comes first: a lone look-behind would be tried at each byte.
    return re.compile(
        rb"name(?<=[\s\"'/]name)\s*+=\s*+[\"']?\s*+(?:robots|tdm-|%s)"
        % re.escape(agent)
    )

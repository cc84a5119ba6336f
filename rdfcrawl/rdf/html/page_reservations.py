"""Reservations of a page against robots and text mining, in `<meta>` elements.

Elements in the body count too, as in search engines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.reservations import (
    IGNORE_ALL,
    NOTHING,
    ReservationPolicy,
    read_metas,
)

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

    from rdfcrawl.core.reservations import Reservations
    from rdfcrawl.rdf.html.page import ParsedPage

MAX_METAS: Final = 1000
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
        lower = page.lower
        agent = self.policy.agent.encode()
        self.is_hinted = any(word in lower for word in (*_WORDS, agent))
        if not self.is_hinted:
            return False
        return _named(agent).search(lower, page.head_bytes) is not None

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
        if self.found.closes(self.policy):
            return True
        return self.is_member and self.found.withholds(self.policy) is not None

    @property
    def are_against_links(self) -> bool:
        """Whether the links of the page are left out here.

        For single documents, this is decided later, with the policies at hand.
        """
        if self.found.closes(self.policy):
            return True
        return self.is_member and self.found.forbids_following(self.policy)


def _iter_metas(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    for meta in tree.css("meta[name][content]")[:MAX_METAS]:
        attrs = meta.attributes
        yield (attrs["name"] or "").strip().lower(), attrs["content"] or ""


@lru_cache(maxsize=8)
def _named(agent: bytes) -> re.Pattern[bytes]:
    return re.compile(
        rb"(?<=[\s\"'/])name\s*=\s*[\"']?\s*(?:robots|tdm-|%s)" % re.escape(agent)
    )

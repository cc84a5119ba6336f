"""Extract relationships to other people from the links of a page: XFN.

Sources: XFN 1.1, http://gmpg.org/xfn/11; rel-me, http://microformats.org/wiki/rel-me.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.html.extractors import RELATIONSHIPS, names_relationships
from rdfcrawl.rdf.iris import escape_url, is_absolute, resolve
from rdfcrawl.rdf.terms import iri, statement

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.html.page import ParsedPage

MAX_LINKS: Final = 10_000  # of one page
_XFN: Final = "http://gmpg.org/xfn/11#"
_IDENTITY: Final = "me"  # the only one that elements `link` have, too


def extract_relationships(page: ParsedPage, log: FaultLog) -> Iterator[str]:
    """Yield a statement for each relationship of a page to the target of a link.

    `log` takes `TOO_LARGE` beyond `MAX_LINKS`.

    Raises:
        SourceFault: see `ParsedPage.tree`.
    """
    if not names_relationships(page.lower):
        return
    subject = iri(page.url.partition("#")[0])
    n_links = 0
    for node in page.tree.css("[rel][href]"):
        attributes = node.attributes
        words = dict.fromkeys((attributes["rel"] or "").lower().split())
        found = [word for word in words if word in RELATIONSHIPS]
        if node.tag not in {"a", "area"}:
            found = [_IDENTITY] if node.tag == "link" and _IDENTITY in found else []
        target = resolve(escape_url(attributes["href"] or ""), page.base)
        if not found or not is_absolute(target):
            continue
        n_links += 1
        if n_links > MAX_LINKS:
            log.note(Reason.TOO_LARGE, f"more than {MAX_LINKS} links of XFN")
            return
        for word in found:
            yield statement(subject, iri(_XFN + word), iri(target))

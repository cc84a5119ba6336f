"""Advice for documents without statements: the reason, and the words to type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.rdf.html.empty_pages import EmptyPage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rdfcrawl.stores.log.result_table import EmptySeeds

LOOK: Final = (
    "`look SITE` shows the ways to the data of a site, and `rdf URL` how a document is"
    " read"
)
_NO_FORMAT: Final = "`rdf URL` shows its media type; name URLs of data instead"
_SEND_LOGIN: Final = (
    "HTTPAUTH_USER, HTTPAUTH_PASS and HTTPAUTH_DOMAIN with FETCH_WITH_SCRAPY=True send"
    " one, and a form needs a spider of your own"
)
_AS_OTHER_TYPE: Final = "--media-type TYPE reads it as another one"
# one document, several documents, and the advice
_ADVICE: Final[Mapping[str, tuple[str, str, str]]] = {
    EmptyPage.SCRIPTED: (
        "a page that scripts fill",
        "pages that scripts fill",
        "a browser renders them: docs/how-to/javascript-pages.md",
    ),
    EmptyPage.LOGIN: (
        "behind a login",
        "behind a login",
        _SEND_LOGIN,
    ),
    EmptyPage.PLAIN: (
        "a page without annotation",
        "pages without annotation",
        LOOK,
    ),
    Reason.ROBOTS_DISALLOWED: (
        "disallowed by robots.txt",
        "disallowed by robots.txt",
        "`look SITE` shows what else a site offers",
    ),
    Reason.UNKNOWN_FORMAT: ("in no known format", "in no known format", _NO_FORMAT),
    Reason.UNSUPPORTED_FORMAT: (
        "of a media type without RDF",
        "of a media type without RDF",
        _NO_FORMAT,
    ),
    Reason.EMPTY: ("empty", "empty", LOOK),
}
# in place of the advice for seeds
_OF_DOCUMENT: Final[Mapping[str, str]] = {
    EmptyPage.PLAIN: "`look SITE` shows the ways to the data of a site",
    Reason.EMPTY: "`look SITE` shows the ways to the data of a site",
    Reason.UNKNOWN_FORMAT: _AS_OTHER_TYPE,
    Reason.UNSUPPORTED_FORMAT: _AS_OTHER_TYPE,
}
_MOST: Final = 2  # reasons with advice


def advice_for_seeds(found: Sequence[EmptySeeds]) -> str:
    """Return why seeds have no statements, and what to type; empty if none is known."""
    parts = []
    for each in found[:_MOST]:
        one, several, advice = _ADVICE.get(each.reason, ("", "", ""))
        if not one:
            one = several = f"lost to a fault ({each.reason})"
            advice = f"`explain {each.example}` shows all that is known"
        verb = counted(each.n_seeds, f"seed is {one}", f"seeds are {several}")
        parts.append(f"{verb}: {advice}")
    more = sum(each.n_seeds for each in found[_MOST:])
    if more:
        parts.append(f"{counted(more, 'more seed')}: `results` lists all")
    return "; ".join(parts)


def advice_for_document(reason: str) -> str:
    """Return why a document has no statements, and what to type; empty if unknown."""
    one, _, advice = _ADVICE.get(reason, ("", "", ""))
    advice = _OF_DOCUMENT.get(reason, advice)
    return f"the document is {one}: {advice}" if one else ""

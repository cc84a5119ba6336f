"""Links in the HTTP header `Link`: of a page, of a data document, of a context.

Source: RFC 8288 "Web Linking", section 3 and appendix B; JSON-LD 1.1 sections 4.7
and 6.1; FAIR Signposting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from rdfcrawl.core import formats
from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.formats import Link, Relation, strongest_relation
from rdfcrawl.core.namespaces import JSON_LD
from rdfcrawl.uri import BadUri, parse_uri, requestable

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.core.formats import FormatDecision

MAX_HEADER_CHARS: Final = 64 * 1024
MAX_LINKS: Final = 1000  # signposting headers name every file of a data set

JSON_LD_CONTEXT: Final = JSON_LD + "context"
_JSON_LD_TYPE: Final = "application/ld+json"

# Possessive throughout: the time is linear for any header.
_TARGET = re.compile(r"<([^<>]*+)>")
# B.3; an unterminated quoted string is read like a token.
_PARAMETER = re.compile(
    r"\s*+;\s*+([^\s=;,]*+)\s*+"
    r'(?:=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^;,]*+)))?+',
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderLink:
    """One link of a `Link` header."""

    url: str  # target, resolved; of any scheme, perhaps with a fragment
    # relation types, in lower case, for comparison (RFC 8288 2.1)
    relations: frozenset[str]
    media_type: str = ""  # declared for the target; lower case, without parameters
    # context of the link if it is not the document with the header; a resolved URL if
    # possible
    anchor: str = ""


def parse_link_header(value: str, *, base: str) -> list[HeaderLink]:
    """Return the links of a header, in order, without malformed ones.

    Args:
        value: of one `Link` header, or of several joined by commas. Only
            `MAX_HEADER_CHARS` and the first `MAX_LINKS` links are read.
        base: URL of the response; targets and anchors are resolved against it.

    >>> [link.url for link in parse_link_header("</b>; rel=next", base="http://a/")]
    ['http://a/b']
    """
    raw = iter_raw(value[:MAX_HEADER_CHARS])
    links = (link for target, given, _ in raw if (link := _link(target, given, base)))
    return list(islice(links, MAX_LINKS))


def links_of(value: str, *, base: str) -> set[Link]:
    """Return the links of a `Link` header that a crawl may follow.

    They are requestable, and each has its strongest relation. `ALTERNATE` links are
    limited to media types of readable data formats.

    The arguments are those of `parse_link_header`.
    """
    found: set[Link] = set()
    for link in parse_link_header(value, base=base) if value else ():
        relation = strongest_relation(link.relations, link.media_type)
        if relation is None or link.anchor:
            continue
        with suppress(BadUri):
            found.add(Link(requestable(link.url), relation, link.media_type))
    return found


def context_link(value: str, *, base: str) -> str:
    """Return the URL of the context for plain JSON; empty if there is none.

    Raises:
        SourceFault: `REMOTE_CONTEXT`: there are several (JSON-LD 1.1 API, error
            "multiple context link headers").
    """
    found = [
        link.url
        for link in parse_link_header(value, base=base)
        if JSON_LD_CONTEXT in link.relations and not link.anchor
    ]
    if len(found) > 1:
        detail = f"multiple context link headers: {', '.join(found)}"
        raise SourceFault(Reason.REMOTE_CONTEXT, detail)
    return found[0] if found else ""


def context_for(
    value: str, decision: FormatDecision, media_type: str, *, base: str, log: FaultLog
) -> str:
    """Return the URL of the context of a document; empty if there is none.

    Several are a fault, and none of them counts. The context of a document that is
    labelled JSON-LD is in it (JSON-LD 1.1 section 6.1).
    """
    essence = media_type.partition(";")[0].strip().lower()
    is_plain = decision.found == "JSON"
    if decision.format is formats.JSON_LD:  # by its keywords or its name
        is_plain = essence not in formats.JSON_LD.media_types
    try:
        return context_link(value, base=base) if is_plain else ""
    except SourceFault as error:
        log.note(error.fault.reason, error.fault.detail)
        return ""


def json_ld_alternate(value: str, *, base: str) -> str:
    """Return the URL of the document as JSON-LD; empty if there is none."""
    for link in parse_link_header(value, base=base):
        is_alternate = Relation.ALTERNATE in link.relations and not link.anchor
        if is_alternate and link.media_type == _JSON_LD_TYPE:
            with suppress(BadUri):
                return requestable(link.url)
    return ""


def iter_raw(value: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield target, parameters and the text before each link; at last, the rest.

    The first parameter of each name counts.
    """
    at = 0
    while match := _TARGET.search(value, at):
        before, at = value[at : match.start()], match.end()
        parameters: dict[str, str] = {}
        while parameter := _PARAMETER.match(value, at):
            at = parameter.end()
            name, quoted, token = parameter.groups()
            if quoted is not None:
                text = _ESCAPED.sub(r"\1", quoted)
            else:
                text = (token or "").strip(' \t"')
            parameters.setdefault(name.lower(), text)
        yield match[1].strip(), parameters, before
    yield "", {}, value[at:]


def _link(target: str, parameters: dict[str, str], base: str) -> HeaderLink | None:
    relations = frozenset(parameters.get("rel", "").lower().split())
    if not relations:
        return None
    try:
        url = parse_uri(target, base)
    except BadUri:
        return None
    return HeaderLink(
        url=url,
        relations=relations,
        media_type=parameters.get("type", "").partition(";")[0].strip().lower(),
        anchor=_foreign(parameters.get("anchor", ""), base),
    )


def _foreign(anchor: str, base: str) -> str:
    """Return the context of a link unless within the document."""
    if not anchor:
        return ""
    try:
        url = parse_uri(anchor, base)
        own = parse_uri(base)
    except BadUri:
        return anchor
    return "" if url.partition("#")[0] == own.partition("#")[0] else url

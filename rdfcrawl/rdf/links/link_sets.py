"""Links in documents that consist of links: `application/linkset` and its JSON form.

Source: RFC 9264 "Linkset", sections 4.1 and 4.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.core.formats import (
    JSON_LD,
    FormatDecision,
    Link,
    Relation,
    strongest_relation,
)
from rdfcrawl.rdf.links.headers import iter_raw
from rdfcrawl.rdf.nesting import strict_json
from rdfcrawl.rdf.sniffing import LINK_SET
from rdfcrawl.uri import BadUri, requestable

MAX_LINKS: Final = 10_000  # of one document, as of a page
_TEXT: Final = "application/linkset"
_JSON: Final = "application/linkset+json"
_begins_json = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"linkset"\s*:\s*[\[{]').match
_is_between = re.compile(r"[\s,]*").fullmatch
# A link: target, relations, media type
_Found = tuple[str, list[str], str]


def is_link_set(media_type: str, decision: FormatDecision, head: bytes) -> bool:
    """Return whether a document is a set of links; JSON may be JSON-LD as well."""
    if decision.format not in (None, JSON_LD) or decision.packing is not None:
        return False
    essence = media_type.partition(";")[0].strip().lower()
    if essence in (_TEXT, _JSON):
        return decision.found in ("", "JSON", LINK_SET)
    return decision.found == "JSON" and _begins_json(head) is not None


def read_link_set(
    document: bytes, *, base: str, wants_hyperlinks: bool, log: FaultLog
) -> set[Link]:
    """Return the requestable links of a set, whatever they link from.

    A bad link, or a bad member of the JSON, costs itself.

    Args:
        document: text or JSON, in UTF-8.
        base: URL of the document.
        wants_hyperlinks: links of other relations are hyperlinks.
        log: takes the faults; `TOO_LARGE` beyond `MAX_LINKS`.
    """
    text = document.decode("utf-8-sig", "replace")
    if "\ufffd" in text and b"\xef\xbf\xbd" not in document:
        log.note(Reason.BAD_CHARSET, "link set: not UTF-8")
    is_json = text.lstrip()[:1] in ("{", "[")
    raw = _iter_json(text, log) if is_json else _iter_text(text, log)
    found: set[Link] = set()
    for href, relations, declared in raw:
        media_type = declared.partition(";")[0].strip().lower()
        relation = strongest_relation([x.lower() for x in relations], media_type)
        if relation is None and wants_hyperlinks:
            relation = Relation.HYPERLINK
        try:
            url = requestable(href.strip(), base)
        except BadUri:
            log.note(Reason.BAD_URI, f"link set: {href[:100]!r}")
            continue
        if relation is None or (link := Link(url, relation, media_type)) in found:
            continue
        if len(found) == MAX_LINKS:
            log.note(Reason.TOO_LARGE, f"link set: more than {MAX_LINKS} links")
            break
        found.add(link)
    return found


def _iter_text(text: str, log: FaultLog) -> Iterator[_Found]:
    for target, parameters, skipped in iter_raw(text):
        if not _is_between(skipped):
            log.note(Reason.SYNTAX, f"link set: no link: {skipped.strip()[:100]!r}")
        if not target and not parameters:  # the end
            continue
        relations = parameters.get("rel", "").split()
        if relations or "rev" in parameters:
            yield target, relations, parameters.get("type", "")
        else:
            log.note(Reason.SYNTAX, f"link set: no relation: {target[:100]!r}")


def _iter_json(text: str, log: FaultLog) -> Iterator[_Found]:
    try:
        document = strict_json(text)
    except (ValueError, RecursionError) as error:
        from rdfcrawl.rdf.jsonld.mending import mended_json  # noqa: PLC0415 (few need it)

        found = mended_json(text, keeps_open=True)
        found.note(log, f"link set: {error}", "link set")
        document = found.values[0] if found.values else None
    except SourceFault as error:
        log.note(error.fault.reason, f"link set: {error.fault.detail}")
        return
    if isinstance(document, dict):
        document = document.get("linkset")
    if document is None and not log.count(Reason.SYNTAX):
        log.note(Reason.SYNTAX, 'link set: no "linkset"')
    for context in _items(document or [], "", log):
        for relation, targets in context.items():
            if relation == "anchor" or relation.startswith("@"):
                continue
            for target in _items(targets, relation, log):
                href, declared = target.get("href"), target.get("type")
                if isinstance(href, str):
                    text_type = declared if isinstance(declared, str) else ""
                    yield href, [relation], text_type
                else:
                    _note_bad(relation, target, log)


def _items(value: Any, name: str, log: FaultLog) -> Iterable[dict[str, Any]]:
    """Yield the objects of an array; a lone object and a URL alone are repaired."""
    if not isinstance(value, list):
        log.note(Reason.REPAIRED, f"link set: {name[:80]!r} is no array")
        value = [value]
    for item in value:
        if isinstance(item, dict):
            yield item
        elif isinstance(item, str) and name:
            log.note(Reason.REPAIRED, f"link set: {name[:80]!r} is no object")
            yield {"href": item}
        else:
            _note_bad(name, item, log)


def _note_bad(name: str, item: object, log: FaultLog) -> None:
    log.note(Reason.SYNTAX, f"link set: {name[:80]!r}: {str(item)[:100]}")

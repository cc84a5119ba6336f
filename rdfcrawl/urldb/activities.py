"""Observations from the provenance of a crawl: what became of each URI."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.rdf.namespaces import HTTP, PROV, RC, RDF, SQUIRREL
from rdfcrawl.uri import MAX_URL_CHARS
from rdfcrawl.urldb.joining import observe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.urldb.joining import Joined

_ACTIVITY: Final = b"<urn:rdfcrawl:activity:"
_NAME_BYTES: Final = len(_ACTIVITY) + 32  # of an activity, without its parts
_END: Final = b" <urn:rdfcrawl:provenance> ."
_N_STATEMENTS: Final = "n_statements"  # members and extractors have theirs, too
_HOP: Final = "redirect"  # the last one counts
_FAULT: Final = "fault"  # of which the first counts; of others, the last
_FACTS: Final = {
    f"<{predicate}>".encode(): name
    for predicate, name in (
        (f"{SQUIRREL}crawled", "crawled"),
        (f"{SQUIRREL}status", "outcome"),
        (f"{SQUIRREL}approxNumberOfTriples", _N_STATEMENTS),
        (f"{PROV}startedAtTime", "started"),
        (f"{HTTP}statusCodeValue", "http"),
        (f"{RDF}first", _HOP),
        (f"{SQUIRREL}depth", "depth"),
        (f"{RC}reason", _FAULT),
        *(
            (RC + term, term)
            for term in (
                *("contentHash", "textHash", "canonical", "run", "etag"),
                *("lastModified", "parent", "source", "sitemapFormat", "foundBy"),
                *("task", "immutableUntil"),
            )
        ),
    )
}
# The name of a task stands before a bracket; that of a source, within that of its run.
_find_task: Final = re.compile(rb'"(?:source\([^"]*?payload=)?([^"(]*)').match
# What is told last counts; in the order of their names.
_LATEST: Final = (
    *("canonical", "depth", "etag", "foundBy", "immutableUntil", "lastModified"),
    *("parent", "redirect", "sitemapFormat", "source", "task"),
)


class UrlObservation(NamedTuple):
    """Something that is known of a URL.

    Attributes:
        url: absolute, as it is written.
        ms: when that was told, Unix time; 0 counts for less than a fetch.
        said: what is known.
    """

    url: str
    ms: int
    said: Joined


def iter_activities(lines: bytes) -> Iterator[UrlObservation]:
    """Yield what the activities in some whole lines of provenance say.

    Each activity is described by lines that follow each other.
    """
    current, facts, hops = b"", dict[str, bytes](), list[bytes]()
    for line in lines.split(b"\n"):
        subject, _, rest = line.partition(b" ")
        predicate, _, term = rest.partition(b" ")
        name = _FACTS.get(predicate)
        if name is None or not subject.startswith(_ACTIVITY):
            continue
        activity = subject[:_NAME_BYTES]
        if activity != current:
            if "crawled" in facts:
                yield from _observed(facts, hops)
            current, facts, hops = activity, {}, []
        is_part = len(subject) > _NAME_BYTES + 1
        if not (name in facts if name == _FAULT else is_part and name == _N_STATEMENTS):
            facts[name] = term.removesuffix(_END)
        if name == _HOP:
            hops.append(term.removesuffix(_END))
    if "crawled" in facts:
        yield from _observed(facts, hops)


def _observed(facts: dict[str, bytes], hops: list[bytes]) -> Iterator[UrlObservation]:
    """Yield what an activity says of its URL, and of those that redirected to it."""
    crawled = facts["crawled"]
    started_ms = _time(facts.get("started"))
    if hops:
        yield from _redirected(hops, crawled, started_ms)
    if facts.get(_HOP) == crawled:
        del facts[_HOP]
    fetch: list[int | str] = [
        started_ms,
        _text(facts.get("outcome", b"")),
        _number(facts.get("http"), 0),
        _number(facts.get(_N_STATEMENTS), 0),
        _text(facts.get(_FAULT, b"")),
        _text(facts.get("contentHash", b"")),
        _text(facts.get("textHash", b"")),
        _number(facts.get("run"), -1),
        _text(facts.get("lastModified", b"")),
    ]
    if (task := _find_task(facts.get("task", b""))) is not None:
        facts["task"] = b'"%b"' % task[1]
    if _number(facts.get("depth"), 0) == 0:  # as of seeds, and by default
        facts.pop("depth", None)
    latest: list[list[int | str]] = [
        [name, started_ms, _text(facts[name])] for name in _LATEST if name in facts
    ]
    said = observe(fetch=fetch, latest=latest)
    yield UrlObservation(_text(crawled), started_ms, said)


def _redirected(hops: list[bytes], crawled: bytes, ms: int) -> Iterator[UrlObservation]:
    """Yield where URLs of other hosts led that redirected to the crawled one."""
    end: list[int | str] = [_HOP, ms, _text(hops[-1])]
    for hop in hops:
        if hop == crawled:
            break
        if hop != hops[-1]:
            yield UrlObservation(_text(hop), ms, observe(latest=[end]))


def _text(term: bytes) -> str:
    r"""Return the text of a term of canonical N-Quads.

    >>> _text(b'"a\\nb"'), _text(b"<http://e.example/>")
    ('a\nb', 'http://e.example/')
    """
    if term[:1] == b"<":
        return term[1:-1].decode("utf-8", "replace")
    end = len(term) - 1 if term.endswith(b'"') else term.rfind(b'"')
    if b"\\" in term:
        with suppress(ValueError):  # its escapes are among those of JSON
            return str(json.loads(term[: end + 1]))[:MAX_URL_CHARS]
    return term[1:end].decode("utf-8", "replace")[:MAX_URL_CHARS]


def _number(term: bytes | None, default: int) -> int:
    digits = b"" if term is None else term[1:].partition(b'"')[0]
    return int(digits) if digits.isdigit() and len(digits) < 19 else default


def _time(term: bytes | None) -> int:
    """Return a time of provenance in ms; 0 if there is none."""
    if term is None:
        return 0
    try:
        when = datetime.fromisoformat(_text(term))
    except ValueError:
        return 0
    return round(when.timestamp() * 1000)

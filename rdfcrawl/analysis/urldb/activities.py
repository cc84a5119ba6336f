"""Observations from the provenance of a crawl: what became of each URI."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from json.encoder import encode_basestring as quoted
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.analysis.urldb.joining import observe
from rdfcrawl.core.namespaces import HTTP, PROV, RC, RDF, RDF_TYPE, SQUIRREL
from rdfcrawl.rdf.values import unix_ms, whole_number
from rdfcrawl.uri import MAX_URL_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.analysis.urldb.joining import Columns

_ACTIVITY: Final = "<urn:rdfcrawl:activity:"
_END: Final = " <urn:rdfcrawl:provenance> .\n"
# What the description of an activity begins with, behind its name.
_BEGIN: Final = f"> <{RDF_TYPE}> <{PROV}Activity>{_END}"
_CRAWLED: Final = f"{SQUIRREL}crawled"
_STATUS: Final = f"{SQUIRREL}status"
_N_STATEMENTS: Final = f"{SQUIRREL}approxNumberOfTriples"
_STARTED: Final = f"{PROV}startedAtTime"
_HTTP_STATUS: Final = f"{HTTP}statusCodeValue"
_REDIRECTS: Final = f"{RC}redirects"
_HOP: Final = f"{RDF}first"
_FAULT: Final = f"{RC}fault"
_REASON: Final = f"{RC}reason"
_TASK: Final = f"{RC}task"
_DEPTH: Final = f"{SQUIRREL}depth"
# A source has one URL for many documents, none of which is the content of that.
_OF_SOURCE: Final = '"source('
_OF_STATEMENTS: Final = f"{RC}textHash", f"{RC}sketch", f"{RC}shingles"
_FETCH_TEXTS: Final = f"{RC}contentHash", f"{RC}textHash"
_LAST_MODIFIED: Final = f"{RC}lastModified"
_LEFT: Final = '"refreshed(is_left=True)"'
_IS_LEFT: Final = f"{RC}isLeft"  # not in the logs: it follows from the task
_SAME: Final = "sameContentAs"
# Behind other activities; see `pipelines.same_contents`.
_find_same: Final = re.compile(
    rf"^(<[^>\n]*+>) <{re.escape(_CRAWLED)}> (.*)\n"
    rf"\1 <{re.escape(_STARTED)}> (.*)\n\1 <{re.escape(RC + _SAME)}> (.*\n)",
    re.MULTILINE,
).findall
# The name of a task stands before a bracket; that of a source, within that of its run.
_find_task: Final = re.compile(r'"(?:source\([^"]*?payload=)?([^"(]*)').match
# What is told last counts; in the order of their names.
_TERMS: Final = {"redirect": _HOP, "depth": _DEPTH}
_LATEST: Final = {
    _TERMS.get(name, RC + name): name
    for name in (
        *("canonical", "depth", "errorPage", "etag", "foundBy", "images"),
        *("immutableUntil", "isLeft", "lastModified", "linkedWords", "parent"),
        *("redirect", "shingles", "sitemapFormat", "sketch", "source", "spider"),
        *("task", "words"),
    )
}


class UrlObservation(NamedTuple):
    """Something that is known of a URL.

    Attributes:
        url: absolute, as it is written.
        ms: when that was told, Unix time; 0 counts for less than a fetch.
        said: what is known.
    """

    url: str
    ms: int
    said: Columns


def iter_activities(lines: bytes) -> Iterator[UrlObservation]:
    """Yield what the activities in some whole lines of provenance say.

    Each activity is described by lines that follow each other; its type comes first.
    That it found the content of another one is told later.
    """
    text = lines.decode("utf-8", "replace")
    for facts, piece in iter_described(text):
        if _REDIRECTS in facts:
            yield from _redirected(facts, piece)
        if _CRAWLED in facts:
            yield _observed(facts)
    for _, crawled, started, first in _find_same(text) if _SAME in text else ():
        ms = time_of(started)
        said = observe(latest=f'["{_SAME}",{ms},{_json(first)}]')
        yield UrlObservation(text_of(f"{crawled}\n"), ms, said)


def iter_described(text: str) -> Iterator[tuple[dict[str, str], str]]:
    """Yield the terms of each activity in whole lines, and the lines themselves."""
    name = ""
    for piece in text.split(_BEGIN):
        if name.startswith(_ACTIVITY):
            yield _facts_of(name, piece), piece
        # The name of the next activity is the begin of a line.
        name = piece[piece.rfind("\n") + 1 :]


def _facts_of(name: str, piece: str) -> dict[str, str]:
    """Return the terms of an activity, of the response and of the first fault.

    Args:
        name: of the activity, without the bracket at its end.
        piece: its lines, and perhaps others, behind the first. Line feeds stand only
            between statements.

    Returns:
        By predicate, terms that other lines may stand behind.
    """
    own = piece.replace(f"{name}:response> <", f"{name}> <")
    statements = own.removeprefix(f"{name}> <").split(f"{_END}{name}> <")
    facts = {
        predicate: term
        for predicate, _, term in [x.partition("> ") for x in statements]
    }
    if _FAULT in facts:
        facts[_REASON] = piece.partition(f"{name}:fault:0> <{_REASON}> ")[2]
    return facts


def _observed(facts: dict[str, str]) -> UrlObservation:
    crawled = text_of(facts[_CRAWLED])
    started_ms = time_of(facts.get(_STARTED, ""))
    if facts.get(_TASK, "").startswith(_OF_SOURCE):
        for name in _OF_STATEMENTS:
            facts.pop(name, None)
    if (task := _find_task(facts.get(_TASK, ""))) is not None:
        if facts[_TASK].startswith(_LEFT):
            facts[_IS_LEFT] = '"true"'
        facts[_TASK] = f'"{task[1]}"'
    if number_of(facts.get(_DEPTH), 0) == 0:  # as of seeds, and by default
        facts.pop(_DEPTH, None)
    content, text = (_json(facts.get(name, "")) for name in _FETCH_TEXTS)
    answer = number_of(facts.get(_HTTP_STATUS), 0)
    n_statements = number_of(facts.get(_N_STATEMENTS), 0)
    run = number_of(facts.get(f"{RC}run"), -1)
    fetch = (
        f"{started_ms},{_json(facts.get(_STATUS, ''))},{answer},{n_statements}"
        f",{_json(facts.get(_REASON, ''))},{content},{text}"
        f",{run},{_json(facts.get(_LAST_MODIFIED, ''))}"
    )
    latest = [
        f'["{name}",{started_ms},{_json(facts[predicate])}]'
        for predicate, name in _LATEST.items()
        if predicate in facts
    ]
    said = observe(fetch=fetch, latest=",".join(latest))
    return UrlObservation(crawled, started_ms, said)


def _redirected(facts: dict[str, str], piece: str) -> Iterator[UrlObservation]:
    """Yield the ends of redirects by the URLs of other hosts before the crawled URL.

    The end of the redirects becomes a term of the activity, if it is another URL.
    """
    hops = piece.split(f"> <{_HOP}> ")[1:]
    urls = [text_of(hop) for hop in hops]
    crawled, ms = text_of(facts.get(_CRAWLED, "")), time_of(facts.get(_STARTED, ""))
    if not urls:
        return
    end = quoted(urls[-1])
    if urls[-1] != crawled:
        facts[_HOP] = hops[-1]
    for url in urls:
        if url == crawled:
            break
        if url != urls[-1]:
            yield UrlObservation(url, ms, observe(latest=f'["redirect",{ms},{end}]'))


def _json(term: str) -> str:
    r"""Return the text of a term of canonical N-Quads as text of JSON.

    >>> _json('"a"'), _json("<http://e.example/>")
    ('"a"', '"http://e.example/"')
    """
    is_plain = term.isprintable() and "\\" not in term and term.find('"', 1) > 0
    if is_plain and term.endswith('"') and len(term) <= MAX_URL_CHARS:
        return term
    return quoted(text_of(term))


def text_of(term: str) -> str:
    r"""Return the text of a term of canonical N-Quads, whatever is behind its line.

    >>> text_of('"a\\nb"'), text_of("<http://e.example/>")
    ('a\nb', 'http://e.example/')
    """
    term = term.partition(_END)[0]
    if term[:1] == "<":
        return term[1:-1]
    end = len(term) - 1 if term.endswith('"') else term.rfind('"')
    if "\\" in term:
        with suppress(ValueError):  # its escapes are among those of JSON
            return str(json.loads(term[: end + 1]))[:MAX_URL_CHARS]
    return term[1:end][:MAX_URL_CHARS]


def number_of(term: str | None, default: int) -> int:
    """Return a whole number of canonical N-Quads, or what stands for none."""
    digits = "" if term is None else term[1:].partition('"')[0]
    return whole_number(digits, default)


def time_of(term: str) -> int:
    """Return a time of provenance in ms; 0 if there is none."""
    return unix_ms(term[1:].partition('"')[0]) or 0

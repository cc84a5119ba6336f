"""Read one activity from the provenance."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.namespaces import HTTP, PROV, RC, RDF, RDFS, SQUIRREL
from rdfcrawl.monitor.explaining.values import (
    ExplainedFetch,
    ExplainedReading,
    ReadPart,
    UriFault,
)
from rdfcrawl.rdf.terms import text_of_term, unix_ms, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping

ACTIVITY: Final = rb"<urn:rdfcrawl:activity:[0-9a-f]{32}"
MAX_LISTED: Final = 20
_find_facts: Final = re.compile(
    rb"^%b([^>\n]*)> <([^>\n]*)> (?:<([^>\n]*)>|(\"(?:[^\"\\\n]|\\.)*\"))" % ACTIVITY,
    re.MULTILINE,
).findall
_N_STATEMENTS: Final = f"{SQUIRREL}approxNumberOfTriples"
_LABELS: Final = {f"{RC}extractor", f"{RDFS}label"}

_Facts = dict[str, list[str]]  # by predicate, values in order


def read_fetch(name: bytes, content: bytes) -> ExplainedFetch:
    """Parse the lines about an activity.

    Args:
        name: of the activity, without its closing bracket.
        content: complete lines that include those about the activity.
    """
    own: _Facts = defaultdict(list)
    nodes: dict[str, _Facts] = defaultdict(lambda: defaultdict(list))
    for suffix, predicate, iri, text in _find_facts(_lines_about(name, content)):
        node = suffix.decode()
        facts = own if node in ("", ":response") else nodes[node]
        facts[predicate.decode()].append(text_of_term(iri, text))

    def first(term: str) -> str:
        return own[term][0] if term in own else ""

    return ExplainedFetch(
        uri=first(f"{SQUIRREL}crawled"),
        started_ms=unix_ms(first(f"{PROV}startedAtTime")) or 0,
        ended_ms=unix_ms(first(f"{PROV}endedAtTime")) or 0,
        status=first(f"{SQUIRREL}status"),
        http_status=whole_number(first(f"{HTTP}statusCodeValue")),
        n_statements=whole_number(first(_N_STATEMENTS)),
        n_links=whole_number(first(f"{RC}links")),
        run=whole_number(first(f"{RC}run"), -1),
        depth=whole_number(first(f"{SQUIRREL}depth")),
        parent=first(f"{RC}parent"),
        found_by=first(f"{RC}foundBy"),
        task=first(f"{RC}task"),
        spider=first(f"{RC}spider"),
        same_content_as=first(f"{RC}sameContentAs"),
        hops=tuple(_each(nodes, ":hop:", f"{RDF}first")),
        faults=tuple(_faults(nodes)),
        n_faults=whole_number(first(f"{RC}faults")),
        reading=_reading(own, nodes, first(f"{RC}bytes")),
    )


def _lines_about(name: bytes, content: bytes) -> bytes:
    begin = max(content.find(name + b"> "), 0)
    end = content.rfind(b"\n" + name) + 1
    end = content.find(b"\n", max(begin, end)) + 1 or len(content)
    lines = content[begin:end].split(b"\n")
    return b"\n".join(line for line in lines if line.startswith(name))


def _reading(
    own: _Facts, nodes: Mapping[str, _Facts], n_bytes: str
) -> ExplainedReading:
    def first(term: str) -> str:
        return own[RC + term][0] if RC + term in own else ""

    return ExplainedReading(
        n_bytes=whole_number(n_bytes, -1),
        media_type=first("mediaType"),
        etag=first("etag"),
        last_modified=first("lastModified"),
        immutable_until=first("immutableUntil"),
        format=first("format"),
        decided_by=first("decidedBy"),
        packing=first("packing"),
        compared_to_last=first("comparedToLast"),
        canonical=first("canonical"),
        is_error_page=first("errorPage") == "true",
        robots_directives=tuple(own.get(f"{RC}robotsDirective", ())),
        content_signals=tuple(own.get(f"{RC}contentSignal", ())),
        tdm_reservation=first("tdmReservation"),
        tdm_policy=first("tdmPolicy"),
        extractors=tuple(_parts(nodes, ":extraction:")),
        members=tuple(_parts(nodes, ":member:")[:MAX_LISTED]),
        n_members=whole_number(first("members")),
    )


def _each(nodes: Mapping[str, _Facts], kind: str, term: str) -> list[str]:
    return [
        value
        for name, facts in nodes.items()
        if name.startswith(kind)
        for value in facts.get(term, ())
    ]


def _parts(nodes: Mapping[str, _Facts], kind: str) -> list[ReadPart]:
    found = []
    for name, facts in nodes.items():
        if name.startswith(kind):
            labels = [facts[term][0] for term in _LABELS if term in facts]
            found.append(
                ReadPart(
                    name=labels[0] if labels else "",
                    format=facts.get(f"{RC}format", [""])[0],
                    n_statements=whole_number(facts.get(_N_STATEMENTS, [""])[0]),
                )
            )
    return found


def _faults(nodes: Mapping[str, _Facts]) -> list[UriFault]:
    return [
        UriFault(
            facts.get(f"{RC}reason", [""])[0],
            facts.get(f"{RC}detail", [""])[0],
            whole_number(facts.get(f"{RC}count", [""])[0], 1),
        )
        for name, facts in nodes.items()
        if name.startswith(":fault:")
    ]

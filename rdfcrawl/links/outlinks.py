"""The links of one document, as lines of the log of links: target and relation.

    <http://example.org/bob> <http://xmlns.com/foaf/0.1/knows>

The relation is the predicate of a statement; or an IANA link relation (RFC 8288), as
RFC 4287 4.2.7.2 writes it as an IRI; or one of our own.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.links.policy import (
    MAX_NESTED_TERMS,
    TERM,
    LinkPolicy,
    LinkPosition,
    find_triple_terms,
)
from rdfcrawl.links.relations import Link, Relation
from rdfcrawl.rdf.namespaces import RC, RDF_TYPE, RELATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_OURS: Final = frozenset({Relation.HYPERLINK, Relation.NOFOLLOW, Relation.DATASET})
_RELATION_IRIS: Final = {
    each: f"{RC if each in _OURS else RELATIONS}{each}" for each in Relation
}
_TYPE: Final = f"<{RDF_TYPE}>".encode()
_SUBJECT: Final = f"{RC}subject".encode()
_PREDICATE: Final = f"{RC}predicate".encode()
_find_subjects = re.compile(rb"\n<([^>]*+)").findall
_find_predicates = re.compile(rb"\n%s <([^>]*+)" % TERM).findall
_is_iri = re.compile(r"[^\x00-\x20<>]+").fullmatch


def relation_iri(relation: Relation) -> str:
    """Return the IRI of a relation of links in pages, as logged."""
    return _RELATION_IRIS[relation]


class OutlinkOptions(NamedTuple):
    """Which links of a document are logged.

    Attributes:
        follow: selects the links in statements.
        most: of one document.
    """

    follow: LinkPolicy
    most: int


class Outlinks:
    """The links in the statements of one document, each relation to a target once.

    Args:
        options: of the log.
        own: URL of the document, which is no link.
    """

    def __init__(self, options: OutlinkOptions, own: str) -> None:
        self._follow, self._most = options
        self._own = own.encode()
        self._found: dict[tuple[bytes, bytes], None] = {}  # relations and targets

    def add(self, chunk: bytes) -> None:
        """Add the links in whole lines of canonical N-Quads."""
        if len(self._found) > self._most:
            return
        find_objects, others = _finders(self._follow)
        lines = b"\n" + chunk
        own = b"\n<%b>" % self._own
        for _ in range(1 + MAX_NESTED_TERMS):
            if find_objects is not None:
                # Most of the cost of the hot path is to look for types.
                self._add(find_objects[_TYPE in lines](lines))
            for relation, find in others:
                # Mostly, a document is about itself alone.
                if relation is _SUBJECT and _all_begin_so(lines, own):
                    continue
                self._add([(relation, iri) for iri in dict.fromkeys(find(lines))])
            if b"(" not in lines or b" <<( " not in lines:  # as `LinkPolicy.scan`
                break
            lines = b"\n" + b"\n".join(find_triple_terms(lines))

    def _add(self, found: list[tuple[bytes, bytes]]) -> None:
        targets = b"\n" + b"\n".join([target for _, target in found])
        n_web = targets.count(b"\nhttp://")
        if n_web != len(found):
            n_web += targets.count(b"\nhttps://")
        if n_web != len(found) or b"#" in targets or b"\\" in targets:
            chosen = self._follow.crawled_url
            found = [(x, url) for x, target in found if (url := chosen(target))]
        self._found.update(dict.fromkeys(found))

    def lines(self) -> bytes:
        """Return the links, a line each."""
        found = self._found
        for each in [each for each in found if each[1] == self._own]:
            del found[each]
        pairs = found if len(found) <= self._most else islice(found, self._most)
        return b"".join([b"<%b> <%b>\n" % (to, relation) for relation, to in pairs])


def _all_begin_so(lines: bytes, begin: bytes) -> bool:
    """Return whether all IRIs that begin a line are those of `begin`."""
    found = lines.count(begin)
    # All lines are far cheaper to count than those that begin with an IRI.
    return found == lines.count(b"\n", 0, -1) or found == lines.count(b"\n<")


def lines_of_links(links: Iterable[Link]) -> bytes:
    """Return the lines of links of a page or header, in the order of their targets."""
    found = {
        f"<{each.url.partition('#')[0]}> <{_RELATION_IRIS[each.relation]}>\n"
        for each in links
        if _is_iri(each.url)
    }
    return "".join(sorted(found)).encode("utf-8", "replace")


@lru_cache(maxsize=64)
def _finders(
    follow: LinkPolicy,
) -> tuple[
    tuple[Callable[[bytes], list[tuple[bytes, bytes]]], ...] | None,
    tuple[tuple[bytes, Callable[[bytes], list[bytes]]], ...],
]:
    """Return what finds predicates with objects, and what finds other links.

    The first one of the former is for lines without `rdf:type`.
    """
    others = []
    if LinkPosition.SUBJECT in follow.positions:
        others.append((_SUBJECT, _find_subjects))
    if LinkPosition.PREDICATE in follow.positions:
        others.append((_PREDICATE, _find_predicates))
    find_objects = None
    if follow.positions & {LinkPosition.OBJECT, LinkPosition.TYPE}:
        expression = rb"\n%s <(%s)> <([^>]*+)"
        wanted = re.compile(expression % (TERM, follow.predicates())).findall
        find_objects = wanted, wanted
        if LinkPosition.OBJECT in follow.positions and not (follow.only or follow.skip):
            every = re.compile(expression % (TERM, rb"[^>]*+")).findall
            find_objects = every, wanted
    return find_objects, tuple(others)

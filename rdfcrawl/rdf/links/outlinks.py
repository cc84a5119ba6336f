"""The links of one document, as lines of the log of links: relation and target.

    <http://xmlns.com/foaf/0.1/knows> <http://example.org/bob>

The relation is the predicate of a statement, an IANA link relation (RFC 8288) as an
IRI (RFC 4287 4.2.7.2), or one of ours.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from rdfcrawl.core.formats import Link, Relation
from rdfcrawl.core.namespaces import RC, RELATIONS
from rdfcrawl.rdf.links.policy import (
    MAX_NESTED_TERMS,
    TERM,
    LinkPolicy,
    LinkPosition,
    find_triple_terms,
    has_triple_terms,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    _Find = Callable[[bytes], list[bytes]]
    _FindPairs = Callable[[bytes], list[tuple[bytes, bytes]]]

_OURS: Final = frozenset({Relation.HYPERLINK, Relation.NOFOLLOW, Relation.DATASET})
_RELATION_IRIS: Final = {
    each: f"{RC if each in _OURS else RELATIONS}{each}" for each in Relation
}
_SUBJECT: Final = f"{RC}subject> <".encode()
_PREDICATE: Final = f"{RC}predicate> <".encode()
_find_subjects = re.compile(rb"\n<([^>]*+)").findall
# In normalized statements; those that begin with the URL of the document lack it.
_AFTER_OWN: Final = b"<?"
_OWN_OBJECTS: Final = (b"> <>", b"> <#")
_find_predicates = re.compile(rb"\n%s <([^>]*+)" % TERM).findall
_is_iri = re.compile(r"[^\x00-\x20<>]+").fullmatch


def relation_iri(relation: Relation) -> str:
    """Return the IRI of a relation of links in pages, as logged."""
    return _RELATION_IRIS[relation]


class OutlinkOptions:
    """Selection of the links that are logged.

    Args:
        follow: selects the links in statements.
        most: maximum per document.
    """

    __slots__ = "finders", "follow", "most"

    def __init__(self, follow: LinkPolicy, most: int) -> None:
        self.follow, self.most = follow, most
        self.finders = _finders(follow)

    def __reduce__(self) -> tuple[object, ...]:
        """Leave out the expressions, which the receiving child compiles."""
        return OutlinkOptions, (self.follow, self.most)


class Outlinks:
    """The distinct links in the statements of one document.

    Args:
        options: of the log.
        own: URL of the document, which is not a link.
    """

    def __init__(self, options: OutlinkOptions, own: str) -> None:
        self._options, self._most = options, options.most
        self._own = own.encode()
        self._found: dict[bytes, bytes] = {}  # target by `relation> <target`
        self._is_about_itself = False
        self._is_full = False  # stop searching: saves much time in a dump

    def add(self, chunk: bytes) -> None:
        """Add the links in complete lines of canonical N-Quads."""
        if self._is_full:
            return
        found, finders = self._found, self._options.finders
        lines = b"\n" + chunk
        for _ in range(1 + MAX_NESTED_TERMS):
            if finders.objects is not None:
                found.update(finders.objects(lines))
            for relation, find in finders.others:
                targets = dict.fromkeys(find(lines))
                if relation is _SUBJECT and self._own in targets:
                    self._is_about_itself = True
                    del targets[self._own]
                found.update([(relation + x, x) for x in targets])
            if b"(" not in lines or not has_triple_terms(lines):
                break
            lines = b"\n" + b"\n".join(find_triple_terms(lines))
        if len(found) > self._most:
            self._found = self._crawled()
            self._is_full = len(self._found) > self._most

    def add_normal(
        self, text: bytes, lines: list[bytes], *, n_own: int, graph: str
    ) -> bool:
        """Add the links of a document, by fields of its `NormalStatements`.

        Args:
            text: all statements.
            lines: the same, sorted.
            n_own: how often they lack the IRI of the graph.
            graph: of the statements.

        Returns:
            Whether that was possible. It is not if there are triple terms, predicates
            that begin with the URL of the document, or too many links, if the policy
            looks at predicates, or if the graph has another name than the document;
            then, nothing is added.
        """
        finders = self._options.finders
        if finders.in_normal is None or graph.encode() != self._own:
            return False
        if b"(" in text and has_triple_terms(text):
            return False
        found = dict(finders.in_normal(text))
        # Sorted: first those about the document itself, last those of blank nodes.
        begin = bisect_left(lines, _AFTER_OWN)
        is_about_itself = finders.has_subjects and begin > 0
        if n_own > begin:  # it may occur elsewhere
            keys = b"\n" + b"\n".join(found)
            if b"\n#" in keys or b"\n>" in keys:
                return False
            if not is_about_itself and any(each in text for each in _OWN_OBJECTS):
                return False
        if finders.has_subjects and begin < len(lines):
            others = b"\n".join((b"", *lines[begin : bisect_left(lines, b"_:")]))
            found.update([(_SUBJECT + x, x) for x in {*_find_subjects(others)}])
        if len(found) > self._most:
            return False
        self._found, self._is_about_itself = found, is_about_itself
        return True

    def end(self) -> tuple[bytes, set[bytes] | None]:
        """Return all links that were added.

        Returns:
            The lines of the log, without links to the document itself; and the targets
            in the form of `LinkPolicy.scan`, or None if there are too many to log.
        """
        found = self._crawled()
        targets = set(found.values())
        if self._own in targets:
            found = {each: url for each, url in found.items() if url != self._own}
        if self._is_about_itself:
            targets.add(self._own)
        lines = b">\n<".join(islice(found, self._most))
        lines = b"<%b>\n" % lines if lines else b""
        return lines, None if self._is_full else targets

    def _crawled(self) -> dict[bytes, bytes]:
        """Return the crawled links, with targets without fragments."""
        found = self._found
        targets = b"\n" + b"\n".join(found.values())
        n_web = targets.count(b"\nhttp://") + targets.count(b"\nhttps://")
        are_web = n_web == len(found) and b"\\" not in targets
        if are_web and b"#" not in targets:  # the usual case
            return found
        crawled_url = self._options.follow.crawled_url
        others = [x for x in found.items() if not are_web or b"#" in x[1]]
        for each, target in others:
            del found[each]
            if url := crawled_url(target):
                found[each[: len(each) - len(target)] + url] = url
        return found


def lines_of_links(links: Iterable[Link]) -> bytes:
    """Return the lines of links of a page or header, sorted by target."""
    found = {
        (each.url.partition("#")[0], _RELATION_IRIS[each.relation])
        for each in links
        if _is_iri(each.url)
    }
    lines = [f"<{relation}> <{url}>\n" for url, relation in sorted(found)]
    return "".join(lines).encode("utf-8", "replace")


class _Finders(NamedTuple):
    """Functions that find links in statements that follow a line feed.

    Attributes:
        objects: finds `relation> <target` and the target; None if objects are not
            followed.
        in_normal: the same in `NormalStatements`, except for objects that begin with
            the URL of the document; None if predicates are followed or selected, or
            objects are not followed.
        others: pairs of relation and a function that finds targets.
        has_subjects: `others` include subjects.
    """

    objects: _FindPairs | None
    in_normal: _FindPairs | None
    others: tuple[tuple[bytes, _Find], ...]
    has_subjects: bool


@lru_cache(maxsize=64)
def _finders(follow: LinkPolicy) -> _Finders:
    others = []
    has_subjects = LinkPosition.SUBJECT in follow.positions
    if has_subjects:
        others.append((_SUBJECT, _find_subjects))
    has_predicates = LinkPosition.PREDICATE in follow.positions
    if has_predicates:
        others.append((_PREDICATE, _find_predicates))
    if not follow.positions & {LinkPosition.OBJECT, LinkPosition.TYPE}:
        return _Finders(None, None, tuple(others), has_subjects)
    wanted = follow.predicates()
    normal = None
    if LinkPosition.OBJECT in follow.positions and not (has_predicates or follow.only):
        normal = re.compile(rb"\n%s <(%s> <([^>#][^>]*+))" % (TERM, wanted)).findall
    objects = re.compile(rb"\n%s <(%s> <([^>]*+))" % (TERM, wanted)).findall
    return _Finders(objects, normal, tuple(others), has_subjects)

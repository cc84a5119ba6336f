"""The links of one document, as lines of the log of links: relation and target.

    <http://xmlns.com/foaf/0.1/knows> <http://example.org/bob>

The relation is the predicate of a statement, an IANA link relation (RFC 8288) as an
IRI (RFC 4287 4.2.7.2), or one of ours.
"""

from __future__ import annotations

import re
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

    from rdfcrawl.rdf.fingerprints import NormalStatements

    _Find = Callable[[bytes], list[bytes]]
    _FindPairs = Callable[[bytes], list[tuple[bytes, bytes]]]

_OURS: Final = frozenset({Relation.HYPERLINK, Relation.NOFOLLOW, Relation.DATASET})
_RELATION_IRIS: Final = {
    each: f"{RC if each in _OURS else RELATIONS}{each}" for each in Relation
}
_SUBJECT: Final = f"{RC}subject> <".encode()
_PREDICATE: Final = f"{RC}predicate> <".encode()
_find_subjects = re.compile(rb"\n<([^>]*+)").findall
_find_predicates = re.compile(rb"\n%s <([^>]*+)" % TERM).findall
_WEB: Final = (b"http://", b"https://")
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
        if self._is_full:
            lines = b">\n<".join(islice(found, self._most))
            return b"<%b>\n" % lines if lines else b"", None
        lines = b">\n<".join(found)
        return b"<%b>\n" % lines if lines else b"", targets

    def _crawled(self) -> dict[bytes, bytes]:
        """Return the crawled links, with targets without fragments."""
        crawled_url = self._options.follow.crawled_url
        found: dict[bytes, bytes] = {}
        for each, target in self._found.items():
            if b"#" not in target and target.startswith(_WEB) and b"\\" not in target:
                found[each] = target  # the usual case
            elif url := crawled_url(target):
                found[each[: len(each) - len(target)] + url] = url
        return found


def links_about_itself(
    options: OutlinkOptions, own: str, statements: NormalStatements
) -> tuple[bytes, set[bytes] | None] | None:
    """Return the links of a document about itself, in the form of `Outlinks.end`.

    Args:
        options: of the log.
        own: URL of the document.
        statements: all of the document, with no other subject.

    Returns:
        None if the document needs `Outlinks`: triple terms, IRIs with another scheme,
        a fragment or an escape, or a policy that follows predicates.
    """
    find, text = options.finders.plain_objects, statements.text
    if find is None:
        return None
    found = find(text)
    n = len(found)
    # An object that is an IRI or a triple term comes after `> <`.
    if (n != len(statements.lines) and n != text.count(b"> <")) or n > options.most:
        return None
    targets = {url for _, url in found}
    if options.finders.has_subjects:
        targets.add(own.encode())
    lines = b">\n<".join([each for each, _ in found])
    return b"<%b>\n" % lines if lines else b"", targets


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
        plain_objects: the same in statements without subjects, for http and https,
            without fragments and escapes; None if predicates are followed, or objects
            are not.
        others: pairs of relation and a function that finds targets.
        has_subjects: `others` include subjects.
    """

    objects: _FindPairs | None
    plain_objects: _FindPairs | None
    others: tuple[tuple[bytes, _Find], ...]
    has_subjects: bool


@lru_cache(maxsize=64)
def _finders(follow: LinkPolicy) -> _Finders:
    others = []
    has_subjects = LinkPosition.SUBJECT in follow.positions
    if has_subjects:
        others.append((_SUBJECT, _find_subjects))
    if LinkPosition.PREDICATE in follow.positions:
        others.append((_PREDICATE, _find_predicates))
    if not follow.positions & {LinkPosition.OBJECT, LinkPosition.TYPE}:
        return _Finders(None, None, tuple(others), has_subjects)
    wanted = follow.predicates()
    plain = None
    if LinkPosition.PREDICATE not in follow.positions:
        plain = re.compile(rb"\n<(%s> <(https?://[^>#\\\n]*+))>" % wanted).findall
    objects = re.compile(rb"\n%s <(%s> <([^>]*+))" % (TERM, wanted)).findall
    return _Finders(objects, plain, tuple(others), has_subjects)

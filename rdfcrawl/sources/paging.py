"""Pages of collections, by the statements of a page about the other pages.

    <?page=1> hydra:next <?page=2> .        <1> tree:relation [ tree:node <2> ] .

Sources: Hydra Core Vocabulary section 5.2 and its older `PagedCollection`
(`hydra:nextPage`); the TREE hypermedia specification (`tree:view`, `tree:relation`,
`tree:node`); Linked Data Event Streams section 3.2 (`ldes:immutable`); RFC 8246.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final
from urllib.parse import urlsplit

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import DCAT, HYDRA, LDES, RDF_TYPE, TREE
from rdfcrawl.uri import BadUri, host_of, requestable
from rdfcrawl.uri.hosts import is_same_origin

MAX_PAGES: Final = 100_000  # of one collection
MAX_RELATIONS: Final = 20_000  # of one page
_HYDRA, _TREE, _LDES = HYDRA.encode(), TREE.encode(), LDES.encode()
_DATASET: Final = f"{DCAT}Dataset".encode()

_find = re.compile(
    rb"\n(<[^>\n]*+>|_:[^ \n]*+) "
    rb"<(%s(?:next|nextPage|view|member)|%s(?:view|relation|node)|%simmutable)> "
    rb'(<[^>\n]*+>|_:[^ \n]*+|"(?:[^"\\\n]|\\.)*+")'
    % (*map(re.escape, (_HYDRA, _TREE, _LDES)),)
).findall
_find_types = re.compile(
    rb"\n(<[^>\n]*+>|_:[^ \n]*+) <%s> "
    rb"<(%s(?:PartialCollectionView|PagedCollection)|%sNode|%s)> "
    % (*map(re.escape, (RDF_TYPE.encode(), _HYDRA, _TREE, _DATASET)),)
).findall
_is_immutable = re.compile(r"(?:\A|[\s,])immutable(?=[\s,]|\Z)", re.IGNORECASE).search


@dataclass(frozen=True, slots=True, kw_only=True)
class PagingFacts:
    """Statements of a document about itself as a page of a collection."""

    is_page: bool = False  # the document is a page of a collection
    following: tuple[str, ...] = ()  # next pages by Hydra, as written; usually one
    nodes: tuple[str, ...] = ()  # targets of TREE relations, requestable
    # first pages of the TREE collections in the document, requestable
    views: tuple[str, ...] = ()
    is_immutable: bool = False  # the page is declared immutable
    n_members: int = 0  # datasets and members of collections in the document
    # of the members' names, in any order; empty without members
    digest: str = ""
    is_cut: bool = False  # the document has more than `MAX_RELATIONS` relations


@dataclass(slots=True)
class PagingScan:
    """Collects statements about pages of collections."""

    _next: dict[tuple[bytes, bytes], None] = field(default_factory=dict)
    _views: set[bytes] = field(default_factory=set)  # of Hydra
    _tree_views: dict[tuple[bytes, bytes], None] = field(default_factory=dict)
    _relations: dict[tuple[bytes, bytes], None] = field(default_factory=dict)
    _nodes: dict[bytes, list[bytes]] = field(default_factory=dict)
    _immutable: set[bytes] = field(default_factory=set)
    _pages: set[bytes] = field(default_factory=set)
    _n_members: int = 0
    _sum: int = 0
    _is_cut: bool = False

    def feed(self, chunk: bytes) -> None:
        """Process the next complete lines of canonical N-Quads."""
        is_paged = _HYDRA in chunk or _TREE in chunk or _LDES in chunk
        lines = b"\n" + chunk
        for subject, name in _find_types(lines):
            if name == _DATASET:
                self._add_member(subject)
            elif len(self._pages) < MAX_RELATIONS:
                self._pages.add(subject)
        for subject, predicate, target in _find(lines) if is_paged else ():
            self._take(subject, predicate, target)

    def facts(self, *urls: str) -> PagingFacts:
        """Return the facts about a page; `urls` ends with the URL after redirects.

        Statements about other pages are ignored, unless all are about one page and none
        is about `urls`: behind a proxy, the page has another name.
        """
        own = {_bare(f"<{url}>".encode()) for url in urls}
        next_pages = _of_page(self._next, own, self._views)
        relations = _of_page(self._relations, own, {x for _, x in self._tree_views})
        targets = [url for blank in relations for url in self._nodes.get(blank, ())]
        views = [view for _, view in self._tree_views]
        mine = self._pages | self._views | set(views)
        is_page = bool(next_pages or targets) or any(_bare(x) in own for x in mine)
        return PagingFacts(
            is_page=is_page,
            following=tuple(x.decode("utf-8", "replace") for x in next_pages),
            nodes=_requestable(targets, urls[-1]),
            views=_requestable((x[1:-1] for x in views if x[:1] == b"<"), urls[-1]),
            is_immutable=any(_bare(x) in own for x in self._immutable),
            n_members=self._n_members,
            digest=f"{self._n_members}:{self._sum:032x}" if self._sum else "",
            is_cut=self._is_cut,
        )

    def _take(self, subject: bytes, predicate: bytes, target: bytes) -> None:
        name = predicate.rpartition(b"#")[2]
        is_hydra = predicate.startswith(_HYDRA)
        if name == b"member":
            self._add_member(target)
        elif len(self._relations) + len(self._nodes) >= 2 * MAX_RELATIONS:
            self._is_cut = True
        elif name in (b"next", b"nextPage"):
            # Some versions of ckanext-dcat write the IRI as a literal.
            if target[:1] != b"_" and len(self._next) < MAX_RELATIONS:
                self._next[subject, target[1:-1]] = None
        elif name == b"view" and is_hydra:
            self._views.add(target)
        elif name == b"view":
            self._tree_views[subject, target] = None
        elif name == b"relation":
            self._relations[subject, target] = None
        elif name == b"node" and target[:1] == b"<":
            self._nodes.setdefault(subject, []).append(target[1:-1])
        elif name == b"immutable" and target[1:-1] in (b"true", b"1"):
            self._immutable.add(subject)

    def _add_member(self, name: bytes) -> None:
        self._n_members += 1
        if not name.startswith(b"_:"):
            digest = blake2b(name, digest_size=16).digest()
            self._sum ^= int.from_bytes(digest, "big")


def is_immutable(cache_control: str) -> bool:
    """Return whether a `Cache-Control` header declares a response immutable.

    >>> is_immutable("public, max-age=31536000, immutable")
    True
    """
    return _is_immutable(cache_control) is not None


def _of_page(
    pairs: dict[tuple[bytes, bytes], None], own: set[bytes], views: set[bytes]
) -> list[bytes]:
    """Return the targets of one page from the pairs of all pages."""
    found = [target for subject, target in pairs if _bare(subject) in own]
    if not found:
        candidates = [one for one in pairs if one[0] in views] or list(pairs)
        if len({subject for subject, _ in candidates}) == 1:
            found = [target for _, target in candidates]
    return list(dict.fromkeys(found))


def _bare(term: bytes) -> bytes:
    """Return an IRI without scheme and fragment, for comparison."""
    return term.partition(b"://")[2].rstrip(b">").partition(b"#")[0] or term


def _requestable(targets: Iterable[bytes], base: str) -> tuple[str, ...]:
    named = (target.decode("utf-8", "replace") for target in targets)
    return tuple(requestable_pages(named, base))


def requestable_pages(named: Iterable[str], url: str) -> list[str]:
    """Return requestable pages without duplicates; `url` is the base."""
    found: dict[str, None] = {}
    for one in named:
        with suppress(BadUri):
            found[requestable(one, url)] = None
    return list(found)


def choose_next(
    named: Iterable[str],
    url: str,
    log: FaultLog,
    *,
    visited: Container[str],
    n_pages: int,
    max_pages: int = MAX_PAGES,
) -> str:
    """Return the next page; empty at the end of the catalogue.

    Portals behind a proxy name pages of `localhost` or of `http`. If the path is the
    same, the host of `url` replaces theirs, and `REPAIRED` is counted.

    Args:
        named: result of `requestable_pages`.
        url: of the page, after redirects.
        log: receives `PAGING_LOOP` for a page visited before, `CROSS_SITE` for a
            page of another site, `REPAIRED` and `TOO_MANY_ENTRIES`.
        visited: URLs of all pages up to this one.
        n_pages: number of these pages.
        max_pages: limit of pages per collection.
    """
    for one in named:
        target = _on_own_host(one, url, log)
        if not target:
            log.note(Reason.CROSS_SITE, f"next page {one}")
        elif target == requestable(url) or target in visited:
            log.note(Reason.PAGING_LOOP, f"next page {one} was visited before")
        elif n_pages >= max_pages:
            log.note(Reason.TOO_MANY_ENTRIES, f"more than {counted(max_pages, 'page')}")
        else:
            return target
    return ""


def _on_own_host(target: str, url: str, log: FaultLog) -> str:
    """Return the page on the host of `url`; empty for a page of another site."""
    if is_same_origin(target, url):
        return target
    own, other = urlsplit(url), urlsplit(target)
    if own.path != other.path:
        return target if host_of(target) == host_of(url) else ""
    log.note(Reason.REPAIRED, f"next page {target} is requested from {own.netloc}")
    return requestable(other._replace(scheme=own.scheme, netloc=own.netloc).geturl())

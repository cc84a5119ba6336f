"""The DCAT that a portal offers itself: where it is, and its pages one by one.

Source: the documentation of ckanext-dcat, "RDF endpoints"; Hydra Core Vocabulary 5.2
"Collections" (`hydra:view`, `hydra:next`) and its older `PagedCollection`
(`hydra:nextPage`); RFC 8288 and RFC 5988 (`Link: rel=next`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.http_links import parse_link_header
from rdfcrawl.rdf.namespaces import DCAT, HYDRA, RDF
from rdfcrawl.uri import BadUri, host_of, requestable
from rdfcrawl.uri.origin import is_same_origin

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from rdfcrawl.catalogs.ckan.api import Portal
    from rdfcrawl.faultlog import FaultLog

MAX_PAGES: Final = 100_000  # of one catalogue; ckanext-dcat has 100 datasets on each
_MAX_NEXT: Final = 100  # statements of one page that name another
_EXTENSIONS: Final = ("ttl", "rdf", "jsonld")  # best first: what is read fastest

_HYDRA = HYDRA.encode()
_LINE = re.compile(
    rb"^(<[^>\n]*>|_:\S+) <"
    + re.escape(_HYDRA)
    + rb"(\w+)> (<[^>\n]*>|_:\S+|\"[^\n]*\")",
    re.MULTILINE,
)
_DATASET = re.compile(
    rb"^(<[^>\n]*>|_:\S+) <"
    + re.escape(RDF.encode())
    + rb"type> <"
    + re.escape(DCAT.encode())
    + rb"Dataset> ",
    re.MULTILINE,
)
_NEXT: Final = frozenset({b"next", b"nextPage"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What the statements of one page say of paging.

    Attributes:
        following: named as next, as written, without those of other pages.
        n_datasets: on the page.
        digest: of the names of these, in whatever order; empty if there are none.
    """

    following: tuple[str, ...] = ()
    n_datasets: int = 0
    digest: str = ""


@dataclass(slots=True)
class PageScan:
    """Gathers the facts of one page while its statements pass by.

    Args:
        url: of the page, after redirects.
        asked: as it was requested.
    """

    url: str
    asked: str = ""
    _next: list[tuple[bytes, str]] = field(default_factory=list)
    _views: set[bytes] = field(default_factory=set)
    _collections: set[bytes] = field(default_factory=set)
    _n_datasets: int = 0
    _sum: int = 0

    def scan(self, chunk: bytes) -> None:
        """Take whole lines of canonical N-Quads."""
        if _HYDRA in chunk:
            for subject, name, target in _LINE.findall(chunk):
                self._take(subject, name, target)
        for subject in _DATASET.findall(chunk):
            self._n_datasets += 1
            if not subject.startswith(b"_:"):
                digest = blake2b(subject, digest_size=16).digest()
                self._sum ^= int.from_bytes(digest, "big")

    def facts(self) -> PageFacts:
        """Return what was found.

        Where a page has the views of several pages, the one that is its own
        counts; where none is, those of a view that the collection names.
        """
        own = {f"<{url}>".encode() for url in (self.url, self.asked) if url}
        found = [target for subject, target in self._next if subject in own]
        if not found:
            viewed = [one for one in self._next if one[0] in self._views]
            found = [target for _, target in viewed or self._next]
        digest = f"{self._n_datasets}:{self._sum:032x}" if self._sum else ""
        return PageFacts(
            following=tuple(dict.fromkeys(found)),
            n_datasets=self._n_datasets,
            digest=digest,
        )

    def _take(self, subject: bytes, name: bytes, target: bytes) -> None:
        if name == b"view":
            if len(self._views) < _MAX_NEXT:
                self._views.add(target)
        elif name in _NEXT and len(self._next) < _MAX_NEXT:
            text = target.decode("utf-8", "replace")
            # ckanext-dcat has written the IRI as a literal.
            bare = text[1:-1] if text[0] == "<" else text[1:].partition('"')[0]
            if not text.startswith("_:"):
                self._next.append((subject, bare))


def catalogue_urls(portal: Portal) -> tuple[str, ...]:
    """Return where ckanext-dcat has the catalogue, if a portal has it at all.

    One of them is enough; a portal without it answers 404. That it has it, a page
    says by `alternates`.
    """
    return tuple(f"{portal.url}/catalog.{name}" for name in _EXTENSIONS)


def dataset_urls(portal: Portal, name: str) -> tuple[str, ...]:
    """Return where ckanext-dcat has one dataset, by name or id."""
    page = portal.page("dataset", name)
    return tuple(f"{page}.{extension}" for extension in _EXTENSIONS)


def is_catalogue_url(url: str) -> bool:
    """Tell whether a URL is the one of a catalogue of ckanext-dcat, of any page."""
    pattern = r"/catalog\.(?:ttl|rdf|xml|jsonld|n3)\Z"
    return re.search(pattern, urlsplit(url).path) is not None


def following_pages(facts: PageFacts, url: str, *, link_header: str = "") -> list[str]:
    """Return the next page as the statements and the header name it, each once.

    A page that names itself, or a fragment of itself, names none.

    Args:
        facts: of `PageScan`.
        url: of the page, after redirects.
        link_header: its header `Link`; empty if it has none.
    """
    named = list(facts.following)
    if link_header:
        named += [
            link.url
            for link in parse_link_header(link_header, base=url)
            if "next" in link.relations and not link.anchor
        ]
    found: dict[str, None] = {}
    for one in named:
        try:
            found[requestable(one, url)] = None
        except BadUri:
            continue
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
    """Return the page to go on with; empty at the end of the catalogue.

    Portals behind a proxy name pages of `localhost` or of `http`: where path and
    portal are plainly the same, the page's own host is taken, and it is counted.

    Args:
        named: of `following_pages`.
        url: of the page, after redirects.
        log: takes `PAGING_LOOP` where a page was there before, `CROSS_SITE` where it
            is of another site, `REPAIRED` and `TOO_MANY_ENTRIES`.
        visited: URLs of all pages before this one, and of this one.
        n_pages: how many these are.
        max_pages: at most so many are read.
    """
    for one in named:
        target = _on_own_host(one, url, log)
        if not target:
            log.note(Reason.CROSS_SITE, f"next page {one}")
        elif target == requestable(url) or target in visited:
            log.note(Reason.PAGING_LOOP, f"next page {one} was there before")
        elif n_pages >= max_pages:
            log.note(Reason.TOO_MANY_ENTRIES, f"more than {max_pages} pages")
        else:
            return target
    return ""


def check_new(facts: PageFacts, digests: Container[str]) -> None:
    """Raise if a page has the datasets of an earlier one, or none at all.

    Some portals answer any number of page: with the last one, the first one, or
    nothing. So they can be left although their URLs never repeat.

    Args:
        facts: of a page after the first.
        digests: `PageFacts.digest` of all pages before.

    Raises:
        SourceFault: `PAGING_LOOP`: do not go on to the next page.
    """
    if not facts.n_datasets:
        raise SourceFault(Reason.PAGING_LOOP, "a page without datasets")
    if facts.digest and facts.digest in digests:
        raise SourceFault(Reason.PAGING_LOOP, "the datasets of an earlier page")


def _on_own_host(target: str, url: str, log: FaultLog) -> str:
    """Return the page on the host of this one; empty if it is of another site."""
    if is_same_origin(target, url):
        return target
    own, other = urlsplit(url), urlsplit(target)
    if own.path != other.path:
        return target if host_of(target) == host_of(url) else ""
    log.note(Reason.REPAIRED, f"next page {target} is taken from {own.netloc}")
    return requestable(other._replace(scheme=own.scheme, netloc=own.netloc).geturl())

"""Read one document from a URL or a file, as in a crawl."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.content import body_of, head_of
from rdfcrawl.core.errors import GUARDED, ConfigError, NeedsSandbox, Reason
from rdfcrawl.core.formats import HTML, N_QUADS, N_TRIPLES, TRIG, TURTLE, Relation
from rdfcrawl.core.messages import counted
from rdfcrawl.core.records import Document, FetchedResponse, Record
from rdfcrawl.core.reservations import (
    Obedience,
    ReservationPolicy,
    Reservations,
    read_headers,
)
from rdfcrawl.rdf.extraction.messages import ExtractOutcome, ReadingJob
from rdfcrawl.rdf.html.empty_pages import (
    SEEN_BYTES,
    classify_empty,
    count_hyperlinks,
)
from rdfcrawl.rdf.links.policy import LinkPolicy, with_own
from rdfcrawl.uri import CRAWLED_SCHEMES, BadUri, requestable
from rdfcrawl.uri.parse import scheme_of

if TYPE_CHECKING:
    from rdfcrawl.downloader.detached_client import DetachedClient
    from rdfcrawl.downloader.ftp.address import FtpLogins
    from rdfcrawl.downloader.options import FetchOptions
    from rdfcrawl.downloader.scheme_fetcher import SchemeFetcher
    from rdfcrawl.rdf.environment import ContextDocument
    from rdfcrawl.rdf.extraction.options import ExtractOptions
    from rdfcrawl.rdf.extraction.sandbox import Sandbox

_READ_HERE: Final = (N_TRIPLES, N_QUADS, TURTLE, TRIG)
_PIECE_BYTES: Final = 2**20
_is_archive_name: Final = re.compile(r"\.w?arc(?:\.gz|\.zst)?\Z", re.IGNORECASE).search


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectionRequest:
    """A document to read, and the options."""

    # URL, or path of a file; `-` is standard input; empty for a fetched document
    target: str = ""
    # overrides the server's, with its `charset`; empty keeps that
    media_type: str = ""
    # resolves relative IRIs, and chooses scraping rules; empty: the document's URL
    base: str = ""
    follow: LinkPolicy  # which links a crawl would follow
    fetch: FetchOptions
    robots_agent: str = ""  # product token for robots.txt, which is not obeyed if empty
    extract: ExtractOptions
    logins: FtpLogins | None = None
    # reservations that a crawl would obey; all are reported
    reservation_policy: ReservationPolicy
    # child processes are shared with later calls in this event loop
    shares_children: bool = False
    fetchers: Mapping[str, SchemeFetcher] = field(default_factory=dict)
    wants_uniform: bool = False  # items of a page in the shape of extruct


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectionReport:
    """The result of reading a document."""

    document: Document  # as fetched; files have status 0
    outcome: ExtractOutcome | None = None  # result of extraction; None without a body
    # other URLs that a crawl would follow, before its scope is applied
    followed: frozenset[str] = frozenset()
    # why a crawl would not store the statements
    withheld: Reason | None = None
    n_hyperlinks: int = 0  # of a page, if they would not be followed
    # IRIs in statements that `follow=all` would follow, if nothing else is followed
    n_unfollowed: int = 0
    why_empty: str = ""  # an `EmptyPage`: a page that was read has no statements


def is_archive(target: str) -> bool:
    """Return whether a target of `scrapy rdf` is a WARC or ARC file, by its name.

    >>> is_archive("https://a.example/b.warc")
    False
    """
    return (
        "://" not in target
        and bool(_is_archive_name(target))
        and Path(target).is_file()
    )


async def inspect(
    request: InspectionRequest,
    write: Callable[[bytes], object],
    *,
    document: Document | None = None,
) -> InspectionReport:
    """Read one document.

    Args:
        request: the document and its options.
        write: gets the statements, as chunks of canonical N-Quads.
        document: a fetched document to read instead of the target.

    Raises:
        ConfigError: the target is neither a URL nor a readable file.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        web = _ClosedWeb(request, folder, stack)
        if document is None:
            document = await _find(request, web, folder)
        source = body_of(document.response)
        if source is None:
            return InspectionReport(document=document)
        job = _job(request, document)
        own = request.fetchers.keys() & {scheme_of(document.record.url)}
        links = _ScannedLinks(with_own(request.follow, frozenset(own)))

        def keep(chunk: bytes) -> None:
            write(chunk)
            links.scan(chunk)

        is_small = document.response.n_bytes <= request.fetch.spool_bytes
        outcome = _read_here(source, job, keep) if is_small else None
        if outcome is None:
            outcome = await _read_in_child(source, job, keep, request, web)
        links.found |= links.follow.choose(outcome.links)
        n_hyperlinks, why_empty = _page_facts(request, document, outcome)
    links.obey(outcome.reservations, request.reservation_policy)
    followed, n_unfollowed = links.requestable(job, document.record.url)
    return InspectionReport(
        document=document,
        outcome=outcome,
        followed=followed,
        withheld=outcome.reservations.withholds(request.reservation_policy),
        n_hyperlinks=n_hyperlinks,
        n_unfollowed=n_unfollowed,
        why_empty=why_empty,
    )


_FOLLOW_ALL: Final = LinkPolicy.parse("all")


class _ScannedLinks:
    """Links in the statements of a document.

    Args:
        follow: which ones a crawl follows.

    Attributes:
        found: links that are followed.
        every: all links, until one was found that is followed.
    """

    def __init__(self, follow: LinkPolicy) -> None:
        self.follow = follow
        self.found: set[bytes] = set()
        self.every: set[bytes] = set()

    def scan(self, chunk: bytes) -> None:
        """Look for links in complete lines."""
        self.found.update(self.follow.scan(chunk))
        if not self.found:
            self.every.update(_FOLLOW_ALL.scan(chunk))

    def obey(self, reserved: Reservations, policy: ReservationPolicy) -> None:
        """Forget all links if the document forbids to follow them."""
        nofollow = Relation.NOFOLLOW in self.follow.relations
        if reserved.forbids_following(policy, wants_nofollow=nofollow):
            self.found.clear()

    def requestable(self, job: ReadingJob, url: str) -> tuple[frozenset[str], int]:
        """Return the followed URLs; if there are none, the number of others."""
        own = {job.url, job.page_url}
        followed = _requestable(self.found, url) - own
        return followed, 0 if followed else len(_requestable(self.every, url) - own)


def _page_facts(
    request: InspectionRequest, document: Document, outcome: ExtractOutcome
) -> tuple[int, str]:
    """Return the number of hyperlinks not followed, and why there are no statements."""
    if outcome.format is not HTML:
        return 0, ""
    head = head_of(document.response, SEEN_BYTES)
    n_hyperlinks = 0 if request.follow.wants_hyperlinks else count_hyperlinks(head)
    return n_hyperlinks, "" if outcome.n_quads else str(classify_empty(head))


def _read_here(
    source: bytes | Path, job: ReadingJob, keep: Callable[[bytes], None]
) -> ExtractOutcome | None:
    """Return the result for a small document; None if it needs a sandbox."""
    from rdfcrawl.rdf.extraction.reading import DocumentReading  # noqa: PLC0415 (slow to import)

    reading = DocumentReading(source, job)
    if reading.outcome.format not in _READ_HERE:
        return None
    try:
        for chunk in reading:
            keep(chunk)
    except NeedsSandbox:  # nothing was read yet
        return None
    return reading.outcome


async def _read_in_child(
    source: bytes | Path,
    job: ReadingJob,
    keep: Callable[[bytes], None],
    request: InspectionRequest,
    web: _ClosedWeb,
) -> ExtractOutcome:
    async with _sandbox(request, web) as sandbox:
        reading = await sandbox.read(source, job, load_context=web.load_context)
        async for chunk in reading:
            keep(chunk.lines)
    return reading.outcome


@asynccontextmanager
async def _sandbox(
    request: InspectionRequest, web: _ClosedWeb
) -> AsyncGenerator[Sandbox]:
    # Not needed for small documents.
    from rdfcrawl.rdf.extraction.sandbox import (  # noqa: PLC0415
        Sandbox,
        shared_sandbox,
    )

    options = request.extract
    if request.shares_children:
        yield await shared_sandbox(options)
        return
    async with Sandbox.of(options, scratch_dir=web.folder) as sandbox:
        yield sandbox


class _ClosedWeb:
    """A web client, opened at its first request: most files need none."""

    def __init__(
        self, request: InspectionRequest, folder: Path, stack: AsyncExitStack
    ) -> None:
        self._request, self.folder, self._stack = request, folder, stack
        self._web: DetachedClient | None = None

    async def open(self) -> DetachedClient:
        """Return the web client; the stack closes it."""
        if self._web is None:
            from rdfcrawl.downloader.detached_client import open_web  # noqa: PLC0415 (see above)

            request = self._request
            opening = open_web(
                request.fetch,
                self.folder,
                robots_agent=request.robots_agent,
                logins=request.logins,
                fetchers=request.fetchers,
            )
            self._web = await self._stack.enter_async_context(opening)
        return self._web

    async def load_context(self, url: str, *, document_url: str) -> ContextDocument:
        """Return a JSON-LD context, or raise `SourceFault`."""
        web = await self.open()
        return await web.contexts.load(url, document_url=document_url)


async def _find(request: InspectionRequest, web: _ClosedWeb, folder: Path) -> Document:
    schemes = CRAWLED_SCHEMES | request.fetchers.keys()
    if request.target.lower().partition("://")[0] not in schemes:
        return _of_file(request, folder)
    try:
        url = requestable(request.target, schemes=schemes)
    except BadUri as error:
        raise ConfigError(f"{request.target}: {error}") from error
    document = await (await web.open()).look_up(url)
    for fault in document.faults:
        is_blocked = fault.reason in GUARDED
        if is_blocked and document.url == url and not document.status:
            raise ConfigError(f"{url}: {fault.detail}")
    return document


def _job(request: InspectionRequest, document: Document) -> ReadingJob:
    """Return the job of reading a document, ignoring reservations."""
    seen = Obedience.RECORD
    policy = replace(request.reservation_policy, robots=seen, tdm=seen)
    media_type = charset = ""
    if request.media_type:
        from rdfcrawl.downloader.http.exchange import (  # noqa: PLC0415 (slow to import)
            parse_content_type,
        )

        media_type, charset = parse_content_type(request.media_type)
    return ReadingJob(
        url=document.url,
        graph=None,
        media_type=media_type or document.media_type,
        charset=charset or document.response.charset,
        http_links=document.response.http_links,
        base=request.base or None,
        trust="all",
        wants_hyperlinks=request.follow.wants_hyperlinks,
        rules=request.extract.rules,
        custom=request.extract.custom,
        reservations=read_headers(
            document.response.reservation_headers, policy, now=time.time()
        ),
        reservation_policy=policy,
        at_secs=time.time(),
        limits=request.extract.limits,
        unpack=request.extract.unpack,
        wants_uniform=request.wants_uniform,
    )


def _of_file(request: InspectionRequest, folder: Path) -> Document:
    """Return a file, or standard input, as a document, or raise `ConfigError`."""
    target = request.target
    path = Path("/dev/stdin" if target == "-" else target)
    if path.is_dir():
        raise ConfigError(f"{target}: is a folder; name a file in it")
    if not path.exists():
        raise ConfigError(f"{target}: neither a file nor a URL that can be crawled")
    url = Path(normpath(path.absolute())).as_uri()  # without `..`, which no URL has
    # Pipes can be read once only; in a child, `/dev/stdin` is another file.
    if not path.is_file() or path.is_relative_to("/dev"):
        path = _copied(path, folder / "input", request.fetch.max_document_bytes)
    response = FetchedResponse(path=path, n_bytes=path.stat().st_size)
    return Document(record=Record(url), url=url, response=response)


def _copied(source: Path, target: Path, max_bytes: int) -> Path:
    left = max_bytes
    with source.open("rb") as read, target.open("wb") as written:
        while left >= 0 and (piece := read.read(_PIECE_BYTES)):
            left -= len(piece)
            written.write(piece)
    if left < 0:
        raise ConfigError(f"{source}: longer than {counted(max_bytes, 'byte')}")
    return target


def _requestable(found: set[bytes], base: str) -> frozenset[str]:
    urls = set()
    for each in found:
        with suppress(BadUri):
            urls.add(requestable(each.decode("utf-8", "replace"), base))
    return frozenset(urls)

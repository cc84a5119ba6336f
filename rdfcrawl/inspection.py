"""One document, from a URL or a file, read as a crawl would read it."""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import ConfigError
from rdfcrawl.extract.job import Job
from rdfcrawl.extract.sandbox import Sandbox
from rdfcrawl.fetch.context_manners import ContextOptions, Hosts, Way
from rdfcrawl.fetch.contexts import open_contexts
from rdfcrawl.fetch.exchange import HttpExchange
from rdfcrawl.fetch.ftp import FtpExchange
from rdfcrawl.fetch.ftp_logins import NO_LOGINS, FtpLogins
from rdfcrawl.fetch.lookup import look_up
from rdfcrawl.fetch.robots_txt import RobotsFetch
from rdfcrawl.fetch.schemes import SchemeExchange
from rdfcrawl.fetch.spool import Spool
from rdfcrawl.records import Document, Record
from rdfcrawl.robots.cache import RobotsCache, RobotsOptions
from rdfcrawl.uri import CRAWLED_SCHEMES, BadUri, requestable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rdfcrawl.extract.outcome import Outcome
    from rdfcrawl.fetch.answer import Exchange
    from rdfcrawl.fetch.contexts import ContextStore
    from rdfcrawl.fetch.options import FetchOptions
    from rdfcrawl.links import LinkPolicy
    from rdfcrawl.options import ExtractOptions
    from rdfcrawl.rdf.jsonld.sources import ContextDocument

_SCHEMES: Final = tuple(f"{scheme}://" for scheme in CRAWLED_SCHEMES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be read, and how.

    Attributes:
        target: URL, or path of a file.
        media_type: believed instead of the server's; empty believes that one.
        base: resolves relative IRIs; empty is the URL of the document.
        follow: which links a crawl would follow.
        fetch: limits and manners of requests.
        robots_agent: product token for robots.txt, which is not obeyed if empty.
        extract: how documents are read.
        logins: of FTP servers.
    """

    target: str
    media_type: str = ""
    base: str = ""
    follow: LinkPolicy
    fetch: FetchOptions
    robots_agent: str
    extract: ExtractOptions
    logins: FtpLogins = NO_LOGINS


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What became of a document.

    Attributes:
        document: as it was fetched; a file is one of status 0.
        outcome: what was read of it; None if there was no body.
        followed: other URLs that a crawl would go on to, before its scope is applied.
    """

    document: Document
    outcome: Outcome | None
    followed: frozenset[str]


async def inspect(question: Question, write: Callable[[bytes], object]) -> Inspection:
    """Return what becomes of one document.

    Args:
        question: what is read, and how.
        write: gets the statements, as chunks of canonical N-Quads.

    Raises:
        ConfigError: the target is no URL and no file that can be read.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        web = await stack.enter_async_context(_open_web(question, folder))
        document = await _find(question, web)
        source = document.body if document.body is not None else document.path
        if source is None:
            return Inspection(document=document, outcome=None, followed=frozenset())
        sandbox = await stack.enter_async_context(
            Sandbox(
                memory_bytes=question.extract.memory_bytes,
                scratch_dir=folder,
                scratch_bytes=question.extract.unpack.n_bytes,
                load_context=web.load_context,
            )
        )
        reading = await sandbox.read(source, _job(question, document))
        found: set[bytes] = set()
        async for chunk in reading:
            write(chunk)
            found |= question.follow.scan(chunk)
        found |= question.follow.choose(reading.outcome.links)
    return Inspection(
        document=document,
        outcome=reading.outcome,
        followed=_requestable(found) - {document.url},
    )


@dataclass(frozen=True, slots=True)
class _Web:
    """How documents and contexts are asked for."""

    options: FetchOptions
    spool: Spool
    exchange: Exchange
    robots: RobotsCache | None
    contexts: ContextStore

    async def load_context(self, url: str, *, document_url: str) -> ContextDocument:
        return await self.contexts.load(url, document_url=document_url)


@asynccontextmanager
async def _open_web(question: Question, folder: Path) -> AsyncIterator[_Web]:
    options = replace(question.fetch, spool_dir=folder / "spool")
    n_bytes = options.visit_memory_bytes
    async with AsyncExitStack() as stack:
        spool = stack.enter_context(
            Spool(options.spool_dir, memory_limit_bytes=n_bytes)
        )
        exchange = SchemeExchange(
            await stack.enter_async_context(HttpExchange(options, spool)),
            await stack.enter_async_context(
                FtpExchange(options, spool, logins=question.logins)
            ),
        )
        manners = robots = None
        if question.robots_agent:
            manners = RobotsOptions(agent=question.robots_agent, retry_times=0)
            robots = RobotsCache(RobotsFetch(exchange, spool, options), manners)
        contexts = open_contexts(
            options,
            spool,
            near=Way(exchange=exchange, robots=robots),
            robots=manners,
            options=ContextOptions(),
            hosts=Hosts(),
        )
        stack.push_async_callback(contexts.close)
        yield _Web(options, spool, exchange, robots, contexts)


async def _find(question: Question, web: _Web) -> Document:
    if not question.target.lower().startswith(_SCHEMES):
        path = Path(question.target)
        if not path.is_file():
            raise ConfigError(
                f"{question.target}: no such file, and no URL that is crawled"
            )
        return _of_file(path)
    try:
        url = requestable(question.target)
    except BadUri as error:
        raise ConfigError(f"{question.target}: {error}") from error
    return await look_up(
        url,
        exchange=web.exchange,
        spool=web.spool,
        options=web.options,
        robots=web.robots,
    )


def _job(question: Question, document: Document) -> Job:
    return Job(
        url=document.url,
        graph=None,
        media_type=question.media_type or document.media_type,
        charset=document.charset,
        http_links=document.http_links,
        base=question.base or None,
        trust="all",
        wants_hyperlinks=question.follow.wants_hyperlinks,
        rules=question.extract.rules,
        limits=question.extract.limits,
        unpack=question.extract.unpack,
    )


def _of_file(path: Path) -> Document:
    url = path.absolute().as_uri()
    return Document(record=Record(url), url=url, path=path, n_bytes=path.stat().st_size)


def _requestable(found: set[bytes]) -> frozenset[str]:
    """Return what of the links can be requested, normalized."""
    urls = set()
    for each in found:
        try:
            urls.add(requestable(each.decode("utf-8", "replace")))
        except BadUri:
            continue
    return frozenset(urls)

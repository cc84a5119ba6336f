"""The base class of all our spiders."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from scrapy import Spider

from rdfcrawl.console import fail, program
from rdfcrawl.errors import (
    ConfigError,
    CrawlGone,
    Fault,
    Reason,
    passing_fault,
)
from rdfcrawl.frontier.batches import in_batches
from rdfcrawl.links.relations import Relation
from rdfcrawl.pipelines.chunks import closing
from rdfcrawl.records import MAX_RETRIES, Document, FollowUp, Kind, Record, Urgency
from rdfcrawl.tasks.request import RequestTask

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from rdfcrawl.arguments.crawl import ArgumentSet, CrawlArguments
    from rdfcrawl.arguments.seeds import BadSeed, RefusedSeeds, Seed
    from rdfcrawl.arguments.stored import CrawlMember
    from rdfcrawl.callbacks.document_callbacks import DocumentParsing
    from rdfcrawl.callbacks.parsed_document import ParsedDocument
    from rdfcrawl.fetch.answer import HttpRequest
    from rdfcrawl.fetch.schemes.protocol import SchemeFetcher
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.harvest.context import HarvestContext
    from rdfcrawl.harvest.datasets import DatasetRegistry
    from rdfcrawl.harvest.follow_up_queue import FollowUpQueue
    from rdfcrawl.harvest.registry import HarvesterRegistry
    from rdfcrawl.options.spider import SpiderOptions
    from rdfcrawl.records import Visit
    from rdfcrawl.request_turns import SoloTurns
    from rdfcrawl.reservations import Reservations
    from rdfcrawl.robots.cache import RobotsCache

logger = logging.getLogger(__name__)

T = TypeVar("T", "str", "Seed")
_SEEDS_AT_ONCE = 500


class RdfSpider(Spider):
    """A spider that visits hosts; `docs/reference/spiders.md` lists its arguments.

    Attributes:
        arguments: given by `-a`, parsed.
        options: the settings, parsed.
        harvesters: for responses of sources, by its own arguments.
        member: the spider as it joins the crawl.
        session: the worker's connection to its crawl, once the scheduler is open.
        takes: our arguments of a class beside those of all spiders and of its bases.
        arguments_class: of the parsed arguments: a subclass of `CrawlArguments` that
            has further ones.
        makes_documents: a request that is nothing but a URL is for a document.
        is_onlooker: the spider looks at a page, and leaves the crawl alone.
    """

    takes: ClassVar[tuple[str, ...]] = ()
    arguments_class: ClassVar[type[CrawlArguments] | None] = None
    makes_documents: ClassVar[bool] = True
    is_onlooker = False

    def __init__(
        self, *args: Any, arguments: CrawlArguments, options: SpiderOptions, **kw: Any
    ) -> None:
        from rdfcrawl.arguments.stored import CrawlMember
        from rdfcrawl.harvest.registry import HarvesterRegistry

        super().__init__(*args, **kw)
        self.arguments = arguments
        self.options = options
        self.member = CrawlMember()
        self.session: CrawlSession | None = None
        self.harvesters = HarvesterRegistry(self._context, options.harvest.harvesters)
        self._harvesters: dict[int, HarvesterRegistry] = {}
        self._datasets: DatasetRegistry | None = None
        self.fetchers: Mapping[str, SchemeFetcher] = {}

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Set the `custom_settings` of the class, and our defaults below.

        Raises:
            ConfigError: a setting is wrong.
        """
        from rdfcrawl.options.merging import apply_defaults, is_of_shell
        from rdfcrawl.options.spider import SpiderOptions

        super().update_settings(settings)
        is_command, is_shell = _is_of_command(cls.start), is_of_shell(settings)
        with _exits_on_config_error(is_command or is_shell):
            apply_defaults(settings, wants_pipelines=not is_command)
            if is_shell:  # the spider is made in another thread, which cannot exit
                SpiderOptions.from_settings(settings, cls.name)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Return the spider for a crawler.

        Raises:
            ConfigError: an argument or a setting is wrong.
        """
        with _exits_on_config_error(_is_of_command(cls.start)):
            return cls._from_crawler(crawler, *args, **kwargs)

    @classmethod
    def _from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        from rdfcrawl.arguments.crawl import check_schemes
        from rdfcrawl.extraction.options import ExtractOptions
        from rdfcrawl.fetch.open_files import hold_to_open_files
        from rdfcrawl.fetch.schemes.options import build_fetchers
        from rdfcrawl.options.merging import apply_defaults
        from rdfcrawl.options.spider import SpiderOptions

        is_onlooker = not crawler.crawling or _is_of_command(cls.start)
        if not crawler.settings.frozen:  # a subclass may not have called `super()`
            apply_defaults(crawler.settings, wants_pipelines=not is_onlooker)
        accepts = cls.accepts()
        given = cls.given(kwargs, crawler.settings)
        arguments = accepts.parse(given)
        if crawler.crawling:
            hold_to_open_files(crawler.settings)
        options = SpiderOptions.from_settings(
            crawler.settings, cls.name, budget=arguments.budget
        )
        if not cls.makes_documents:  # Scrapy's downloader has no fetchers
            options = options.of_web()
        check_schemes(arguments, options.crawl.schemes.of_seeds)
        if is_onlooker:
            ExtractOptions.from_settings(crawler.settings)
        else:
            options = options.introduced(crawler.settings)
        passed = {name: kwargs[name] for name in accepts.passed & kwargs.keys()}
        spider = super().from_crawler(
            crawler, *args, arguments=arguments, options=options, **passed
        )
        spider.member = cls.member_of(given)
        spider.is_onlooker = is_onlooker
        spider.fetchers = build_fetchers(crawler, options.fetch.fetchers)
        if not spider.is_onlooker:
            from rdfcrawl.options.conflicts import check_components, iter_warnings

            check_components(crawler.settings)
            for line in iter_warnings(crawler.settings, cls):
                logger.warning("%s", line)
        return spider

    @classmethod
    def accepts(cls) -> ArgumentSet:
        """Return the arguments that the class takes, whatever its name."""
        from rdfcrawl.arguments.crawl import ArgumentSet, CrawlArguments

        takes = [name for base in cls.__mro__ for name in vars(base).get("takes", ())]
        return ArgumentSet(
            tuple(sorted(set(takes))),
            cls.arguments_class or CrawlArguments,
            _own_parameters(cls),
        )

    @classmethod
    def member_of(cls, given: Mapping[str, str]) -> CrawlMember:
        """Return the spider as it joins a crawl; `given` is the result of `given`."""
        from rdfcrawl.arguments.parsers import NAMED
        from rdfcrawl.arguments.stored import CrawlMember

        return CrawlMember(
            spider=cls.name,
            accepts=cls.accepts(),
            given=given,
            has_seeds=bool(
                getattr(cls, "start_urls", ()) or given.keys() & {"seeds", *NAMED}
            ),
        )

    @classmethod
    def given(
        cls, arguments: Mapping[str, object], settings: BaseSettings
    ) -> dict[str, str]:
        """Return the arguments as texts, with their equivalents in Scrapy.

        These are `allowed_domains` of the spider, unless there is the argument
        `domains`, and `DEPTH_LIMIT`, if the argument `depth` is no smaller.

        Raises:
            ConfigError: `DEPTH_LIMIT` is not a number, or an argument has no text.
        """
        from rdfcrawl.arguments.parsers import MAX_DEPTH, texts_of

        passed = cls.accepts().passed  # from a script, they may be anything
        given = texts_of(
            {
                name: value
                for name, value in arguments.items()
                if name not in passed or isinstance(value, str)
            }
        )
        if allowed := getattr(cls, "allowed_domains", None):
            given.setdefault("domains", ",".join(allowed))
        try:
            limit = min(MAX_DEPTH, settings.getint("DEPTH_LIMIT"))
        except ValueError:
            value = settings.get("DEPTH_LIMIT")
            raise ConfigError(
                f"DEPTH_LIMIT={value!r}: must be a whole number"
            ) from None
        if limit:
            text = given.get("depth", str(limit))
            is_more = text.isdigit() and int(text) > limit
            given["depth"] = str(limit) if is_more else text
        return given

    async def start(self) -> AsyncIterator[Document]:
        """Add the seeds to the frontier; yield documents for invalid ones."""
        from rdfcrawl.arguments.parsers import NAMED
        from rdfcrawl.arguments.seeds import RefusedSeeds, iter_seeds, iter_typed_seeds

        session = self.joined()
        refused = RefusedSeeds()
        schemes = self.options.crawl.schemes.of_seeds
        typed = valid_seeds(iter_typed_seeds(self.arguments.seeds, schemes), refused)
        seeds = (seed for seed in typed if self.may_fetch(seed.url, refused))
        for seed_group in in_batches(seeds, _SEEDS_AT_ONCE):
            await self._add_seeds(seed_group)
        start_urls = valid_seeds(self.start_seeds(), refused)
        await session.add_seeds(u for u in start_urls if self.may_fetch(u, refused))
        for name, kind in NAMED.items():
            named = iter_seeds(getattr(self.arguments, name), schemes)
            urls = valid_seeds(named, refused)
            allowed = (url for url in urls if self.may_fetch(url, refused))
            await self._add_sources(kind, allowed)
        async for follow_ups in self.harvesters.discovery.revisits():
            await session.add_sources(follow_ups, widens=False)
        for document in refused_seeds(refused):
            yield document

    def may_fetch(self, url: str, refused: RefusedSeeds) -> bool:
        """Return whether the guard allows a seed, as far as its URL shows."""
        from rdfcrawl.guard.operator import refusal_of

        detail = refusal_of(url, self.options.fetch.guard)
        if detail:
            fault = Fault(Reason.GUARD_BLOCKED, detail[: Fault.MAX_DETAIL])
            refused.add(url, fault)
        return not detail

    async def _add_seeds(self, seeds: list[Seed]) -> None:
        """Add seeds, those of sources by their kinds."""
        session = self.joined()
        await session.add_seeds(seed.url for seed in seeds if seed.kind is None)
        roots = [
            self.harvesters.root(seed.kind, seed.url)
            for seed in seeds
            if seed.kind is not None
        ]
        if roots:
            await session.add_sources(
                [
                    FollowUp(root, is_part_of_source=True, urgency=Urgency.SOON)
                    for root in roots
                ]
            )

    async def _add_sources(self, kind: Kind, urls: Iterable[str]) -> None:
        """Add sources that the operator named."""
        for group in in_batches(urls, _SEEDS_AT_ONCE):
            roots = [self.harvesters.root(kind, url) for url in group]
            await self.joined().add_sources(
                [FollowUp(root, is_part_of_source=True) for root in roots]
            )

    def start_seeds(self) -> Iterator[str | BadSeed]:
        """Yield the `start_urls` of the class, as Scrapy's spiders do."""
        from rdfcrawl.arguments.seeds import BadSeed
        from rdfcrawl.uri import BadUri
        from rdfcrawl.uri.schemes import check_scheme, seed_url

        schemes = self.options.crawl.schemes.of_seeds
        for number, text in enumerate(self.start_urls, start=1):
            try:
                url = seed_url(text)
                check_scheme(url, schemes)
                yield url
            except BadUri as error:
                yield BadSeed(Path("start_urls"), number, error.fault)

    def join(self, session: CrawlSession) -> None:
        """Join a crawl, with the options and arguments that the crawl keeps."""
        self.session = session
        self.options = replace(self.options, crawl=session.options)
        self.arguments = session.arguments

    def joined(self) -> CrawlSession:
        """Return the connection to the crawl, which exists once `start` is called."""
        if self.session is None:
            raise ConfigError(f"SCHEDULER: {self.name} needs a FrontierScheduler")
        return self.session

    def request_turns(self) -> SoloTurns:
        """Return the turns of requests outside of visits."""
        from rdfcrawl.fetch.services import services_of

        return services_of(self.crawler).turns

    async def question(self, record: Record) -> HttpRequest | None:
        """Return the request for a record; None is a GET of its URL."""
        return await self.harvesters_of(record).question(record)

    def ignores_robots(self, record: Record) -> bool:
        """Return whether a record is requested although robots.txt disallows it."""
        if isinstance(record.task, RequestTask):
            from rdfcrawl.frontier.queued_requests import meta_of

            return bool(meta_of(record.task).get("dont_obey_robotstxt"))
        return self.harvesters_of(record).ignores_robots(record)

    def harvesters_of(self, record: Record) -> HarvesterRegistry:
        """Return the harvesters with the arguments of a record."""
        profiles = self.joined().profiles
        number = record.profile
        if number == profiles.own or number not in profiles.arguments:
            return self.harvesters
        from rdfcrawl.harvest.registry import HarvesterRegistry

        harvesters = self._harvesters.get(number)
        if harvesters is None:
            context = partial(self._context, number)
            classes = self.options.harvest.harvesters
            harvesters = HarvesterRegistry(context, classes)
            self._harvesters[number] = harvesters
        return harvesters

    def _context(self, profile: int | None = None) -> HarvestContext:
        from rdfcrawl.harvest.context import HarvestContext
        from rdfcrawl.harvest.datasets import DatasetRegistry

        session = self.joined()
        if self._datasets is None:
            self._datasets = DatasetRegistry(session)
        number = session.profiles.own if profile is None else profile
        arguments = session.profiles.arguments[number]
        options = self.options
        return HarvestContext(
            arguments, options.crawl, options.harvest, session, self._datasets
        )

    def parse(self, response: Response) -> Any:
        """Do nothing with an ordinary response that has no callback.

        For `scrapy parse`, yield what a crawl would make of it.
        """
        if self.is_onlooker:
            return self._look_at(response)
        logger.error(
            "%s has no callback for %s: `%s rdf` shows what is read of a page",
            self.name,
            response.url,
            program(),
        )

        return None

    def _look_at(self, response: Response) -> AsyncIterator[Any]:
        from rdfcrawl.callbacks.inspect_response import look_at
        from rdfcrawl.extraction.options import ExtractOptions

        return look_at(
            response,
            self.parse_document if self.parses_documents else None,
            follow=self.arguments.follow,
            fetch=self.options.fetch,
            extract=ExtractOptions.from_settings(self.settings),
            reservation_policy=self.options.reservation_policy,
        )

    def parse_document(self, document: ParsedDocument) -> Any:
        """Do nothing; a spider of your own may yield items and requests.

        Called for each document that was fetched and stored, or given by a source,
        before the document is acknowledged.
        """

    @property
    def parses_documents(self) -> bool:
        """Whether the class has a `parse_document` of its own."""
        return type(self).parse_document is not RdfSpider.parse_document

    @cached_property
    def _parsing(self) -> DocumentParsing | None:
        if not self.parses_documents:
            return None
        from rdfcrawl.callbacks.document_callbacks import DocumentParsing

        return DocumentParsing(
            self.crawler,
            self.joined(),
            self.parse_document,
            max_bytes=self.options.fetch.max_document_bytes,
        )

    def release(self, visit: Visit) -> None:
        """Free the bodies of documents that were not processed."""
        from rdfcrawl.fetch.services import services_of

        visitor = services_of(self.crawler).visitor
        for document in visit.documents:
            if visit.is_cut:
                visitor.spare(document)
            visitor.release(document)

    async def process_visit(self, response: Response) -> None:
        """Process the documents of a visit."""
        visit: Visit = response.meta["visit"]
        with visit.cuttable():
            await self._process_documents(response)

    async def _process_documents(self, response: Response) -> None:
        """Send the documents of a visit through the pipelines, one by one.

        A document does not pass the spider middlewares, which judge requests: a visit
        has none, and this would cost a tenth of a document.
        """
        from rdfcrawl.fetch.services import services_of

        visit: Visit = response.meta["visit"]
        services = services_of(self.crawler)
        visitor, robots = services.visitor, services.robots
        has_files = robots is not None and robots.has_reservations
        n_failed = 0
        while len(visit.documents) > n_failed:  # what is left there was not processed
            document = visit.current = visit.documents[n_failed]
            if document.record.lost and document.response.path is None:
                # What lies in a file is read by a child process, and harms nobody here.
                await self.joined().begin(visit, "read")
            try:
                has_reservations = has_files or bool(
                    document.response.reservation_headers
                )
                if has_reservations and 200 <= document.status < 300:
                    self._set_reservations(document, robots)
                await self._process(document, visit, response)
            except CrawlGone:  # told by whoever stops the crawl
                n_failed += 1
            except Exception as error:  # the edge: a page that its source cannot read
                self._failed(document, visit, error)
                n_failed += 1
            else:
                del visit.documents[n_failed]
            finally:
                visit.current = None
                if visit.is_cut:
                    visitor.spare(document)
                visitor.release(document)

    def _failed(self, document: Document, visit: Visit, error: Exception) -> None:
        """Log an error with a document, which will be processed again."""
        if self.joined().bears(error, visit):
            visit.return_untried(visit.index(document))
        else:
            logger.error(
                "Error in the harvest of %s", document.record.url, exc_info=error
            )

    async def _process(
        self, document: Document, visit: Visit, response: Response
    ) -> None:
        """Process the document of one record, by the kind of the record."""
        kind = document.record.kind
        if kind.is_source or (kind.is_of_url and self._is_harvested(document)):
            await self._harvest(document, visit, response)
        elif kind is Kind.REQUEST:
            from rdfcrawl.callbacks.request_callbacks import answer_request

            await answer_request(document, self)
        else:
            process = self.crawler.engine.scraper.start_itemproc_async
            await process(document, response=response)
            if self._parsing and visit.index(document) not in visit.returned:
                await self._parsing.parse(document, response)

    def _set_reservations(self, document: Document, robots: RobotsCache | None) -> None:
        """Apply the reservations of the site and of the headers of a response.

        Those of the response override those of the site.
        """
        from rdfcrawl.reservations import NOTHING, read_headers

        now = document.response.ended_ms / 1000
        policy = self.options.reservation_policy
        found = robots.reserved(document.url) if robots is not None else NOTHING
        if headers := document.response.reservation_headers:
            found = found.refined(read_headers(headers, policy, now=now))
        if found:
            self.obey(document, found)

    def obey(self, document: Document, reservations: Reservations) -> None:
        """Apply the reservations of a publisher to a document.

        With `nofollow` in `follow`, links that nobody vouches for are wanted.
        """
        policy = self.options.reservation_policy
        document.reservations = reservations
        document.withheld = reservations.withholds(policy)
        follow = self.joined().arguments_of(document.record).follow
        document.is_nofollow = reservations.forbids_following(
            policy, wants_nofollow=Relation.NOFOLLOW in follow.relations
        )

    def _obey_for(self, part: Document, document: Document) -> None:
        """Apply the reservations of a response to a document in it, and its own."""
        if document.reservations:
            self.obey(part, document.reservations)
        if part.response is not document.response and part.response.reservation_headers:
            self._set_reservations(part, None)

    async def _harvest(
        self, document: Document, visit: Visit, response: Response
    ) -> None:
        """Process the documents and follow-ups in a response of a source.

        If one of them fails, the response is put back, and the state of its source is
        not changed.
        """
        process = self.crawler.engine.scraper.start_itemproc_async
        index = visit.index(document)
        reservations = document.reservations
        if reservations.closes(self.options.reservation_policy):
            document.is_read = True
            await process(document, response=response)
            return
        try:
            harvesters = self.harvesters_of(document.record)
            queue = self._follow_up_queue()
            async with closing(harvesters.harvest(document)) as yielded:
                async for each in yielded:
                    if isinstance(each, FollowUp):
                        await queue.put(each, document)
                        continue
                    self._obey_for(each, document)
                    requested = document.response.requested
                    if each.response.requested is requested:  # it is counted now
                        await queue.flush(document)
                        each.n_links += document.n_links
                        each.n_follow_ups += document.n_follow_ups
                    self._unfold(each)
                    await process(each, response=response)
                    if index in visit.returned:
                        return
                    if self._parsing:
                        await self._parsing.parse(each, response)
            await queue.flush(document)
        except Exception as error:
            if document.record.retries < MAX_RETRIES or passing_fault(error):
                raise
            logger.exception("%s: given up", document.record.url)
            fault = Fault(Reason.INTERNAL, "the source failed")
            document.faults.append(fault)
            document.is_read, document.chunks = True, None
            await process(document, response=response)

    def _is_harvested(self, document: Document) -> bool:
        """Return whether a page has a media type of a harvester."""
        media_types = self.harvesters.media_types
        return bool(media_types) and document.media_type in media_types

    def _follow_up_queue(self) -> FollowUpQueue:
        from rdfcrawl.harvest.follow_up_queue import FollowUpQueue

        at_once = self.options.harvest.sitemap_entries
        return FollowUpQueue(self.joined(), at_once)

    def _unfold(self, document: Document) -> None:
        """Set the chunks of a document from the statements of its harvester."""
        from rdfcrawl.harvest.follow_up_queue import HarvestedChunks

        parts, document.parts = document.parts, None
        if parts is not None:
            document.chunks = HarvestedChunks(document, parts, self._follow_up_queue())


def _own_parameters(cls: type[RdfSpider]) -> frozenset[str]:
    """Return the keyword arguments that the `__init__` of subclasses name."""
    from inspect import Parameter, signature

    named = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    ours = {"self", "name", "arguments", "options"}
    return frozenset(
        each.name
        for base in cls.__mro__
        if "__init__" in vars(base) and not base.__module__.startswith("scrapy.")
        for each in signature(vars(base)["__init__"]).parameters.values()
        if each.kind in named and each.name not in ours
    )


@contextmanager
def _exits_on_config_error(is_command: bool) -> Iterator[None]:
    """Exit with 2 and one line if a command meets an error of the operator.

    For a script, the error is raised.
    """
    try:
        yield
    except ConfigError as error:
        if is_command:
            fail(str(error))
        raise


def _is_of_command(start: object) -> bool:
    """Return whether `fetch`, `view`, `parse` or `check` has replaced `start`.

    `shell` does not; it makes a spider without a crawl.
    """
    return str(getattr(start, "__module__", "")).startswith("scrapy.commands.")


def refused_seeds(refused: RefusedSeeds) -> Iterator[Document]:
    """Yield documents with faults for the refused seeds."""
    for where, fault in refused:
        yield Document(record=Record(where), url=where, faults=[fault])


def valid_seeds(seeds: Iterator[T | BadSeed], refused: RefusedSeeds) -> Iterator[T]:
    """Yield the seeds that are URLs, and refuse the others."""
    from rdfcrawl.arguments.seeds import BadSeed

    for seed in seeds:
        if isinstance(seed, BadSeed):
            refused.add(f"{seed.path.name}:{seed.line}", seed.fault)
        else:
            yield seed

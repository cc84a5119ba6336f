"""The base class of all our spiders."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self

from scrapy import Spider

from rdfcrawl.core.batches import in_batches
from rdfcrawl.core.console import program
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import Document, Record, Urgency
from rdfcrawl.core.tasks import RequestTask
from rdfcrawl.spiders.commands import (
    exits_on_config_error,
    is_checked,
    is_of_command,
    of_responses,
)

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from rdfcrawl.core.reservations import Reservations
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.downloader.client import HttpRequest
    from rdfcrawl.downloader.scheme_fetcher import SchemeFetcher
    from rdfcrawl.frontier.arguments.crawl import ArgumentSet, CrawlArguments
    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.frontier.queue.profiles import CrawlMember
    from rdfcrawl.frontier.request_turns import SoloTurns
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.frontier.visiting import SpiderServices
    from rdfcrawl.pipelines.callbacks.extract_response import OrdinaryReader
    from rdfcrawl.pipelines.callbacks.parsed_document import ParsedDocument
    from rdfcrawl.pipelines.callbacks.visit_documents import VisitProcessor
    from rdfcrawl.pipelines.spider_options import PreparedSpider, SpiderOptions
    from rdfcrawl.rdf.links.policy import EveryLink
    from rdfcrawl.sources.harvest.protocol import HarvestContext
    from rdfcrawl.sources.harvest.registry import HarvesterRegistry

logger = logging.getLogger(__name__)

SEEDS_AT_ONCE = 500


class RdfSpider(Spider):
    """A spider that visits hosts; `docs/reference/spiders.md` lists its arguments.

    Attributes:
        harvesters: for responses of sources, with its own arguments.
        member: the spider as a member of the crawl.
        session: the worker's connection to its crawl, once the scheduler is open.
        takes: our arguments that the class adds to those of its bases.
        arguments_class: class of the parsed arguments, a subclass of `CrawlArguments`.
        makes_documents: a request with only a URL is for a document.
        chooses_requests: `request_for` is called for all records, not only for those of
            sources.
        is_onlooker: the spider reads one page without joining the crawl.
    """

    takes: ClassVar[tuple[str, ...]] = ()
    arguments_class: ClassVar[type[CrawlArguments] | None] = None
    makes_documents: ClassVar[bool] = True
    chooses_requests: ClassVar[bool] = False
    is_onlooker = False

    def __init__(
        self, *args: Any, arguments: CrawlArguments, options: SpiderOptions, **kw: Any
    ) -> None:
        from rdfcrawl.frontier.queue.profiles import CrawlMember
        from rdfcrawl.sources.harvest.registry import HarvesterRegistry

        super().__init__(*args, **kw)
        self.arguments = arguments
        self.options = options
        self.member = CrawlMember()
        self.session: CrawlSession | None = None
        self.harvesters = HarvesterRegistry(self._context, options.harvest.harvesters)
        self._harvesters: dict[int, HarvesterRegistry] = {}
        self.fetchers: Mapping[str, SchemeFetcher] = {}

    @classmethod
    def update_settings(cls, settings: BaseSettings) -> None:
        """Set the `custom_settings` of the class, and our defaults."""
        from rdfcrawl.core.options.scrapy_settings import apply_defaults, is_of_shell
        from rdfcrawl.pipelines.spider_options import SpiderOptions

        super().update_settings(settings)
        is_command, is_shell = is_of_command(cls.start), is_of_shell(settings)
        with exits_on_config_error(is_command or is_shell):
            apply_defaults(settings, wants_pipelines=not is_command)
            if is_shell:  # the spider is created in another thread, which cannot exit
                SpiderOptions.from_settings(settings, cls.name)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Return the spider; raise `ConfigError` for invalid arguments or settings."""
        with exits_on_config_error(is_of_command(cls.start)):
            return cls._from_crawler(crawler, *args, **kwargs)

    @classmethod
    def _from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        from rdfcrawl.core.options.scrapy_settings import iter_warnings
        from rdfcrawl.pipelines.items import adapt_documents

        adapt_documents()
        is_onlooker = not crawler.crawling or is_of_command(cls.start)
        ready = cls.prepare(crawler, kwargs, is_onlooker=is_onlooker)
        options = ready.options
        if crawler.crawling:
            options = options.limited_to_open_files(crawler.settings)
        if ready.arguments.items is not None:
            from rdfcrawl.pipelines.item_feeds import want_items

            want_items(crawler.settings)
        passed = {name: kwargs[name] for name in ready.accepts.passed & kwargs.keys()}
        passed |= {"arguments": ready.arguments, "options": options}
        spider = super().from_crawler(crawler, *args, **passed)
        crawl = options.crawl.of_spider(spider, crawler.settings)
        spider.options = replace(options, crawl=crawl)
        spider.member = cls.member_of(ready.given)
        spider.is_onlooker = is_onlooker
        if is_checked():
            method = of_responses(spider.parse_document, spider.response_reader)
            spider.parse_document = method  # type: ignore[method-assign]
        if options.fetch.fetchers:
            from rdfcrawl.downloader.scheme_fetcher import build_fetchers

            spider.fetchers = build_fetchers(crawler, options.fetch.fetchers)
        if not is_onlooker:
            with_scrapy = options.fetch.with_scrapy
            for line in iter_warnings(crawler.settings, cls, with_scrapy=with_scrapy):
                logger.warning("%s", line)
        return spider

    @classmethod
    def prepare(
        cls,
        crawler: Crawler,
        arguments: Mapping[str, object],
        *,
        is_onlooker: bool = False,
    ) -> PreparedSpider:
        """Return the arguments and options for a crawler, which are read once.

        Raises:
            ConfigError: one of them is wrong.
        """
        from rdfcrawl.core.options import scrapy_settings
        from rdfcrawl.frontier.arguments.crawl import check_schemes, checked_quota
        from rdfcrawl.pipelines.spider_options import (
            PreparedSpider,
            SpiderOptions,
            prepared,
        )

        if crawler in prepared:
            return prepared[crawler]
        settings, accepts = crawler.settings, cls.accepts()
        # A subclass may skip `super().update_settings`.
        if not (settings.frozen or scrapy_settings.has_defaults(settings)):
            scrapy_settings.apply_defaults(settings, wants_pipelines=not is_onlooker)
        given = cls.given(arguments, settings)
        parsed = accepts.parse(given)
        options = SpiderOptions.from_settings(
            settings, cls.name, budget=parsed.budget, quota=checked_quota(parsed)
        )
        if not cls.makes_documents:  # Scrapy's downloader has no fetchers
            options = options.of_web()
        check_schemes(parsed, options.crawl.schemes.of_seeds)
        if not is_onlooker:
            is_local = cls.reads_local_files(parsed)
            options = options.restricted_without_contact(is_local=is_local)
            scrapy_settings.check_components(settings)
        prepared[crawler] = PreparedSpider(
            accepts=accepts, given=given, arguments=parsed, options=options
        )
        return prepared[crawler]

    @classmethod
    def reads_local_files(cls, arguments: CrawlArguments) -> bool:
        """Return whether a crawl begins with files of this machine alone."""
        del arguments
        return False

    @classmethod
    def accepts(cls) -> ArgumentSet:
        """Return the arguments that the class takes."""
        from rdfcrawl.frontier.arguments.crawl import (
            ArgumentSet,
            CrawlArguments,
            own_parameters,
        )

        takes = {name for base in cls.__mro__ for name in vars(base).get("takes", ())}
        values = cls.arguments_class or CrawlArguments
        return ArgumentSet(tuple(sorted(takes)), values, own_parameters(cls))

    @classmethod
    def member_of(cls, given: Mapping[str, str]) -> CrawlMember:
        """Return the spider as a member of a crawl, from the result of `given`."""
        from rdfcrawl.frontier.arguments.crawl import NAMED
        from rdfcrawl.frontier.queue.profiles import CrawlMember

        named = given.keys() & {"seeds", *NAMED}
        return CrawlMember(
            spider=cls.name,
            accepts=cls.accepts(),
            given=given,
            has_seeds=bool(getattr(cls, "start_urls", ()) or named),
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
        from rdfcrawl.frontier.arguments.crawl import texts_of
        from rdfcrawl.frontier.arguments.parsers import MAX_DEPTH

        passed = cls.accepts().passed  # values from a script may have any type
        others = {key for key in passed if not isinstance(arguments.get(key, ""), str)}
        given = texts_of(
            {key: arguments[key] for key in arguments if key not in others}
        )
        if allowed := getattr(cls, "allowed_domains", None):
            given.setdefault("domains", ",".join(allowed))
        try:
            limit = min(MAX_DEPTH, settings.getint("DEPTH_LIMIT"))
        except ValueError:
            value = settings.get("DEPTH_LIMIT")
            raise ConfigError(f"DEPTH_LIMIT={value!r}: must be an integer") from None
        if limit:
            text = given.get("depth", str(limit))
            is_more = text.isdigit() and int(text) > limit
            given["depth"] = str(limit) if is_more else text
        return given

    async def start(self) -> AsyncIterator[Document]:
        """Add the seeds to the frontier; yield documents for invalid seeds."""
        from rdfcrawl.frontier.arguments.seeds import (
            SeedFilter,
            iter_start_urls,
            iter_typed_seeds,
        )

        session, given = self.joined(), self.arguments
        schemes = self.options.crawl.schemes.of_seeds
        seeds = SeedFilter(self.options.fetch.guard)
        await self._note_sources(schemes)
        typed = seeds.allowed(iter_typed_seeds(given.seeds, schemes))
        for group in in_batches(typed, SEEDS_AT_ONCE):
            urls = (seed.url for seed in group if seed.kind is None)
            await session.seeds.add_seeds(urls)
            await self.harvesters.queue(group, Urgency.SOON)
        start_urls = iter_start_urls(self.start_urls, schemes)
        await session.seeds.add_seeds(seeds.allowed(start_urls))
        sources = seeds.allowed(given.iter_sources(schemes))
        for group in in_batches(sources, SEEDS_AT_ONCE):
            await self.harvesters.queue(group)
        async for follow_ups in self.harvesters.discovery.revisits():
            await session.seeds.add_sources(follow_ups, widens=False)
        for document in seeds.refused():
            yield document

    async def _note_sources(self, schemes: frozenset[str]) -> None:
        """Register all named sitemaps before the first one is read."""
        from rdfcrawl.frontier.arguments.seeds import SeedFilter, iter_typed_seeds

        budget = self.arguments.budget
        if not (budget.of_host or budget.of_domain):
            return
        typed = iter_typed_seeds(self.arguments.seeds, schemes)
        every = chain(typed, self.arguments.iter_sources(schemes))
        seeds = SeedFilter(self.options.fetch.guard).allowed(every)
        for group in in_batches(seeds, SEEDS_AT_ONCE):
            await self.harvesters.expect_named(group)

    async def add_source(self, name: str, url: str) -> None:
        """Queue a source that begins at a URL; call it in `start`.

        Args:
            name: of its harvester.
            url: of the first request.
        """
        from rdfcrawl.frontier.arguments.seeds import Seed

        await self.harvesters.queue([Seed(url, name)])

    @property
    def crawl_options(self) -> CrawlOptions:
        """Options of the crawl and of this worker."""
        return self.options.crawl

    @property
    def request_of(self) -> Callable[..., Record] | None:
        """Makes a record of a pushed seed; None if seeds are for documents."""
        return None

    def link_policy(self) -> EveryLink | None:
        """Return the user's link policy; None if every link is followed.

        Raises:
            ConfigError: its class cannot be built.
        """
        from rdfcrawl.core.options.values import build_setting
        from rdfcrawl.rdf.links.policy import EveryLink

        found = self.options.link_policy
        if found is EveryLink:
            return None
        policy: EveryLink = build_setting("LINK_POLICY_CLASS", found, self.crawler)
        return policy

    def join(self, session: CrawlSession) -> SpiderServices:
        """Join a crawl, with the options and arguments that it keeps."""
        from rdfcrawl.downloader.services import FetchSetup, open_services
        from rdfcrawl.frontier.visiting import SpiderServices

        self.session = session
        self.options = replace(self.options, crawl=session.options)
        self.arguments = session.arguments
        options = self.options
        setup = FetchSetup(
            options=options.fetch,
            robots=options.robots,
            folders=options.folders,
            ftp_logins=options.ftp_logins,
            fetchers=self.fetchers,
            is_archived=options.archive.is_wanted,
            request_for=self.request_for,
            is_for_all=self.chooses_requests,
            ignores_robots=self.ignores_robots,
        )
        fetching = open_services(self.crawler, session, setup)
        return SpiderServices(
            process_visit=self.process_visit,
            release=self._processor.release,
            is_pausing=fetching.local_failures.is_pausing,
            keeps_from_writing=fetching.local_failures.keeps_from_writing,
            pause_if_local_failure=fetching.local_failures.pause_if_local_failure,
            active_transfers=fetching.active_transfers,
        )

    def joined(self) -> CrawlSession:
        """Return the connection to the crawl, which is open once `start` runs."""
        if self.session is None:
            raise ConfigError(f"SCHEDULER: {self.name} needs a FrontierScheduler")
        return self.session

    @property
    def worker(self) -> str:
        """Number of this process among `scrapy workers`, for names of feeds."""
        from rdfcrawl.frontier.queue.options import WORKER

        return str(self.settings.get(WORKER, "0"))

    def request_turns(self) -> SoloTurns:
        """Return the turns of requests outside of visits."""
        from rdfcrawl.downloader.services import services_of

        return services_of(self.crawler).turns

    async def request_for(self, record: Record) -> HttpRequest | None:
        """Return the request for a record; None is a GET of its URL."""
        return await self.harvesters_of(record).request_for(record)

    def ignores_robots(self, record: Record) -> bool:
        """Return whether a record is requested although robots.txt disallows it."""
        if isinstance(record.task, RequestTask):
            from rdfcrawl.frontier.queue.queued_records import meta_of

            return bool(meta_of(record.task).get("dont_obey_robotstxt"))
        return self.harvesters_of(record).ignores_robots(record)

    def harvesters_of(self, record: Record) -> HarvesterRegistry:
        """Return the harvesters with the arguments of a record."""
        profiles = self.joined().profiles
        number = record.profile
        if number == profiles.own or number not in profiles.arguments:
            return self.harvesters
        if number not in self._harvesters:
            from rdfcrawl.sources.harvest.registry import HarvesterRegistry

            context = partial(self._context, number)
            classes = self.options.harvest.harvesters
            self._harvesters[number] = HarvesterRegistry(context, classes)
        return self._harvesters[number]

    def _context(self, profile: int | None = None) -> HarvestContext:
        from rdfcrawl.sources.harvest.protocol import HarvestContext

        session = self.joined()
        number = session.profiles.own if profile is None else profile
        arguments, options = session.profiles.arguments[number], self.options
        count = self.crawler.stats.inc_value
        return HarvestContext(arguments, options.crawl, options.harvest, session, count)

    def parse(self, response: Response) -> Any:
        """Do nothing with an ordinary response that has no callback.

        For `scrapy parse`, yield the results of a crawl.
        """
        if self.is_onlooker:
            return self.response_reader().look_at(response, self._document_callback)
        logger.error(
            "%s has no callback for %s: `%s rdf` shows the statements of a page",
            *(self.name, response.url, program()),
        )
        return None

    def response_reader(self) -> OrdinaryReader:
        """Return a reader of ordinary responses, with the options of the spider."""
        from rdfcrawl.pipelines.callbacks.extract_response import OrdinaryReader
        from rdfcrawl.pipelines.callbacks.inspection import InspectionRequest

        options = InspectionRequest(
            follow=self.arguments.follow,
            fetch=self.options.fetch,
            extract=self.options.extract,
            reservation_policy=self.options.reservation_policy,
        )
        return OrdinaryReader(options)

    def parse_document(self, document: ParsedDocument) -> Any:
        """Override it to yield items and requests; it does nothing here.

        Called for each document that was fetched and stored, or comes from a source,
        before the document is acknowledged.
        """

    @property
    def parses_documents(self) -> bool:
        """Whether documents are parsed: by the class, or for the argument `items`."""
        return self._document_callback is not None

    @cached_property
    def _document_callback(self) -> Callable[[ParsedDocument], Any] | None:
        is_own = type(self).parse_document is not RdfSpider.parse_document
        parse = self.parse_document if is_own else None
        if self.arguments.items is None:
            return parse
        from rdfcrawl.pipelines.callbacks.document_items import ItemsOfDocuments

        stats = self.crawler.stats
        return ItemsOfDocuments(self.arguments.items or None, parse, stats).parse

    @cached_property
    def _processor(self) -> VisitProcessor:
        from rdfcrawl.pipelines.callbacks.visit_documents import VisitProcessor

        parse = None
        if self._document_callback is not None:
            from rdfcrawl.pipelines.callbacks.document_callbacks import DocumentParsing

            parse = DocumentParsing(
                self.crawler,
                self.joined(),
                self._document_callback,
                max_bytes=self.options.fetch.max_document_bytes,
            ).parse
        return VisitProcessor(self.crawler, self, self.joined(), self.options, parse)

    async def process_visit(self, response: Response) -> None:
        """Process the documents of a visit."""
        visit: Visit = response.meta["visit"]
        with visit.cuttable():
            await self._processor.process(visit, response)

    def obey(self, document: Document, reservations: Reservations) -> None:
        """Apply the reservations of a publisher to a document.

        With `nofollow` in `follow`, links marked `nofollow` are followed.
        """
        from rdfcrawl.core.formats import Relation

        policy = self.options.reservation_policy
        document.reservations = reservations
        document.withheld = reservations.withholds(policy)
        follow = self.joined().profiles.of(document.record).follow
        wants = Relation.NOFOLLOW in follow.relations
        is_forbidden = reservations.forbids_following(policy, wants_nofollow=wants)
        document.is_nofollow = is_forbidden

"""The arguments and options of a spider, read once in a crawl.

A command reads them before the crawl begins, as the check of what the operator gave;
the spider of the same crawler takes over what was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from rdfcrawl.core.options.conflicts import check_components
from rdfcrawl.core.options.merging import apply_defaults, has_defaults
from rdfcrawl.frontier.arguments.crawl import check_schemes, checked_quota
from rdfcrawl.pipelines.spider_options import SpiderOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler

    from rdfcrawl.frontier.arguments.crawl import ArgumentSet, CrawlArguments
    from rdfcrawl.spiders.base import RdfSpider


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSpider:
    """Values that a spider begins with.

    Attributes:
        accepts: the arguments that its class takes.
        given: the texts of those that are given.
        arguments: their values.
        options: the values of the settings.
    """

    accepts: ArgumentSet
    given: dict[str, str]
    arguments: CrawlArguments
    options: SpiderOptions


_prepared: WeakKeyDictionary[Crawler, PreparedSpider] = WeakKeyDictionary()


def prepare(
    spider: type[RdfSpider],
    crawler: Crawler,
    arguments: Mapping[str, object],
    *,
    is_onlooker: bool = False,
) -> PreparedSpider:
    """Return the arguments and options of a spider, which are read the first time.

    Args:
        spider: class of the spider.
        crawler: with the settings.
        arguments: as given to the spider.
        is_onlooker: the spider looks at a page, and leaves the crawl alone.

    Raises:
        ConfigError: one of them is wrong.
    """
    if crawler not in _prepared:
        settings = crawler.settings
        # A subclass may not have called `super().update_settings`.
        if not (has_defaults(settings) or settings.frozen):
            apply_defaults(settings, wants_pipelines=not is_onlooker)
        _prepared[crawler] = _read(spider, crawler, arguments, is_onlooker)
    return _prepared[crawler]


def _read(
    spider: type[RdfSpider],
    crawler: Crawler,
    arguments: Mapping[str, object],
    is_onlooker: bool,
) -> PreparedSpider:
    accepts = spider.accepts()
    given = spider.given(arguments, crawler.settings)
    parsed = accepts.parse(given)
    options = SpiderOptions.from_settings(
        crawler.settings,
        spider.name,
        budget=parsed.budget,
        quota=checked_quota(parsed),
    )
    if not spider.makes_documents:  # Scrapy's downloader has no fetchers
        options = options.of_web()
    check_schemes(parsed, options.crawl.schemes.of_seeds)
    if not is_onlooker:
        options = options.introduced()
        check_components(crawler.settings)
    return PreparedSpider(
        accepts=accepts, given=given, arguments=parsed, options=options
    )

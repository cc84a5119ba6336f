"""The settings of a spider: those of all rooms up to the pipelines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast
from weakref import WeakKeyDictionary

from rdfcrawl.analysis.duplicates.copies import NO_LIMITS, CopyLimits
from rdfcrawl.core.options.table import OptionsTable, integer, parsed, part, switch
from rdfcrawl.core.options.values import check_method, load_setting
from rdfcrawl.core.records import NO_BUDGET, CrawlBudget
from rdfcrawl.downloader.crawler_clients import ftp_logins
from rdfcrawl.downloader.options import ArchiveSettings, FetchOptions
from rdfcrawl.downloader.robots.policy import RobotsSettings
from rdfcrawl.downloader.spool import limited_to_open_files
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.pipelines.contact import (
    CONTACT_FILE,
    ContactMissing,
    names_contact,
    use_kept_contact,
)
from rdfcrawl.rdf.extraction.options import ExtractOptions
from rdfcrawl.sources.harvest.options import HarvestOptions
from rdfcrawl.uri.parse import NO_SCHEMES

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from rdfcrawl.core.reservations import ReservationPolicy
    from rdfcrawl.downloader.ftp.address import FtpLogins
    from rdfcrawl.frontier.arguments.crawl import ArgumentSet, CrawlArguments
    from rdfcrawl.rdf.links.policy import EveryLink
    from rdfcrawl.stores.options import StoreOptions


def link_policy_class(name: str, path: Any) -> type[EveryLink]:
    """Return the class that chooses among the links of documents.

    Raises:
        ConfigError: there is none, or it is not a policy.
    """
    found = load_setting(name, "class", path)
    check_method(f"{name}={path}", found, "choose", 2)
    return cast("type[EveryLink]", found)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpiderOptions(OptionsTable):
    """The options of one spider in one worker, read once per crawl."""

    crawl: CrawlOptions
    fetch: FetchOptions
    harvest: HarvestOptions
    extract: ExtractOptions
    ftp_logins: FtpLogins | None
    robots: RobotsSettings = part(RobotsSettings)
    reservation_policy: ReservationPolicy
    archive: ArchiveSettings = part(ArchiveSettings)
    copies: CopyLimits = part(CopyLimits)
    same_contents: int = integer("SAME_CONTENT_MAX", 100_000, 0, 100_000_000)
    """contents of which Redis remembers the first URL, so that the provenance shows
    [which documents are the same](provenance.md#same-content); 0: it does not"""
    link_policy: type[EveryLink] = parsed(
        "LINK_POLICY_CLASS", "rdfcrawl.rdf.links.policy.EveryLink", link_policy_class
    )
    """class that chooses among the links that `follow` finds; see [a policy of your
    own](spiders.md#link-policies-of-your-own)"""
    needs_contact: bool = switch("CONTACT_REQUIRED", True)
    """a crawl without a contact in `USER_AGENT` or in `CRAWL_DIR/contact.txt` keeps to
    `GUARD_ALLOW_NETS`, and does not start if there are none, unless it reads files of
    this machine alone; see
    [politeness](../explanation/politeness.md#before-your-first-crawl)"""

    @classmethod
    def from_settings(
        cls,
        settings: BaseSettings,
        spider: str = "",
        *,
        budget: CrawlBudget = NO_BUDGET,
        quota: int = 0,
        **given: Any,
    ) -> Self:
        """Read the settings for a spider, whose name is the default of `CRAWL_ID`.

        Raises:
            ConfigError: a value is invalid; one line that names it.
        """
        crawl = CrawlOptions.from_settings(settings, spider, budget=budget, quota=quota)
        extract = ExtractOptions.from_settings(settings, formats=crawl.formats)
        use_kept_contact(settings, crawl.paths.root.parent)
        fetch = FetchOptions.of(settings, crawl, extract.custom)
        read = cls.read(settings, crawl=crawl, extract=extract, fetch=fetch, **given)
        read |= {
            "harvest": HarvestOptions.of(settings, crawl, fetch),
            "ftp_logins": ftp_logins(),
            "reservation_policy": read["robots"].policy,
        }
        if not extract.wants_facts:  # documents cannot be compared
            read["copies"] = NO_LIMITS
        return cls(**read)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that the crawl writes to."""
        paths, files = self.crawl.paths, self.harvest.files
        folders = [paths.quads, paths.provenance, self.fetch.spool_dir]
        folders += [each for each in (paths.links, paths.warc) if each.is_dir()]
        if files is not None:
            folders.append(files)
        return tuple(folders)

    def of_web(self) -> SpiderOptions:
        """Return the options of a crawl without user-defined schemes."""
        return replace(self, crawl=replace(self.crawl, schemes=NO_SCHEMES))

    def with_stores(self, stores: StoreOptions) -> SpiderOptions:
        """Return these options with other stores."""
        return replace(self, crawl=replace(self.crawl, stores=stores))

    def limited_to_open_files(self, settings: BaseSettings) -> SpiderOptions:
        """Return these options, with fewer visits if the limit of open files is low."""
        work = limited_to_open_files(self.crawl.work, settings)
        return replace(self, crawl=replace(self.crawl, work=work))

    def restricted_without_contact(self, *, is_local: bool = False) -> SpiderOptions:
        """Return these options; without a contact, only for allowed networks.

        Args:
            is_local: the crawl begins with files of this machine.

        Raises:
            ContactMissing: there are neither contact nor allowed networks, nor files.
        """
        agent = self.fetch.user_agent
        if not self.needs_contact or names_contact(agent):
            return self
        guard = self.fetch.guard
        if not (guard.allow_nets or is_local):
            raise ContactMissing(
                f"USER_AGENT={agent}: a crawl of the open web needs your contact, a URL"
                f" or a mail address: -s 'USER_AGENT=NAME/1.0 (+CONTACT)', or a line in"
                f" CRAWL_DIR/{CONTACT_FILE}; or set CONTACT_REQUIRED=False"
            )
        confined = replace(guard, is_confined=True)
        crawl = replace(self.crawl, guard=confined)
        return replace(self, crawl=crawl, fetch=replace(self.fetch, guard=confined))


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSpider:
    """The arguments and options of a spider.

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


# A command reads them before the crawl, to check them; the crawler's spider uses them.
prepared: WeakKeyDictionary[Crawler, PreparedSpider] = WeakKeyDictionary()

"""The settings of a spider: those of all rooms, each read and checked by its own.

Settings of extraction, stores and progress are read by their users: the pipelines and
the extension.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.values import is_on
from rdfcrawl.core.records import NO_BUDGET, CrawlBudget
from rdfcrawl.downloader.options import FetchOptions, ftp_logins
from rdfcrawl.downloader.robots.options import reservation_policy
from rdfcrawl.frontier.queue.options import CrawlOptions
from rdfcrawl.sources.harvest.options import HarvestOptions
from rdfcrawl.uri.schemes import NO_SCHEMES

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfcrawl.core.reservations import ReservationPolicy
    from rdfcrawl.downloader.ftp_logins import FtpLogins

# Pages of the software in default values: nobody there knows of the crawl.
SOFTWARE: Final = ("https://github.com/rdfcrawl/rdfcrawl", "https://scrapy.org")

# RFC 5321 4.5.3.1.1: at most 64 characters stand before the @.
_has_address = re.compile(
    r"[^\s@;,()<>]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE
).search
_has_page = re.compile(r"https?://[a-z0-9-]+(?:\.[a-z0-9-]+)+", re.IGNORECASE).search


@dataclass(frozen=True, slots=True, kw_only=True)
class SpiderOptions:
    """The options of one spider in one worker."""

    crawl: CrawlOptions
    fetch: FetchOptions
    harvest: HarvestOptions
    ftp_logins: FtpLogins
    reservation_policy: ReservationPolicy

    @classmethod
    def from_settings(
        cls,
        settings: BaseSettings,
        spider: str,
        *,
        budget: CrawlBudget = NO_BUDGET,
        quota: int = 0,
    ) -> Self:
        """Read the settings for a spider, whose name is the default of `CRAWL_ID`.

        Raises:
            ConfigError: a value is not what it must be; one line that names it.
        """
        crawl = CrawlOptions.from_settings(settings, spider, budget=budget, quota=quota)
        return cls(
            crawl=crawl,
            fetch=FetchOptions.from_settings(settings, spool_dir=crawl.paths.spool),
            harvest=HarvestOptions.from_settings(settings),
            ftp_logins=ftp_logins(),
            reservation_policy=reservation_policy(settings),
        )

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
        """Return the options of a crawl without schemes of the user's."""
        return replace(self, crawl=replace(self.crawl, schemes=NO_SCHEMES))

    def introduced(self, settings: BaseSettings) -> SpiderOptions:
        """Return these options; without a contact, the crawl keeps to its own networks.

        Raises:
            ConfigError: it has no networks of its own.
        """
        agent = self.fetch.user_agent
        if not is_on(settings, "CONTACT_REQUIRED") or names_contact(agent):
            return self
        guard = self.fetch.guard
        if not guard.allow_nets:
            raise ConfigError(
                f"USER_AGENT={agent}: a crawl of the open web needs your contact in"
                " it, a URL or a mail address; or set CONTACT_REQUIRED=False"
            )
        confined = replace(guard, is_confined=True)
        return replace(
            self,
            crawl=replace(self.crawl, guard=confined),
            fetch=replace(self.fetch, guard=confined),
        )


def names_contact(user_agent: str) -> bool:
    """Return whether a `User-Agent` has a mail address, or the URL of a page.

    The URL of the software itself does not count.

    >>> names_contact("lab/1 (+https://lab.example.org)"), names_contact("lab/1")
    (True, False)
    """
    for page in SOFTWARE:
        user_agent = user_agent.replace(page, "")
    return bool(_has_address(user_agent) or _has_page(user_agent))

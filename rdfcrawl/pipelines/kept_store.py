"""The store that a crawl writes to, for all its runs and workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from rdfcrawl.errors import ConfigError
from rdfcrawl.stores.options import shown_uri

if TYPE_CHECKING:
    from rdfcrawl.frontier.session import CrawlSession
    from rdfcrawl.frontier.visiting import VisitingSpider

_WHERE: Final = ("crawl:", "store")  # table of the crawl, with one entry
_KEY: Final = "uri"


class KeptStore:
    """Remembers the `STORE` of a crawl, from the first flush on.

    Another one would lack what this one has, and nobody would ask for that again.

    Args:
        spider: of the crawl.
        uri: of the store; a login in it is not kept.
    """

    def __init__(self, spider: VisitingSpider, uri: str) -> None:
        self._spider = spider
        self._uri = shown_uri(uri)
        self._is_kept = False

    async def check(self) -> None:
        """See that the crawl was not begun with another store.

        Raises:
            ConfigError: it was.
        """
        kept = await self._session.state_store.get(*_WHERE, _KEY)
        if kept is not None:
            self._compare(kept)

    async def keep(self) -> None:
        """Remember the store.

        Raises:
            ConfigError: another worker was faster with another one.
        """
        if not self._is_kept:
            state_store = self._session.state_store
            self._compare(await state_store.claim(*_WHERE, _KEY, self._uri))

    def _compare(self, kept: str) -> None:
        if kept != self._uri:
            raise ConfigError(
                f"STORE={self._uri}: crawl {self._session.options.crawl_id} was begun"
                f" with STORE={kept}, and keeps it; -a fresh=1 begins it anew"
            )
        self._is_kept = True

    @property
    def _session(self) -> CrawlSession:
        return cast("CrawlSession", self._spider.session)

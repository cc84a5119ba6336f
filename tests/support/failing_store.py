"""A store that cannot flush, for tests of the reaction of a crawl."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Self

from redis import Redis

from rdfcrawl.stores.nquads import NQuadsStore

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class FailingStore(NQuadsStore):
    """Raises an exception that no store promises."""

    async def flush(self) -> None:
        """Fail.

        Raises:
            KeyError: always.
        """
        raise KeyError("no such table")


class ClosedStore(NQuadsStore):
    """Cannot be opened."""

    async def open(self) -> None:
        """Fail.

        Raises:
            PermissionError: always.
        """
        raise PermissionError("it may not be opened")


class NoWriterStore:
    """Forgets to return a writer."""

    def __init__(self, uri: str) -> None:
        del uri

    async def open(self) -> None:
        """Do nothing."""

    async def begin(self, graph: str, version_ms: int) -> None:
        """Return nothing."""

    async def flush(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


class NoStore:
    """Lacks the methods of a store."""

    async def open(self) -> None:
        """Do nothing."""

    def begin(self, graph: str, version_ms: int) -> None:
        """Do nothing, and cannot be awaited."""


class ShortStore(NQuadsStore):
    """Does not take the version of a document."""

    async def begin(self, graph: str) -> None:  # type: ignore[override]
        """Do nothing."""


class RefusingStore(NQuadsStore):
    """Has the Redis of the crawl refuse all from its first flush on."""

    _socket = ""

    @classmethod
    def from_crawler(cls, crawler: Crawler, uri: str) -> Self:
        """Return the store of a worker, whose Redis has a socket."""
        store = super().from_crawler(crawler, uri)
        store._socket = str(crawler.settings["REDIS_URL"]).removeprefix("unix://")
        return store

    async def flush(self) -> None:
        """Flush, and set a password of the server."""
        await super().flush()
        with closing(Redis(unix_socket_path=self._socket)) as redis:
            redis.config_set("requirepass", "other")
            redis.client_kill_filter(_type="normal", skipme=True)

"""The stores of Oxigraph that answer queries about a crawl."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Self

from rdfcrawl.stores.followers.following import LogFollowing
from rdfcrawl.stores.followers.local_disk import LOCK_SECS
from rdfcrawl.stores.followers.oxigraph import OxigraphFollower
from rdfcrawl.stores.followers.stored_once import StoredOnce
from rdfcrawl.stores.log.crawl_log import CrawlLog


class QueriedStore(NamedTuple):
    """A store of Oxigraph for queries of a crawl.

    Attributes:
        path: of its folder.
        has_provenance: it has statements and provenance; otherwise statements alone.
    """

    path: Path
    has_provenance: bool

    @classmethod
    def of(cls, root: Path, *, has_provenance: bool) -> Self:
        """Return a store in the folder of a crawl.

        The provenance may be many times as long as the statements, and few queries are
        about it. So the store that has it is another one, which is made when a query
        names it.
        """
        name = "oxigraph-provenance" if has_provenance else "oxigraph"
        return cls(root / name, has_provenance)

    def following(
        self,
        log: CrawlLog,
        *,
        is_once: bool,
        patience_secs: float,
        lock_secs: float = LOCK_SECS,
    ) -> tuple[OxigraphFollower, LogFollowing]:
        """Return the store as a follower of a log, not yet open.

        Args:
            log: of the crawl.
            is_once: equal statements of documents are stored once.
            patience_secs: longest wait for a store that fails.
            lock_secs: longest wait for another process that has it open.
        """
        follower = OxigraphFollower(
            self.path, lock_secs=lock_secs, has_provenance=self.has_provenance
        )
        following = LogFollowing(
            log,
            follower,
            patience_secs=patience_secs,
            ends_if_unusable=True,
            once=StoredOnce(self.path / "rdfcrawl.once", log) if is_once else None,
        )
        return follower, following

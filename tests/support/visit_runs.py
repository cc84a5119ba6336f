"""Visits that are made without a frontier."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.records import Record
from rdfcrawl.core.visits import Visit
from rdfcrawl.downloader.http.exchange import HttpExchange
from rdfcrawl.downloader.spool import Spool
from rdfcrawl.downloader.visit import VisitMaker
from rdfcrawl.frontier.request_turns import SoloTurn, SoloTurns
from rdfcrawl.uri import host_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from rdfcrawl.core.errors import Reason
    from rdfcrawl.downloader.options import FetchOptions

    MakeOptions = Callable[..., FetchOptions]

TURTLE = b"<http://example.org/s> <http://example.org/p> 1 .\n"


class Seen:
    """The frontier's part: which redirect targets are seen."""

    def __init__(self, *urls: str) -> None:
        self.urls = set(urls)

    async def is_new(self, url: str) -> bool:
        """Mark `url` as seen; say whether it had not been."""
        is_new = url not in self.urls
        self.urls.add(url)
        return is_new


class TimedTurn(SoloTurn):
    """A turn that notes when its request is sent."""

    def __init__(self, times: list[float]) -> None:
        super().__init__()
        self._times = times

    def sent(self) -> None:
        """Note the time."""
        self.sent_at = time.monotonic()
        self._times.append(self.sent_at)


class TimedTurns(SoloTurns):
    """Turns that note when their requests are sent, as those of a crawl do.

    The invariants between these times hold however loaded the machine is: a server sees
    a request when it arrives.

    Attributes:
        times: of all requests that were sent, in order.
    """

    def __init__(self) -> None:
        self.times: list[float] = []

    async def of_visit(
        self, visit: Visit, url: str, *, is_for_rules: bool = False
    ) -> SoloTurn | None:
        """See `SoloTurns.of_visit`."""
        turn = await super().of_visit(visit, url, is_for_rules=is_for_rules)
        return turn and TimedTurn(self.times)


@asynccontextmanager
async def visiting(
    options: FetchOptions, seen: Seen | None = None, turns: SoloTurns | None = None
) -> AsyncIterator[VisitMaker]:
    """Open a visitor on a real exchange; hosts are politeness keys."""
    with Spool(options.spool_dir, memory_limit_bytes=1 << 20) as spool:
        async with HttpExchange(options, spool) as exchange:
            yield VisitMaker(
                exchange,
                spool,
                options,
                key_of=host_of,
                is_new=(seen or Seen()).is_new,
                turns=turns or SoloTurns(),
            )


def visit_of(*records: Record | str, **fields: Any) -> Visit:
    """Return a visit with all of `records` pending."""
    batch = tuple(Record(r) if isinstance(r, str) else r for r in records)
    fields = {"delay_secs": 0.0, "key": host_of(batch[0].url), **fields}
    pending = list(range(len(batch)))
    return Visit(partition=0, epoch=1, records=batch, pending=pending, **fields)


def check_invariant(visit: Visit) -> None:
    """Each record is the one of a document or the index of one put back."""
    done = [document.record for document in visit.documents]
    back = [visit.records[index] for index in visit.returned]
    assert visit.pending == []
    assert sorted(map(id, [*done, *back])) == sorted(map(id, visit.records))


def reasons(visit: Visit) -> list[Reason | None]:
    """Return the first fault of each document."""
    return [d.faults[0].reason if d.faults else None for d in visit.documents]


async def run(
    visit: Visit,
    options: FetchOptions,
    seen: Seen | None = None,
    turns: SoloTurns | None = None,
) -> Visit:
    """Make one visit and check the invariants of any."""
    async with visiting(options, seen, turns) as visitor:
        await visitor.visit(visit)
        check_invariant(visit)
        for document in visit.documents:
            visitor.spool.release(document.response)
        assert visitor.spool.memory_bytes == 0
        assert not list(visitor.spool.folder.iterdir())
    return visit

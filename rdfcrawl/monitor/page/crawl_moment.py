"""The present state of a crawl, for the page and its JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfcrawl.core.clock import now_ms
from rdfcrawl.monitor.page.estimate import NOT_KNOWN
from rdfcrawl.monitor.page.moments import fault_counts, follower_rows, worker_rows
from rdfcrawl.monitor.page.samples import NO_RATES
from rdfcrawl.monitor.page.state_texts import away_state, crawl_state, end_sentence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rdfcrawl.frontier.queue.frontier_client import StateCounts
    from rdfcrawl.monitor.page.estimate import EndEstimate
    from rdfcrawl.monitor.page.moments import (
        FaultCount,
        FollowerRow,
        FrontierReading,
        WorkerRow,
    )
    from rdfcrawl.monitor.page.samples import SampleRates
    from rdfcrawl.stores.followers.status import FollowerStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlMoment:
    """The present state of a crawl.

    Attributes:
        taken_secs: when it was read (Unix time).
        state: one word; see `StateText`.
        sentence: the same as a sentence.
        reasons: why nothing moves, or may soon.
        why_away: why the frontier is unavailable; empty if it is not. Otherwise,
    numbers
            are the last known ones, if any.
        counts: URIs by state, and hosts; None: they were never read.
        n_documents: processed, with any result.
        n_statements: stored.
        n_bytes: of decoded bodies.
        rates: of these.
        n_leases: hosts at work.
        n_ready: hosts and crowds that wait for their turn.
        n_refusing: hosts with work that have refused the last visit.
        n_paused: hosts that an operator has paused.
        lag_secs: time for which a host has been due and not claimed.
        used_bytes: memory of Redis, for all its data.
        limit_bytes: its limit; 0: none.
        n_workers: live workers.
        workers: some of the live and silent ones.
        n_more_workers: workers that are not shown.
        followers: stores that follow the crawl.
        faults: by reason.
        end: when the crawl may end.
        end_sentence: the same as a sentence.
    """

    taken_secs: float
    state: str
    sentence: str
    reasons: tuple[str, ...] = ()
    why_away: str = ""
    counts: StateCounts | None = None
    n_documents: int = 0
    n_statements: int = 0
    n_bytes: int = 0
    rates: SampleRates = NO_RATES
    n_leases: int = 0
    n_ready: int = 0
    n_refusing: int = 0
    n_paused: int = 0
    lag_secs: float = 0.0
    used_bytes: int = 0
    limit_bytes: int = 0
    n_workers: int = 0
    workers: tuple[WorkerRow, ...] = ()
    n_more_workers: int = 0
    followers: tuple[FollowerRow, ...] = ()
    faults: tuple[FaultCount, ...] = ()
    end: EndEstimate = NOT_KNOWN
    end_sentence: str = "No estimate."


def away_moment(why: str) -> CrawlMoment:
    """Return the moment of a crawl whose frontier is unavailable."""
    state = away_state(why)
    return CrawlMoment(
        taken_secs=now_ms() / 1000,
        state=state.word,
        sentence=state.sentence,
        why_away=why,
    )


def moment_of(
    reading: FrontierReading,
    at_secs: float,
    rates: SampleRates,
    end: EndEstimate,
    followers: Sequence[FollowerStatus],
    of_workers: Mapping[str, float],
) -> CrawlMoment:
    """Return the moment of a reading.

    Args:
        reading: of the frontier.
        at_secs: Unix time.
        rates: of all workers together.
        end: when the crawl may end.
        followers: on this machine.
        of_workers: documents a second of each, by name.
    """
    status, figures = reading.status, reading.figures
    state = crawl_state(status, rates)
    rows = worker_rows(status, of_workers)
    return CrawlMoment(
        taken_secs=at_secs,
        state=state.word,
        sentence=state.sentence,
        reasons=state.reasons,
        counts=status.counts,
        n_documents=int(figures.get("document/seen", 0)),
        n_statements=int(figures.get("document/quads", 0)),
        n_bytes=int(figures.get("http/bytes", 0)),
        rates=rates,
        n_leases=status.total("n_leases"),
        n_ready=status.total("n_ready"),
        n_refusing=status.total("n_refusing"),
        n_paused=status.total("n_paused"),
        lag_secs=status.lag_ms / 1000,
        used_bytes=status.used_bytes,
        limit_bytes=status.limit_bytes,
        n_workers=sum(each.is_live for each in status.workers),
        workers=rows,
        n_more_workers=len(status.workers) - len(rows),
        followers=follower_rows(followers, reading.current),
        faults=fault_counts(figures),
        end=end,
        end_sentence=end_sentence(end),
    )

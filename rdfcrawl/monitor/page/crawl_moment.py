"""The present state of a crawl, for the page and its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rdfcrawl.core.messages import counted
from rdfcrawl.core.times import now_ms
from rdfcrawl.frontier.queue.frontier_client import StateCounts
from rdfcrawl.monitor.operating.status import CrawlStatus
from rdfcrawl.monitor.page.estimate import NOT_KNOWN, EndEstimate
from rdfcrawl.monitor.page.moments import (
    FrontierReading,
    fault_counts,
    follower_rows,
    worker_rows,
)
from rdfcrawl.monitor.page.samples import NO_RATES, SampleRates
from rdfcrawl.monitor.page.texts import duration_text
from rdfcrawl.stores.followers.status import FollowerStatus


class StateText(NamedTuple):
    """The state of a crawl.

    Attributes:
        word: `running`, `waiting`, `finished`, `begins`, `stopped`, `full` or `away`.
        sentence: the same as a sentence.
        reasons: why nothing moves, or may soon.
    """

    word: str
    sentence: str
    reasons: tuple[str, ...] = ()


def end_sentence(end: EndEstimate) -> str:
    """Return an estimate as a sentence."""
    if end.least_secs is None:
        return "No estimate."
    if end.most_secs == 0:
        return "The crawl has ended."
    least = duration_text(end.least_secs)
    if end.most_secs is None:
        return f"In {least} at the earliest; no latest time."
    most = duration_text(end.most_secs)
    if least == most:
        return f"In about {most}."
    return f"In {least} at the earliest, and in about {most} at the present rate."


def crawl_state(status: CrawlStatus, rates: SampleRates) -> StateText:
    """Return the state of a crawl."""
    n, live = status.counts, [each for each in status.workers if each.is_live]
    if n.is_over:
        if any(not each.has_started for each in live):
            return StateText("begins", "The crawl begins: seeds are being queued.")
        done = f"{counted(n.done, 'URI')} on {counted(n.hosts, 'host')}"
        sentence = f"The crawl has finished: {done} done."
        return StateText("finished", sentence)
    reasons = tuple(status.explanations())
    if status.n_full:
        return StateText("full", "Redis is full: the crawl cannot continue.", reasons)
    if not live:
        left = counted(n.queued + n.leased, "URI is", "URIs are")
        sentence = (
            f"No worker is running, and {left} left. Start the crawl again to continue."
        )
        return StateText("stopped", sentence, reasons[1:])
    n_leases = status.total("n_leases")
    waiting = counted(n.queued, "URI waits", "URIs wait")
    if n_leases or rates.documents:
        sentence = (
            f"The crawl is running: {rates.documents:,.1f} documents a second, from"
            f" {counted(n_leases, 'host')} at a time; {waiting}."
        )
        return StateText("running", sentence, reasons)
    return StateText("waiting", _waiting(status), reasons)


def _waiting(status: CrawlStatus) -> str:
    waiting = counted(status.counts.queued, "URI waits", "URIs wait")
    waits = [x.next_ms for x in status.partitions if x.next_ms is not None]
    if waits and min(waits) > 0:
        when = f"the next one is due in {duration_text(min(waits) / 1000)}"
        return f"The crawl waits for hosts: {when}; {waiting}."
    if waits:
        return f"The crawl is about to continue: hosts are due, {waiting}."
    return f"The crawl waits: no host may be visited now, {waiting}."


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlMoment:
    """The present state of a crawl.

    Attributes:
        taken_secs: when it was read (Unix time).
        state: one word; see `StateText`.
        sentence: the same as a sentence.
        reasons: why nothing moves, or may soon.
        why_away: why the frontier is unavailable; empty if it is not. Otherwise,
            numbers are the last known ones, if any.
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
    workers: Sequence[Mapping[str, Any]] = ()
    n_more_workers: int = 0
    followers: Sequence[Mapping[str, Any]] = ()
    faults: Sequence[Mapping[str, Any]] = ()
    end: EndEstimate = NOT_KNOWN
    end_sentence: str = "No estimate."


def away_moment(why: str) -> CrawlMoment:
    """Return the moment of a crawl whose frontier is unavailable."""
    text = f"The frontier is unavailable: {why}."
    state = StateText("away", f"{text} The data of the logs is shown below.")
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

"""What a crawl is doing, in one sentence for people who see it for the first time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rdfcrawl.core.counting import counted
from rdfcrawl.monitor.page.texts import duration_text

if TYPE_CHECKING:
    from rdfcrawl.monitor.operating.status import CrawlStatus
    from rdfcrawl.monitor.page.estimate import EndEstimate
    from rdfcrawl.monitor.page.samples import SampleRates


class ToldState(NamedTuple):
    """The state of a crawl.

    Attributes:
        word: `running`, `waiting`, `finished`, `begins`, `stopped`, `full` or `away`.
        sentence: in plain words.
        reasons: why nothing moves, or may soon.
    """

    word: str
    sentence: str
    reasons: tuple[str, ...] = ()


def told_away(why: str) -> ToldState:
    """Return the state of a crawl whose frontier cannot be asked."""
    text = f"What the crawl is doing cannot be told: {why}."
    return ToldState("away", f"{text} What its logs have is shown below.")


def told_end(end: EndEstimate) -> str:
    """Return in a sentence when a crawl may end."""
    if end.least_secs is None:
        return "That cannot be told."
    if end.most_secs == 0:
        return "The crawl has ended."
    least = duration_text(end.least_secs)
    if end.most_secs is None:
        return f"Not sooner than in {least}; when, cannot be told."
    most = duration_text(end.most_secs)
    if least == most:
        return f"In about {most}."
    return f"In {least} at the earliest, and about {most} if it goes on as it did."


def told_state(status: CrawlStatus, rates: SampleRates) -> ToldState:
    """Return the state of a crawl."""
    n, live = status.counts, [each for each in status.workers if each.is_live]
    if n.is_over:
        if any(not each.has_started for each in live):
            return ToldState("begins", "The crawl begins: seeds are being handed in.")
        done = f"{counted(n.done, 'URI')} on {counted(n.hosts, 'host')}"
        told = f"The crawl has finished: {done} done."
        return ToldState("finished", told)
    reasons = tuple(status.explanations())
    if status.n_full:
        return ToldState("full", "Redis is full: the crawl cannot go on.", reasons)
    if not live:
        left = counted(n.queued + n.leased, "URI is", "URIs are")
        told = (
            f"No worker is running, and {left} left. Start the crawl again; it goes on."
        )
        return ToldState("stopped", told, reasons[1:])
    n_leases = status.total("n_leases")
    waiting = counted(n.queued, "URI waits", "URIs wait")
    if n_leases or rates.documents:
        told = (
            f"The crawl is running: {rates.documents:,.1f} documents a second, from"
            f" {counted(n_leases, 'host')} at a time; {waiting}."
        )
        return ToldState("running", told, reasons)
    return ToldState("waiting", _waiting(status), reasons)


def _waiting(status: CrawlStatus) -> str:
    waiting = counted(status.counts.queued, "URI waits", "URIs wait")
    waits = [x.next_ms for x in status.partitions if x.next_ms is not None]
    if waits and min(waits) > 0:
        when = f"the next one is due in {duration_text(min(waits) / 1000)}"
        return f"The crawl waits for hosts: {when}; {waiting}."
    if waits:
        return f"The crawl is about to go on: hosts are due, {waiting}."
    return f"The crawl waits: no host may be visited now, {waiting}."

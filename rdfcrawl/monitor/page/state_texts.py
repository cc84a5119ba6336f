"""The state of a crawl in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rdfcrawl.core.counting import counted
from rdfcrawl.monitor.page.texts import duration_text

if TYPE_CHECKING:
    from rdfcrawl.monitor.operating.status import CrawlStatus
    from rdfcrawl.monitor.page.estimate import EndEstimate
    from rdfcrawl.monitor.page.samples import SampleRates


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


def away_state(why: str) -> StateText:
    """Return the state of a crawl whose frontier is unavailable."""
    text = f"The frontier is unavailable: {why}."
    return StateText("away", f"{text} The data of the logs is shown below.")


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

"""`scrapy frontier exporter` with real crawls."""

from __future__ import annotations

import itertools
import signal
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request

import pytest

from tests.support.crawl_webs import TreeWeb
from tests.support.exporting import Samples, exporting, open_directly, samples, total

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback
    from tests.support.redis_fixtures import RedisServer

pytestmark = pytest.mark.service


def is_counter(name: str) -> bool:
    """Return whether samples of a name never go down."""
    return name.endswith(("_total", "_sum", "_count", "_bucket"))


def test_counters_of_killed_and_restarted_workers_only_grow(
    commands: Commands, loopback: Loopback, lasting_server: RedisServer
) -> None:
    """If workers are killed and restarted, then no counter goes down or doubles.

    The exporter sees a crawl that begins after it. Two crawls of one Redis are
    distinguished, and no label names a host or a URL.
    """
    web = TreeWeb(loopback, "127.94.1", n_hosts=2, n_docs=40, secs=0.02)
    may_go_on = web.hold_after(30)
    bad = loopback.response(b"<> <urn:p> .", "text/turtle")
    other = loopback({"/": bad}, host="127.94.2.1").url()
    redis: dict[str, Any] = {
        "REDIS_URL": lasting_server.url,
        "FRONTIER_COMMIT_SECS": 0.1,
    }
    folder = commands.folder()
    crawl = redis | {"CRAWL_ID": "web", "VISIT_MAX_DOCUMENTS": 4}
    crawl["FRONTIER_LEASE_SECS"] = 2
    assert commands.crawl([other], CRAWL_ID="bad", **redis).code == 0
    with exporting(commands, **redis) as url:
        seen = [samples(url)]
        running = commands.start_crawl([web.seed], folder=folder, **crawl)
        commands.wait_until(lambda: _n(seen, url, "documents_total") > 10)
        running.send(signal.SIGKILL)
        assert running.wait().code == -signal.SIGKILL
        n_before = web.asked().total()
        may_go_on.set()
        running = commands.start_crawl(folder=folder, **crawl)
        commands.wait_until(
            lambda: _n(seen, url, "documents_total") and running.has_ended()
        )
        assert running.wait().code == 0
        # The last that a worker does is to end the run.
        commands.wait_until(lambda: _n(seen, url, "runs_total") == 1)
        last = seen[-1]
        with pytest.raises(HTTPError, match="404") as refused:
            open_directly(url.removesuffix("metrics"))
        refused.value.close()
        asked = Request(url, headers={"Accept": "application/openmetrics-text"})
        with open_directly(asked) as answer:
            assert answer.read().endswith(b"# EOF\n")
    for before, after in itertools.pairwise(seen):
        falling = {k for k, n in before.items() if is_counter(k[0]) and after[k] < n}
        assert not falling
    n_done = _total(last, "documents_total")
    # A killed worker could not report its last second.
    n_asked = web.asked().total()
    assert 10 < n_asked - n_before <= n_done <= n_asked
    states = {"queued": 0, "leased": 0, "done": len(web.documents)}
    assert states == {x: _total(last, "frontier_requests", state=x) for x in states}
    n_timed = _total(last, "parse_seconds_count")
    # It may have read a document that it had not counted yet: it is read again.
    assert 10 < n_timed <= n_asked
    assert _total(last, "parse_seconds_sum") > 0
    labels = {"crawl": "bad", "format": "Turtle", "reason": "bad_term"}
    assert last["rdfcrawl_parse_errors_total", tuple(sorted(labels.items()))] == 1
    assert total(last, "rdfcrawl_responses_total", crawl="bad", status_class="2xx") == 1
    assert total(last, "rdfcrawl_runs_total", crawl="bad") == 1
    assert 0 < total(last, "rdfcrawl_redis_memory_used_ratio") < 1
    values = {value for _, has in last for _, value in has}
    assert not {value for value in values if "127." in value or "://" in value}


def _n(seen: list[Samples], url: str, name: str) -> float:
    """Scrape a second time; return a figure of the observed crawl."""
    seen.append(samples(url))
    return _total(seen[-1], name)


def _total(found: Samples, name: str, **labels: str) -> float:
    return total(found, f"rdfcrawl_{name}", crawl="web", **labels)

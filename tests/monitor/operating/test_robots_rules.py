"""Rules of origins as operators see them, from a real Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.downloader.robots.parser import read_records
from rdfcrawl.downloader.robots.storage import pack_rules
from rdfcrawl.frontier.queue.host_rules import KeepingOptions
from rdfcrawl.frontier.queue.shared_rules import KeptRobots
from rdfcrawl.frontier.redis.errors import RedisRetry
from rdfcrawl.monitor.operating.hosts import MAX_LINES, read_origins
from tests.support.operated_crawls import operated

if TYPE_CHECKING:
    from tests.support.redis_fixtures import MakeFrontier, RedisServer

ORIGIN = "http://a.example:8080"
RULES = b"""User-agent: rdfcrawl
Allow: /yes
Disallow: /no<script>
Crawl-delay: 2.5
Content-Signal: /x search=yes, ai-train=no
Sitemap: http://a.example/s
"""


async def test_rules_are_read_without_asking(
    make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If workers keep rules of origins, then all are listed, and none changed."""
    frontier = await make_frontier(partitions=4)
    keeper = KeptRobots(frontier, RedisRetry(), KeepingOptions())
    long = b"User-agent: *\n" + b"".join(b"Disallow: /%d\n" % n for n in range(999))
    names = [ORIGIN, "https://many.example", "https://none.example"]
    for name, text in zip(names, (RULES, long, b""), strict=True):
        packed = pack_rules(read_records(text, "rdfcrawl"))
        await keeper.keep_rules(name, packed, 3600)
    await keeper.note_failure("https://down.example", 503)
    for n in range(4):
        name = f"rc:{{c/{n}}}:robots"
        await frontier.redis.hset(name, "http://junk", "1 2 x|never packed")
    names += ["https://down.example", "http://junk", "https://unknown.example"]
    async with await operated(redis_server) as crawl:
        found = {each.origin: each for each in await read_origins(crawl, names)}
        assert await read_origins(crawl, []) == []
    await keeper.close()
    first = found[ORIGIN]
    assert first.lines == (("Allow", "/yes"), ("Disallow", "/no%3Cscript%3E"))
    assert (first.delay_secs, first.status, first.n_failures) == (2.5, 200, 0)
    assert first.due_ms - first.fetched_ms == 3_600_000
    assert first.sitemaps == ("http://a.example/s",)
    assert first.signals == ("/x search=yes, ai-train=no",)
    many = found["https://many.example"]
    assert (len(many.lines), many.n_lines) == (MAX_LINES, 999)
    assert found["https://none.example"].is_readable
    assert found["https://none.example"].lines == ()
    down = found["https://down.example"]
    assert (down.fetched_ms, down.status, down.n_failures) == (0, 503, 1)
    assert not found["http://junk"].is_readable
    assert "https://unknown.example" not in found

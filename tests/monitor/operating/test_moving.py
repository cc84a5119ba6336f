"""A frontier is written to a file, and read from it by another Redis."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import Record
from rdfcrawl.dataweb.config import NodeKind, WebConfig
from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.dataweb.recall import judge
from rdfcrawl.frontier.queue.options import EpochOptions
from rdfcrawl.frontier.redis.server_state import SCHEMA
from rdfcrawl.frontier.worker.link_ingest import LINK_BAND
from rdfcrawl.monitor.operating.exporting import export_frontier
from rdfcrawl.monitor.operating.frontier_file import MAX_LINE_BYTES
from rdfcrawl.monitor.operating.importing import import_frontier
from tests.conftest import LOOPBACK_NETS
from tests.support.frontier_claims import claim
from tests.support.frontier_state import candidates, check_frontier, new_ingest
from tests.support.operated_crawls import operate, operated, operator_settings, told
from tests.support.redis_cluster import running_cluster
from tests.support.redis_proxy import RedisProxy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from redis.asyncio import Redis

    from rdfcrawl.dataweb.process import ServedWeb
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from tests.support.crawl_fixtures import Commands
    from tests.support.redis_fixtures import MakeFrontier, RedisServer

    Place = dict[str, Any]
    """Settings that name a crawl and its Redis."""

N = 3  # partitions
LEFT_BEHIND = {b"workers", b"delays", b"kept"}


async def fill(frontier: Frontier) -> None:
    """Put something of everything into a frontier, with quotas."""
    hosts = [f"h{n}.giant.example" for n in range(20)]
    urls = [f"https://a.example/{i}" for i in range(1200)]
    await frontier.add(candidates(frontier, urls))
    await frontier.add(candidates(frontier, [f"https://{x}/" for x in hosts]))
    ingest = new_ingest(frontier)
    ingest.use_epochs()
    waiting = [f"https://w.example/{i}" for i in range(9)]
    await frontier.add([ingest.candidate(Record(x), LINK_BAND) for x in waiting])
    await frontier.epochs.look(range(N))
    visits = await claim(frontier, most_keys=3)
    assert visits
    await frontier.release(visits[1:])
    await frontier.ack(visits[2:])
    redis = frontier.redis
    await redis.set("rc:{c}:context:x", bytes(range(256)) * 2000)
    await redis.set("rc:{c}:pings:1", "1", px=3_900_000)


async def everything(redis: Redis, crawl_id: str) -> dict[bytes, Any]:
    """Return all that Redis has of a crawl, by names without its own."""
    found: dict[bytes, Any] = {}
    named = re.compile(rf"(rc:{{)?{crawl_id}([/}}:].*)", re.DOTALL)
    async for name in redis.scan_iter("*"):
        if (match := named.fullmatch(name.decode())) is None:
            continue
        place = f"{match[1] or ''}C{match[2]}".encode()
        match await redis.type(name):
            case b"hash":
                found[place] = await redis.hgetall(name)
            case b"zset":
                rows: Any = await redis.zrange(name, 0, -1, withscores=True)
                found[place] = dict(rows)
            case b"set":
                found[place] = await redis.smembers(name)
            case b"list":
                found[place] = await redis.lrange(name, 0, -1)
            case _:
                found[place] = await redis.get(name)
        if (secs := await redis.ttl(name)) > 0:
            found[place + b" ttl"] = secs // 600
    return found


def same_apart(found: dict[bytes, Any]) -> dict[bytes, Any]:
    """Return values of a crawl that an import preserves."""
    kept = {
        name: value
        for name, value in found.items()
        if name.removeprefix(b"rc:{C}:") not in LEFT_BEHIND and b":claim:" not in name
    }
    del kept[b"rc:{C}:conf"][b"incarnation"]
    for name in [name for name in kept if name.endswith(b":lease")]:
        kept[name] = set(kept[name])
    return kept


async def test_import_equals_the_export(
    make_frontier: MakeFrontier,
    redis_server: RedisServer,
    lasting_server: RedisServer,
    tmp_path: Path,
) -> None:
    """If a crawl is moved under another name, then another version has the same of it.

    Leases of the copy have run out, and workers of the crawl do not take it for theirs.
    """
    frontier = await make_frontier(partitions=N, epochs=EpochOptions(quota=5))
    await fill(frontier)
    await frontier.redis.rpush("c:start_urls", "https://pushed.example/", "{}")
    path = tmp_path / "c.gz"
    named = {"REDIS_URL": redis_server.url, "CRAWL_ID": "c", "DOWNLOAD_DELAY": 0}
    done = operate(tmp_path, "export", str(path), **named)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("c: exported: 1,2"), done.stdout
    there = {"REDIS_URL": lasting_server.url, "CRAWL_ID": "d"}
    done = operate(tmp_path, "import", str(path), **there)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("partitions: 0 damages\n")
    before = await everything(frontier.redis, "c")
    async with lasting_server.client() as other:
        after = await everything(other, "d")
    leases = [v for name, v in after.items() if name.endswith(b":lease")]
    assert sum(map(len, leases)) == 2
    assert {score for each in leases for score in each.values()} == {0}
    mine = before[b"rc:{C}:conf"][b"incarnation"]
    assert after[b"rc:{C}:conf"][b"incarnation"] != mine
    assert same_apart(after) == same_apart(before)
    async with await operated(lasting_server, "d") as copy:
        assert (await copy.frontier.reap())[0] == 2
        await check_frontier(copy.frontier)
    again = operate(tmp_path, "import", str(path), **named)
    assert again.returncode == 2
    assert (
        "CRAWL_ID=c: this crawl exists already: delete it with `frontier forget`"
        in (again.stderr)
    )


async def test_crawl_with_workers_is_not_exported(
    make_frontier: MakeFrontier, redis_server: RedisServer, tmp_path: Path
) -> None:
    """If a worker lives, then one line says so, and there is no file."""
    frontier = await make_frontier(partitions=N)
    await frontier.beat("w1", {})
    named = {"REDIS_URL": redis_server.url, "CRAWL_ID": "c"}
    done = operate(tmp_path, "export", str(tmp_path / "c.gz"), **named)
    assert done.returncode == 2
    assert (
        "workers of the crawl are running, or died within the last 15 s: w1"
        in (done.stderr.splitlines()[-1])
    )
    assert not list(tmp_path.glob("c.gz*"))


def _lines(change: Callable[[list[Any]], object]) -> Callable[[bytes], bytes]:
    """Return a function that changes values in a file."""

    def changed(content: bytes) -> bytes:
        values = [json.loads(line) for line in gzip.decompress(content).splitlines()]
        change(values)
        text = "".join(f"{json.dumps(each)}\n" for each in values)
        return gzip.compress(text.encode())

    return changed


def _add_a_queue(values: list[Any]) -> None:
    """Add a chunk of a queue that is not counted."""
    values.insert(1, ["0:q:b.example:2", "list", ["/"], None])
    values[-1]["chunks"] += 1


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "cut": (lambda x: x[: len(x) // 2], "is incomplete: it ends too early"),
    "empty": (lambda _: b"", "line 1 is incomplete"),
    "foreign": (lambda _: b"%PDF-1.7 ...", "line 1 is not a file of a frontier"),
    "other": (lambda _: gzip.compress(b'{"a": 1}\n'), "line 1 is not the head of a"),
    "flipped": (lambda x: x[:-6] + bytes([x[-6] ^ 1]) + x[-5:], "is damaged"),
    "long": (
        lambda x: (
            gzip.compress(gzip.decompress(x).partition(b"\n")[0] + b"\n")
            + gzip.compress(b"[" * (MAX_LINE_BYTES + 9), 1)
        ),
        "line 2 is longer than 64 MiB",
    ),
    "nested": (_lines(lambda x: x.insert(1, "NEST")), "is damaged"),
    "later": (_lines(lambda x: x[0].update(version=2)), "has version 2, this program"),
    "schema": (
        _lines(lambda x: (x[0].update(schema=9), x[0]["conf"].update(schema="9"))),
        f"has schema 9, this version reads {SCHEMA}",
    ),
    "one chunk less": (_lines(lambda x: x.pop(3)), "is damaged"),
    "other name": (
        _lines(lambda x: x[1].__setitem__(0, "7:cnt")),
        "'7:cnt' is not a key of a frontier",
    ),
    "other type": (
        _lines(lambda x: x[1].__setitem__(slice(2), ["0:ready", "list"])),
        "'0:ready' is not a key of a frontier",
    ),
    "no byte": (_lines(lambda x: x[1][2].__setitem__(0, "\u20ac")), "line 2 is dam"),
    "fewer": (_lines(lambda x: x[0]["counts"].update(queued=3)), "declares"),
    "unsound": (
        _lines(_add_a_queue),
        "has 5 queued, counted as 4",
    ),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(("damage", "line"), DAMAGES.values(), ids=DAMAGES)
async def test_damaged_file_leaves_no_crawl(
    make_frontier: MakeFrontier,
    redis_server: RedisServer,
    tmp_path: Path,
    damage: Callable[[bytes], bytes],
    line: str,
) -> None:
    """If a file is damaged, then a line says why, and no key is left."""
    frontier = await make_frontier(partitions=1)
    await frontier.add(
        candidates(frontier, [f"https://a.example/{i}" for i in range(4)])
    )
    path = tmp_path / "c.gz"
    async with await operated(redis_server) as crawl:
        await export_frontier(crawl, path)
    path.write_bytes(damage(path.read_bytes()))
    await frontier.clear()
    done = operate(tmp_path, "import", str(path), REDIS_URL=redis_server.url)
    assert done.returncode == 2, done.stdout
    assert line in done.stderr.splitlines()[-1]
    assert [name async for name in frontier.redis.scan_iter("*")] == []


async def test_killed_import_is_no_crawl_until_made_again(
    commands: Commands, make_frontier: MakeFrontier, redis_server: RedisServer
) -> None:
    """If an import is killed, then no worker joins it; the next one is complete."""
    frontier = await make_frontier(partitions=N)
    await fill(frontier)
    folder = commands.folder()
    path, pipe = folder / "c.gz", folder / "pipe"
    async with await operated(redis_server) as crawl:
        await export_frontier(crawl, path)
        before = same_apart(await everything(frontier.redis, "c"))
    await frontier.clear()
    named: Place = {"REDIS_URL": redis_server.url, "CRAWL_ID": "c"}
    named["FRONTIER_LEASE_SECS"] = 300
    os.mkfifo(pipe)
    running = commands.start("frontier", "import", str(pipe), folder=folder, **named)
    content = path.read_bytes()
    with pipe.open("wb") as half:
        half.write(content[: len(content) - 20])
        half.flush()

        def is_begun() -> bool:
            status = operate(folder, "status", **named)
            return "its frontier is being imported from a file" in status.stderr

        commands.wait_until(is_begun)
        twice = operate(folder, "import", str(path), **named)
        assert "another process begins or imports it, or died" in twice.stderr
        fresh = commands.crawl(
            ["http://127.0.0.1:9/"], folder=folder, arguments={"fresh": 1}, **named
        )
        assert "argument fresh=1: workers of the crawl are running" in fresh.stderr
        running.send(signal.SIGKILL)
        running.wait()
    worker = commands.crawl(folder=folder, **named)
    assert worker.code == 2
    assert (
        "its frontier is being imported from a file, or its import was interrupted"
        in (worker.stderr)
    )

    await frontier.redis.delete(frontier.key("workers"))  # after long silence
    again = operate(folder, "import", str(path), **named)
    assert again.returncode == 0, again.stderr
    assert same_apart(await everything(frontier.redis, "c")) == before
    await frontier.redis.hset("rc:{c}:conf", "schema", 0)  # as if it were broken off
    assert "is deleted" in operate(folder, "forget", "c", **named).stdout
    assert await everything(frontier.redis, "c") == {}


async def test_lost_responses_leave_a_complete_crawl_or_none(
    make_frontier: MakeFrontier, redis_server: RedisServer, tmp_path: Path
) -> None:
    """If a response of Redis is lost, then an import is complete or absent."""
    frontier = await make_frontier(partitions=1)
    await frontier.add(candidates(frontier, [f"https://a.example/{i}" for i in "ab"]))
    redis, path = frontier.redis, tmp_path / "c.gz"
    async with await operated(redis_server) as crawl:
        await export_frontier(crawl, path)
    before = same_apart(await everything(redis, "c"))
    settings = operator_settings(redis_server)
    with RedisProxy(redis_server.socket) as way:
        settings.set("REDIS_URL", way.url)
        n_whole = n_none = n_cut = 0
        while way.n_cut == n_cut:
            await redis.flushall()
            way.cut_after, n_cut = n_cut, n_cut + 1
            try:
                await import_frontier(settings, path)
            except ConfigError:
                assert await redis.hget("rc:{c}:conf", "schema") in (None, b"0")
                n_none += 1
            else:
                assert same_apart(await everything(redis, "c")) == before
                n_whole += 1
    assert min(n_whole, n_none) > 0  # else nothing was cut in the middle


async def test_full_redis_takes_no_half_of_a_crawl(
    make_frontier: MakeFrontier, redis_server: RedisServer, tmp_path: Path
) -> None:
    """If Redis is full during an import, then one line says so."""
    frontier = await make_frontier(partitions=N)
    await fill(frontier)
    redis, path = frontier.redis, tmp_path / "c.gz"
    async with await operated(redis_server) as crawl:
        await export_frontier(crawl, path)
    await frontier.clear()
    used = (await redis.info("memory"))["used_memory"]
    await redis.config_set("maxmemory", used + 400_000)
    done = operate(tmp_path, "import", str(path), REDIS_URL=redis_server.url)
    assert done.returncode == 2, done.stdout
    assert "frontier import: REDIS_URL" in done.stderr.splitlines()[-1]
    assert [name async for name in redis.scan_iter("*")] == []


WEB = WebConfig(
    n_nodes=10,
    triples=60,
    degree=4,
    weights={NodeKind.DEREFERENCING: 1.0},
    port=0,
    first_address="127.93.0.1",
    latency_ms=60,
)


def kill_in_the_middle(
    commands: Commands, web: ServedWeb, *words: str, **settings: Any
) -> None:
    """Run a worker for some documents, and kill it."""
    n_before = web.log().total("n_documents")
    running = commands.start("crawl", "linkeddata", *words, **settings)
    commands.wait_until(lambda: web.log().total("n_documents") > n_before + 9)
    running.send(signal.SIGKILL)
    running.wait()


def move(
    commands: Commands, folder: Path, path: Path, source: Place, target: Place
) -> None:
    """Move a crawl by a file, once its worker is taken for dead."""

    def is_exported() -> bool:
        return operate(folder, "export", str(path), **source).returncode == 0

    commands.wait_until(is_exported)
    moved = operate(folder, "import", str(path), **target)
    assert moved.returncode == 0, moved.stdout + moved.stderr
    assert "partitions: 0 damages" in moved.stdout


def do_everything(folder: Path, place: Place) -> None:
    """Do each action on a crawl, without effect on the crawled documents."""
    status, *others = told(folder, "status", "--partitions", **place)
    assert (status["crawl_id"], others) == ("linkeddata", [])
    assert len(status["partitions"]) == 16
    assert told(folder, "status", "--all", **place) == [["linkeddata"]]
    first, *_ = told(folder, "hosts", "--sort", "queue", **place)
    key, n = first["key"], first["n_queued"]
    assert n > 0
    (host,) = told(folder, "host", key, **place)
    queued = host["head"][0][1]
    assert told(folder, "uri", queued, **place)[0]["place"] == "queued"
    assert told(folder, "pause", key, **place)[0]["n_waiting"] == n
    assert told(folder, "hosts", "--phase", "paused", **place)[0]["key"] == key
    for words in (("set-delay", key, "0.01"), ("set-budget", key, "9999")):
        assert told(folder, *words, **place)[0]["has_changed"]
    assert told(folder, "resume", key, **place)[0]["has_changed"]
    assert told(folder, "add", queued, **place)[0]["fate"] == "seen before"
    assert told(folder, "add", "http://127.0.0.1:9/", **place)[0]["fate"] == "queued"
    assert told(folder, "drop", "127.0.0.1:9", **place)[0]["n_dropped"] == 1
    for more in ([], ["--failed"]):
        assert told(folder, "dead", "list", *more, **place) == []
        assert told(folder, "dead", "retry", *more, **place) == [{"queued again": 0}]
        assert told(folder, "dead", "drop", *more, **place) == [{"dropped": 0}]
    assert told(folder, "check", "--repair", **place) == []


@pytest.mark.service
@pytest.mark.in_turn(2)
def test_crawl_moves_from_redis_to_redis(
    commands: Commands,
    lasting_server: RedisServer,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """If a killed crawl moves to a cluster and to an embedded server, recall is 1.

    URIs in flight are crawled immediately, and `check` finds nothing on the way. In the
    cluster, each action of an operator has its usual effect.
    """
    folder, short = commands.folder(), tmp_path_factory.mktemp("c")
    named: Place = {
        "CRAWL_ID": "linkeddata",
        "FRONTIER_LEASE_SECS": 2,
        "GUARD_ALLOW_NETS": LOOPBACK_NETS,
        "GUARD_PORTS": "1-65535",
    }
    quick: Place = {
        "VISIT_MAX_DOCUMENTS": 3,
        "FRONTIER_COMMIT_SECS": 0.2,
        "folder": folder,
    }
    single = named | {"REDIS_URL": lasting_server.url}
    with (
        running_cluster(short, with_replicas=False) as cluster,
        run_dataweb(WEB, tmp_path) as web,
    ):
        spread = named | {"REDIS_URL": cluster.url}
        seeds = f"-aseeds=@{web.seeds_path}"
        kill_in_the_middle(commands, web, seeds, **quick, **single)
        move(commands, folder, tmp_path / "1.gz", single, spread)
        do_everything(folder, spread)
        with cluster.primaries()[0].client() as primary:
            primary.config_set("maxmemory", "1mb")
            done = operate(folder, "status", **spread)
            status = done.stdout + done.stderr
            primary.config_set("maxmemory", 0)
        assert "note: Redis is full, 1 of its primaries" in status
        kill_in_the_middle(commands, web, **quick, **spread)
        move(commands, folder, tmp_path / "2.gz", spread, named)
        forgotten = operate(folder, "forget", "linkeddata", **spread)
        assert "its frontier is deleted" in forgotten.stdout
        result = commands.crawl(**quick, **named)
        web.stop()
    assert result.code == 0, result.stderr
    report = judge(tmp_path / "truth.nq", [str(result.folder / "quads")])
    assert report.micro == 1.0, report.missing
    assert report.n_surplus == 0, report.surplus
    assert (result.counts().queued, result.counts().dead) == (0, 0)

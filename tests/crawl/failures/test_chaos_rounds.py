"""Faults of all kinds befall crawls at random, one round after another; a soak.

`CHAOS_SECS` (an hour) says how long, `CHAOS_SEED` with which seed it begins. Each crawl
has another seed, the next number: a failure is repeated alone by `CHAOS_SECS=0
CHAOS_SEED=<that>`, and one of its rounds alone by `CHAOS_ROUND`, too.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.dataweb.config import NodeKind, WebConfig
from rdfcrawl.dataweb.process import run_dataweb
from rdfcrawl.dataweb.recall import judge
from rdfcrawl.frontier.redis.embedded import find_server
from tests.crawl.failures.test_ground import shifted_clock
from tests.support.chaos import LEASE_SECS, ChaosCrawl, Crew, befall, faults_of
from tests.support.crawl_names import scripted_names
from tests.support.crawl_webs import TreeWeb
from tests.support.redis_fixtures import RedisServer
from tests.support.redis_proxy import RedisProxy
from tests.support.small_disk import SmallDisk, small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.crawl_webs import Loopback

HOUR = 3600.0
N_HOSTS, N_DOCS = 4, 30
LAST_SECS = 600.0  # that a crawl may take after its last round


def web_of(seed: int) -> WebConfig:
    """Return a data web of about a thousand documents."""
    return WebConfig(
        n_nodes=8,
        triples=300,
        degree=4,
        weights={NodeKind.DEREFERENCING: 1.0},
        port=0,
        first_address=f"127.71.{seed % 200}.1",
        latency_ms=40,
        seed=seed,
    )


def disk_of(stack: ExitStack, folder: Path) -> SmallDisk | None:
    """Return a small disk; None where none is available."""
    folder.mkdir()
    try:
        return stack.enter_context(small_disk(folder))
    except pytest.skip.Exception as skipped:
        print(f"no disk is filled: {skipped}")
        return None


@contextmanager
def running_chaos(
    seed: int, folder: Path, place: Path, loopback: Loopback
) -> Iterator[ChaosCrawl]:
    """Start a crawl with all that it stands on."""
    with ExitStack() as stack:
        disk = disk_of(stack, folder / "disk")
        home = disk.path if disk else folder
        (home / "redis").mkdir()
        clocks, environments = [], []
        for name in ("workers", "redis"):
            (own := folder / name).mkdir(exist_ok=True)
            shift, environment = shifted_clock(own)
            clocks.append(shift)
            environments.append(environment)
        options = ("--appendonly", "yes", "--dir", str(home / "redis"))
        server = RedisServer(find_server(), place, options, environment=environments[1])
        server.start()
        stack.callback(server.end)
        way = stack.enter_context(RedisProxy(server.socket))
        web = stack.enter_context(run_dataweb(web_of(seed), folder / "web"))
        names = [f"www.site{n}.example" for n in range(N_HOSTS)]
        prefix = f"127.72.{seed % 200}"
        shape = {"n_hosts": N_HOSTS, "n_docs": N_DOCS}
        tree = TreeWeb(loopback, prefix, **shape, secs=0.05, names=names)
        addresses = {name: [[f"{prefix}.{n}"]] for n, name in enumerate(names, start=1)}
        stack.enter_context(scripted_names(folder, addresses))
        seeds = folder / "seeds.txt"
        seeds.write_text("\n".join([*web.seeds, tree.seed]))
        (crawls := home / "crawls").mkdir()
        words = [f"-n{random.Random(seed).randint(2, 4)}", "linkeddata"]
        words += [
            f"-aseeds=@{seeds}",
            f"-sCRAWL_DIR={crawls}",
            f"-sREDIS_URL={way.url}",
        ]
        crew = Crew(crawls, words, environments[0], folder / "said.txt")
        crew.start()
        stack.callback(crew.kill)
        yield ChaosCrawl(crew, server, way, web, tree, names, folder, clocks, disk)


def one_crawl(crawl: ChaosCrawl, seed: int, kinds: Counter[str]) -> int:
    """Have rounds of faults befall a crawl until it ends; return how many."""
    only = os.environ.get("CHAOS_ROUND")
    number = 0
    crawl.goes_on()
    while not crawl.crew.has_ended():
        number += 1
        rng = random.Random(f"{seed}/{number}")
        chosen = faults_of(rng, has_disk=crawl.disk is not None)
        if only and number != int(only):
            crawl.goes_on(50)
            continue
        print(f"seed {seed} round {number}: {', '.join(chosen)}", flush=True)
        befall(crawl, chosen, rng)
        kinds.update(chosen)
        crawl.goes_on()
        crawl.check()
    return number


def judge_crawl(crawl: ChaosCrawl) -> None:
    """Check that a crawl has all, and nothing twice in effect."""
    assert crawl.crew.code(LAST_SECS) == 0, crawl.crew.stderr[-5000:]
    time.sleep(LEASE_SECS)  # the killed one is forgotten
    crawl.crew.start()  # URLs that misbehaved for too long are owed
    assert crawl.crew.code(LAST_SECS) == 0, crawl.crew.stderr[-5000:]
    time.sleep(LEASE_SECS)
    crawl.check()
    crawl.web.stop()
    result, counts = crawl.result(), crawl.counts()
    with crawl.web.truth_path.open("a") as truth:
        truth.writelines(crawl.tree.truth())
    report = judge(crawl.web.truth_path, [str(result.folder / "quads")])
    assert report.micro == 1.0, report.missing
    assert report.n_surplus == 0, report.surplus
    assert (counts.queued, counts.leased, counts.dead) == (0, 0, 0)
    assert counts.seen == counts.done + counts.known
    # The second command looks at due documents once more, and marks each change.
    assert len(set(result.ask("?a sq:crawled ?x"))) == counts.done - counts.known
    assert result.latest_quads == result.quads


@pytest.mark.soak
@pytest.mark.service
def test_rounds_of_faults_lose_nothing(tmp_path: Path, loopback: Loopback) -> None:
    """If faults of all kinds come at random for an hour, then nothing is lost.

    After each round a check of the frontier finds nothing, and each crawl has found
    exactly its web.
    """
    deadline = time.monotonic() + float(os.environ.get("CHAOS_SECS", HOUR))
    seed = int(os.environ.get("CHAOS_SEED") or time.time())
    kinds: Counter[str] = Counter()
    n_rounds = n_crawls = 0
    while True:
        (folder := tmp_path / str(seed)).mkdir()
        with ExitStack() as stack:
            place = stack.enter_context(short_folder())
            crawl = stack.enter_context(running_chaos(seed, folder, place, loopback))
            n_rounds += one_crawl(crawl, seed, kinds)
            judge_crawl(crawl)
        n_crawls += 1
        seed += 1
        if time.monotonic() > deadline:
            break
    print(f"{n_crawls} crawls, {n_rounds} rounds: {dict(kinds.most_common())}")


@contextmanager
def short_folder() -> Iterator[Path]:
    """Yield a folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="rc-") as path:
        yield Path(path)

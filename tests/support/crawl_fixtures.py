"""Fixtures that run the real commands, in processes of their own, on loopback."""

from __future__ import annotations

import asyncio
import re
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import pytest

from rdfcrawl.core.namespaces import RC
from rdfcrawl.frontier.queue.frontier_client import Frontier, StateCounts
from rdfcrawl.frontier.queue.options import FrontierOptions
from rdfcrawl.frontier.redis.client import async_client, server_facts
from rdfcrawl.frontier.redis.embedded import ensure_server
from rdfcrawl.frontier.redis.operations import LuaScripts
from rdfcrawl.stores.log.crawl_log import iter_latest, iter_provenance
from rdfcrawl.stores.provenance.statements import iter_statements
from rdfcrawl.stores.reading import iter_quads
from rdfcrawl.uri.guard.policy import MAX_PORT
from tests.conftest import LOOPBACK_NETS
from tests.support.command_forks import LONGEST_SECS, scrapy, shared_forks
from tests.support.later_commands import scrapy_later
from tests.support.processes import children, peak_bytes
from tests.support.written_logs import versions_in

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.support.command_forks import ForkedCommand
    from tests.support.crawl_webs import Loopback

_SCRAPY = ["-m", "scrapy"]
_LOOK_SECS = 0.1  # at the memory of running ones
_LEAST_WAIT_SECS = 0.02
_WAIT_SHARE = 20.0  # of waiting, for each second of looking

Quad = tuple[str, str, str, str]
RunRdf = Callable[..., subprocess.CompletedProcess[str]]

_PREFIXES = f"""
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX sq: <http://w3id.org/dice-research/squirrel/vocab#>
PREFIX rc: <{RC}>
PREFIX http: <http://www.w3.org/2011/http#>
"""
_find_statistics = re.compile(r"^[ {]'([^']+)': ([0-9]+)[,}]$", re.MULTILINE).findall


@dataclass(frozen=True)
class CrawlResult:
    """Result of a command.

    Attributes:
        code: its exit code.
        stderr: its output.
        folder: `CRAWL_DIR/<CRAWL_ID>`.
        secs: how long it ran.
        peak_bytes: largest resident memory of the process, its children and theirs.
    """

    code: int
    stderr: str
    folder: Path
    secs: float
    peak_bytes: int

    @cached_property
    def quads(self) -> set[Quad]:
        """All stored quads, as four strings: IRIs bare, other terms as N-Quads."""
        return _parse(b"".join(iter_quads(self.folder / "quads")))

    @cached_property
    def latest_quads(self) -> set[Quad]:
        """The quads of the latest version of each document."""
        return _parse(b"".join(piece.quads for piece in self._latest()))

    @property
    def graphs(self) -> set[str]:
        """The documents that have quads."""
        return {graph for *_, graph in self.quads}

    def about(self, graph: str) -> set[tuple[str, str, str]]:
        """Return the triples of a document."""
        return {(s, p, o) for s, p, o, g in self.quads if g == graph}

    def raw(self, graph: str) -> bytes:
        """Return the N-Quads of a document's latest version, byte for byte."""
        return b"".join(p.quads for p in self._latest() if p.graph == graph)

    def writes(self) -> Counter[str]:
        """Return how many times each document was written."""
        return Counter(each.graph for each in versions_in(self.folder))

    def _latest(self) -> list[Any]:
        return list(iter_latest(self.folder / "quads"))

    @cached_property
    def provenance(self) -> ox.Store:
        """The logs of the crawl."""
        store = ox.Store()
        blocks = iter_provenance(self.folder / "provenance")
        data = b"".join(iter_statements(blocks))
        store.bulk_load(data, format=ox.RdfFormat.N_QUADS)
        return store

    def ask(self, where: str) -> list[str]:
        """Return `?x` of a SPARQL pattern over the provenance.

        If the pattern has the crawl of a document as `?a`, in order of time.
        """
        time = "OPTIONAL { ?a prov:startedAtTime ?t }" if "?a " in where else ""
        query = f"SELECT ?x WHERE {{ GRAPH ?g {{ {where} {time} }} }} ORDER BY ?t"
        found: Any = self.provenance.query(_PREFIXES + query)
        return [row["x"].value for row in found]

    def statuses(self, url: str) -> list[str]:
        """Return the outcome of each crawl of a URI."""
        return self.ask(f"?a sq:crawled <{url}> ; sq:status ?x .")

    def faults(self, url: str) -> list[str]:
        """Return the reasons of the faults of a URI."""
        return self.ask(f"?a sq:crawled <{url}> ; rc:fault/rc:reason ?x .")

    def details(self, url: str) -> list[str]:
        """Return the messages of the faults of a URI."""
        return self.ask(f"?a sq:crawled <{url}> ; rc:fault/rc:detail ?x .")

    def chain(self, url: str) -> list[str]:
        """Return the URLs that were requested on the way from a URI, in order."""
        (cell,) = self.ask(f"?a sq:crawled <{url}> ; rc:redirects ?x .") or [""]
        chain = []
        while cell and not cell.endswith("#nil"):
            chain += self.ask(f"<{cell}> rdf:first ?x .")
            (cell,) = self.ask(f"<{cell}> rdf:rest ?x .")
        return chain

    def counts(self) -> StateCounts:
        """Return the counters of the embedded frontier."""
        return count_frontier(self.folder)

    @cached_property
    def statistics(self) -> Counter[str]:
        """The integers among Scrapy's statistics of this process."""
        dumped = self.stderr.partition("Dumping Scrapy stats:\n")[2]
        return Counter({name: int(n) for name, n in _find_statistics(dumped)})


def count_frontier(folder: Path) -> StateCounts:
    """Return the counters of an embedded frontier; starts its server if need be."""
    with closing(ensure_server(folder / "frontier")) as server:
        return asyncio.run(count_in_redis(server.url, folder.name))


async def count_in_redis(url: str, crawl_id: str) -> StateCounts:
    """Return the counters of a crawl's frontier."""
    async with async_client({}, url) as redis:
        scripts = LuaScripts(redis, version=(await server_facts(redis)).version)
        options = FrontierOptions()
        frontier = Frontier(redis, scripts, crawl_id=crawl_id, options=options)
        await frontier.open()
        return await frontier.counts()


@dataclass
class RunningCrawl:
    """A command that runs."""

    process: ForkedCommand
    folder: Path
    stderr_path: Path
    began: float = field(default_factory=time.monotonic)
    peak_bytes: int = 0

    @property
    def stderr(self) -> str:
        """Its output so far."""
        return self.stderr_path.read_text(errors="replace")

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        if not self.has_ended():
            self.process.send_signal(number)

    def has_ended(self) -> bool:
        """Look whether it has ended."""
        ours = children(self.process.pid)
        theirs = [pid for child in ours for pid in children(child)]
        for pid in (self.process.pid, *ours, *theirs):
            self.peak_bytes = max(self.peak_bytes, peak_bytes(pid))
        return self.process.poll() is not None

    def wait(self, secs: float = LONGEST_SECS) -> CrawlResult:
        """Wait for its end; a command that does not end fails the test."""
        deadline = time.monotonic() + secs
        while not self.has_ended():
            if time.monotonic() > deadline:
                self.process.kill()
                pytest.fail(f"still running after {secs} s:\n{self.stderr[-5000:]}")
            self.process.wait_for(_LOOK_SECS)
        return CrawlResult(
            self.process.wait(),
            self.stderr,
            self.folder,
            time.monotonic() - self.began,
            self.peak_bytes,
        )


class Commands:
    """Runs `scrapy` in the checkout; processes still running at the end are killed.

    Args:
        new_folder: makes a folder for a crawl.

    Attributes:
        ahead_secs: how far the clocks of commands are ahead.
    """

    def __init__(self, new_folder: Callable[[], Path]) -> None:
        self.folder = new_folder
        self.ahead_secs = 0
        self._numbers = count()
        self._running: list[RunningCrawl] = []

    def start(
        self,
        *words: str,
        folder: Path | None = None,
        **settings: Any,
    ) -> RunningCrawl:
        """Start `scrapy <words>`, with settings that make small crawls quick."""
        folder = folder or self.folder()
        quick: dict[str, Any] = {
            "CRAWL_DIR": folder,
            "DOWNLOAD_DELAY": 0,
            "HOST_BACKOFF_SECS": 0.05,
            "HOST_PATIENCE_SECS": 0,
            "DESCRIBE": "off",
            "STATS_DUMP": True,
            "MEMUSAGE_ENABLED": False,
            "GUARD_ALLOW_NETS": LOOPBACK_NETS,
            "CONTACT_REQUIRED": False,
            "TDM_POLICY": "ignore",  # a file more of each host
            "GUARD_PORTS": f"1-{MAX_PORT}",  # dead ones are low
            "GUARD_MAX_PORTS": MAX_PORT,
        }
        given = [f"-s{name}={value}" for name, value in (quick | settings).items()]
        stderr_path = folder / f"stderr-{next(self._numbers)}.txt"
        with stderr_path.open("wb") as stderr:
            python = scrapy_later(self.ahead_secs) if self.ahead_secs else _SCRAPY
            process = shared_forks().start([*python, *words, *given], stderr)
        crawl_id = str(settings.get("CRAWL_ID", "linkeddata"))
        running = RunningCrawl(process, folder / crawl_id, stderr_path)
        self._running.append(running)
        return running

    def start_crawl(
        self,
        seeds: Sequence[str] = (),
        *,
        folder: Path | None = None,
        arguments: Mapping[str, object] | None = None,
        spider: str = "linkeddata",
        **settings: Any,
    ) -> RunningCrawl:
        """Start `scrapy crawl` from a file of seeds."""
        folder = folder or self.folder()
        given = [f"-a{name}={value}" for name, value in (arguments or {}).items()]
        if seeds:
            path = folder / f"seeds-{next(self._numbers)}.txt"
            text = "".join(f"{seed}\n" for seed in seeds)
            path.write_bytes(text.encode(errors="surrogateescape"))
            given.append(f"-aseeds=@{path}")
        settings.setdefault("CRAWL_ID", spider)
        return self.start("crawl", spider, *given, folder=folder, **settings)

    def crawl(
        self,
        seeds: Sequence[str] = (),
        *,
        folder: Path | None = None,
        arguments: Mapping[str, object] | None = None,
        spider: str = "linkeddata",
        **settings: Any,
    ) -> CrawlResult:
        """Run `scrapy crawl` to its end."""
        return self.start_crawl(
            seeds, folder=folder, arguments=arguments, spider=spider, **settings
        ).wait()

    @staticmethod
    def wait_until(claim: Callable[[], object], secs: float = 300.0) -> None:
        """Wait until `claim()` is true; fail the test if it never is.

        Costly conditions are polled less often.
        """
        deadline = time.monotonic() + secs
        began = time.monotonic()
        while not claim():
            now = time.monotonic()
            if now > deadline:
                pytest.fail("waited in vain")
            time.sleep(min(max(_LEAST_WAIT_SECS, _WAIT_SHARE * (now - began)), 0.5))
            began = time.monotonic()

    def stop(self) -> None:
        """Kill running processes."""
        for running in self._running:
            if not running.has_ended():
                running.process.kill()
                running.process.wait()


@pytest.fixture(scope="module")
def loopback() -> Iterator[Loopback]:
    """Yield a function that starts scripted servers for the tests of the module."""
    from tests.support.crawl_webs import Loopback

    with Loopback() as servers:
        yield servers


@pytest.fixture(scope="session")
def rdf() -> RunRdf:
    """Return a function that runs `scrapy rdf` with some words, on loopback."""
    return partial(scrapy, "rdf", f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}")


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """Yield an object that runs the `scrapy` commands."""
    commands = Commands(partial(tmp_path_factory.mktemp, "crawl", numbered=True))
    yield commands
    commands.stop()


def _parse(data: bytes) -> set[Quad]:
    return {
        (_text(q.subject), _text(q.predicate), _text(q.object), _text(q.graph_name))
        for q in ox.parse(data, format=ox.RdfFormat.N_QUADS)
    }


def _text(term: object) -> str:
    return term.value if isinstance(term, ox.NamedNode) else str(term)

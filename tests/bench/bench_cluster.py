"""The frontier on a Redis Cluster of three primaries and three replicas.

The reference is one Redis server, for the same web with the same workers, in turns.
"""

from __future__ import annotations

import argparse
import compileall
import shutil
import sys
import tempfile
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rdfcrawl
from rdfcrawl.dataweb.config import EXPERIMENTS, WebConfig
from rdfcrawl.dataweb.process import NETWORK, run_dataweb
from rdfcrawl.dataweb.recall import judge as judge_recall
from rdfcrawl.frontier.redis.embedded import find_server
from tests.bench.figures import Figure, judge
from tests.bench.measured import count_activities, run_measured
from tests.support.redis_cluster import ClusterNode, free_ports, running_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

N_WORKERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierRun:
    """Cost of one crawl; times of CPU in seconds."""

    name: str
    documents: int
    wall_secs: float
    worker_secs: float
    redis_secs: float
    recall: float

    @property
    def cpu_per_doc(self) -> float:
        """Milliseconds of CPU per document, of workers and servers."""
        return (self.worker_secs + self.redis_secs) / self.documents * 1000


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print a row per crawl; return the cost of the cluster relative to one server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args(arguments)
    compileall.compile_dir(Path(rdfcrawl.__file__).parent, quiet=1)
    config = WebConfig(**EXPERIMENTS[2] | {"n_nodes": options.nodes, "port": 0})
    runs: list[FrontierRun] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rc-")))
        places = {name: folder / name for name in ("web", "one", "six")}
        for place in places.values():
            place.mkdir()
        stack.enter_context(run_dataweb(config, places["web"]))
        one = ClusterNode(find_server(), places["one"], free_ports(1)[0])
        one.run("--bind", "127.0.0.1", "--save", "", "--appendonly", "yes")
        stack.callback(one.end)
        cluster = stack.enter_context(running_cluster(places["six"]))
        nodes = [stack.enter_context(closing(x.client())) for x in cluster.nodes]
        single = [stack.enter_context(closing(one.client()))]
        url = f"redis://127.0.0.1:{one.port}"
        for n in range(options.repeat):
            kinds = [("one server", url, single), ("cluster", cluster.url, nodes)]
            for kind in kinds if n % 2 == 0 else kinds[::-1]:
                runs.append(_crawl(*kind, places["web"]))
                _print_row(runs[-1])
    return _figures(runs)


def _figures(runs: Sequence[FrontierRun]) -> list[Figure]:
    before = [run for run in runs if run.name == "one server"]
    after = [run for run in runs if run.name == "cluster"]
    cpu = sum(x.cpu_per_doc for x in after) / sum(x.cpu_per_doc for x in before)
    secs = sum(x.wall_secs for x in after) / sum(x.wall_secs for x in before)
    recall = min(x.recall for x in after)
    return [
        Figure("cluster, CPU", cpu, "x one server", at_most=1.15),
        Figure("cluster, time", secs, "x one server", at_most=1.15),
        Figure("cluster, recall", recall, "", at_least=1.0),
    ]


def _crawl(name: str, url: str, clients: list[Any], web: Path) -> FrontierRun:
    crawl = web / "crawl"
    shutil.rmtree(crawl, ignore_errors=True)
    for client in clients:
        if client.info("replication")["role"] == "master":
            client.flushall()
    before = _cpu(clients)
    line = [
        *(sys.executable, "-m", "scrapy", "workers", f"-n{N_WORKERS}", "linkeddata"),
        *("-a", f"seeds=@{web / 'seeds.txt'}", "-s", f"REDIS_URL={url}"),
        *("-s", "DOWNLOAD_DELAY=0", "-s", f"CRAWL_DIR={crawl}", "-s", "PROGRESS=off"),
        *("-s", "DESCRIBE=off", "-s", f"GUARD_ALLOW_NETS={NETWORK}"),
    ]
    usage = run_measured(line, lambda _: None)
    return FrontierRun(
        name=name,
        documents=count_activities(crawl / "linkeddata"),
        wall_secs=usage.wall_secs,
        worker_secs=usage.cpu_secs,
        redis_secs=_cpu(clients) - before,
        recall=judge_recall(
            web / "truth.nq", [str(crawl / "linkeddata" / "quads")]
        ).micro,
    )


def _cpu(clients: list[Any]) -> float:
    found = [client.info("cpu") for client in clients]
    return sum(float(x["used_cpu_user"]) + float(x["used_cpu_sys"]) for x in found)


def _print_row(run: FrontierRun) -> None:
    print(
        f"{run.name:12}{run.documents:7} documents{run.wall_secs:7.1f} s"
        f"{run.documents / run.wall_secs:7.0f} documents/s"
        f"{run.cpu_per_doc:7.3f} ms of CPU for each, of it Redis"
        f"{run.redis_secs / run.documents * 1000:7.3f}; recall {run.recall:.4f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(judge(main()))

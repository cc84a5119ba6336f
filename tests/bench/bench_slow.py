"""A good host among silent and endless ones: is it as fast as alone?

The good host is crawled alone and among the others, in turns, by one worker; the
benchmark compares its documents per second, from the first of its requests to the last.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from tests.bench.figures import Figure, judge
from tests.support.crawl_webs import Loopback

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from tests.conftest import RawServer

SILENT: list[Any] = [600.0]
LEAST = 0.9


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print the rates of each pair of crawls; return the median of their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=300)
    parser.add_argument("--hosts", type=int, default=40, help="of each bad kind")
    parser.add_argument("--pairs", type=int, default=2)
    parser.add_argument("--delay", type=float, default=0.05)
    options = parser.parse_args(arguments)
    ratios = []
    context = get_context("spawn")  # their CPU is not that of the good host
    ours, theirs = context.Pipe()
    process = context.Process(target=serve_bad, args=(theirs, options.hosts))
    process.start()
    try:
        bad: list[str] = ours.recv()
        with Loopback() as loopback:
            response = loopback.response(b"<> <urn:x:p> <urn:x:o> .")
            for n in range(options.pairs):
                good = loopback({"*": response}, host=f"127.0.79.{1 + n}")
                alone = _rate(good, options.documents, [], options.delay)
                good.requests.clear()
                beside = _rate(good, options.documents, bad, options.delay)
                print(f"{alone:.1f} docs/s alone, {beside:.1f} among the others")
                ratios.append(beside / alone)
    finally:
        ours.send("end")
        process.join()
    name = f"good host among {options.hosts} silent, {options.hosts} endless"
    return [Figure(name, median(ratios), "x alone", at_least=LEAST)]


def serve_bad(pipe: Connection, n_hosts: int) -> None:
    """Serve hosts that are silent, and as many that never end, until stopped."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/turtle\r\n\r\n"
    piece = b"<> <urn:x:p> <urn:x:o> .\n" * 80
    endless: list[Any] = [head, *[each for _ in range(9000) for each in (piece, 0.05)]]
    with Loopback() as loopback:
        no_rules = loopback.response(b"", "text/plain", status="404 No")
        pages = {"*": endless, "/robots.txt": no_rules}
        numbers = range(1, n_hosts + 1)
        hosts = [loopback({"*": SILENT}, host=f"127.0.80.{n}") for n in numbers]
        hosts += [loopback(pages, host=f"127.0.81.{n}") for n in numbers]
        pipe.send([server.url(f"/{n}") for server in hosts for n in range(3)])
        pipe.recv()


def _rate(good: RawServer, n_docs: int, bad: list[str], delay_secs: float) -> float:
    """Return the requests to the good host per second."""
    seeds = [*bad, *(good.url(f"/{n}") for n in range(n_docs))]
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "seeds.txt").write_text("".join(f"{seed}\n" for seed in seeds))
        line = [
            *(sys.executable, "-m", "scrapy", "crawl", "linkeddata"),
            f"-aseeds=@{name}/seeds.txt",
            *("-s", f"CRAWL_DIR={name}/crawl", "-s", "PROGRESS=off"),
            *("-s", "GUARD_ALLOW_NETS=127.0.0.0/8"),
            *("-s", f"DOWNLOAD_DELAY={delay_secs}"),
            *("-s", "HOST_LAST_WAIT_SECS=0"),
        ]
        process = subprocess.Popen(
            line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            while len(good.requests) <= n_docs and process.poll() is None:
                time.sleep(0.1)
        finally:
            process.terminate()
            process.wait()
    times = [request.at for request in good.requests]
    return len(times) / (times[-1] - times[0])


if __name__ == "__main__":
    sys.exit(judge(main()))

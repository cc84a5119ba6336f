"""Runs cells of the matrix, each alone, at default settings; prints a table.

    python -m tests.matrix [--place url|host|hosts|pages] [--jobs N] [NAME ...]

NAME is a behaviour or the begin of one. Each cell is a separate crawl; another one
without misbehaviour, at the same time, is its yardstick for CPU.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.matrix.behaviours import BEHAVIOURS, HEALTHY, HostBehaviour
from tests.matrix.certificates import AUTHORITY
from tests.matrix.judging import Verdict, judge
from tests.matrix.webs import NAMES, POSITIONS, ROOT, Web, bad_hosts, one_url, served
from tests.support.crawl_names import scripted_names

_SETTINGS: Final[dict[str, Any]] = {
    "DOWNLOAD_DELAY": 0,
    "GUARD_ALLOW_NETS": "127.0.0.0/8",
    "CONTACT_REQUIRED": False,
    "LOG_LEVEL": "WARNING",
}
_TEMPORARY: Final = os.environ.get("TMPDIR")
MOST_REQUESTS, MOST_CPU = 1.2, 1.3


# For a hundred hosts of a kind, the cost of one is decisive.
COSTLY: Final = (
    *("endless-100", "endless-103", "endless-chunks-of-1", "endless-headers"),
    *("endless-header", "endless-extension", "endless-trailers", "endless-line"),
    *("endless-zeros", "endless-blank-lines", "silent", "silent-in-body"),
    *("trickle-head", "trickle-body", "reset", "tls-silent", "status-503"),
    *("503-after-day", "moved-endless", "accept-silent", "ftp-endless", "refused"),
)


@dataclass(frozen=True)
class CellRun:
    """A crawl that has ended: its exit code, CPU and wall time, and its verdict."""

    code: int
    cpu: float
    secs: float
    verdict: Verdict
    said: str


def run_crawl(
    web: Web, folder: Path, settings: dict[str, Any], words: tuple[str, ...] = ()
) -> CellRun:
    """Crawl a web to its end."""
    with served(web, folder) as log_path:
        seeds = web.seed_file(folder / "seeds.csv")
        given = _SETTINGS | {"CRAWL_DIR": folder / "crawl"} | settings
        line = [sys.executable, "-m", "scrapy", "crawl", "linkeddata"]
        line += [f"-aseeds=@{seeds}", "-aharvest=all", *words]
        line += [f"-s{name}={value}" for name, value in given.items()]
        env = os.environ | {"SSL_CERT_FILE": str(folder / AUTHORITY)}
        began = time.monotonic()
        with (folder / "said.txt").open("wb") as said:
            process = subprocess.Popen(
                line, cwd=ROOT, stdout=said, stderr=said, env=env
            )
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return CellRun(
            process.returncode,
            used.ru_utime + used.ru_stime,
            time.monotonic() - began,
            judge(web, log_path, folder / "crawl" / "linkeddata"),
            (folder / "said.txt").read_text(errors="replace"),
        )


def web_of(
    place: str, behaviour: HostBehaviour, n: int, prefix: str, size: float
) -> Web:
    """Return the web of a cell."""
    if place == "host":
        return bad_hosts([behaviour], 20, int(20 * size), prefix)
    if place in {"hosts", "pages"}:
        many, n_pages, has_robots = [behaviour] * 100, int(300 * size), place == "pages"
        n_bad = 2 if has_robots else 1
        return bad_hosts(many, 5, n_pages, prefix, n_bad, has_robots=has_robots)
    return one_url([(behaviour, POSITIONS[n])], int(40 * size), prefix)


def cells(names: list[str], place: str) -> list[tuple[str, HostBehaviour, int]]:
    """Return the cells that are chosen: place, behaviour, number of the position."""
    chosen = [
        each
        for name, each in BEHAVIOURS.items()
        if not names or any(name.startswith(begin) for begin in names)
    ]
    places = [place] if place else ["url", "host", "hosts", "pages"]
    return [
        (each_place, each, n)
        for each_place in places
        for each in chosen
        for n in (range(len(POSITIONS)) if each_place == "url" else (0,))
    ]


def run_cell(
    cell: tuple[int, tuple[str, HostBehaviour, int]],
    settings: dict[str, Any],
    size: float,
) -> tuple[str, CellRun, CellRun]:
    """Run a cell, and its yardstick at the same time: they share the machine."""
    number, (place, behaviour, n) = cell
    at = f" {POSITIONS[n]}" if place == "url" else ""
    pair = behaviour, BEHAVIOURS[HEALTHY]
    folders = [tempfile.mkdtemp(prefix="rc-cell-", dir=_TEMPORARY) for _ in pair]
    try:
        with ThreadPoolExecutor(2) as pool:
            runs = [
                pool.submit(
                    run_crawl,
                    web_of(
                        place, each, n, f"127.{120 + 2 * (number % 60) + own}", size
                    ),
                    Path(folder),
                    settings,
                )
                for own, (each, folder) in enumerate(zip(pair, folders, strict=True))
            ]
        return f"{place}{at} {behaviour.name}", runs[0].result(), runs[1].result()
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def run_packed(
    chosen: list[tuple[str, HostBehaviour, int]], settings: dict[str, Any], size: float
) -> int:
    """Run all cells of a place in one crawl; print the hosts that lack pages."""
    n_failed = 0
    for place in dict.fromkeys(place for place, *_ in chosen):
        ours = [(each, n) for own, each, n in chosen if own == place]
        pairs = [(each, POSITIONS[n]) for each, n in ours]
        bad = [each for each, _ in ours] * (100 if place == "hosts" else 1)
        if place == "url":
            web = one_url(pairs, int(40 * size), "127.111")
        else:
            web = bad_hosts(
                bad, 20, int(20 * size), "127.111", 1 if len(bad) > 99 else 3
            )
        folder = Path(tempfile.mkdtemp(prefix="rc-pack-", dir=_TEMPORARY))
        run = run_crawl(web, folder, settings)
        for name, urls in sorted(run.verdict.missing.items()):
            n_good = len(web.good.get(name.rpartition("(")[2][:-1], ()))
            print(f"  {name:50} lacks {len(urls)} of {n_good}")
        print(row(f"{place} packed", run, None), f"cpu {run.cpu:.1f}", folder)
        n_failed += len(run.verdict.missing)
    return n_failed


def row(name: str, run: CellRun, plain: CellRun | None) -> str:
    """Return a line of the table."""
    seen = run.verdict
    cpu = run.cpu / plain.cpu if plain else 0.0
    fails = []
    if seen.n_missing:
        fails.append("PAGES")
    if seen.ratio > MOST_REQUESTS:
        fails.append("REQUESTS")
    if cpu > MOST_CPU:
        fails.append("CPU")
    if run.code:
        fails.append(f"EXIT {run.code}")
    n_fetched = seen.n_good - seen.n_missing
    return (
        f"{name:48} {n_fetched:5}/{seen.n_good:<5} {seen.ratio:5.2f} {cpu:5.2f}"
        f" {run.secs:6.0f} s  most {seen.most[0]:3}  {' '.join(fails) or 'ok'}"
    )


def main() -> int:
    """Run the requested cells; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument(
        "--place", default="", choices=["", "url", "host", "hosts", "pages"]
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--packed", action="store_true")
    parser.add_argument("--size", type=float, default=1.0)
    parser.add_argument("-s", dest="settings", action="append", default=[])
    given = parser.parse_args()
    settings = dict(pair.split("=", 1) for pair in given.settings)
    chosen = cells(given.names, given.place)
    with (
        tempfile.TemporaryDirectory() as names,
        scripted_names(Path(names), NAMES),
        ThreadPoolExecutor(given.jobs) as pool,
    ):
        if given.packed:
            return run_packed(chosen, settings, given.size)
        failed = 0
        run_one = partial(run_cell, settings=settings, size=given.size)
        for cell in pool.map(run_one, enumerate(chosen)):
            line = row(*cell)
            failed += not line.endswith("ok")
            print(line, flush=True)
    print(f"{len(chosen)} cells, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

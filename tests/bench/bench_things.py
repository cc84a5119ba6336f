"""Growth of crawls and commands with the things of a document: links, graphs and so on.

A document of N things is crawled, and one of twice as many, and all commands run on
each. Redirects are things of their own.

Run: `python -m tests.bench.bench_things [--only NAME] [--things N] [--command NAME]`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.bench.bench_commands import COMMANDS, run_command
from tests.bench.documents.server import host, served
from tests.bench.figures import Figure, judge
from tests.bench.measured import crawl
from tests.fuzz.contents import CONTENTS, URL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.bench.documents.server import Documents

_AT_MOST: Final = 1.25  # times the CPU of a thing
_NOISE_SECS: Final = 0.5
_FEWEST: Final = 4
REDIRECTS: Final = "redirects"
MEDIA_TYPES: Final = {
    "links": "application/n-quads",
    "blank nodes": "application/n-quads",
    "graphs": "application/n-quads",
    "datasets of DCAT": "text/turtle",
    "sitemaps": "application/xml",
}
_THINGS: Final = {
    "links": 100_000,
    "blank nodes": 1_000_000,
    "graphs": 10_000,
    "datasets of DCAT": 10_000,
    "sitemaps": 50_000,
    REDIRECTS: 500_000,
}
AFTER: Final = tuple(name for name in COMMANDS if name != "crawl again")


def main(arguments: list[str] | None = None) -> list[Figure]:
    """Print the CPU of each command; return the growth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=_THINGS, help="kind of the things")
    parser.add_argument("--things", type=int, help="in the smaller document")
    parser.add_argument("--command", default="", help="those with this in their names")
    options = parser.parse_args(arguments)
    commands = [name for name in AFTER if options.command in name]
    figures = []
    for kind in [options.only] if options.only else _THINGS:
        n = options.things or _THINGS[kind]
        start, few, many = (_run(kind, x, commands) for x in (_FEWEST, n, 2 * n))
        for name in start:
            own = max(0.0, many[name] - start[name] - _NOISE_SECS)
            growth = own / (2 * max(few[name] - start[name], _NOISE_SECS / 2))
            secs = f"{start[name]:.1f} s, {few[name]:.1f} s and {many[name]:.1f} s"
            print(f"{n:,} {kind}, {name}: {secs}", flush=True)
            title = f"{n:,} to {2 * n:,} {kind}, {name}"
            figures.append(Figure(title, growth, "x", _AT_MOST))
    return figures


def _run(kind: str, n_things: int, commands: Sequence[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        return costs_of(Path(name), kind, n_things, commands)


def costs_of(
    folder: Path, kind: str, n_things: int, commands: Sequence[str]
) -> dict[str, float]:
    """Return the CPU seconds of a crawl and of commands after it.

    Args:
        folder: an empty one.
        kind: of the things: one of `MEDIA_TYPES`, or `REDIRECTS`.
        n_things: of the document.
        commands: names in `bench_commands.COMMANDS`.
    """
    with served(lambda port: _documents(kind, n_things, port)) as documents:
        seeds = folder / "seeds.txt"
        seeds.write_text("\n".join(url for url in documents if "/d/" in url))
        costs = {"crawl": crawl(folder, seeds, "-a", "depth=0").cpu_secs}
        url = next(iter(documents))
    for command in commands:
        usage = run_command(folder, command, url)
        if usage.exit_code not in (0, 1):
            raise RuntimeError(f"{command}: {usage}")
        costs[command] = usage.cpu_secs
    return costs


def _documents(kind: str, n_things: int, port: int) -> Documents:
    """Return a document of things, or redirects to one document."""
    url = f"{host(0, port)}/d/doc"
    if kind == REDIRECTS:
        target = f"{host(1, port)}/t".encode()
        moved = {f"{url}{n}": ("", target) for n in range(n_things)}
        return {**moved, target.decode(): ("text/turtle", b"<a> <b> <c> .")}
    body = CONTENTS[kind].make_parts(n_things).replace(URL.encode(), url.encode())
    body = body.replace(b"http://e.example", url[:-6].encode())
    return {url: (MEDIA_TYPES[kind], body)}


if __name__ == "__main__":
    sys.exit(judge(main()))

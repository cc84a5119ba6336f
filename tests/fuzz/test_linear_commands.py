"""Crawls of n things, followers and commands take CPU that grows as n does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.bench.bench_commands import COMMANDS, run_command
from tests.bench.documents.server import host, served
from tests.bench.measured import crawl
from tests.fuzz.contents import CONTENTS, URL

if TYPE_CHECKING:
    from pathlib import Path

    from tests.bench.documents.server import Documents

_CHARS: Final = 200_000  # of a document of few things; the other has eight times more
_FACTOR: Final = 8
_MOST: Final = 20.0  # a square makes it 64
_NOISE_SECS: Final = 2.0
_TYPES: Final = {
    "links": "application/n-quads",
    "blank nodes": "application/n-quads",
    "graphs": "application/n-quads",
    "datasets of DCAT": "text/turtle",
    "sitemaps": "application/xml",
}
_COMMANDS: Final = [name for name in COMMANDS if name != "crawl again"]


def _documents(name: str, n_chars: int, port: int) -> Documents:
    """Return a document of things, or redirects, of a length in all."""
    url = f"{host(0, port)}/d/doc"
    if name == "redirects":
        target = f"{host(1, port)}/t".encode()
        moved = {f"{url}{n}": ("", target) for n in range(n_chars // 200)}
        return {**moved, target.decode(): ("text/turtle", b"<a> <b> <c> .")}
    body = CONTENTS[name].make(n_chars).replace(URL.encode(), url.encode())
    return {url: (_TYPES[name], body.replace(b"http://e.example", url[:-6].encode()))}


def _costs(folder: Path, name: str, n_chars: int) -> dict[str, float]:
    """Return the CPU seconds of a crawl and of each command after it."""
    folder.mkdir()
    with served(lambda port: _documents(name, n_chars, port)) as documents:
        seeds = folder / "seeds.txt"
        seeds.write_text("\n".join(url for url in documents if "/d/" in url))
        costs = {"crawl": crawl(folder, seeds, "-a", "depth=0").cpu_secs}
        url = next(iter(documents))
    for command in _COMMANDS:
        usage = run_command(folder, command, url)
        assert usage.exit_code in (0, 1), command
        costs[command] = usage.cpu_secs
    return costs


@pytest.mark.soak
@pytest.mark.parametrize("name", [*_TYPES, "redirects"])
def test_commands_are_linear(name: str, tmp_path: Path) -> None:
    """If a crawl has eight times as many things, then commands take that longer."""
    start = _costs(tmp_path / "start", name, 400)
    few = _costs(tmp_path / "few", name, _CHARS)
    many = _costs(tmp_path / "many", name, _FACTOR * _CHARS)
    slow = {
        command: (start[command], few[command], many[command])
        for command in start
        if many[command] - start[command]
        > _MOST * max(0.0, few[command] - start[command]) + _NOISE_SECS
    }
    print(name, *((x, start[x], few[x], many[x]) for x in start), sep="\n")
    assert not slow, slow

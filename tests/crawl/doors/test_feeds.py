"""Feeds of RDF: Scrapy users request them with `-O`."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import pytest
import rdflib

from tests.conftest import LOOPBACK_NETS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

N_LARGE = 30_000
# Terms that not every format or reader knows; JSON-LD has no triple terms.
ODD = b"""<urn:x:s> <urn:x:p> "x"@en--ltr .
<urn:x:s> <urn:x:q> <<( <urn:x:a> <urn:x:b> "c" )>> .
<urn:x:s> <urn:x:r> "x"@en-waytoolongsubtag .
"""
FORMATS = ("nq", "nt", "trig", "ttl", "jsonld")
Statement = tuple[str, ...]


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return a site with documents, one of them large, and one that is withheld."""
    lines = "".join(
        f'<urn:x:{n}> <urn:x:p> "é\\"\\u0000{n}"@fr .\n' for n in range(N_LARGE)
    )
    return loopback(
        {
            "/a": loopback.response(b'<> <urn:x:p> "a" , 1, [ <urn:x:q> <#b> ] .'),
            "/b": loopback.response(b'<> <urn:x:p> "b" .'),
            "/large": loopback.response(lines.encode()),
            "/odd": loopback.response(ODD, "application/n-triples"),
            "/closed": loopback.response(b'<> <urn:x:p> "c" .', X_Robots_Tag="noindex"),
        }
    )


@pytest.fixture(scope="module")
def feeds(
    commands: Commands, site: RawServer, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, CrawlResult]:
    """Return the folder of the feeds of a crawl, and the crawl."""
    folder = tmp_path_factory.mktemp("feeds")
    seeds = ",".join(site.url(path) for path in ("/a", "/b", "/large", "/closed"))
    names = [*(f"out.{each}" for each in FORMATS), "out.nq.gz", "out.jl.gz"]
    result = commands.start(
        *("crawl", "linkeddata", f"-aseeds={seeds}", "-afollow=none"),
        *(f"-O{folder / name}" for name in names),
    ).wait()
    assert result.code == 0, result.stderr[-3000:]
    return folder, result


def statements(content: bytes, syntax: ox.RdfFormat, n_terms: int) -> set[Statement]:
    """Return statements as pyoxigraph reads them, without labels of blank nodes."""
    return {
        tuple("_" if isinstance(term, ox.BlankNode) else str(term) for term in quad)[
            :n_terms
        ]
        for quad in ox.parse(content, format=syntax, lenient=True)
    }


def stored(result: CrawlResult, n_terms: int) -> set[Statement]:
    """Return the statements of the store."""
    lines = b"".join(map(result.raw, result.graphs))
    return statements(lines, ox.RdfFormat.N_QUADS, n_terms)


@pytest.mark.in_turn(2, rooms=("pipelines", "stores"))
@pytest.mark.parametrize("name", FORMATS)
def test_feeds_have_the_statements_of_the_store(
    feeds: tuple[Path, CrawlResult], name: str
) -> None:
    """If a feed is in a format of RDF, then it has the statements of the store."""
    folder, result = feeds
    syntax = ox.RdfFormat.from_extension(name)
    assert syntax is not None
    n_terms = 3 if name in ("nt", "ttl") else 4
    content = (folder / f"out.{name}").read_bytes()
    assert statements(content, syntax, n_terms) == stored(result, n_terms)
    assert len(stored(result, 4)) == N_LARGE + 5


def test_feeds_are_read_by_others(feeds: tuple[Path, CrawlResult]) -> None:
    """If rdflib reads Turtle, and a JSON parser JSON-LD, then nothing is missing."""
    folder, _ = feeds
    graph = rdflib.Graph().parse(folder / "out.ttl")
    assert len(graph) == N_LARGE + 5
    objects = json.loads((folder / "out.jsonld").read_text())
    assert len({each["@id"] for each in objects}) == 3


def test_feeds_are_compressed(feeds: tuple[Path, CrawlResult]) -> None:
    """If the name of a feed ends in `.gz`, then it is the same, compressed."""
    folder, _ = feeds
    packed = (folder / "out.nq.gz").read_bytes()
    assert gzip.decompress(packed) == (folder / "out.nq").read_bytes()
    rows = gzip.decompress((folder / "out.jl.gz").read_bytes()).splitlines()
    assert sorted(json.loads(row)["quads"] for row in rows) == [0, 1, 4, N_LARGE]


def test_a_feed_goes_through_a_pipe(site: RawServer, tmp_path: Path) -> None:
    """If a feed is written to a pipe, then the crawl ends, with the statements there.

    A pipe cannot be synchronized with a disk.
    """
    words = ("crawl", "linkeddata", f"-aseeds={site.url('/b')}", "-o", "-:nt")
    given = {
        "CRAWL_DIR": tmp_path,
        "DOWNLOAD_DELAY": 0,
        "GUARD_ALLOW_NETS": LOOPBACK_NETS,
        "CONTACT_REQUIRED": False,
    }
    settings = [f"-s{name}={value}" for name, value in given.items()]
    done = subprocess.run(
        [sys.executable, "-m", "rdfcrawl", *words, *settings],
        capture_output=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout == f'<{site.url("/b")}> <urn:x:p> "b" .\n'.encode()
    assert b"WARNING" not in done.stderr


def test_only_statements_beyond_a_format_are_left_out(
    commands: Commands, site: RawServer, tmp_path: Path
) -> None:
    """If JSON-LD cannot express a statement, the others are written, with a message."""
    result = commands.start(
        *("crawl", "linkeddata", f"-aseeds={site.url('/odd')}", "-afollow=none"),
        *(f"-O{tmp_path}/out.{name}" for name in ("jsonld", "ttl", "gz:nq", "json")),
    ).wait()
    assert result.code == 0, result.stderr[-3000:]
    assert "Traceback" not in result.stderr
    kept = stored(result, 3)
    turtle = (tmp_path / "out.ttl").read_bytes()
    assert statements(turtle, ox.RdfFormat.TURTLE, 3) == kept
    jsonld = (tmp_path / "out.jsonld").read_bytes()
    said = statements(jsonld, ox.RdfFormat.JSON_LD, 3)
    assert {each[1] for each in kept - said} == {"<urn:x:q>"}
    assert "1 statement left out that JSON-LD cannot express" in result.stderr
    packed = gzip.decompress((tmp_path / "out.gz").read_bytes())
    assert statements(packed, ox.RdfFormat.N_QUADS, 3) == kept


def all_statements(paths: Iterable[Path]) -> set[Statement]:
    """Return the statements of several files."""
    content = b"".join(path.read_bytes() for path in paths)
    return statements(content, ox.RdfFormat.N_QUADS, 4)


def test_each_worker_has_a_feed(
    commands: Commands, site: RawServer, tmp_path: Path
) -> None:
    """If several workers crawl, then each writes a file, and all have everything."""
    seeds = ",".join(site.url(path) for path in ("/a", "/b"))
    given: tuple[str, ...] = ("workers", "-n2", "linkeddata", f"-aseeds={seeds}")
    names = ("out-%(worker)s.nq", "documents-%(worker)s.csv", "rows-%(worker)s.jl")
    result = commands.start(*given, *(f"-O{tmp_path}/{name}" for name in names)).wait()
    assert result.code == 0, result.stderr[-3000:]
    assert all_statements(tmp_path.glob("out-[01].nq")) == stored(result, 4)
    read = [
        *(csv.DictReader(io.StringIO(p.read_text())) for p in tmp_path.glob("*.csv")),
        *(map(json.loads, p.read_text().splitlines()) for p in tmp_path.glob("*.jl")),
    ]
    rows = sorted((row["url"], int(row["quads"])) for each in read for row in each)
    assert rows == [(site.url("/a"), 4)] * 2 + [(site.url("/b"), 1)] * 2


def test_one_file_for_several_workers_is_refused(
    commands: Commands, site: RawServer, tmp_path: Path
) -> None:
    """If several workers would write one file, then one line names the solution."""
    given: tuple[Any, ...] = (
        "workers",
        "-n2",
        "linkeddata",
        f"-aseeds={site.url('/a')}",
    )
    result = commands.start(*given, f"-o{tmp_path}/out.nq").wait()
    assert result.code == 2
    assert "put %(worker)s into the name" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("feed", "code", "said"),
    [
        ("-O/dev/full:nq", 1, "the crawl stops: /dev/full: "),  # while it runs
        ("-Oftp://127.0.0.1:1/out.jl", 1, "Error storing jl feed"),  # at its end
        ('-sFEEDS={"out.jl": {"format": "jll"}}', 2, "Unknown feed format: jll"),
    ],
)
def test_a_feed_that_cannot_be_written_changes_the_exit_code(
    commands: Commands, site: RawServer, feed: str, code: int, said: str
) -> None:
    """If rows or a feed cannot be written, then the crawl does not end with 0."""
    given = ("crawl", "linkeddata", f"-aseeds={site.url('/large')}", "-afollow=none")
    result = commands.start(*given, feed).wait()
    assert result.code == code, result.stderr[-3000:]
    assert said in result.stderr


def test_rows_go_behind_a_line_that_was_cut(
    commands: Commands, site: RawServer, tmp_path: Path
) -> None:
    """If the last row of a feed is cut, then those of the next command follow it."""
    feed = tmp_path / "rows.jl"
    feed.write_text('{"url": "http://a.exam', encoding="utf-8")
    given = ("crawl", "linkeddata", f"-aseeds={site.url('/b')}", "-afollow=none")
    result = commands.start(*given, f"-o{feed}").wait()
    assert result.code == 0, result.stderr[-3000:]
    cut, row = feed.read_text(encoding="utf-8").splitlines()
    assert cut == '{"url": "http://a.exam'
    assert json.loads(row)["url"] == site.url("/b")

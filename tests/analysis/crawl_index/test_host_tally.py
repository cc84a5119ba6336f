"""The data of the index about each host."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from rdfcrawl.analysis.crawl_index.building import IndexBuilder
from rdfcrawl.analysis.crawl_index.database import IndexReaders
from rdfcrawl.analysis.crawl_index.hosts import MAX_CHARS, MAX_FETCHES, HostTally
from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.records import DocumentFacts, Kind, Record
from rdfcrawl.core.source_tasks import SitemapTask, SourceTask
from tests.support.described_documents import document
from tests.support.written_provenance import write_provenance

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rdfcrawl.core.records import Document

BEGAN = 1_790_000_000_000


def fetched(url: str, number: int = 0, **facts: Any) -> Document:
    """Return a document that was fetched in 7 ms."""
    started = BEGAN + 1000 * number
    given = {"started_ms": started, "ended_ms": started + 7, **facts}
    return document(record=Record(url=url), **given)


def rows(root: Path, query: str) -> list[Any]:
    """Return the rows of a query after the index was brought up to date."""
    with closing(IndexBuilder(root, [HostTally()])) as builder:
        builder.catch_up()
    readers = IndexReaders(root)
    found = list(map(tuple, readers.rows(query)))
    readers.close()
    return found


def write(root: Path, documents: Iterable[Document], worker: str = "w") -> Path:
    """Write provenance; return the folder."""
    write_provenance(root, documents, worker)
    return root


def test_sums_of_hosts_grow(tmp_path: Path) -> None:
    """If members of several workers are read, then each host has its sums over all."""
    write(tmp_path, [fetched("http://a.example/1"), fetched("http://b.example/")])
    query = "SELECT name, n_documents, n_statements, n_faulty FROM host ORDER BY name"
    assert rows(tmp_path, query) == [("a.example", 1, 9, 0), ("b.example", 1, 9, 0)]
    fault = Fault(Reason.EMPTY)
    bad = fetched("https://a.example:8443/2", 1, n_quads=0, faults=(fault,))
    write(tmp_path, [bad, fetched("ftp://c.example/")], "other")
    assert rows(tmp_path, query) == [
        ("a.example", 2, 9, 1),
        ("b.example", 1, 9, 0),
        ("c.example", 1, 9, 0),
    ]
    assert rows(tmp_path, "SELECT max(last_ms) FROM host") == [(BEGAN + 1007,)]


def test_schemes_of_users_are_hosts_of_their_own(tmp_path: Path) -> None:
    """If a URI is of a user's scheme, then its host is not that of the Web."""
    write(tmp_path, [fetched("s3://bucket/a"), fetched("http://bucket/a")])
    found = rows(tmp_path, "SELECT name FROM host ORDER BY name")
    assert found == [("bucket",), ("s3!bucket",)]


def test_latest_fetches_are_kept(tmp_path: Path) -> None:
    """If a host has many fetches in any order, then the latest are kept."""
    late = [fetched(f"http://a.example/{n}", n) for n in range(MAX_FETCHES, 300)]
    early = [fetched(f"http://a.example/{n}", n) for n in range(MAX_FETCHES)]
    write(tmp_path, late)
    write(tmp_path, [*early, fetched("http://b.example/")], "x")
    query = (
        "SELECT count(*), min(started_ms), max(took_ms) FROM host_fetch"
        " GROUP BY host ORDER BY 1 DESC"
    )
    oldest = BEGAN + 1000 * (300 - MAX_FETCHES)
    assert rows(tmp_path, query) == [(MAX_FETCHES, oldest, 7), (1, BEGAN, 7)]
    assert rows(tmp_path, "SELECT max(n_documents) FROM host") == [(300,)]


def test_faults_have_examples(tmp_path: Path) -> None:
    """If URIs have faults, then each reason is counted, with the latest as example."""
    first = Fault(Reason.SYNTAX, "line 1")
    last = Fault(Reason.SYNTAX, 'line 2: "<x>\n')
    refused = Fault(Reason.ROBOTS_DISALLOWED)
    write(
        tmp_path,
        [
            fetched("http://a.example/1", 1, faults=(first,)),
            fetched("http://a.example/2", 2, faults=(last, refused)),
            fetched(f"http://a.example/{'x' * 2000}", 3, faults=(refused,)),
            document(
                record=Record(url="http://a.example/3"),
                started_ms=0,
                ended_ms=0,
                status=0,
                format=None,
                n_quads=0,
                faults=(refused,),
            ),
        ],
    )
    found = rows(
        tmp_path, "SELECT reason, n, uri, detail FROM host_fault ORDER BY reason DESC"
    )
    assert found == [
        ("syntax", 2, "http://a.example/2", last.detail),
        ("robots_disallowed", 2, "http://a.example/3", ""),
    ]
    assert rows(tmp_path, "SELECT n_documents, n_faulty FROM host") == [(3, 4)]
    assert rows(tmp_path, "SELECT max(length(uri)) FROM host_fetch") == [(MAX_CHARS,)]


def test_sitemaps_of_a_host_are_known(tmp_path: Path) -> None:
    """If a sitemap was read, then its host has its URL, origin and format."""
    source = SourceTask(run=0, payload=SitemapTask(is_guess=True))
    record = Record(url="http://a.example/sitemap.xml", kind=Kind.SITEMAP, task=source)
    facts = DocumentFacts(sitemap_format="xml")
    write(tmp_path, [document(record=record, facts=facts)])
    found = rows(tmp_path, "SELECT uri, kind, found_by FROM host_source")
    assert found == [("http://a.example/sitemap.xml", "sitemap xml", "guess")]

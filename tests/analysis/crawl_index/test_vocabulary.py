"""Classes, properties and vocabularies in the index of a crawl."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.analysis.crawl_index import vocabulary
from rdfcrawl.analysis.crawl_index.database import IndexDatabase
from rdfcrawl.analysis.crawl_index.hosts import HostLinkTally
from rdfcrawl.analysis.crawl_index.members import LogMember
from rdfcrawl.analysis.crawl_index.vocabulary import VocabularyTally
from rdfcrawl.core.namespaces import RDF_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TERMS = "SELECT kind, term, n FROM vocabulary ORDER BY kind, n DESC, term"
SAMPLES = "SELECT subject, value, document FROM vocabulary_sample WHERE term = ?"
SPACES = """
SELECT web.host, v.space, n FROM host_vocabulary AS h
JOIN web_host AS web ON web.id = h.host
JOIN vocabulary_space AS v ON v.id = h.space ORDER BY 1, 3 DESC
"""


@pytest.fixture
def index(tmp_path: Path) -> Iterator[IndexDatabase]:
    """Return an empty index."""
    schemas = [VocabularyTally.schema, HostLinkTally.schema]
    with closing(IndexDatabase.open(tmp_path, schemas=schemas, is_read=False)) as found:
        yield found


def document(host: str, number: int, *pairs: tuple[str, str]) -> bytes:
    """Return a document of a log."""
    graph = f"<http://{host}/{number}>"
    lines = [f"#\tdocument {graph} {number}"]
    lines += [f"{graph} <{predicate}> {value} {graph} ." for predicate, value in pairs]
    return "".join(f"{line}\n" for line in lines).encode()


def take(index: IndexDatabase, *documents: bytes, mark: bytes = b"") -> None:
    """Read a member."""
    content = b"".join(documents)
    member = LogMember("quads", "w-0.nq.gz", 0, 1, content, mark)
    VocabularyTally().take(index.connection, member)


def test_statements_are_counted_by_term(index: IndexDatabase) -> None:
    """If documents have classes and properties, then each counts, in all of them."""
    for first in (0, 2):
        take(
            index,
            *(
                document(
                    "e.example",
                    first + n,
                    (RDF_TYPE, "<http://v.example/T>"),
                    ("http://v.example/p", '"a <b> <c> \\" text"'),
                    ("http://v.example/p", '"another"@en'),
                )
                for n in range(2)
            ),
        )
    assert index.rows(TERMS) == [
        ("class", "http://v.example/T", 4),
        ("predicate", "http://v.example/p", 8),
        ("predicate", RDF_TYPE, 4),
    ]
    samples = index.rows(SAMPLES, ("http://v.example/T",))
    assert [row[2] for row in samples] == [f"http://e.example/{n}" for n in range(3)]
    values = {row[1] for row in index.rows(SAMPLES, ("http://v.example/p",))}
    assert values == {'"a <b> <c> \\" text"'}
    assert index.rows(SPACES) == [("e.example", "http://v.example/", 12)]


def test_pieces_of_a_document_have_its_host(index: IndexDatabase) -> None:
    """If a piece begins within a document, then its terms are those of its host."""
    first = document("e.example", 1, ("http://v.example/p", '"a"'))
    mark, _, rest = first.partition(b"\n")
    take(index, rest, mark=mark + b"\n")
    assert index.rows(SPACES) == [("e.example", "http://v.example/", 1)]
    assert index.rows(SAMPLES, ("http://v.example/p",))


def test_terms_beyond_the_first_count_together(
    index: IndexDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If there are too many properties, then further ones count as one."""
    monkeypatch.setattr(vocabulary, "MOST_TERMS", 2)
    for names in ("ab", "bcd", "d"):
        pairs = [(f"http://v.example/{name}", '"1"') for name in names]
        take(index, document("e.example", 1, *pairs))
    assert index.rows(TERMS) == [
        ("predicate", "", 3),
        ("predicate", "http://v.example/b", 2),
        ("predicate", "http://v.example/a", 1),
    ]
    assert not index.rows(SAMPLES, ("",))


def test_vocabularies_of_a_host_are_limited(index: IndexDatabase) -> None:
    """If a host uses very many vocabularies, then the first ones are kept."""
    pairs = [(f"http://{n}.example/p", '"1"') for n in range(100)]
    take(index, document("e.example", 1, *pairs))
    take(index, document("e.example", 2, ("http://late.example/p", '"1"')))
    assert len(index.rows(SPACES)) == 8

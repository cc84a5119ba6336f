"""Which hash documents are compared by."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from redis.exceptions import RedisError

from rdfcrawl.core.errors import Fault, Reason
from rdfcrawl.core.formats import HTML, TURTLE
from rdfcrawl.core.namespaces import PROV, RC, SQUIRREL, XSD
from rdfcrawl.core.records import (
    Document,
    DocumentFacts,
    FetchedResponse,
    Kind,
    ReadResult,
    Record,
)
from rdfcrawl.pipelines.account import SameContents, compared_hash
from rdfcrawl.rdf.fingerprints import content_hash
from rdfcrawl.stores.provenance.blocks import (
    ActivityBlock,
    decode_block,
    encode_block,
)
from rdfcrawl.stores.provenance.records import SameContent, WorkerAgent
from rdfcrawl.stores.provenance.statements import GRAPH, iter_statements
from tests.support.described_documents import activity_iri

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfcrawl.frontier.queue.tables import FetchedContent

FACTS = DocumentFacts("c" * 32, "f" * 32, "sketch")
AGENT = WorkerAgent("w", "c")
LOSS = [Fault(Reason.BAD_TERM)]


def document(
    facts: DocumentFacts = FACTS, *, kind: Kind = Kind.PAGE, is_page: bool = False
) -> Document:
    """Return a document that was read."""
    record = Record("http://a.example/", kind)
    reading = ReadResult(format=HTML if is_page else TURTLE)
    return Document(record=record, url=record.url, facts=facts, reading=reading)


@pytest.mark.parametrize(
    ("given", "compared"),
    [
        (document(), "f"),
        (document(kind=Kind.DUMP), "f"),
        (document(is_page=True), "c"),
        (document(FACTS._replace(text_hash="", sketch="")), "c"),
        (document(FACTS._replace(sketch="")), "c"),
        (document(FACTS._replace(content_hash=content_hash(b""))), ""),
        (document(FACTS._replace(content_hash="")), ""),
        (document(kind=Kind.SITEMAP), ""),
    ],
    ids=["data", "dump", "page", "large", "nothing", "empty", "part", "source"],
)
def test_documents_are_compared_by_what_they_say(
    given: Document, compared: str
) -> None:
    """If data was read, then its statements are compared; of all else, the bytes."""
    assert compared_hash(given)[:1] == compared


def test_documents_with_losses_are_compared_by_their_bytes() -> None:
    """If a statement could not be read, then the bytes of the document count."""
    given = document()
    given.faults += LOSS
    assert compared_hash(given) == FACTS.content_hash


async def refuse(contents: Sequence[FetchedContent], most: int) -> list[str]:
    """Answer as a server that is full, or gone."""
    raise RedisError(f"{len(contents)} of {most}")


@pytest.mark.parametrize("most", [0, 10])
async def test_documents_that_cannot_be_compared_are_written(most: int) -> None:
    """If Redis cannot compare contents, or is not to, then nothing is said of them."""
    same = SameContents(refuse, most)
    same.note(document())
    assert await same.compare() == []


async def test_a_document_is_not_the_same_as_itself() -> None:
    """If the first URL of a content is that of the document, then nothing is said."""
    asked: list[FetchedContent] = []

    async def first(contents: Sequence[FetchedContent], most: int) -> list[str]:
        asked.extend(contents)
        assert most == 10
        return ["http://a.example/"] * len(contents)

    same = SameContents(first, 10)
    fetched = FetchedResponse(requested=("http://a.example/",), started_ms=1000)
    given = replace(document(), response=fetched)
    same.note(given)
    mirror = replace(given, url="http://b.example/")
    same.note(mirror)
    activity = activity_iri(given, AGENT)
    start = "1970-01-01T00:00:01.000Z"
    quads = "".join(
        f"<{activity}> <{predicate}> {term} <{GRAPH}> .\n"
        for predicate, term in (
            (f"{SQUIRREL}crawled", "<http://a.example/>"),
            (f"{PROV}startedAtTime", f'"{start}"^^<{XSD}dateTime>'),
            (f"{RC}sameContentAs", "<http://a.example/>"),
        )
    )
    found = await same.compare()
    assert found == [SameContent("http://a.example/", 1000, "http://a.example/")]
    block = decode_block(encode_block(ActivityBlock(AGENT, same=found)))
    assert b"".join(iter_statements([block])) == quads.encode()
    assert await same.compare() == []
    assert {content for content, _ in asked} == {FACTS.text_hash}
    assert len(asked) == 2

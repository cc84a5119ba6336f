"""Long documents: packed, and looked through for links, by who reads them."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.core.content import NO_LINKS, DeflatePiece, FoundLinks, QuadChunk
from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.extraction.messages import (
    BulkOutput,
    ReadingJob,
    decode_chunk,
    encode_chunk,
)
from rdfcrawl.rdf.extraction.sandbox import Sandbox
from rdfcrawl.rdf.links.policy import LinkPolicy
from rdfcrawl.stores.nquads import NQuadsStore, document_mark
from rdfcrawl.stores.segment_file import iter_members, list_segments

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from rdfcrawl.core.records import Document
    from rdfcrawl.rdf.extraction.sandbox import SandboxedReading
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

URL = "http://e.example/doc"
FOLLOW = LinkPolicy.parse("all")
N_LONG = 12_000  # statements: more than are gathered with those of other documents
TELLING = (
    "<http://e.example/d> <http://rdfs.org/ns/void#dataDump> <http://e.example/x> ."
)


def lines(n: int = N_LONG) -> list[str]:
    """Return N-Triples of odd kinds, some to be written in another way, some bad."""
    odd = {
        3: "# a comment",
        5: "",
        7: "<http://s.example/bad> <not an IRI> 'x' .",
        11: '<urn:s> <urn:p> "tab\\tand \\u00e9" .\r',
        13: "_:b1 <urn:p> _:b2 .",
        17: "<urn:s> <urn:p> <http://other.example/a#f> .",
        19: "<urn:s> <urn:p> <<( <http://t.example/> <urn:p> 'x' )>> .",
    }
    plain = '<http://e.example/{}> <urn:p> "text of usual length {}"@en .'
    return [odd.get(i % 23) or plain.format(i // 5, i) for i in range(n)]


async def stored(store: NQuadsStore, document: SandboxedReading) -> list[QuadChunk]:
    """Store the chunks of a document, and return them."""
    await store.open()
    writer = await store.begin(URL, 1)
    chunks = []
    async for chunk in document:
        chunks.append(chunk)
        await writer.write(chunk)
    await writer.end()
    await store.close()
    return chunks


def content_of(folder: Path) -> bytes:
    """Return the content of the segments of a folder."""
    return b"".join(gzip.decompress(x.read_bytes()) for x in list_segments(folder))


def bulk_job(media_type: str) -> ReadingJob:
    """Return the job for a document that is packed by the child."""
    bulk = BulkOutput(follow=FOLLOW, wants_links=True)
    return ReadingJob(url=URL, graph=URL, media_type=media_type, bulk=bulk)


def links_of(chunks: list[QuadChunk]) -> set[bytes]:
    """Return the links of all chunks, those found by the child and those not yet."""
    links: set[bytes] = set()
    for chunk in chunks:
        if chunk.links is None:
            links |= FOLLOW.scan(chunk.lines)
        else:
            of_host, host, n_of_host, others = chunk.links
            assert all(link.startswith(host) for link in of_host.split())
            assert n_of_host == len(of_host.split())
            links |= {*of_host.split(), *others.split()}
    return links


@pytest.mark.parametrize(
    ("media_type", "n"),
    [
        ("application/n-triples", 10),
        ("application/n-triples", N_LONG),
        ("text/turtle", N_LONG),
    ],
    ids=["short", "long", "Turtle"],
)
async def test_child_packs_what_it_would_give(
    tmp_path: Path, media_type: str, n: int
) -> None:
    """If a child packs a document, then store and links are as if it did not."""
    path, quads = tmp_path / "dump", tmp_path / "quads"
    path.write_text("\n".join(lines(n)))
    store = NQuadsStore(quads, "w")
    async with Sandbox() as sandbox:
        job = ReadingJob(url=URL, graph=URL, media_type=media_type)
        plain = await sandbox.read(path, job)
        expected = b"".join([chunk.lines async for chunk in plain])
        document = await sandbox.read(path, bulk_job(media_type))
        chunks = await stored(store, document)
    assert content_of(quads) == document_mark(URL, 1) + expected
    assert document.outcome.n_quads == plain.outcome.n_quads == expected.count(b"\n")
    assert document.outcome.faults == plain.outcome.faults
    assert links_of(chunks) == FOLLOW.scan(expected)
    assert any(chunk.packed for chunk in chunks) == (n == N_LONG)
    assert b"".join(chunk.lines for chunk in chunks) == expected
    assert sum(chunk.n_quads for chunk in chunks) == plain.outcome.n_quads


@pytest.mark.parametrize("at", [0, 9_000], ids=["first", "later"])
async def test_chunks_are_marked_where_they_tell_of_data(
    tmp_path: Path, at: int
) -> None:
    """If statements describe data elsewhere, then their chunk is marked."""
    path = tmp_path / "dump.nt"
    given = [*lines(at), TELLING, *lines(15_000)]
    path.write_text("\n".join(given))
    job = bulk_job("application/n-triples")
    async with Sandbox() as sandbox:
        chunks = [chunk async for chunk in await sandbox.read(path, job)]
    tells = [b"void#dataDump" in chunk.lines for chunk in chunks]
    assert sum(tells) == 1
    assert chunks[tells.index(True)].is_describing
    assert sum(not chunk.is_describing for chunk in chunks) >= len(chunks) - 3


async def test_crash_keeps_what_was_packed(tmp_path: Path) -> None:
    """If the child dies, then the parts packed before are stored completely."""
    path = tmp_path / "deep.ttl"
    nested = b"<http://a> <http://b> " + b"<<( <http://a> <http://b> " * 200_000
    good = b"".join(b"<http://a/%d> <http://b> %d .\n" % (i, i) for i in range(20_000))
    path.write_bytes(good + nested + b"<http://c>" + b" )>>" * 200_000 + b" .\n")
    store = NQuadsStore(tmp_path / "quads", "w")
    async with Sandbox() as sandbox:
        document = await sandbox.read(path, bulk_job("text/turtle"))
        await stored(store, document)
    content = content_of(tmp_path / "quads")
    assert [fault.reason for fault in document.outcome.faults] == [Reason.PARSE_CRASH]
    assert document.outcome.n_quads == content.count(b"\n") - 1 > 10_000
    [segment] = list_segments(tmp_path / "quads")
    with segment.open("rb") as file:
        members = list(iter_members(file.fileno(), segment.stat().st_size))
    assert sum(member.n_bytes for member in members) == segment.stat().st_size


@given(
    st.sets(st.sampled_from([b"http://a/", b"http://a/1", b"http://a", b"http://ab/"])),
    st.sampled_from([b"", b"http://a/", b"http://c/"]),
)
def test_links_are_sorted_by_host(links: set[bytes], host: bytes) -> None:
    """If links are sorted by host, then none is lost and none is in the wrong place."""
    piece = DeflatePiece(b"packed", 7, 9, bytes(range(32)))
    given = QuadChunk(b"", 3, FoundLinks.sort(links, host), piece, is_describing=False)
    chunk = decode_chunk(encode_chunk(given))
    assert (chunk.packed, chunk.n_quads, chunk.is_describing) == (piece, 3, False)
    found = chunk.links or NO_LINKS
    of_host, others = set(found.of_host.split()), set(found.others.split())
    assert of_host | others == links
    assert of_host == ({x for x in links if x.startswith(host)} if host else set())
    assert found.n_of_host == len(of_host)


class ChunkCounter:
    """Pipeline of a user that wraps the chunks of documents, and looks into some."""

    def process_item(self, item: Document) -> Document:
        """Wrap the chunks."""
        if item.chunks is not None and item.url.endswith("/dump.nt"):
            item.chunks = self._counted(item.chunks, item)
        return item

    async def _counted(
        self, chunks: AsyncIterator[QuadChunk], item: Document
    ) -> AsyncIterator[QuadChunk]:
        packed = 0
        async for chunk in chunks:
            packed += chunk.packed is not None
            if packed == 1:
                assert chunk.lines.count(b"\n") == chunk.n_quads
            yield chunk
        yield QuadChunk(
            b'<urn:s> <urn:p> "%d packed" <%s> .\n' % (packed, item.url.encode())
        )


def test_long_dump_is_stored_and_followed(
    commands: Commands, loopback: Loopback
) -> None:
    """If a dump is long and a user's pipeline wraps it, then it is stored as packed."""
    server = loopback(host="127.0.91.1")
    far = loopback(host="127.0.91.2")
    page, dump = server.url("/page"), server.url("/other.nt")
    given = lines()
    given[9_000:9_000] = [
        f"<urn:s> <urn:p> <{far.url('/page')}> .",
        f"<urn:s> <urn:p> <{page}> .",
        f"<{server.url('/set')}> <http://rdfs.org/ns/void#dataDump> <{dump}> .",
    ]
    for path, text in {
        "/dump.nt": "\n".join(given),
        "/page": "<urn:s> <urn:p> <urn:o> .",
        "/other.nt": "<urn:s> <urn:p> <urn:o> .",
    }.items():
        server.pages[path] = loopback.response(text.encode(), "application/n-triples")
    result = commands.crawl(
        [server.url("/dump.nt")],
        arguments={"scope": "host"},
        ITEM_PIPELINES=json.dumps({f"{__name__}.ChunkCounter": 450}),
    )
    assert result.code == 0, result.stderr
    assert {"/dump.nt", "/page", "/other.nt"} <= set(server.targets)
    assert far.targets == []
    texts = [x for _, _, x in result.about(server.url("/dump.nt")) if "usual" in x]
    assert len(texts) == sum("usual" in line for line in lines())
    [found] = [x for _, _, x in result.about(server.url("/dump.nt")) if "packed" in x]
    assert int(found.split()[0].strip('"')) >= 3

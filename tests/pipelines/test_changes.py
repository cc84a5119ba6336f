"""Digests of statements: equal for equal documents, packed or not."""

from __future__ import annotations

from rdfcrawl.core.content import QuadChunk
from rdfcrawl.pipelines.changes import StatementsDigest
from rdfcrawl.rdf.extraction.child import BulkPacker
from rdfcrawl.rdf.extraction.messages import BulkOutput, decode_chunk, encode_chunk
from rdfcrawl.rdf.links.policy import LinkPolicy
from rdfcrawl.rdf.output import quad_chunks

LINE = b'<urn:x:s> <urn:x:p> "%07d" <http://a.example/> .\n'
N_LINES = 60_000  # three megabytes


def digests(lines: bytes, *, is_packed: bool) -> tuple[str, str]:
    """Return both digests of a document, and check that packed chunks stay packed."""
    packer = BulkPacker(BulkOutput(follow=LinkPolicy(), wants_links=False))
    found = StatementsDigest()
    n_packed = 0
    for chunk in quad_chunks(lines):
        given = packer.chunk(chunk) if is_packed else QuadChunk(chunk)
        if given.packed is not None:
            given = decode_chunk(encode_chunk(given))
            n_packed += 1
        found.add(given)
    assert bool(n_packed) == is_packed
    return found.stored(), found.compared("http://a.example/")


def test_digests_of_a_large_document() -> None:
    """If one statement of a large document differs, then its digests do, packed or not.

    Otherwise they are equal, whichever process has packed it.
    """
    lines = b"".join(LINE % n for n in range(N_LINES))
    other = lines.replace(b"0059000", b"0059001")
    assert digests(lines, is_packed=True) == digests(lines, is_packed=False)
    assert not set(digests(lines, is_packed=True)) & set(digests(other, is_packed=True))

"""HTTP messages as they were received: heads, frames of bodies, secrets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.downloader.warc.http_messages import BodyFrame, find_head, redacted
from tests.support.cpu_time import takes_at_most

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"


@pytest.mark.parametrize(
    ("received", "body", "is_complete"),
    [
        (HEAD + b"abc", b"abc", True),
        (HEAD + b"ab", b"ab", False),
        (HEAD + b"abcHTTP/1.1 408 late", b"abc", True),
        (b"HTTP/1.0 200\r\n\r\nabc", b"abc", True),
        (b"HTTP/1.1 100 C\r\n\r\n" + HEAD + b"abc", b"abc", True),
        (b"HTTP/1.1 304 N\r\nContent-Length: 3\r\n\r\nabc", b"", True),
        (b"HTTP/1.1 200 O\nTransfer-Encoding: chunked\n\n1;x\na\n0\n\n", b"a", True),
        (b"HTTP/1.1 200\r\ntransfer-encoding:gzip, Chunked\r\n\r\n2\r\na", b"a", False),
        (b"HTTP/1.1 200 O\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\na", b"", False),
        (b"HTTP/1.1 200 O\r\nTransfer-Encoding: chunked\r\n\r\n", b"", False),
    ],
)  # fmt: skip
def test_body_ends_where_its_frame_does(
    received: bytes, body: bytes, *, is_complete: bool
) -> None:
    """If a body has a length or chunks, then it ends there, and is complete."""
    head = find_head(received)
    assert head is not None
    frame = head.frame()
    assert b"".join(frame.pieces([received[head.end :]])) == body
    assert frame.is_complete is is_complete


@pytest.mark.parametrize(
    "received", [b"", b"HTTP/1.1 200 OK\r\nA: b\r\n", b"\x15\x03\r\n\r\n"]
)
def test_no_head_is_none(received: bytes) -> None:
    """If a head is incomplete, then there is none."""
    assert find_head(received) is None


@given(chunks=st.lists(st.binary(min_size=1)), cuts=st.lists(st.integers(1, 9)))
def test_chunks_may_come_in_any_pieces(chunks: list[bytes], cuts: list[int]) -> None:
    """If chunks are received in other pieces, then the body is the same."""
    sent = b"".join(b"%x\r\n%s\r\n" % (len(c), c) for c in chunks) + b"0\r\n\r\n"
    pieces = []
    for cut in cuts:
        pieces.append(sent[:cut])
        sent = sent[cut:]
    frame = BodyFrame(is_chunked=True)
    assert b"".join(frame.pieces(filter(None, [*pieces, sent]))) == b"".join(chunks)
    assert frame.is_complete


def test_tiny_chunks_cost_what_they_weigh() -> None:
    """If a body has very many chunks, then time grows with their number."""
    sent = b"1\r\nx\r\n" * 200_000 + b"0\r\n\r\n"
    frame = BodyFrame(is_chunked=True)
    with takes_at_most(5):
        assert sum(map(len, frame.pieces([sent]))) == 200_000


def test_hostile_lengths_are_not_known() -> None:
    """If a length has very many digits or blanks, then it costs little time."""
    blanks = b" " * 30_000
    sent = b"HTTP/1.1 200 O\r\nTransfer-Encoding: a%sb\r\nContent-Length:%s3%s\r\n\r\n"
    with takes_at_most(5):
        for received in (
            b"HTTP/1.1 200 O\r\nContent-Length: %s\r\n\r\n" % (b"9" * 5000),
            sent % (blanks, blanks, blanks),
        ):
            head = find_head(received)
            assert head is not None
            assert not head.frame().has_end
    head = find_head((sent % (b"", b" ", b" \t")).replace(b"Transfer-", b"X-"))
    assert head is not None
    assert head.frame().length == 3


def test_values_of_secret_headers_are_left_out() -> None:
    """If a header is secret, then its value is gone, and others are as they were."""
    head = (
        b"GET /?a=Cookie: HTTP/1.1\r\nHost: h\r\nauthorization:Basic x\r\n"
        b"X-Cookie: y\r\nCOOKIE: a; b\r\n\r\n"
    )
    assert redacted(head, ("Cookie", "Authorization")) == (
        b"GET /?a=Cookie: HTTP/1.1\r\nHost: h\r\nauthorization: redacted\r\n"
        b"X-Cookie: y\r\nCOOKIE: redacted\r\n\r\n"
    )

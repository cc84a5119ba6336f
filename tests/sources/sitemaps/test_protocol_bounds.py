"""Damaged and hostile sitemaps: cut, endless, or grown by entities."""

from __future__ import annotations

import io
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.sources.sitemaps.entry import (
    SitemapEntry,
    SitemapLimits,
)
from rdfcrawl.sources.sitemaps.markup import MarkupLimits
from rdfcrawl.sources.sitemaps.protocol import Sitemap
from rdfcrawl.sources.sitemaps.semantic import SitemapDataset
from tests.support.examples import examples
from tests.support.read_sitemaps import FULL, URL, read, urls


def test_cut_at_every_byte() -> None:
    """If a sitemap ends anywhere, then its URLs are among those of the full one."""
    body = FULL.encode()
    whole = urls(body)
    for at in range(len(body)):
        found = urls(body[:at])
        assert found == whole[: len(found)], at
    lines = b"http://e/a\nhttp://e/bcd\n"
    log = FaultLog()
    limits = SitemapLimits(markup=MarkupLimits(n_bytes=20))
    items = list(Sitemap(lines, url=URL, log=log, limits=limits))
    assert [x.url for x in items if isinstance(x, SitemapEntry)] == ["http://e/a"]
    assert log.count(Reason.TOO_LARGE) == 1


@pytest.mark.parametrize("part", ["<", "< ", "<a<", "</", "<!", '<a "'])
def test_what_is_no_tag_is_read_within_a_bound(part: str) -> None:
    """If a document is mostly `<`, then its rest is left out, and that is a fault."""
    limits = SitemapLimits(markup=MarkupLimits(n_strays=1000))
    body = f"<urlset><url><loc>http://e/1</loc></url>{part * 50_000}"
    entries, sitemap, faults = read(body, limits)
    assert [entry.url for entry in entries] == ["http://e/1"]
    assert faults[Reason.PARSE_SECS] == 1
    assert faults[Reason.SYNTAX] <= 1001
    assert sitemap.is_cut


def test_time_of_the_tokenizer_is_bounded() -> None:
    """If a document takes too long, then its entries so far are kept, with a fault."""
    limits = SitemapLimits(markup=MarkupLimits(parse_secs=0.01))
    body = f"<urlset><url><loc>http://e/1</loc></url>{'<loc>' * 500_000}"
    entries, sitemap, faults = read(body, limits)
    assert [entry.url for entry in entries][:1] == ["http://e/1"]
    assert faults[Reason.PARSE_SECS] == 1
    assert sitemap.is_cut


def test_bombs_do_not_go_off() -> None:
    """If entities grow, then the URL that they stand in is not made of them."""
    levels = "".join(f"<!ENTITY e{n + 1} '{f'&e{n};' * 10}'>" for n in range(9))
    entries, _, faults = read(
        f"<!DOCTYPE u [<!ENTITY e0 'x'>{levels}]><urlset><url><loc>http://e/&e9;</loc>"
        "</url></urlset>"
    )
    assert [x.url for x in entries] == ["http://e/&e9;"]
    assert Reason.ENTITY_EXPANSION in faults


def test_very_many_entries_in_flat_memory() -> None:
    """If a sitemap has 20,000 entries, then they pass by without being held."""
    entry = b"<url><loc>http://e/%07d</loc></url>\n"
    blocks = (
        b"".join(entry % n for n in range(at, at + 1000))
        for at in range(0, 20_000, 1000)
    )
    rest = b"<urlset>"

    class Many(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            nonlocal rest
            rest = rest or next(blocks, b"")
            n_bytes = min(len(rest), len(buffer))
            buffer[:n_bytes], rest = rest[:n_bytes], rest[n_bytes:]
            return n_bytes

    log = FaultLog()
    limits = SitemapLimits(markup=MarkupLimits(n_bytes=2**30), n_entries=10**6)
    source = ByteSource(reopen=lambda: io.BufferedReader(Many(), 2**16))
    sitemap = Sitemap(source, url=URL, log=log, limits=limits)
    peak = n = 0
    for n, _ in enumerate(sitemap, start=1):
        if n == 5_000:  # tracing is slow: all that grows has grown by then
            tracemalloc.start()
        elif n == 10_000:
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
    assert n == 20_000
    assert peak < 4 * 2**20
    assert log.count(Reason.INCOMPLETE) == 1


@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_damaged_sitemaps(data: st.DataObject) -> None:
    """If bytes of a sitemap are changed, then there are only faults."""
    body = bytearray(FULL.encode())
    for _ in range(data.draw(st.integers(1, 12))):
        at = data.draw(st.integers(0, len(body) - 1))
        n_bytes = data.draw(st.integers(0, 5))
        body[at : at + n_bytes] = data.draw(st.binary(max_size=5))
    log = FaultLog()
    items = Sitemap(bytes(body), url=URL, log=log)
    for item in items:
        assert isinstance(item, SitemapEntry | SitemapDataset)
        if isinstance(item, SitemapEntry):
            assert item.url.isascii()
            assert item.url.startswith(("http", "ftp"))

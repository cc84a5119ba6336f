"""Segments of the provenance that were damaged on the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfcrawl.stores.log.crawl_log import CrawlLog, iter_activities
from rdfcrawl.stores.segment_file import list_segments, pack_member
from tests.support.url_events import UrlFetched, write_events

if TYPE_CHECKING:
    from pathlib import Path

FETCHED = [UrlFetched(f"http://a.example/{n}", 1_790_000_000_000 + n) for n in range(3)]


def test_damage_costs_its_member_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """If a segment is damaged, then only that part is lost, and a warning names it."""
    write_events(tmp_path, FETCHED, "a")
    write_events(tmp_path, FETCHED[:1], "b")
    (damaged,) = (tmp_path / "provenance").glob("a*")
    octets = bytearray(damaged.read_bytes())
    at = octets.index(b"\x1f\x8b", octets.index(b"\x1f\x8b", 2) + 2)  # the third
    octets[at - 12] ^= 0xFF  # within the second
    damaged.write_bytes(octets)
    found = [each.url for each in iter_activities(tmp_path / "provenance")]
    assert found == [f"http://a.example/{n}" for n in (0, 2, 0)]
    (record,) = caplog.records
    assert damaged.name in record.getMessage()


@pytest.mark.parametrize(
    "line", [b"[]\n", b'{"worker": ["a"], "n": 1e99}\n', b"[" * 9999]
)
def test_line_that_is_no_block_costs_its_member_alone(
    tmp_path: Path, line: bytes
) -> None:
    """If a line is no block, then stores get the other members, and it is reported."""
    write_events(tmp_path, FETCHED, "a")
    (segment,) = list_segments(tmp_path / "provenance")
    octets = segment.read_bytes()
    segment.write_bytes(pack_member(line) + octets)
    log = CrawlLog(tmp_path)
    batches = list(log.read(log.begin()))
    found = b"".join(piece for batch in batches for piece in batch.provenance())
    assert all(f"<{each.url}>".encode() in found for each in FETCHED)
    assert [each.n_bytes for each in log.damages] == [len(pack_member(line))]

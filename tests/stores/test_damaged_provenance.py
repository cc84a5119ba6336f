"""Segments of the provenance that were damaged on the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.stores.provenance.reading import iter_activities
from tests.support.url_events import UrlFetched, write_events

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

FETCHED = [UrlFetched(f"http://a.example/{n}", 1_790_000_000_000 + n) for n in range(3)]


def test_damage_costs_the_rest_of_its_segment_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """If a segment is damaged, then only its rest is lost, and a warning names it."""
    write_events(tmp_path, FETCHED, "a")
    write_events(tmp_path, FETCHED[:1], "b")
    (damaged,) = (tmp_path / "provenance").glob("a*")
    octets = bytearray(damaged.read_bytes())
    at = octets.index(b"\x1f\x8b", octets.index(b"\x1f\x8b", 2) + 2)  # the third
    octets[at - 12] ^= 0xFF  # within the second
    damaged.write_bytes(octets)
    found = [each.url for each in iter_activities(tmp_path / "provenance")]
    assert sorted(found) == ["http://a.example/0", "http://a.example/0"]
    (record,) = caplog.records
    assert damaged.name in record.getMessage()

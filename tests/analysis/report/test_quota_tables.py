"""The section of a report about the quotas of registered domains."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.analysis.report.log_tables import iter_quota_entries, quota_section

if TYPE_CHECKING:
    from pathlib import Path


def entry(domain: str, number: int, sitemaps: int, links: int, **other: Any) -> str:
    """Return a line of the log, of an epoch that ends at a second of its number."""
    values = {
        "epoch": number,
        "began_ms": number * 1000 - 500,
        "ended_ms": number * 1000,
        "sitemaps": sitemaps,
        "links": links,
        "further": 0,
        "carried": 0,
        "domain": domain,
        "quota": 10,
        "share": number / 100,
        "utility_sitemaps": 0.25,
        "utility_links": 0.75,
    }
    return json.dumps(values | other) + "\n"


def test_epochs_of_all_workers_are_added_up(tmp_path: Path) -> None:
    """If several workers have logged epochs, then each domain has a row of its own.

    What a killed worker has torn is passed over, and what is no entry. What two have
    logged, as one was killed, counts once.
    """
    lines = entry("a.example", 1, 6, 4), entry("b.example", 7, 1, 2, further=7)
    (tmp_path / "w1.jsonl").write_text("".join(lines))
    torn = entry("a.example", 3, 9, 1)[:50] + "\n[1]\n{}\n"
    worse = entry("a.example", 4, 9, 1, further="many")
    text = torn + worse + entry("a.example", 2, 5, 5) + lines[0]
    (tmp_path / "w2.jsonl").write_text(text)
    section = quota_section(iter_quota_entries(tmp_path))
    assert section is not None
    (table,) = section.items
    assert table.rows == (  # type: ignore[union-attr]
        (
            *("a.example", 2, MeasuredRatio(11, 20), MeasuredRatio(9, 20)),
            *(MeasuredRatio(0, 20), 0.02, 0.25, 0.75),
        ),
        (
            *("b.example", 1, MeasuredRatio(1, 10), MeasuredRatio(2, 10)),
            *(MeasuredRatio(7, 10), 0.07, 0.25, 0.75),
        ),
    )


def test_site_and_begin_choose_epochs(tmp_path: Path) -> None:
    """If a site or a time is given, then all others are omitted."""
    (tmp_path / "w.jsonl").write_text(entry("a.example", 1, 6, 4))
    assert quota_section(iter_quota_entries(tmp_path), "a.example") is not None
    assert quota_section(iter_quota_entries(tmp_path), "b.example") is None
    assert quota_section(iter_quota_entries(tmp_path), begin_ms=1001) is None
    assert quota_section(iter_quota_entries(tmp_path / "none")) is None

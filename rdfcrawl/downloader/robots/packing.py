"""The rules of an origin as bytes, for the shared cache of a crawl.

Only the records for this crawler are packed, not the text: most long files are long
because of other crawlers.
"""

from __future__ import annotations

import json
import zlib
from typing import Any, Final

from rdfcrawl.core.reservations import Reservations
from rdfcrawl.downloader.robots.parser import RobotsRecords
from rdfcrawl.downloader.robots.paths import PathPattern
from rdfcrawl.downloader.robots.policy import ALLOW_ALL, RobotsRules, rules_of
from rdfcrawl.downloader.robots.signals import SignalRule
from rdfcrawl.downloader.robots.tdm_file import TdmRules

# Three times the maximum size of a robots.txt (escapes), and of a TDM file.
_MAX_BYTES: Final = 8 * 1024 * 1024
_DAMAGES: Final = (
    *(zlib.error, AttributeError, ValueError, TypeError, LookupError),
    RecursionError,
)


def pack_rules(records: RobotsRecords | None) -> bytes:
    """Return the records of a robots.txt for the crawler as bytes.

    Args:
        records: None if there is no such file.
    """
    found: list[Any] = []
    if records is not None and rules_of(records) is not ALLOW_ALL:
        found.append([
            list(records.rules.items()),
            records.delay_secs,
            records.sitemaps,
            records.has_more_sitemaps,
            records.signals,
        ])  # fmt: skip
    return _packed(found)


def unpack_rules(data: bytes) -> RobotsRules | None:
    """Return packed rules; None for anything else."""
    records = unpack_records(data)
    return None if records is None else rules_of(records)


def pack_tdm(tdm: TdmRules) -> bytes:
    """Return the rules of a TDM file as bytes."""
    rules = [(p.text, said.tdm, said.tdm_policy) for p, said in tdm.rules]
    return _packed([rules, tdm.n_bytes])


def unpack_tdm(data: bytes) -> TdmRules | None:
    """Return packed rules of a TDM file; None for anything else."""
    try:
        rules, n_bytes = _unpacked(data)
        pairs = tuple(
            (
                PathPattern.of(text.encode()),
                Reservations(tdm=value, tdm_policy=str(policy)),
            )
            for text, value, policy in rules
        )
        return TdmRules(pairs, int(n_bytes))
    except _DAMAGES:
        return None  # not our data


def unpack_records(data: bytes) -> RobotsRecords | None:
    """Return packed records of a robots.txt; None for anything else."""
    try:
        found = _unpacked(data)
        return _records(found[0]) if found else RobotsRecords()
    except _DAMAGES:
        return None  # not our data


def _packed(found: list[Any]) -> bytes:
    return zlib.compress(json.dumps(found, separators=(",", ":")).encode(), 6)


def _unpacked(data: bytes) -> Any:
    return json.loads(zlib.decompressobj().decompress(data, _MAX_BYTES))


def _records(found: Any) -> RobotsRecords:
    rules, delay_secs, sitemaps, has_more, signals = found
    return RobotsRecords(
        rules={str(pattern): bool(allows) for pattern, allows in rules},
        delay_secs=float(delay_secs),
        sitemaps=[str(url) for url in sitemaps],
        has_more_sitemaps=bool(has_more),
        signals=[
            SignalRule(str(pattern), tuple((str(a), str(b)) for a, b in said))
            for pattern, said in signals
        ],
    )

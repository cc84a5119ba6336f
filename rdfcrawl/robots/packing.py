"""The rules of an origin as bytes, for all workers of a crawl.

What is packed is what speaks to this crawler, and not the text that it was read from:
most files are long for the sake of others.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from typing import Any, Final

from rdfcrawl.reservations import Reservations
from rdfcrawl.robots.parser import RobotsRecords
from rdfcrawl.robots.paths import PathPattern
from rdfcrawl.robots.policy import ALLOW_ALL, RobotsRules, rules_of
from rdfcrawl.robots.signals import SignalRule
from rdfcrawl.robots.tdm_file import TdmRules

# Three times the most that is read of a robots.txt, as escapes are, and of a TDM file.
_MAX_BYTES: Final = 8 * 1024 * 1024


def pack_rules(records: RobotsRecords | None, tdm: TdmRules | None) -> bytes:
    """Return the records of a robots.txt and the rules of a TDM file as bytes.

    Args:
        records: for the crawler; None if there is no such file.
        tdm: None if it says nothing.
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
    if tdm is not None:
        found = found or [None]
        rules = [(p.text, said.tdm, said.tdm_policy) for p, said in tdm.rules]
        found.append([rules, tdm.n_bytes])
    return zlib.compress(json.dumps(found, separators=(",", ":")).encode(), 6)


def unpack_rules(data: bytes) -> RobotsRules | None:
    """Return packed rules; None for anything else."""
    try:
        found = _unpacked(data)
        rules = rules_of(_records(found[0])) if found and found[0] else ALLOW_ALL
        tdm = _tdm(*found[1]) if len(found) > 1 else None
    except (zlib.error, ValueError, TypeError, LookupError, RecursionError):
        return None  # somebody else has written into this Redis
    if tdm is None:
        return rules
    return replace(rules, tdm=tdm, n_bytes=rules.n_bytes + tdm.n_bytes)


def unpack_records(data: bytes) -> RobotsRecords | None:
    """Return the records of a robots.txt that were packed; None for anything else."""
    try:
        found = _unpacked(data)
        return _records(found[0]) if found and found[0] else RobotsRecords()
    except (zlib.error, ValueError, TypeError, LookupError, RecursionError):
        return None


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


def _tdm(rules: Any, n_bytes: int) -> TdmRules:
    pairs = tuple(
        (PathPattern.of(text.encode()), Reservations(tdm=value, tdm_policy=str(policy)))
        for text, value, policy in rules
    )
    return TdmRules(pairs, int(n_bytes))

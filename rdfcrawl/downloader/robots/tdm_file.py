"""Reservations on text and data mining for a site: `/.well-known/tdmrep.json`.

Source: TDM Reservation Protocol, W3C Community Group Final Report of 10 May 2024, "TDM
File on the Origin Server". Its patterns are those of robots.txt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rdfcrawl.core.reservations import MAX_POLICY_CHARS, NOTHING, Reservations
from rdfcrawl.downloader.robots.paths import PathPattern, path_of

TDM_PATH: Final = "/.well-known/tdmrep.json"
MAX_RULES: Final = 1000
_MAX_PATTERN_CHARS: Final = 2048
_VALUES: Final = {"1": True, "0": False}


@dataclass(frozen=True, slots=True, eq=False)
class TdmRules:
    """The rules in the file of one origin."""

    # patterns and the reservations of matching paths, in order
    rules: tuple[tuple[PathPattern, Reservations], ...]
    n_bytes: int  # approximate size in memory

    def of(self, url: str) -> Reservations:
        """Return the reservations for a URL of the origin: the first match counts."""
        if not self.rules:
            return NOTHING
        path = path_of(url)
        for pattern, said in self.rules:
            if pattern.matches(path):
                return said
        return NOTHING


def parse_tdm_file(body: bytes, origin: str) -> TdmRules | None:
    r"""Parse the file of an origin; invalid rules are ignored.

    Args:
        body: of any length that fits in memory.
        origin: scheme, host and port, which locations may contain.

    Returns:
        None if it is another kind of file.

    >>> rules = parse_tdm_file(b'[{"location": "/a/*.ttl$", "tdm-reservation": 1}]', "")
    >>> [rules.of(f"http://a.example/{x}").tdm for x in ("a/b.ttl", "a/b.ttl?c", "b")]
    [True, None, None]
    """
    try:
        found = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list):
        return None
    rules = tuple(_iter_rules(found[:MAX_RULES], origin))
    n_bytes = 200 + sum(400 + 2 * len(rule[0].text) for rule in rules)
    return TdmRules(rules, n_bytes)


def _iter_rules(found: list[Any], origin: str) -> Iterator[tuple[PathPattern, Any]]:
    for each in found:
        location = each.get("location") if isinstance(each, dict) else None
        if not isinstance(location, str) or len(location) > _MAX_PATTERN_CHARS:
            continue
        path = location.strip().removeprefix(origin)
        if not path.startswith(("/", "*")):
            path = f"/{path}"
        value = each.get("tdm-reservation")
        is_word = isinstance(value, int | str)
        # Values other than 1 and 0 are ignored.
        tdm = _VALUES.get(str(value).strip()) if is_word else None
        policy = each.get("tdm-policy") if tdm else None
        text = policy.strip()[:MAX_POLICY_CHARS] if isinstance(policy, str) else ""
        said = Reservations(tdm=tdm, tdm_policy=text) if tdm is not None else NOTHING
        yield PathPattern.of(path.encode("utf-8", "replace")), said

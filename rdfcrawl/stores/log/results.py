"""The log of results: of each seed, and of the requests to each host.

Folders of segments, `results/seeds`, `results/hosts` and `results/incomplete`; a line
is a JSON array:

    [URL, version, status, HTTP status, statements, links, reason, detail]
    [host, result, documents, statements]
    [URL of a source that was read in part, run, detail]

The latest line of a seed counts; those of a host and a result are added up.
"""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from typing import Final

SEEDS: Final = "seeds"
HOSTS: Final = "hosts"
INCOMPLETE: Final = "incomplete"
MAX_CHARS: Final = 2048
"""Stored characters of a URL or detail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedResult:
    """The latest result of one seed.

    Attributes:
        url: of the seed; if it redirects to other hosts, the result is of its target.
        version_ms: start of the fetch, Unix time.
        status: of the document, as in the provenance.
        http_status: of the last response; 0: there was none.
        n_statements: stored for it.
        n_links: links and further records that it led to.
        reason: of its first fault; empty: it has none.
        detail: of this fault.
    """

    url: str
    version_ms: int
    status: str
    http_status: int
    n_statements: int
    n_links: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostResults:
    """The results of all requests to one host.

    Attributes:
        host: name, with a port that is not usual.
        n_documents: requested or refused URIs.
        n_statements: stored for them.
        n_bad: those without a response, or with a status from 400.
        results: number of URIs by HTTP status, or by the reason of the fault without
            one; the most frequent first.
    """

    host: str
    n_documents: int
    n_statements: int
    n_bad: int
    results: dict[str, int]


def seed_line(seed: SeedResult) -> bytes:
    """Return the line of a result of a seed."""
    return _line(astuple(seed))


def host_line(host: str, result: str, n_documents: int, n_statements: int) -> bytes:
    """Return the line of additional documents of a host with one result."""
    return _line((host, result, n_documents, n_statements))


def incomplete_line(url: str, run: int, detail: str) -> bytes:
    """Return the line of a source that was read in part in a run."""
    return _line((url, run, detail))


def _line(values: tuple[object, ...]) -> bytes:
    return f"{json.dumps(values, separators=(',', ':'))}\n".encode()

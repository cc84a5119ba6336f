"""How a source is read: what the operator may choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rdfcrawl.tasks.sync import Capability
from rdfcrawl.uri.hosts import NO_HOSTS, HostNames

SNAPSHOTS: Final = (Capability.RESOURCE_DUMP, Capability.RESOURCE_LIST)
CHANGES: Final = (Capability.CHANGE_LIST, Capability.CHANGE_DUMP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a source is read.

    Attributes:
        snapshots: ways to all resources, the first that is offered is taken.
        changes: ways to what changed, the same.
        sites: registered domains that a source may speak of beside its own.
        trusted: hosts that any source may speak of.
        depth: documents from the first one to a list.
        page_entries: resources of a list that are taken of one answer; then a record
            goes on, as many as the protocol allows in a list. The pages of a longer
            one may be ten times as large.
        children: parts of an index or of a dump; the rest is not read.
        wants_patches: the mirror has the bytes of what it fetched.
        only_rdf: resources that are said to be something else are only recorded.
        now_us: Unix time in microseconds; a source's times after tomorrow are not
            believed. None: all are.
    """

    snapshots: tuple[Capability, ...] = SNAPSHOTS
    changes: tuple[Capability, ...] = CHANGES
    sites: frozenset[str] = frozenset()
    trusted: HostNames = NO_HOSTS
    depth: int = 8
    page_entries: int = 50_000
    children: int = 50_000
    wants_patches: bool = False
    only_rdf: bool = False
    now_us: int | None = None


DEFAULT_POLICY: Final = Policy()

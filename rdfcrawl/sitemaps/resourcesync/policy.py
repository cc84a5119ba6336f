"""How to read a source: the choices of the operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rdfcrawl.tasks.sync import SyncCapability
from rdfcrawl.uri.hosts import NO_HOSTS, HostNames

SNAPSHOTS: Final = (SyncCapability.RESOURCE_DUMP, SyncCapability.RESOURCE_LIST)
CHANGES: Final = (SyncCapability.CHANGE_LIST, SyncCapability.CHANGE_DUMP)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPolicy:
    """How to read a source.

    Attributes:
        snapshots: ways to all resources; the first one offered is taken.
        changes: ways to changes, the same.
        sites: registered domains that a source may describe beside its own.
        trusted: hosts that any source may describe.
        depth: documents from the first one to a list.
        page_entries: resources taken from one fetch of a list; then another record
            continues. By default as many as the protocol allows in a list. The pages of
            a longer one may be ten times as large.
        children: parts of an index or of a dump; the rest is not read.
        wants_patches: the mirror keeps the bytes of resources.
        only_rdf: resources of other media types are only recorded.
        now_us: Unix time in microseconds; a source's times after tomorrow are not
            believed. None: all are.
    """

    snapshots: tuple[SyncCapability, ...] = SNAPSHOTS
    changes: tuple[SyncCapability, ...] = CHANGES
    sites: frozenset[str] = frozenset()
    trusted: HostNames = NO_HOSTS
    depth: int = 8
    page_entries: int = 50_000
    children: int = 50_000
    wants_patches: bool = False
    only_rdf: bool = False
    now_us: int | None = None


DEFAULT_POLICY: Final = SyncPolicy()

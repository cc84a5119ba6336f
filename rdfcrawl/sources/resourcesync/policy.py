"""Limits of what a source may describe, and how to read it.

A list is not believed if it declares other people's resources deleted, or sends a
crawler to other people's servers, unless the operator has named the site.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rdfcrawl.core.tasks.sync import SyncCapability
from rdfcrawl.uri import BadUri, host_of, registered_domain, requestable
from rdfcrawl.uri.hosts import NO_HOSTS, HostNames

SNAPSHOTS: Final = (SyncCapability.RESOURCE_DUMP, SyncCapability.RESOURCE_LIST)
CHANGES: Final = (SyncCapability.CHANGE_LIST, SyncCapability.CHANGE_DUMP)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPolicy:
    """How to read a source."""

    # ways to all resources; the first one offered is taken
    snapshots: tuple[SyncCapability, ...] = SNAPSHOTS
    changes: tuple[SyncCapability, ...] = CHANGES  # ways to changes, the same
    # registered domains that a source may describe beside its own
    sites: frozenset[str] = frozenset()
    trusted: HostNames = NO_HOSTS  # hosts that any source may describe
    depth: int = 8  # documents from the first one to a list
    # resources taken from one fetch of a list; then another record continues. By
    # default as many as the protocol allows in a list. The pages of a longer one may be
    # ten times as large.
    page_entries: int = 50_000
    children: int = 50_000  # parts of an index or of a dump; the rest is not read
    wants_patches: bool = False  # the mirror keeps the bytes of resources
    only_rdf: bool = False  # resources of other media types are only recorded
    # Unix time in microseconds; a source's times after tomorrow are not believed. None:
    # all are.
    now_us: int | None = None


DEFAULT_POLICY: Final = SyncPolicy()


@dataclass(frozen=True, slots=True)
class SourceScope:
    """Sites that a source may describe: registered domains, and trusted hosts."""

    site: str
    others: frozenset[str] = frozenset()
    trusted: HostNames = NO_HOSTS

    @classmethod
    def of(
        cls,
        site: str,
        url: str,
        others: frozenset[str],
        trusted: HostNames = NO_HOSTS,
    ) -> SourceScope:
        """Return the scope of a source; the site is by default that of `url`."""
        return cls(site or registered_domain(host_of(url)), others, trusted)

    def admits(self, url: str) -> bool:
        """Return whether a URL is requestable and within the scope."""
        try:
            url = requestable(url)
        except BadUri:
            return False
        site = registered_domain(host_of(url))
        return site == self.site or site in self.others or self.trusted.covers(url)

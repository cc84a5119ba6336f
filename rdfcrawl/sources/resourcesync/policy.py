"""Limits for the descriptions of a source, and the policy of reading it.

Unless the operator has named a site, a list may not declare resources of that site
deleted, nor send the crawler to its servers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from rdfcrawl.core.source_tasks import SyncCapability
from rdfcrawl.uri import BadUri, host_of, registered_domain, requestable
from rdfcrawl.uri.hosts import NO_HOSTS, HostNames

SNAPSHOTS: Final = (SyncCapability.RESOURCE_DUMP, SyncCapability.RESOURCE_LIST)
CHANGES: Final = (SyncCapability.CHANGE_LIST, SyncCapability.CHANGE_DUMP)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncPolicy:
    """The policy of reading a source."""

    # capabilities with all resources; the first one offered is used
    snapshots: tuple[SyncCapability, ...] = SNAPSHOTS
    changes: tuple[SyncCapability, ...] = CHANGES  # the same for changes
    # registered domains that a source may describe besides its own
    sites: frozenset[str] = frozenset()
    trusted: HostNames = NO_HOSTS  # hosts that any source may describe
    depth: int = 8  # documents from the first one to a list
    # resources taken from one fetch of a list; then another record continues. The
    # default is the limit of the protocol. The pages of a longer list may be ten times
    # as large.
    page_entries: int = 50_000
    children: int = 50_000  # parts of an index or of a dump; the rest is ignored
    wants_patches: bool = False  # the mirror keeps the bytes of resources
    only_rdf: bool = False  # resources of other media types are only recorded
    # Unix time in microseconds; times of a source after tomorrow are ignored. None: all
    # times are accepted.
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
        cls, site: str, url: str, others: frozenset[str], trusted: HostNames = NO_HOSTS
    ) -> SourceScope:
        """Return the scope of a source; the default site is that of `url`."""
        return cls(site or registered_domain(host_of(url)), others, trusted)

    def admits(self, url: str) -> bool:
        """Return whether a URL is requestable and within the scope."""
        try:
            url = requestable(url)
        except BadUri:
            return False
        site = registered_domain(host_of(url))
        return site == self.site or site in self.others or self.trusted.covers(url)

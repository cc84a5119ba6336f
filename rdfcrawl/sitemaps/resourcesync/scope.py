"""Limit what a source may describe to its own site.

A list is not believed if it declares other people's resources deleted, or sends a
crawler to other people's servers, unless the operator has named the site.
"""

from __future__ import annotations

from dataclasses import dataclass

from rdfcrawl.uri import BadUri, host_of, registered_domain, requestable
from rdfcrawl.uri.hosts import NO_HOSTS, HostNames


@dataclass(frozen=True, slots=True)
class SourceScope:
    """Sites that a source may describe.

    Attributes:
        site: registered domain of the source.
        others: registered domains beside it.
        trusted: hosts beside it.
    """

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

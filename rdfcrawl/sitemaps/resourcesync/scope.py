"""What a source may speak of: what is published on its own site.

A list that says that somebody else's resources were deleted, or that sends a crawler to
other people's servers, is not believed, unless the operator has named the site.
"""

from __future__ import annotations

from dataclasses import dataclass

from rdfcrawl.uri import BadUri, host_of, registered_domain, requestable
from rdfcrawl.uri.hosts import NO_HOSTS, HostNames


@dataclass(frozen=True, slots=True)
class Scope:
    """Sites that a source may speak of.

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
    ) -> Scope:
        """Return the scope of a source; its site is that of its first document.

        Args:
            site: of the source; empty if `url` is its first document.
            url: of a document.
            others: sites beside it.
            trusted: hosts beside it.
        """
        return cls(site or registered_domain(host_of(url)), others, trusted)

    def admits(self, url: str) -> bool:
        """Tell whether the source may speak of this, and it can be asked for."""
        try:
            url = requestable(url)
        except BadUri:
            return False
        site = registered_domain(host_of(url))
        return site == self.site or site in self.others or self.trusted.covers(url)

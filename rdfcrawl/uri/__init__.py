"""URIs: parsed as browsers do, compared by a normal form, grouped for politeness.

A URL has three spellings. `requestable` returns the WHATWG serialization of a link,
which is sent over the wire. `NormalForm` returns the spelling that `fingerprint` hashes
to compare URLs; it is never requested. `compact` returns the short spelling in the
queue of a host, and `expand` reverses it exactly.
"""

from rdfcrawl.uri.hosts import (
    MAX_CACHED_HOSTS,
    HostGrouping,
    PolitenessKey,
    compact,
    expand,
    host_of,
    host_of_address,
    partition_of,
    registered_domain,
)
from rdfcrawl.uri.parse import (
    CRAWLED_SCHEMES,
    MAX_URL_CHARS,
    SESSION_PARAMETERS,
    BadUri,
    NormalForm,
    fingerprint,
    is_of_web,
    parse_uri,
    requestable,
)

__all__ = [
    "CRAWLED_SCHEMES",
    "MAX_CACHED_HOSTS",
    "MAX_URL_CHARS",
    "SESSION_PARAMETERS",
    "BadUri",
    "HostGrouping",
    "NormalForm",
    "PolitenessKey",
    "compact",
    "expand",
    "fingerprint",
    "host_of",
    "host_of_address",
    "is_of_web",
    "parse_uri",
    "partition_of",
    "registered_domain",
    "requestable",
]

"""URIs: parsed as browsers do, compared by a normal form, grouped for politeness.

A URL has three spellings. `requestable` returns the WHATWG serialization of a link,
which is sent over the wire. `NormalForm` returns the spelling that `fingerprint` hashes
to compare URLs; it is never requested. `compact` returns the short spelling in the
queue of a host, and `expand` reverses it exactly.
"""

from rdfcrawl.uri.hosts import MAX_CACHED_HOSTS as MAX_CACHED_HOSTS
from rdfcrawl.uri.hosts import HostGrouping as HostGrouping
from rdfcrawl.uri.hosts import PolitenessKey as PolitenessKey
from rdfcrawl.uri.hosts import compact as compact
from rdfcrawl.uri.hosts import expand as expand
from rdfcrawl.uri.hosts import host_of as host_of
from rdfcrawl.uri.hosts import host_of_address as host_of_address
from rdfcrawl.uri.hosts import partition_of as partition_of
from rdfcrawl.uri.hosts import registered_domain as registered_domain
from rdfcrawl.uri.parse import CRAWLED_SCHEMES as CRAWLED_SCHEMES
from rdfcrawl.uri.parse import MAX_URL_CHARS as MAX_URL_CHARS
from rdfcrawl.uri.parse import SESSION_PARAMETERS as SESSION_PARAMETERS
from rdfcrawl.uri.parse import BadUri as BadUri
from rdfcrawl.uri.parse import NormalForm as NormalForm
from rdfcrawl.uri.parse import fingerprint as fingerprint
from rdfcrawl.uri.parse import is_of_web as is_of_web
from rdfcrawl.uri.parse import parse_uri as parse_uri
from rdfcrawl.uri.parse import requestable as requestable

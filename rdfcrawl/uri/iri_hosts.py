"""The host and port of an IRI in N-Quads, as the name of a dataset."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from rdfcrawl.uri.origin import DEFAULT_PORTS

_AUTHORITY: Final = re.compile(
    rb"<?([A-Za-z][A-Za-z0-9+.-]*)://(?:[^/?#@>]*@)?"
    rb"(\[[^\]/>]*\]|[^/?#:>\t]*)(?::([0-9]{1,9}))?"
)


@lru_cache(maxsize=65_536)
def host_of_iri(iri: bytes) -> bytes:
    """Return host and port in lower case, without a default port; b"" if none.

    >>> host_of_iri(b"<https://E.example:443/a>"), host_of_iri(b"<urn:a>")
    (b'e.example', b'')
    """
    found = _AUTHORITY.match(iri)
    if found is None:
        return b""
    scheme, host, port = found[1].decode().lower(), found[2].lower(), found[3]
    host = host.removesuffix(b".")  # the root of the DNS
    if not port or int(port) == DEFAULT_PORTS.get(scheme):
        return host
    return b"%s:%s" % (host, port)

"""Names of files for hosts and documents: safe, bounded and unique."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import Final
from urllib.parse import quote

from rdfcrawl.stores.followers.ledger import key_of
from rdfcrawl.uri.hosts import host_of

_MAX_HOST: Final = 200  # characters; file systems have 255 for a name
_MAX_TAIL: Final = 60
_HALF_ESCAPE: Final = re.compile("%.?$")
_UNSAFE: Final = re.compile("[^A-Za-z0-9._-]+")


def host_name(iri: str) -> str:
    """Return the host of an IRI as a name, as Hive writes it; empty if there is none.

    >>> host_name("http://Data.example:80/x"), host_name("http://[::1]/")
    ('data.example', '%5B%3A%3A1%5D')
    """
    host = host_of(iri)
    name = quote(host, safe="")
    if len(name) > _MAX_HOST:
        digest = blake2b(host.encode(), digest_size=8).hexdigest()
        return f"{_HALF_ESCAPE.sub('', name[:_MAX_HOST])}~{digest}"
    return name.replace(".", "%2E") if not name.strip(".") else name


def document_name(iri: str) -> str:
    """Return the path of a document in a common folder, without an extension.

    The name has the end of the IRI for readability, and a digest that makes it unique.

    >>> document_name("http://data.example/people/alice")
    'data.example/46/people-alice-46e06679e64c1449f0dbaa941031bd15'
    """
    digest = key_of(iri.encode()).hex()
    rest = iri.partition("://")[2].partition("/")[2] or iri
    tail = _UNSAFE.sub("-", rest)[-_MAX_TAIL:].strip("-.")
    name = f"{tail}-{digest}" if tail else digest
    return f"{host_name(iri) or NO_HOST}/{digest[:2]}/{name}"


NO_HOST: Final = "no-host"
"""Name for documents without a host."""

"""The kind of a URL by its name: a page, or a dump.

Callers that know the kind pass it; only pages are checked here.
"""

from __future__ import annotations

import re
from typing import Final

from rdfcrawl.core.formats import FORMATS, HTML, PACKING_EXTENSIONS
from rdfcrawl.core.records import Kind

_EXTENSIONS: Final = {
    *(name for each in FORMATS if each is not HTML for name in each.extensions),
    *PACKING_EXTENSIONS,
}
_is_dump = re.compile(rf"\.(?:{'|'.join(sorted(_EXTENSIONS))})\Z", re.IGNORECASE).search


def kind_of(url: str) -> Kind:
    """Return the kind of a URL by the extension of its file name.

    Files with the extension of an RDF format or a packing may be larger and slower than
    pages.

    >>> kind_of("https://example.org/all.nt.gz?v=2")
    <Kind.DUMP: 1>
    >>> kind_of("https://example.org/about")
    <Kind.PAGE: 0>
    """
    path = url.partition("?")[0]
    name = path[path.rfind("/") + 1 :]
    return Kind.DUMP if "." in name and _is_dump(name) else Kind.PAGE


def kind_of_named(kind: Kind, url: str) -> Kind:
    """Return the kind for requesting a URL: the given one, unless a page."""
    return kind_of(url) if kind is Kind.PAGE else kind

"""The kind of a URL of which only the name is known: a page, or a dump.

Whoever names a URL and knows more says so; what is left as a page is judged here.
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

    A file that has the extension of an RDF format or of a packing may be larger and
    take longer than a page.

    >>> kind_of("https://example.org/all.nt.gz?v=2")
    <Kind.DUMP: 1>
    >>> kind_of("https://example.org/about")
    <Kind.PAGE: 0>
    """
    path = url.partition("?")[0]
    name = path[path.rfind("/") + 1 :]
    return Kind.DUMP if "." in name and _is_dump(name) else Kind.PAGE


def kind_of_named(kind: Kind, url: str) -> Kind:
    """Return the kind that a URL is requested as: the named one, unless a page."""
    return kind_of(url) if kind is Kind.PAGE else kind

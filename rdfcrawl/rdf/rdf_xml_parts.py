"""Read the well-formed parts of a damaged document of RDF/XML by the strict parser.

It is several times as fast as the mending reader, which reads the nodes around errors.
A part has complete nodes of the root. One that the strict parser or its screen refuses
is divided, and the mending reader gets the smallest parts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import quoteattr

from rdfcrawl.core import formats
from rdfcrawl.core.errors import FaultLog, SourceFault
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.checking import new_parser, serialize
from rdfcrawl.rdf.rdf_xml_literals import MendingNeeded
from rdfcrawl.rdf.rdf_xml_screen import RdfXmlScreen
from rdfcrawl.rdf.rdf_xml_terms import is_ncname, resolved
from rdfcrawl.rdf.xml_screen import ASIDE, n_open

if TYPE_CHECKING:
    from rdfcrawl.rdf.markup import MarkupScanner
    from rdfcrawl.rdf.rdf_xml_terms import RdfXmlElement

_LEAST_CHARS: Final = 2048
_USUAL_CHARS: Final = 32 * 1024
_MOST_CHARS: Final = 256 * 1024  # of a long node
_STEP: Final = 2  # ratio of the sizes of two parts
_WORTH: Final = 3  # a part that is read saves as much time as some refused ones take
# Refused, beyond those that were read: many errors leave no good parts.
_REFUSED_CHARS: Final = 128 * 1024
_NODE_ID, _ID = (
    re.compile(rb"(<[^<>]*\s(?:[\w.-]+:)?%b\s*=\s*[\"'])([^\"'<>&]*)(?=[\"'])" % name)
    for name in (b"nodeID", b"ID")
)


class StrictParts:
    """Reader of the well-formed parts of one document.

    Args:
        ids: values of `rdf:ID` so far, as terms; those of the parts are added.
    """

    def __init__(self, ids: set[str]) -> None:
        self._ids = ids
        self._size = _USUAL_CHARS
        self._error_before = 0  # a position; 0: no error is known
        self._n_left = _REFUSED_CHARS  # characters that may be refused
        self._resume_at = 0

    def read(self, markup: MarkupScanner, root: RdfXmlElement) -> Iterator[str]:
        """Yield the statements of the next nodes, up to one that may have an error.

        Args:
            markup: the text, before a node of the root.
            root: the only element that is open.
        """
        while markup.position >= self._resume_at and markup.root_name:
            size = self._next_size(markup.position)
            if not size:
                self._resume_at = self._error_before
                self._error_before, self._size = 0, _STEP * _LEAST_CHARS
                return
            part = _complete(markup.ahead(size), markup.root_name)
            if not part:  # the next node is longer
                self._grow(markup.position, size)
                continue
            n_chars = len(part) if part.isascii() else len(part.decode())
            lines = self._parsed(part, markup, root)
            if lines is None:
                self._refuse(markup.position, n_chars)
                continue
            markup.skip(n_chars)
            self._n_left += _WORTH * n_chars
            if not self._error_before:
                self._size = min(_STEP * size, _USUAL_CHARS)
            yield lines

    def _next_size(self, at: int) -> int:
        """Return the size of the next part; 0 if the mending reader has to read it."""
        while self._error_before and self._size >= self._error_before - at:
            self._size //= _STEP
        return self._size if self._size >= _LEAST_CHARS else 0

    def _grow(self, at: int, n_chars: int) -> None:
        if self._error_before:
            self._size = 0
        elif self._size < _MOST_CHARS:
            self._size *= _STEP
        else:
            self._refuse(at, n_chars)
            self._size = 0

    def _refuse(self, at: int, n_chars: int) -> None:
        self._error_before = at + n_chars
        self._n_left -= n_chars
        if self._n_left < 0:
            self._resume_at = sys.maxsize

    def _parsed(
        self, part: bytes, markup: MarkupScanner, root: RdfXmlElement
    ) -> str | None:
        """Return the statements of nodes; None if they need the mending reader."""
        head = _head_of(markup, root)
        named, ids = _with_labels(part), _ids_of(part, root.base)
        if not head or b":version" in part or named is None or ids is None:
            return None
        if ids & self._ids:
            return None
        log, out = FaultLog(), BytesIO()
        screen = RdfXmlScreen(log, lambda: None, base=root.base or "")
        try:
            text = screen.feed(b"%b%b</%b>" % (head, named, markup.root_name), True)
        except (MendingNeeded, SourceFault):
            return None
        parser = new_parser(text, formats.RDF_XML, root.base)
        if screen.depth or log.all() or serialize(parser, out):
            return None
        self._ids |= ids
        return out.getvalue().decode()


def _head_of(markup: MarkupScanner, root: RdfXmlElement) -> bytes:
    """Return the text before the nodes; empty if the root has more than names."""
    declared = markup.declarations()
    is_plain = type(root.language) is str and not root.direction
    # The strict parser leaves dot segments of a base.
    if declared is None or not is_plain or "/." in (root.base or "/."):
        return b""
    language = f" xml:lang={quoteattr(root.language)}" if root.language else ""
    doctype, namespaces = declared
    name = markup.root_name.decode()
    return f"{doctype}<{name}{namespaces}{language}>".encode()


def _complete(text: str, root_name: bytes) -> bytes:
    """Return the beginning of a text that has complete elements, in linear time."""
    data = text.encode()
    tags = data
    if b"<!" in data or b"<?" in data:
        tags = ASIDE.sub(lambda found: b" " * len(found[0]), data)
    end = tags.find(b"</%b" % root_name)
    end = tags.rfind(b">", 0, end if end >= 0 else len(tags)) + 1
    depth = n_open(tags, 0, end)
    while depth > 0 and end > 0:
        end, after = tags.rfind(b"<", 0, end), end
        if tags.startswith(b"</", end):
            depth += 1
        else:
            depth -= tags.find(b"/>", end, after) < 0
    return b"" if depth else data[: max(end, 0)]


def _with_labels(part: bytes) -> bytes | None:
    """Return nodes with the labels of the mending reader; None for other names."""
    if b"nodeID" not in part:
        return part
    if not all(is_ncname(name.decode()) for _, name in _NODE_ID.findall(part)):
        return None
    new, n_labels = _NODE_ID.subn(
        lambda found: found[1] + terms.blank(f"n{found[2].decode()}")[2:].encode(), part
    )
    return new if n_labels == part.count(b"nodeID") else None


def _ids_of(part: bytes, base: str | None) -> set[str] | None:
    """Return the values of `rdf:ID`; None if they cannot be known."""
    if b"ID" not in part:
        return set()
    names = [name.decode() for _, name in _ID.findall(part)]
    n_others = part.count(b"nodeID")
    if len(names) != part.count(b"ID") - n_others or b"xml:base" in part:
        return None
    ids = {resolved(f"#{name}", base)[0] for name in names}
    return ids if len(ids) == len(names) else None

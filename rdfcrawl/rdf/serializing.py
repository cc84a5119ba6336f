"""Write statements in RDF formats, in pieces, for any number of statements.

Statements come as N-Quads, some lines at a time, and each piece is serialized
separately: in JSON-LD, a node in several pieces becomes several objects, which readers
merge. Blank nodes keep their labels.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any, Final, cast
from xml.parsers.expat import ExpatError, ParserCreate

from rdfcrawl.core.namespaces import PREFIXES
from rdfcrawl.rdf.rdf_11 import TRIPLE_TERM, has_triple_term, is_rdf_12

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


# pyoxigraph's names of the formats, by file extension.
_NAMES: Final = {
    "nq": "N_QUADS",
    "nt": "N_TRIPLES",
    "trig": "TRIG",
    "ttl": "TURTLE",
    "jsonld": "JSON_LD",
    "rdf": "RDF_XML",
}
SERIALIZATIONS: Final = frozenset(_NAMES)
"""Formats of `StatementSerializer`, by file extension."""

_WITHOUT_GRAPHS: Final = frozenset({"nt", "ttl", "rdf"})
_OF_LINES: Final = frozenset({"nq", "nt"})
_WITH_PREFIXES: Final = frozenset({"trig", "ttl", "rdf"})
_PREFIXES: Final = re.compile(rb"\A(?:@prefix [^\n]*+\n)*+")
_XML_HEAD: Final = re.compile(rb"\A<\?xml[^>]*+>\s*+<rdf:RDF[^>]*+>\n?")
_XML_END: Final = b"</rdf:RDF>"
# In N-Quads without escaped backslashes.
_NOT_IN_XML: Final = re.compile(
    rb"\\[bf]|\\u(?:00(?:0[0-8BCEFbcef]|1)|[Ff]{3}[EFef])"
    rb"|[\x00-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]"
)
# Raised by pyoxigraph; for a format without triple terms, an OSError.
_UNWRITABLE: Final = OSError, SyntaxError, ValueError


class StatementSerializer:
    r"""Serializer of N-Quads to one file.

    Args:
        name: extension of the format, one of `SERIALIZATIONS`.

    Attributes:
        name: of the format.
        left_out: number of statements that the format cannot represent, by reason.

    >>> turtle = StatementSerializer("ttl")
    >>> turtle.write(b"<urn:s> <urn:p> <urn:o> <urn:g> .\n").splitlines()[-1]
    b'<urn:s> <urn:p> <urn:o> .'
    >>> turtle.end()
    b''
    """

    __slots__ = ("_has_begun", "left_out", "name")

    def __init__(self, name: str) -> None:
        if name not in SERIALIZATIONS:
            raise ValueError(f"not an RDF format: {name}")
        self.name = name
        self.left_out: Counter[str] = Counter()
        self._has_begun = False

    @property
    def title(self) -> str:
        """Display name of the format, e.g. JSON-LD."""
        return _NAMES[self.name].replace("F_", "F/").replace("_", "-")

    @property
    def n_left_out(self) -> int:
        """Number of statements that the format cannot represent."""
        return self.left_out.total()

    @property
    def has_graphs(self) -> bool:
        """Whether the format has named graphs."""
        return self.name not in _WITHOUT_GRAPHS

    def write(self, quads: bytes) -> bytes:
        """Return the next bytes to write.

        Args:
            quads: complete lines of N-Quads with graphs, as a crawl stores them. They
                are copied several times in memory.
        """
        if self.name == "nq":
            return quads
        if self.name == "nt":
            return _triples(quads)
        if self.name == "rdf":
            # A carriage return is only in literals.
            written = self._serialized(self.expressible(quads))
            return self._continued(written.replace(b"\r", b"&#xD;"))
        try:
            written = self._serialized(quads)
        except _UNWRITABLE:
            written = self._serialized(self.expressible(quads))
        return self._continued(written)

    def end(self) -> bytes:
        """Return the bytes to write after all statements."""
        if self.name == "rdf":
            empty = b"" if self._has_begun else self._continued(self._serialized(b""))
            return empty + _XML_END + b"\n"
        if self.name != "jsonld":
            return b""
        return b"\n]\n" if self._has_begun else b"[\n]\n"

    def _serialized(self, quads: bytes) -> bytes:
        """Return N-Quads lines in the format.

        Raises:
            OSError, SyntaxError, ValueError: pyoxigraph cannot read or write a line.
        """
        import pyoxigraph as ox  # noqa: PLC0415

        # The lines were checked before they were stored.
        parsed: Iterable[Any] = ox.parse(
            quads, format=ox.RdfFormat.N_QUADS, lenient=True
        )
        if not self.has_graphs:
            parsed = (quad.triple for quad in parsed)
        prefixes = PREFIXES if self.name in _WITH_PREFIXES else None
        kind = getattr(ox.RdfFormat, _NAMES[self.name])
        return ox.serialize(parsed, format=kind, prefixes=prefixes) or b""

    def expressible(self, quads: bytes) -> bytes:
        """Return the lines that the format can represent, and count the others."""
        if self.name != "rdf" and not self._obstacle(quads):
            return quads
        kept = []
        for line in quads.splitlines(keepends=True):
            obstacle = self._obstacle(line)
            if obstacle:
                self.left_out[obstacle] += 1
            else:
                kept.append(line)
        return b"".join(kept)

    def _obstacle(self, lines: bytes) -> str:
        """Return the reason why the format cannot represent a line; or empty."""
        if self.name in _OF_LINES:
            return ""
        if self.name == "rdf":
            return _obstacle_in_xml(lines)
        try:
            self._serialized(lines)
        except _UNWRITABLE:
            return TRIPLE_TERM if has_triple_term(lines) else "with an odd term"
        return ""

    def _continued(self, written: bytes) -> bytes:
        """Return a piece as a continuation of the previous ones."""
        if self.name == "jsonld":
            objects = written.strip()[1:-1]
            if not objects:
                return b""
            written = (b",\n" if self._has_begun else b"[\n") + objects
        elif self.name == "rdf":
            written = written.removesuffix(_XML_END)
            if self._has_begun:
                written = _XML_HEAD.sub(b"", written, count=1)
        elif self._has_begun:
            written = _PREFIXES.sub(b"", written, count=1)
        self._has_begun = True
        return written


def _obstacle_in_xml(line: bytes) -> str:
    """Return the reason why RDF/XML of RDF 1.1 cannot represent a line; or empty."""
    if is_rdf_12(line):
        return TRIPLE_TERM if has_triple_term(line) else "with a base direction"
    if _NOT_IN_XML.search(line.replace(rb"\\", b"")):
        return "with a character that XML excludes"
    predicate = line.split(b" ", 2)[1].decode()
    return (
        "" if _is_element(predicate[1:-1]) else "with a predicate that no element names"
    )


@lru_cache(maxsize=4096)
def _is_element(predicate: str) -> bool:
    """Return whether the element of a predicate is read by strict parsers."""
    import pyoxigraph as ox  # noqa: PLC0415

    kind = ox.RdfFormat.RDF_XML
    term = ox.NamedNode(predicate)
    try:
        written = ox.serialize([ox.Triple(term, term, term)], format=kind) or b""
        ParserCreate(namespace_separator=" ").Parse(written, True)
        return [each.predicate for each in ox.parse(written, format=kind)] == [term]
    except (*_UNWRITABLE, ExpatError):
        return False


def read_statements(
    file: IO[bytes], name: str, graph: str | None = None
) -> Iterator[bytes]:
    """Yield the statements of a file by `StatementSerializer` as N-Quads.

    Args:
        file: to read.
        name: extension of its format.
        graph: of all statements, if the format has no graphs.

    Raises:
        OSError, SyntaxError, ValueError: the file is damaged.
    """
    import pyoxigraph as ox  # noqa: PLC0415

    kind = getattr(ox.RdfFormat, _NAMES[name])
    for quad in ox.parse(file, format=kind, lenient=True):
        named = quad.graph_name if graph is None else ox.NamedNode(graph)
        yield f"{quad.triple} {named} .\n".encode()


def _triples(quads: bytes) -> bytes:
    """Return the statements without their graphs.

    Same result as with a parser, but faster.
    """
    lines = quads.split(b" .\n")
    return b"".join([line.rpartition(b" ")[0] + b" .\n" for line in lines[:-1]])


_GZIP_LEVEL: Final = 2  # of isal


def packer(packing: str) -> Callable[[bytes], bytes]:
    """Return a function that compresses a piece; concatenate the pieces of a file.

    Args:
        packing: `gz`, `zst`, or empty for no compression.
    """
    if packing == "gz":
        from isal import igzip  # noqa: PLC0415

        return lambda content: igzip.compress(content, _GZIP_LEVEL, mtime=0)
    if packing == "zst":
        return cast("Callable[[bytes], bytes]", _zstd().compress)
    return lambda content: content


def open_packed(path: Path, packing: str) -> IO[bytes]:
    """Open a file compressed by `packer` for reading.

    Raises:
        OSError: the file cannot be read.
    """
    if packing == "gz":
        from isal import igzip  # noqa: PLC0415

        return cast("IO[bytes]", igzip.IGzipFile(path))  # type: ignore[no-untyped-call]
    if packing == "zst":
        return cast("IO[bytes]", _zstd().open(path))
    return path.open("rb")


def _zstd() -> Any:
    if sys.version_info >= (3, 14):  # pragma: no cover
        from compression import zstd  # noqa: PLC0415
    else:
        from backports import zstd  # noqa: PLC0415
    return zstd

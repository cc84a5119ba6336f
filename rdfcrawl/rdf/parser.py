"""Call pyoxigraph, and catch its errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import pyoxigraph
from pyoxigraph import RdfFormat

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.rdf.graphs import check_iri

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyoxigraph import Quad, QuadParser

    from rdfcrawl.formats import Format

GATHER_BYTES = 128 * 1024  # N-Quads gathered before they are handed on


def new_parser(
    source: bytes | BinaryIO,
    document_format: Format,
    base: str | None,
    *,
    is_lenient: bool = False,
) -> QuadParser:
    """Return the parser of a format; an invalid base is mended.

    Args:
        source: UTF-8 without byte order mark.
        document_format: one that pyoxigraph reads.
        base: of relative IRIs, if the format has them.
        is_lenient: IRIs and language tags are taken unchecked, and must not be written
            so.
    """
    kind = document_format.parser
    try:
        return pyoxigraph.parse(source, kind, base_iri=base, lenient=is_lenient)
    except ValueError:  # the base is no IRI
        base = check_iri(base or "")
        return pyoxigraph.parse(source, kind, base_iri=base, lenient=is_lenient)


def serialize(quads: Iterable[Quad], out: BinaryIO) -> SyntaxError | SourceFault | None:
    """Write the quads as canonical N-Quads; return the error that ended them early.

    The quads before the error are in `out`.
    """
    try:
        pyoxigraph.serialize(quads, out, RdfFormat.N_QUADS)
    except (SyntaxError, SourceFault) as error:
        return error
    except MemoryError as error:
        if "buffer" not in str(error):
            raise
        # One token is longer than the 16 MiB the parser takes.
        return SourceFault(Reason.LITERAL_TOO_LONG, str(error))
    except BaseException as error:
        # A bug in the parser arrives as a PanicException, which is no Exception.
        if type(error).__name__ == "PanicException":
            return SourceFault(Reason.PARSE_CRASH, str(error))
        raise
    return None

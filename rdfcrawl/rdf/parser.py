"""Call pyoxigraph, and interpret its errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import accumulate
from typing import TYPE_CHECKING, BinaryIO

import pyoxigraph
from pyoxigraph import Quad, QuadParser, RdfFormat

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.rdf.graphs import check_iri

if TYPE_CHECKING:
    from rdfcrawl.core.formats import Format

GATHER_BYTES = 128 * 1024  # N-Quads collected per block
FIRST_BATCH = 64  # statements; a batch grows while its lines are short
LARGEST_BATCH = 1024


def new_parser(
    source: bytes | BinaryIO,
    document_format: Format,
    base: str | None,
    *,
    is_lenient: bool = False,
) -> QuadParser:
    """Return pyoxigraph's parser of a format; an invalid base is mended.

    `source` is UTF-8 without byte order mark. If `is_lenient`, IRIs and language tags
    are not checked: check them before writing them.
    """
    kind = document_format.parser
    try:
        return pyoxigraph.parse(source, kind, base_iri=base, lenient=is_lenient)
    except ValueError:  # the base is not an IRI
        base = check_iri(base or "")
        return pyoxigraph.parse(source, kind, base_iri=base, lenient=is_lenient)


def next_batch(batch: int, n_bytes: int) -> int:
    """Return the size of the batch after one with `n_bytes`, in statements."""
    if n_bytes > 2 * GATHER_BYTES:
        return max(batch // 4, 1)
    return batch * 4 if batch < LARGEST_BATCH else batch


def serialize(quads: Iterable[Quad], out: BinaryIO) -> SyntaxError | SourceFault | None:
    """Write the quads as canonical N-Quads; return the error that ended them early."""
    try:
        pyoxigraph.serialize(quads, out, RdfFormat.N_QUADS)
    except (SyntaxError, SourceFault) as error:
        return error
    except MemoryError as error:
        if "buffer" not in str(error):
            raise
        # A token is longer than the parser's limit of 16 MiB.
        return SourceFault(Reason.LITERAL_TOO_LONG, str(error))
    except BaseException as error:
        # A bug in the parser raises PanicException, which is not an Exception.
        if type(error).__name__ == "PanicException":
            return SourceFault(Reason.PARSE_CRASH, str(error))
        raise
    return None


def iter_refused(
    block: bytes, document_format: Format, out: BinaryIO
) -> Iterator[tuple[int, bytes, SyntaxError]]:
    """Write the statements of lines; yield number, from 1, and text of refused ones.

    The caller may write the mended line before it resumes the iterator.

    Raises:
        SourceFault: the parser failed on something other than a line.
    """
    lines: list[bytes] = []
    done = 0
    source: bytes | BinaryIO = block
    while block:
        error = serialize(new_parser(source, document_format, None), out)
        if error is None:
            return
        if isinstance(error, SourceFault):
            raise error
        if not lines:
            lines = block.splitlines(keepends=True)
            begins = [*accumulate(map(len, lines), initial=0)]
            rest = BytesIO(block)  # shared: each parser reads on without a copy
        done += bad_line(error)
        yield done, lines[done - 1], error
        if done == len(lines):
            return
        rest.seek(begins[done])
        source = rest


def bad_line(error: SyntaxError) -> int:
    """Return the line, from 1, of a statement that failed in a line-based format."""
    line = error.lineno or 1
    # A truncated statement is reported at the beginning of the next line.
    is_before = error.offset == 1 and is_empty_span(error)
    return max(line - 1, 1) if is_before else line


def is_empty_span(error: SyntaxError) -> bool:
    """Return whether an error has a position but no extent: an unexpected end."""
    begin = error.lineno, error.offset
    return None not in begin and begin == (error.end_lineno, error.end_offset)

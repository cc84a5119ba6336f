"""The document that `parse_document` of a spider gets."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO, cast

import pyoxigraph as ox
from scrapy import Request
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from rdfcrawl.core.counting import counted
from rdfcrawl.core.errors import Fault, Reason, SourceFault

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document


class ParsedDocument:
    """A document after fetching and reading; valid only while `parse_document` runs.

    Args:
        item: the document, after the item pipelines.
        max_bytes: longest body that `body` returns.

    Attributes:
        item: the item of the pipelines.
        url: final URL after redirects on the same host, without fragment.
        status: HTTP status.
        media_type: declared by the server, lower case, without parameters.
        depth: links followed from a seed.
        parent: URL of the document with the link; empty for seeds.
        n_quads: statements in it.
        faults: all of them, in order.
    """

    def __init__(self, item: Document, *, max_bytes: int) -> None:
        self.item = item
        self.url = item.url
        self.status = item.status
        self.media_type = item.media_type
        self.depth = item.record.depth
        self.parent = item.record.parent
        self.n_quads = item.n_quads
        self.faults: tuple[Fault, ...] = tuple(item.faults)
        self._max_bytes = max_bytes

    def __repr__(self) -> str:
        """Return status and URL in one line."""
        return f"<ParsedDocument {self.status} {self.url!r}>"

    def quads(self) -> Iterator[ox.Quad]:
        """Yield the statements as in the store, with one at a time in memory.

        The graph of each is the document's URL, or another URL of its origin.
        """
        return read_quads(self.nquads())

    def nquads(self) -> BinaryIO:
        """Return the statements as a file of N-Quads, from its beginning."""
        kept = self.item.kept
        return io.BytesIO() if kept is None else kept.open()

    def open(self) -> BinaryIO:
        """Return the decoded body as a file, from its beginning."""
        if self.item.response.path is not None:
            return self.item.response.path.open("rb")
        return io.BytesIO(self.item.response.body or b"")

    @cached_property
    def body(self) -> bytes:
        """The decoded body.

        Raises:
            SourceFault: `TOO_LARGE`: longer than `DOWNLOAD_MAXSIZE`; use `open`.
        """
        if self.item.response.n_bytes > self._max_bytes:
            detail = (
                f"{counted(self.item.response.n_bytes, 'byte')}; open() gives a file"
            )
            raise SourceFault(Reason.TOO_LARGE, detail)
        with self.open() as file:
            return file.read()

    @cached_property
    def response(self) -> Response:
        """The response as in Scrapy, for selectors and `follow`; see `body`."""
        declared = self.item.response.charset
        charset = f"; charset={declared}" if declared else ""
        headers = Headers({"Content-Type": f"{self.media_type}{charset}"})
        class_ = responsetypes.from_args(headers, self.url, None, self.body[:5000])
        return class_(
            self.url,
            status=self.status or 200,
            headers=headers,
            body=self.body,
            request=Request(self.url, meta={"depth": self.depth}),
        )


def read_quads(statements: BinaryIO) -> Iterator[ox.Quad]:
    """Yield the statements of a file of our N-Quads."""
    return cast(
        "Iterator[ox.Quad]",
        ox.parse(statements, format=ox.RdfFormat.N_QUADS, lenient=True),
    )

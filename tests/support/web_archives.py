"""WARC files, written by another implementation than ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from io import BytesIO

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

DATE = "2025-03-01T12:00:00Z"
HOST = "http://archived.example"


def statement(name: str) -> bytes:
    """Return a statement that only the document of this name has."""
    return f'<urn:x:{name}> <urn:x:in> "{name}" .\n'.encode()


@dataclass
class Archive:
    """A WARC file that is being written, by another implementation.

    Attributes:
        is_packed: each record is a gzip member.
        out: what is written.
    """

    is_packed: bool = True
    out: BytesIO = field(default_factory=BytesIO)

    def __post_init__(self) -> None:
        self.writer = WARCWriter(self.out, gzip=self.is_packed)
        info = {"software": "test"}
        self.writer.write_record(self.writer.create_warcinfo_record("a.warc", info))

    def add(
        self,
        url: str,
        body: bytes,
        *headers: tuple[str, str],
        status: str = "200 OK",
        kind: str = "response",
        **warc: str,
    ) -> None:
        """Write a record."""
        http = StatusAndHeaders(status, list(headers), protocol="HTTP/1.1")
        record = self.writer.create_warc_record(
            url,
            kind,
            payload=BytesIO(body),
            length=len(body),
            http_headers=None if kind == "resource" else http,
            warc_headers_dict={"WARC-Date": DATE, **warc},
            warc_content_type=dict(headers)["Content-Type"]
            if kind == "resource"
            else "",
        )
        self.writer.write_record(record)

    def add_statement(self, name: str, **warc: str) -> None:
        """Write a response with a statement in Turtle."""
        turtle = ("Content-Type", "text/turtle; charset=utf-8")
        self.add(f"{HOST}/{name}", statement(name), turtle, **warc)

    def content(self) -> bytes:
        """Return what was written."""
        return self.out.getvalue()

"""WARC files, written by another implementation than ours."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING

from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

if TYPE_CHECKING:
    from pathlib import Path

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
        out: the written bytes.
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
        """Return the written bytes."""
        return self.out.getvalue()


def raw_record(
    content: bytes,
    *,
    kind: str = "response",
    url: str = f"{HOST}/raw",
    version: str = "1.0",
    media_type: str = "application/http; msgtype=response",
    length: str | None = "",
) -> bytes:
    """Return a record unchanged, of a length that may be wrong or missing."""
    lines = [
        f"WARC/{version}",
        f"WARC-Type: {kind}",
        f"WARC-Target-URI: {url}",
        f"WARC-Date: {DATE}",
        "WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000000>",
        f"Content-Type: {media_type}",
    ]
    if length is not None:
        lines.append(f"Content-Length: {length or len(content)}")
    return "\r\n".join([*lines, "", ""]).encode() + content + b"\r\n\r\n"


@dataclass(frozen=True)
class ReadRecord:
    """A record of an archive, as another implementation reads it.

    Attributes:
        type: of the record.
        url: of the record.
        fields: of WARC, by name.
        head: status line and headers of HTTP.
        body: unchanged.
    """

    type: str
    url: str
    fields: dict[str, str]
    head: str
    body: bytes


def read_archive(path: Path) -> list[ReadRecord]:
    """Return the records of a WARC file, all of them sound."""
    with path.open("rb") as file:
        return [
            ReadRecord(
                type=record.rec_type,
                url=record.rec_headers.get_header("WARC-Target-URI") or "",
                fields=dict(record.rec_headers.headers),
                head=str(record.http_headers or ""),
                body=record.raw_stream.read(),
            )
            for record in ArchiveIterator(file, check_digests="raise")
        ]


def warcio(command: str, *files: Path) -> str:
    """Return the output of a warcio command on files without faults."""
    words = [sys.executable, "-m", "warcio.cli", command, *map(str, files)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

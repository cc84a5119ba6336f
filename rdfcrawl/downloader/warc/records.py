"""Records of a WARC file, as gzip members.

Source: The WARC Format 1.1 (IIPC), clauses 5 and 6, annex D.
"""

from __future__ import annotations

import base64
import hashlib
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rdfcrawl.stores.segment_file import PREFIX, MemberPacker, pack_member

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Literal

    from rdfcrawl.stores.segment_file import SegmentFile

    RecordType = Literal[
        "warcinfo", "response", "resource", "request", "metadata", "revisit"
    ]

SAME_PAYLOAD: Final = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED: Final = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
RESPONSE_TYPE: Final = "application/http; msgtype=response"
REQUEST_TYPE: Final = "application/http; msgtype=request"
FIELDS_TYPE: Final = "application/warc-fields"
COPY_KEPT: Final = ("X-Crawler-Copy", "kept")
"""Field of a 404 that does not yet mean that the document is gone."""
_MAX_PACKED_BYTES: Final = 1024 * 1024
_LEVEL: Final = 2  # of isal, 0 to 3


def new_record_id() -> str:
    """Return the name of a new record."""
    return uuid.uuid4().urn


def warc_date(unix_ms: int) -> str:
    """Return a time in the form of `WARC-Date`.

    >>> warc_date(1_700_000_000_007)
    '2023-11-14T22:13:20.007Z'
    """
    secs, ms = divmod(unix_ms, 1000)
    return f"{_second(secs)}.{ms:03}Z"


@lru_cache(maxsize=64)
def _second(unix_secs: int) -> str:
    return datetime.fromtimestamp(unix_secs, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def sha1(content: bytes) -> bytes:
    """Return the digest that tools expect; security does not depend on it."""
    return hashlib.sha1(content, usedforsecurity=False).digest()


@lru_cache(maxsize=64)  # most requests have an empty body
def digest_field(digest: bytes) -> str:
    """Return a SHA-1 digest in the form of WARC fields."""
    return f"sha1:{base64.b32encode(digest).decode()}"


@dataclass(slots=True, kw_only=True)
class WarcRecord:
    """A record to be written.

    Attributes:
        type: of the record.
        record_id: its URN.
        fields: further fields, except type, ID, digest of the block, content type and
            length; values have no line breaks.
        content_type: of the block.
        head: start of the block.
        body: rest of the block; supports repeated iteration.
        n_body: its length.
        block_digest: SHA-1 of head and body; computed if not given.
    """

    type: RecordType
    record_id: str
    fields: list[tuple[str, str]]
    content_type: str
    head: bytes = b""
    body: Iterable[bytes] = ()
    n_body: int = 0
    block_digest: bytes = b""

    @property
    def is_long(self) -> bool:
        """Whether the record should be written piece by piece."""
        return self.n_body > _MAX_PACKED_BYTES

    def _parts(self) -> Iterator[bytes]:
        digest = self.block_digest or sha1(self.head)
        fields = [
            ("WARC-Type", self.type),
            ("WARC-Record-ID", f"<{self.record_id}>"),
            *self.fields,
            ("WARC-Block-Digest", digest_field(digest)),
            ("Content-Type", self.content_type),
            ("Content-Length", str(len(self.head) + self.n_body)),
        ]
        lines = "".join([f"{name}: {value}\r\n" for name, value in fields])
        yield f"WARC/1.1\r\n{lines}\r\n".encode("utf-8", "replace") + self.head
        yield from self.body
        yield b"\r\n\r\n"

    def packed(self, *, is_synced: bool = False) -> bytes:
        """Return the record as one member; only if it fits in memory."""
        content = b"".join(self._parts())
        return pack_member(content, level=_LEVEL, is_synced=is_synced)

    def stream_into(self, file: SegmentFile) -> None:
        """Append the record to a file, piece by piece.

        Raises:
            OSError: the file may contain a part of it.
        """
        begin, packer = file.n_bytes, MemberPacker(_LEVEL)
        file.append(PREFIX, bytes(8))  # a length of 0: the end of the member is unknown
        for part in self._parts():
            if packed := packer.pack(part):
                file.append(packed)
        file.append(packer.finish())
        file.patch_length(begin)


def fields_block(fields: Iterable[tuple[str, str]]) -> bytes:
    r"""Return a block of `application/warc-fields`.

    >>> fields_block([("fault", "a\nb")])
    b'fault: a b\r\n'
    """
    lines = (f"{name}: {' '.join(value.split())}\r\n" for name, value in fields)
    return "".join(lines).encode("utf-8", "replace")

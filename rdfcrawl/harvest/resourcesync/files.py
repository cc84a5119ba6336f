"""The bytes of resources, kept as files if the operator wants them.

What a URI is called by the web never becomes a path: a file is in a folder of its host
and has the percent-encoded URI as its name, which has neither slashes nor dots alone.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from rdfcrawl.fetch.spool import Spool
from rdfcrawl.sitemaps.resourcesync.fixity import FixityVerifier

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.bytesource import ByteSource
    from rdfcrawl.sitemaps.resourcesync.fixity import ExpectedBytes

_MAX_NAME: Final = 200  # file systems take 255 bytes
_PIECE_BYTES: Final = 256 * 1024
PARTIAL: Final = ".partial"


def path_of(folder: Path, uri: str) -> Path:
    """Return where the bytes of a resource are kept.

    >>> from pathlib import Path
    >>> path_of(Path("/f"), "http://example.org:8080/a/../b?c=%2F").as_posix()
    '/f/example.org%3A8080/http%3A%2F%2Fexample.org%3A8080%2Fa%2F..%2Fb%3Fc%3D%252F'
    """
    host = quote(urlsplit(uri).netloc, safe="")
    if not host.strip("."):
        host = "_"
    return folder / _short(host) / _short(quote(uri, safe=""))


class ResourceFiles:
    """The files of one folder; all that waits for the disk is for a thread.

    Args:
        folder: made when the first file is.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # What a dead process has begun is removed when the next one opens it.
        self._partial: Spool | None = None

    def path(self, uri: str) -> Path:
        """Return where the bytes of a resource are kept."""
        return path_of(self._folder, uri)

    def write(self, uri: str, source: ByteSource, fixity: ExpectedBytes) -> Path:
        """Keep the bytes of a resource in place of those before; return where.

        Raises:
            SourceFault: `BAD_FIXITY`: they are not what was stated; those before are
                still there.
            OSError: the disk is full or broken.
        """
        if self._partial is None:
            self._partial = Spool(self._folder / PARTIAL, memory_limit_bytes=0)
        partial, path = self._partial.new_path(), self.path(uri)
        verifier = FixityVerifier(fixity)
        try:
            with partial.open("xb") as file, source.open() as stream:
                while piece := stream.read(_PIECE_BYTES):
                    verifier.update(piece)
                    file.write(piece)
                verifier.finish()
                file.flush()
                os.fsync(file.fileno())
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        return path

    def read(self, uri: str, max_bytes: int) -> bytes:
        """Return the first bytes of what is kept of a resource, at most so many.

        Raises:
            OSError: nothing is kept.
        """
        with self.path(uri).open("rb") as file:
            return file.read(max_bytes)

    def remove(self, uri: str) -> None:
        """Keep nothing of a resource any more."""
        self.path(uri).unlink(missing_ok=True)


def _short(name: str) -> str:
    """Return a name that is short enough; one that is cut is still like no other."""
    if len(name) <= _MAX_NAME:
        return name
    digest = blake2b(name.encode(), digest_size=16).hexdigest()
    return f"~{digest}-{name[: _MAX_NAME - 50]}"  # no other begins with a tilde

"""The bytes of resources, kept as files on demand.

A file is in a folder of its host. Its name is the percent-encoded URI, which has no
slashes and is not just dots, so a URI cannot escape the folder.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from rdfcrawl.downloader.spool import Spool
from rdfcrawl.sources.resourcesync.fixity import ExpectedBytes, FixityVerifier
from rdfcrawl.stores.drafts import synced_file

if TYPE_CHECKING:
    from rdfcrawl.core.content import ByteSource

_MAX_NAME: Final = 200  # file systems allow 255 bytes
_PIECE_BYTES: Final = 256 * 1024
PARTIAL: Final = ".partial"


def path_of(folder: Path, uri: str) -> Path:
    """Return the path of a resource's file.

    >>> from pathlib import Path
    >>> path_of(Path("/f"), "http://example.org:8080/a/../b?c=%2F").as_posix()
    '/f/example.org%3A8080/http%3A%2F%2Fexample.org%3A8080%2Fa%2F..%2Fb%3Fc%3D%252F'
    """
    host = quote(urlsplit(uri).netloc, safe="")
    if not host.strip("."):
        host = "_"
    return folder / _short(host) / _short(quote(uri, safe=""))


class ResourceFiles:
    """The files of one folder, created on demand; call the methods in a thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Opening it removes the partial files of dead processes.
        self._partial: Spool | None = None

    def write(self, uri: str, source: ByteSource, fixity: ExpectedBytes) -> Path:
        """Replace the bytes of a resource; return the path.

        Raises:
            SourceFault: `BAD_FIXITY`: other bytes than stated; the former file is kept.
            OSError: the disk is full or broken.
        """
        if self._partial is None:
            self._partial = Spool(self._folder / PARTIAL, memory_limit_bytes=0)
        partial, path = self._partial.new_path(), path_of(self._folder, uri)
        verifier = FixityVerifier(fixity)
        try:
            with synced_file(partial) as file, source.open() as stream:
                while piece := stream.read(_PIECE_BYTES):
                    verifier.update(piece)
                    file.write(piece)
                verifier.finish()
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        return path

    def read(self, uri: str, max_bytes: int) -> bytes:
        """Return the first bytes of a resource's file.

        Raises:
            OSError: there is no file.
        """
        with path_of(self._folder, uri).open("rb") as file:
            return file.read(max_bytes)

    def remove(self, uri: str) -> None:
        """Delete the file of a resource."""
        path_of(self._folder, uri).unlink(missing_ok=True)


def _short(name: str) -> str:
    """Return a name that is short enough, and unique."""
    if len(name) <= _MAX_NAME:
        return name
    digest = blake2b(name.encode(), digest_size=16).hexdigest()
    return f"~{digest}-{name[: _MAX_NAME - 50]}"  # unique by its tilde

"""Follow a crawl with files of RDF: `turtle:PATH`, `trig:PATH` and the like.

The statements of each document are in a table. When a document changes, its file is
written from the table under a temporary name and then renamed, so readers see either
the old or the new file.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import counted
from rdfcrawl.rdf.serializing import (
    StatementSerializer,
    open_packed,
    packer,
    read_statements,
)
from rdfcrawl.stores.files import sync
from rdfcrawl.stores.followers.local_disk import LOCK_SECS
from rdfcrawl.stores.followers.renewed import (
    NO_HOST,
    RENEW_SECS,
    TableFollower,
    checked_options,
    document_name,
    host_name,
    path_of,
)

logger = logging.getLogger(__name__)

SCHEMES: Final = {
    "jsonld": "jsonld",
    "nquads": "nq",
    "ntriples": "nt",
    "trig": "trig",
    "turtle": "ttl",
}
"""Schemes of URIs, and the extension of each format."""

_STATE: Final = ".rdfcrawl"
_FILES_BATCH: Final = 500  # files per `os.sync`
_PIECE_BYTES: Final = 1 << 18  # of N-Quads that are serialized together
_OF_PART: Final = "CREATE INDEX IF NOT EXISTS of_part ON documents (part, iri)"


class FileFollower(TableFollower):
    """Files of RDF in a folder; see `protocol.Follower`.

    Args:
        path: of the folder.
        extension: of the format, a value of `SCHEMES`.
        per: unit of a file: `document`, `host` or `all`.
        compression: `gz`, `zst`, or None.
        renew_secs: least time between two renewals of the files.
        lock_secs: longest wait for another process that has the store open.
    """

    def __init__(
        self,
        path: Path,
        *,
        extension: str = "ttl",
        per: str = "document",
        compression: str | None = None,
        renew_secs: float | None = None,
        lock_secs: float = LOCK_SECS,
    ) -> None:
        self._per = per
        self._extension = extension
        self._has_graphs = StatementSerializer(extension).has_graphs
        self._suffix = ".".join(
            ["", extension, *([compression] if compression else [])]
        )
        self._compression = compression or ""
        self._pack = packer(self._compression)
        by_default = 0.0 if per == "document" else RENEW_SECS
        super().__init__(
            path,
            path / _STATE,
            {"format": extension, "per": per, "compression": str(compression)},
            renew_secs=by_default if renew_secs is None else renew_secs,
            lock_secs=lock_secs,
        )

    @classmethod
    def from_options(cls, uri: str, options: Mapping[str, object]) -> FileFollower:
        """Return the files of a URI.

        Raises:
            ConfigError: the URI has no path, or an option is wrong.
        """
        choices = {
            "per": ("document", "host", "all"),
            "compression": ("gz", "zst", None),
        }
        found = checked_options(options, choices)
        extension = SCHEMES[uri.partition(":")[0]]
        return cls(path_of(uri), extension=extension, **found)  # type: ignore[arg-type]

    def _prepare(self) -> None:
        path = self._path
        is_ours = self._state.is_dir() or not path.exists()
        if not is_ours and (not path.is_dir() or any(path.iterdir())):
            raise ConfigError(f"{path}: exists, and was not created by rdfcrawl")
        self._state.mkdir(parents=True, exist_ok=True)

    def _resume(self) -> None:
        if self._per != "document":
            self._table.db.execute(_OF_PART)

    def _part_of(self, graph: str, version_ms: int) -> str:  # noqa: ARG002
        """Return the path of the file of a document, without its extension."""
        if self._per == "document":
            return document_name(graph)
        return "all" if self._per == "all" else host_name(graph) or NO_HOST

    def _renew(self) -> None:
        while parts := self._table.changed_parts(_FILES_BATCH):
            folders = set()
            for part in parts:
                path = self._path / f"{part}{self._suffix}"
                self._write_file(part, path)
                folders |= {*self._folders(path)}
            if self._per == "document":
                os.sync()  # faster than syncing many small files
            for folder in folders:
                with suppress(FileNotFoundError):
                    sync(folder)
            self._table.settle(parts, is_kept=self._per != "document")

    def _write_file(self, part: str, path: Path) -> None:
        """Write a file, or remove it if it would be empty."""
        draft = self._state / "draft"
        serializer = StatementSerializer(self._extension)
        has_any = False
        with draft.open("wb") as file:
            for piece in self._pieces(part):
                has_any = True
                file.write(self._pack(serializer.write(piece)))
            if end := serializer.end():
                file.write(self._pack(end))
            file.flush()
            if self._per != "document":
                os.fsync(file.fileno())
        if serializer.n_left_out:
            logger.warning(
                "%s: %s left out that %s cannot express",
                path,
                counted(serializer.n_left_out, "statement"),
                serializer.title,
            )
        if has_any:
            self._put(draft, path)
        else:
            self._remove(path)

    def _pieces(self, part: str) -> Iterator[bytes]:
        """Yield the statements of a part, in the order of the documents' IRIs."""
        held: list[bytes] = []
        n_bytes = 0
        table = self._table
        is_one = self._per == "document"
        for document in table.changed(part) if is_one else table.documents(part):
            for piece in self._table.pieces(document.key):
                held.append(piece)
                n_bytes += len(piece)
                if n_bytes >= _PIECE_BYTES:
                    yield b"".join(held)
                    held, n_bytes = [], 0
        if held:
            yield b"".join(held)

    def _put(self, draft: Path, path: Path) -> None:
        """Rename a draft to its file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.replace(path)

    def _remove(self, path: Path) -> None:
        """Remove a file, and the folders that become empty."""
        path.unlink(missing_ok=True)
        for folder in self._folders(path):
            if folder != self._path:
                with suppress(OSError):  # not empty
                    folder.rmdir()

    def _folders(self, path: Path) -> list[Path]:
        """Return the parents of a file up to the folder of the store."""
        n_names = len(path.relative_to(self._path).parts)
        return list(path.parents)[:n_names]

    def statements(self) -> Iterator[bytes] | None:
        """Yield all statements that are in files, as N-Quads.

        Those of a format without graphs are in the graph of their document. None:
        several documents are in one such file.
        """
        is_listed = self._has_graphs or self._per == "document"
        return self._statements() if is_listed else None

    def held_statements(self, graph: str, quads: bytes) -> bytes:
        """Return the statements that the format can express, in their graph."""
        held = StatementSerializer(self._extension).expressible(quads)
        if self._has_graphs:
            return held
        tail = b" <%s> .\n" % graph.encode()
        triples = StatementSerializer("nt").write(held)
        return triples.replace(b" .\n", tail)

    def _statements(self) -> Iterator[bytes]:
        if self._has_graphs:
            for path in self._path.rglob(f"*{self._suffix}"):
                yield from self._read(path, None)
            return
        for iri, part in self._table.names():
            path = self._path / f"{part}{self._suffix}"
            if path.exists():
                yield from self._read(path, iri)

    def _read(self, path: Path, graph: str | None) -> Iterator[bytes]:
        with open_packed(path, self._compression) as file:
            yield from read_statements(file, self._extension, graph)

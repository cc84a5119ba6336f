"""A directory as N-Triples: an LDP container of its entries.

Sources: Linked Data Platform 1.0, 5.2; DCMI terms; the `stat` vocabulary, which Linked
Data servers use for files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from posixpath import normpath
from typing import Final

from rdfcrawl.core.namespaces import DCTERMS, LDP, POSIX_STAT, RDF_TYPE, XSD
from rdfcrawl.downloader.ftp.address import has_control, quote_name
from rdfcrawl.downloader.ftp.listing import (
    Format,
    FtpEntry,
    ListingLines,
    is_noise,
    parse_facts,
    parse_list_line,
    parse_name,
)
from rdfcrawl.rdf.terms import iri, literal, statement

MEDIA_TYPE: Final = "application/n-triples"

_TYPE: Final = iri(RDF_TYPE)
_CONTAINER: Final = iri(f"{LDP}BasicContainer")
_CONTAINS: Final = iri(f"{LDP}contains")
_MODIFIED: Final = iri(f"{DCTERMS}modified")
_SIZE: Final = iri(f"{POSIX_STAT}size")
_DATE_TIME: Final = f"{XSD}dateTime"
_INTEGER: Final = f"{XSD}integer"

_PARSERS: Final[dict[Format, Callable[[str], FtpEntry | None]]] = {
    "MLSD": parse_facts,
    "LIST": parse_list_line,
    "NLST": parse_name,
}


class ContainerWriter:
    """Write the statements of a listing, block by block.

    Args:
        url: of the directory, with a trailing slash.
        path: of the directory on the server, absolute.
        above: `unique` facts of the directory and its ancestors: entries with one of
            them are links back, and are left out.
        most_entries: limit of entries.

    Attributes:
        n_bad: names left out because of control characters, slashes or their length.
        n_unread: lines that could not be parsed.
        is_full: there are more than `most_entries`.
    """

    def __init__(
        self,
        url: str,
        path: str,
        form: Format,
        *,
        above: Collection[str] = (),
        most_entries: int,
    ) -> None:
        self._subject = iri(url)
        self._start = self._subject[:-1]
        self._path = path
        self._parse = _PARSERS[form]
        self._above = set(above)
        self._most_entries = most_entries
        self._lines = ListingLines()
        self._n_bad = 0
        self.n_entries = 0
        self.n_unread = 0
        self.is_full = False

    @property
    def n_bad(self) -> int:
        """Names left out."""
        return self._n_bad + self._lines.n_too_long

    def head(self) -> bytes:
        """Return the statements about the directory itself."""
        return statement(self._subject, _TYPE, _CONTAINER).encode()

    def feed(self, block: bytes) -> bytes:
        """Return the statements of the entries whose lines end in a block."""
        return self._write(self._lines.feed(block))

    def end(self) -> bytes:
        """Return the statements of a last line without a line end."""
        return self._write(self._lines.end())

    def _write(self, lines: Iterable[str]) -> bytes:
        written: list[str] = []
        for line in lines:
            entry = self._parse(line)
            if entry is None:
                self.n_unread += not is_noise(line)
            elif self._admits(entry):
                if self.n_entries >= self._most_entries:
                    self.is_full = True
                    break
                self.n_entries += 1
                written.append(self._statements(entry))
        return "".join(written).encode()

    def _admits(self, entry: FtpEntry) -> bool:
        """Return whether an entry lies in the directory and leads on from it."""
        if entry.is_self or entry.name in (".", ".."):
            return False
        if "/" in entry.name or has_control(entry.name):
            self._n_bad += 1
            return False
        if entry.unique and entry.is_directory and entry.unique in self._above:
            return False
        return not (entry.target and self._leads_back(entry.target))

    def _leads_back(self, target: str) -> bool:
        """Return whether a link leads to the directory or to one of its ancestors."""
        own = normpath(self._path)
        there = normpath(f"{own}/{target}" if not target.startswith("/") else target)
        return own == there or own.startswith(there.rstrip("/") + "/")

    def _statements(self, entry: FtpEntry) -> str:
        slash = "/" if entry.is_directory else ""
        # Quoted names contain only characters that IRIs allow.
        subject = f"{self._start}{quote_name(entry.name)}{slash}>"
        found = statement(self._subject, _CONTAINS, subject)
        if entry.modified:
            modified = literal(entry.modified, datatype=_DATE_TIME)
            found += statement(subject, _MODIFIED, modified)
        if entry.size >= 0:
            size = literal(str(entry.size), datatype=_INTEGER)
            found += statement(subject, _SIZE, size)
        return found

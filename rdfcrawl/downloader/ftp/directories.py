"""Directories of FTP servers: their listings, and LDP containers of their entries.

LIST has no standard; servers use the formats of `ls -l` or of `dir` on Windows.

Sources: RFC 3659 7 (MLSD and its facts); Linked Data Platform 1.0, 5.2; DCMI terms; the
`stat` vocabulary, which Linked Data servers use for files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from posixpath import normpath
from typing import Final, Literal

from rdfcrawl.core.namespaces import DCTERMS, LDP, POSIX_STAT, RDF_TYPE, XSD
from rdfcrawl.downloader.ftp.address import has_control, quote_name
from rdfcrawl.rdf.terms import iri, literal, statement

Format = Literal["MLSD", "LIST", "NLST"]
MAX_LINE_BYTES: Final = 8192  # exceeds any name of 4 KiB in escapes of facts

_UNIX = re.compile(
    r"(?P<type>[-dlbcpsDn?])[-rwxsStTlLax]{9}[.+@]?"
    r"\s+(?:[0-9]+\s+)?(?:\S+\s+){0,6}?"  # links, owner and group, which are ignored
    r"(?P<size>[0-9]+)\s+"
    r"(?:[0-9]{4}-[0-9]{2}-[0-9]{2}\s+[0-9:.]{5,20}(?:\s[+-][0-9]{4})?"
    r"|(?:[^\s0-9]\S*\s+[0-9]{1,2}\.?|[0-9]{1,2}\.?\s+[^\s0-9]\S*)"
    r"\s+(?:[0-9]{4}|[0-9]{1,2}:[0-9]{2}))"
    r"\s(?P<name>.+)",
    re.DOTALL,
).fullmatch
# Devices have another number in place of the size.
_UNIX_DEVICE = re.compile(r"[bcps][-rwxsStTlLax]{9}").match
_DOS = re.compile(
    r"[0-9]{2}[-/.][0-9]{2}[-/.][0-9]{2,4}\s+[0-9]{1,2}:[0-9]{2}(?:\s?[AaPp][Mm])?\s+"
    r"(?:<(?P<dir>DIR|JUNCTION|SYMLINKD|SYMLINK)> {1,10}|(?P<size>[0-9][0-9.,]*) )"
    r"(?P<name>.+)",
    re.DOTALL,
).fullmatch
_TOTAL = re.compile(r"total\s+[0-9.,]+[A-Za-z]?", re.IGNORECASE).fullmatch
_TIME = re.compile(
    r"([0-9]{4})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})([0-9]{2})(\.[0-9]{1,9})?"
).fullmatch
_SELF: Final = frozenset({"cdir", "pdir"})
_NO_FILES: Final = ("os.unix=chr", "os.unix=blk", "os.unix=socket", "os.unix=fifo")
_facts = re.compile(r"(?:\A|;)([^=;]++)=([^;]*+)").findall
_KINDS: Final = {"dir": True, "cdir": True, "pdir": True, "file": False}
_is_size = re.compile(r"[0-9]{1,18}").fullmatch
MEDIA_TYPE: Final = "application/n-triples"
_TYPE: Final = iri(RDF_TYPE)
_CONTAINER: Final = iri(f"{LDP}BasicContainer")
_CONTAINS: Final = iri(f"{LDP}contains")
_MODIFIED: Final = iri(f"{DCTERMS}modified")
_SIZE: Final = iri(f"{POSIX_STAT}size")
_DATE_TIME: Final = f"{XSD}dateTime"
_INTEGER: Final = f"{XSD}integer"


@dataclass(frozen=True, slots=True)
class FtpEntry:
    """One name of a directory."""

    name: str  # its bytes, one character each
    # None if unknown (a link may be either)
    is_directory: bool | None = None
    size: int = -1  # in bytes, -1 if unknown
    modified: str = ""  # `xsd:dateTime` in UTC, or empty
    unique: str = ""  # the server's identifier of the file, however it is reached
    target: str = ""  # of a link, unparsed
    is_self: bool = False  # the listed directory, or its parent


def parse_facts(line: str) -> FtpEntry | None:
    """Parse a line of MLSD or MLST; None if it names no file or directory.

    >>> parse_facts("Type=file;Size=3;Modify=20240102030405; a b").modified
    '2024-01-02T03:04:05Z'
    """
    text, blank, name = line.partition(" ")
    if not blank or not name or "=" not in text:
        return None
    facts = {key.lower(): value for key, value in _facts(text)}
    kind = facts.get("type", "").lower()
    if kind.startswith(_NO_FILES):
        return None
    size = facts.get("size", "")
    is_link = kind.startswith("os.unix=s")  # slink:TARGET, symlink
    return FtpEntry(
        name,
        is_directory=_KINDS.get(kind),
        size=int(size) if _is_size(size) and kind == "file" else -1,
        modified=parse_time(facts.get("modify", "")),
        unique=facts.get("unique", ""),
        target=facts["type"].partition(":")[2] if is_link else "",
        is_self=kind in _SELF,
    )


def parse_list_line(line: str) -> FtpEntry | None:
    """Parse a line of LIST; None if it names no file or directory.

    Times are ignored: they have no zone, and usually no year or no hour.

    >>> parse_list_line("-rw-r--r-- 1 me us 42 Jan  3  2024 a b.nt").size
    42
    """
    found = _UNIX(line)
    if found is not None:
        return _unix_entry(found)
    found = _DOS(line)
    if found is None:
        return None
    name, kind = found["name"], found["dir"]
    if kind is None:
        size = re.sub(r"[.,]", "", found["size"])
        return FtpEntry(
            name, is_directory=False, size=int(size) if _is_size(size) else -1
        )
    if kind != "DIR":
        return FtpEntry(_without_target(name), None if kind == "SYMLINK" else True)
    return FtpEntry(name, is_directory=True)


def _without_target(name: str) -> str:
    """Return the name of a DOS link: `NAME [TARGET]` without the target."""
    if not name.endswith("]"):
        return name
    begin = name.find(" [", name.rfind("]", 0, -1) + 1)
    return name[:begin] if begin >= 0 else name


def _unix_entry(found: re.Match[str]) -> FtpEntry | None:
    name, kind = found["name"], found["type"]
    if kind in "bcps":
        return None
    if kind == "l":
        name, _, target = name.partition(" -> ")
        return FtpEntry(name, target=target)
    if kind == "d":
        return FtpEntry(name, is_directory=True)
    size = found["size"]
    return FtpEntry(name, is_directory=False, size=int(size) if _is_size(size) else -1)


def parse_name(line: str) -> FtpEntry | None:
    """Parse a line of NLST: a name."""
    return FtpEntry(line) if line else None


def is_noise(line: str) -> bool:
    """Return whether a line of LIST names nothing on purpose."""
    return not line.strip() or bool(_TOTAL(line.strip()) or _UNIX_DEVICE(line))


def parse_time(text: str) -> str:
    """Return a time of RFC 3659 2.3 as `xsd:dateTime`; empty if invalid.

    >>> parse_time("20240230000000"), parse_time("20240102030405.5")
    ('', '2024-01-02T03:04:05.5Z')
    """
    parts = _TIME(text)
    if parts is None:
        return ""
    year, month, day, hour, minute, second, fraction = parts.groups()
    try:
        datetime(  # noqa: DTZ001  only to see whether there is such a time
            int(year), int(month), int(day), int(hour), int(minute), int(second)
        )
    except ValueError:
        return ""
    return f"{year}-{month}-{day}T{hour}:{minute}:{second}{fraction or ''}Z"


class ListingLines:
    """Split blocks of bytes into lines of Latin-1.

    Attributes:
        n_too_long: lines over `MAX_LINE_BYTES`, ignored.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._skips = False
        self.n_too_long = 0

    def feed(self, block: bytes) -> Iterator[str]:
        """Yield the lines that end in a block."""
        *lines, rest = (self._rest + block).split(b"\n")
        for line in lines:
            if self._skips:
                self._skips = False
            elif len(line) > MAX_LINE_BYTES:
                self.n_too_long += 1
            else:
                yield line.removesuffix(b"\r").decode("latin-1")
        if self._skips or len(rest) > MAX_LINE_BYTES:
            self.n_too_long += not self._skips
            self._skips, rest = True, b""
        self._rest = rest

    def end(self) -> Iterator[str]:
        """Yield a last line without a line feed."""
        if self._rest and not self._skips:
            yield self._rest.removesuffix(b"\r").decode("latin-1")
        self._rest = b""


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

"""Seeds: one URL per line of a file, or a table of URLs and types.

A table is comma-separated and begins with a line that names its columns; one of them is
`uri`, another may be `type`, as in the seed files of Squirrel.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from rdfcrawl.core.errors import ConfigError, Fault, Reason
from rdfcrawl.core.records import Document, Kind, Record
from rdfcrawl.uri import BadUri
from rdfcrawl.uri.guard.gate import refusal_of
from rdfcrawl.uri.guard.policy import Guard
from rdfcrawl.uri.parse import check_scheme, seed_url

MAX_LINE_BYTES: Final = 1 << 16
_URI, _TYPE = "uri", "type"
# Types of Squirrel, including its older versions, and our names of sources. None: the
# kind is derived from the URL.
TYPES: Final[dict[str, Kind | str | None]] = {
    **dict.fromkeys(("", "unknown", "dereferenceable", "html", "csv")),
    "dump": Kind.DUMP,
    "rdf-dump": Kind.DUMP,
    "sparql": Kind.SPARQL,
    "ckan": Kind.CKAN,
    "sitemap": Kind.SITEMAP,
    "resourcesync": Kind.RESOURCESYNC,
    "oaipmh": "oaipmh",
}

T = TypeVar("T", "str", "Seed")


@dataclass(frozen=True, slots=True)
class BadSeed:
    """An invalid line of a seed file, counted from 1."""

    path: Path
    line: int
    fault: Fault


@dataclass(frozen=True, slots=True)
class Seed:
    """One seed: its requestable URL, and its kind or harvester if it has one."""

    url: str
    kind: Kind | str | None = None


def iter_start_urls(
    texts: Iterable[str], schemes: frozenset[str]
) -> Iterator[str | BadSeed]:
    """Yield the `start_urls` of a spider as requestable URLs."""
    for number, text in enumerate(texts, start=1):
        try:
            url = seed_url(text)
            check_scheme(url, schemes)
            yield url
        except BadUri as error:
            yield BadSeed(Path("start_urls"), number, error.fault)


def iter_seeds(
    seeds: tuple[str, ...] | Path, schemes: frozenset[str] | None = None
) -> Iterator[str | BadSeed]:
    """Yield the requestable URLs of seeds, in order, duplicates included.

    A file has one URL per line, UTF-8; blank lines and lines that begin with `#` are
    skipped; `.gz` is decompressed. The file is streamed.

    Yields:
        A requestable URL, or a `BadSeed` for an invalid line or a truncated file.
    """
    for seed in iter_typed_seeds(seeds, schemes):
        yield seed.url if isinstance(seed, Seed) else seed


def iter_typed_seeds(
    seeds: tuple[str, ...] | Path, schemes: frozenset[str] | None = None
) -> Iterator[Seed | BadSeed]:
    """Yield seeds as `iter_seeds` does, with the kinds that a table gives them.

    Lines with a URL of a scheme not in `schemes` are bad; None allows all.
    """
    if isinstance(seeds, Path):
        yield from _iter_file(seeds, schemes)
    else:
        yield from map(Seed, seeds)


def check_seed_file(path: Path) -> None:
    """Check that a file of seeds can be read.

    Raises:
        ConfigError: the file is unreadable, or a `.csv` file without column names.
    """
    try:
        with _open(path) as file:
            first = next(_iter_lines(file), b"")
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError(f"can be read: {error}") from error
    if ".csv" in path.suffixes and not _columns(first):
        raise ConfigError(f"has a column {_URI!r}, named in its first line")


def _iter_file(path: Path, schemes: frozenset[str] | None) -> Iterator[Seed | BadSeed]:
    number = 0
    columns: dict[str, int] | None = None
    try:
        with _open(path) as file:
            for number, line in enumerate(_iter_lines(file), start=1):
                text = line.strip()
                if not text or text.startswith(b"#"):
                    continue
                if columns is None:
                    columns = _columns(text)
                    if columns:
                        continue
                try:
                    seed = _parse(text.decode(), columns)
                    if schemes is not None:
                        check_scheme(seed.url, schemes)
                    yield seed
                except UnicodeDecodeError as error:
                    fault = Fault(Reason.BAD_CHARSET, f"not UTF-8: {error}")
                    yield BadSeed(path, number, fault)
                except BadUri as error:
                    yield BadSeed(path, number, error.fault)
    except (OSError, EOFError, zlib.error) as error:
        fault = Fault(Reason.TRUNCATED_BODY, f"cannot be read further: {error}")
        yield BadSeed(path, number + 1, fault)


def _columns(line: bytes) -> dict[str, int]:
    """Return the columns named by a first line; empty if it names none."""
    names = [name.strip().lower() for name in _cells(line.decode(errors="replace"))]
    return {name: n for n, name in enumerate(names)} if _URI in names else {}


def _cells(text: str) -> list[str]:
    try:
        return next(csv.reader([text]), [])
    except csv.Error:
        return []


def _parse(text: str, columns: dict[str, int]) -> Seed:
    """Return the seed of a line, or raise `BadUri`."""
    if not columns:
        return Seed(seed_url(text))
    cells = _cells(text)
    row = {name: cells[n].strip() for name, n in columns.items() if n < len(cells)}
    kind = row.get(_TYPE, "").lower()
    if kind not in TYPES:
        known = ", ".join(filter(None, TYPES))
        raise BadUri(f"type {row[_TYPE]!r} is not known; there are {known}")
    return Seed(seed_url(row.get(_URI, "")), TYPES[kind])


def _open(path: Path) -> BinaryIO | gzip.GzipFile:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _iter_lines(file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    """Yield lines; of a line that is too long, a prefix longer than the limit."""
    is_rest = False
    while line := file.readline(MAX_LINE_BYTES):
        if not is_rest:
            yield line.removeprefix(b"\xef\xbb\xbf")
        is_rest = not line.endswith(b"\n")


class SeedFilter:
    """Filter of seeds, which keeps the faults of refused ones."""

    MOST: Final = 10_000  # refused seeds reported one by one

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._first: dict[str, Fault] = {}
        self._more: dict[Reason, tuple[str, Fault]] = {}

    def allowed(self, seeds: Iterator[T | BadSeed]) -> Iterator[T]:
        """Yield the seeds that are URLs allowed by the guard, as far as known here."""
        for seed in seeds:
            if isinstance(seed, BadSeed):
                self.refuse(f"{seed.path.name}:{seed.line}", seed.fault)
                continue
            url = seed if isinstance(seed, str) else seed.url
            if detail := refusal_of(url, self._guard):
                fault = Fault(Reason.GUARD_BLOCKED, detail[: Fault.MAX_DETAIL])
                self.refuse(url, fault)
            else:
                yield seed

    def refuse(self, where: str, fault: Fault) -> None:
        """Keep the fault of a seed; `where` is its URL or its line."""
        if len(self._first) < self.MOST:
            self._first[where] = fault
            return
        first, known = self._more.get(fault.reason, (where, replace(fault, count=0)))
        self._more[fault.reason] = first, replace(known, count=known.count + 1)

    def refused(self) -> Iterator[Document]:
        """Yield documents with the faults of the first refused seeds.

        For each reason, one more document stands for the rest.
        """
        for where, fault in (*self._first.items(), *self._more.values()):
            yield Document(record=Record(where), url=where, faults=[fault])

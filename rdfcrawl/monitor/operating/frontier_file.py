"""File format of a frontier: gzip of JSON, a value on each line.

The first line is the head: format, version and schema, name, partitions, counts and
settings of the crawl. Each further line is a chunk of one key, with its name without
the crawl's; the last one has the number of chunks. Values are written as commands
return them, since the format of `DUMP` differs between versions of Redis. Bytes are
texts in Latin-1.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, Final, Literal, Self, cast, get_args

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.queue.candidate import STORED

KeyType = Literal["string", "list", "set", "hash", "zset"]
TYPES: Final = frozenset(get_args(KeyType))
_FIRST: Final = STORED[: len(STORED) // 2]
_FORMAT: Final = "rdfcrawl frontier"
_VERSION: Final = 1
_LEVEL: Final = 3  # of gzip: 8 times as small as Redis, at a third of the time of 9
# Members have at most a few MB, and the longest escape has six characters.
MAX_LINE_BYTES: Final = 64 * 1024 * 1024
_MAX_PARTITIONS: Final = 4096  # as FRONTIER_PARTITIONS
_PAIRS: Final = ("hash", "zset")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileHead:
    """First line of a file.

    Attributes:
        schema: of the data model.
        crawl: its name.
        partitions: their number.
        counts: URIs by state, and hosts.
        conf: settings with which the crawl began.
    """

    schema: int
    crawl: str
    partitions: int
    counts: Mapping[str, int]
    conf: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class KeyChunk:
    """A part of a key.

    Attributes:
        name: `<partition>:<name>`, `:<name>` of the crawl, or `start_urls`.
        kind: type of the key.
        members: of a hash, fields and values; of a sorted set, members and scores; of a
            string, a part, to be appended.
        rest_ms: until the key expires; None if it does not.
    """

    name: str
    kind: KeyType
    members: tuple[str, ...]
    rest_ms: int | None = None


class FrontierFileError(ConfigError):
    """A file is not of a frontier, or is damaged."""


class FrontierWriter:
    """Writes a frontier to a binary file.

    Attributes:
        n_chunks: written chunks.
    """

    def __init__(self, file: Any, head: FileHead) -> None:
        self._gzip = gzip.GzipFile(
            fileobj=file, mode="wb", compresslevel=_LEVEL, filename="", mtime=0
        )
        self.n_chunks = 0
        self._line({"format": _FORMAT, "version": _VERSION, **asdict(head)})

    def write(self, chunk: KeyChunk) -> None:
        """Append a chunk.

        Raises:
            ConfigError: a member is too long for the format.
        """
        self.n_chunks += 1
        self._line([chunk.name, chunk.kind, chunk.members, chunk.rest_ms])

    def finish(self) -> None:
        """Write the last line."""
        self._line({"chunks": self.n_chunks})
        self._gzip.close()

    def _line(self, value: object) -> None:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        line = text.encode() + b"\n"
        if len(line) > MAX_LINE_BYTES:
            raise ConfigError(
                f"a key of the crawl has a member of over {len(line) // 2**20} MiB,"
                f" too long for a file: {text[:100]!a}"
            )
        self._gzip.write(line)


class FrontierReader:
    """Reads files of `FrontierWriter`; a context manager.

    All errors are `FrontierFileError`, in one line.

    Attributes:
        head: first line of the file.
    """

    head: FileHead

    def __init__(self, path: Path) -> None:
        self._path = path
        self._n_lines = 0
        try:
            self._file = cast("IO[bytes]", gzip.open(path, "rb"))  # noqa: SIM115
        except OSError as error:
            raise FrontierFileError(f"{path}: {error.strerror or error}") from error
        try:
            self.head = self._head(self._value())
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        """Return this reader."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def chunks(self) -> Iterator[KeyChunk]:
        """Yield all chunks; if no error follows the last one, the file is complete.

        Raises:
            FrontierFileError: the file is damaged.
        """
        n_chunks = 0
        while isinstance(value := self._value(), list):
            n_chunks += 1
            yield self._chunk(value)
        if value != {"chunks": n_chunks}:
            raise self._wrong("is damaged")
        if self._line():
            raise self._wrong("continues after its end")

    def _value(self) -> Any:
        line = self._line()
        if not line.endswith(b"\n"):
            raise self._wrong("is incomplete: it ends too early")
        try:
            return json.loads(line)
        except (ValueError, RecursionError) as error:
            raise self._wrong("is not JSON") from error

    def _line(self) -> bytes:
        self._n_lines += 1
        try:
            line = self._file.readline(MAX_LINE_BYTES + 1)
        except EOFError as error:
            raise self._wrong("is incomplete: it ends too early") from error
        except gzip.BadGzipFile as error:
            what = "is not a file of a frontier" if self._n_lines == 1 else "is damaged"
            raise self._wrong(what) from error
        except zlib.error as error:
            raise self._wrong("is damaged") from error
        except OSError as error:
            raise self._wrong(str(error.strerror or error)) from error
        if len(line) > MAX_LINE_BYTES:
            raise self._wrong(f"is longer than {MAX_LINE_BYTES // 2**20} MiB")
        return line

    def _wrong(self, what: str) -> FrontierFileError:
        return FrontierFileError(f"{self._path}: line {self._n_lines} {what}")

    def _head(self, value: Any) -> FileHead:
        if not isinstance(value, dict) or value.get("format") != _FORMAT:
            raise self._wrong("is not the head of a frontier")
        if value.get("version") != _VERSION:
            raise self._wrong(
                f"has version {value.get('version')!r:.20}, this program reads"
                f" {_VERSION}"
            )
        head = FileHead(
            schema=self._number(value.get("schema")),
            crawl=self._text(value.get("crawl")),
            partitions=self._number(value.get("partitions")),
            counts={k: self._number(v) for k, v in self._pairs(value.get("counts"))},
            conf={k: self._text(v) for k, v in self._pairs(value.get("conf"))},
        )
        if not 1 <= head.partitions <= _MAX_PARTITIONS or (
            (head.conf.get("partitions"), head.conf.get("schema"))
            != (str(head.partitions), str(head.schema))
        ):
            raise self._wrong("is damaged")
        return head

    def _chunk(self, value: list[Any]) -> KeyChunk:
        try:
            name, kind, members, rest_ms = value
        except ValueError:
            raise self._wrong("is damaged") from None
        if not (isinstance(kind, str) and kind in TYPES and isinstance(members, list)):
            raise self._wrong("is damaged")
        if not members or (kind in _PAIRS and len(members) % 2):
            raise self._wrong("is damaged")
        return KeyChunk(
            self._text(name),
            cast("KeyType", kind),
            tuple(map(self._text, members)),
            None if rest_ms is None else self._number(rest_ms),
        )

    def _pairs(self, value: Any) -> Any:
        if not isinstance(value, dict):
            raise self._wrong("is damaged")
        return value.items()

    def _number(self, value: Any) -> int:
        if not isinstance(value, int) or not 0 <= value < 2**63:
            raise self._wrong("is damaged")
        return value

    def _text(self, value: Any) -> str:
        # An escape may produce characters outside Latin-1.
        if not isinstance(value, str) or any(x > "\xff" for x in value):
            raise self._wrong("is damaged")
        return value


class FileTally:
    """Adds up chunks, to compare with the counters among them."""

    def __init__(self) -> None:
        self.found = dict.fromkeys(("queued", "in flight", "seen", "hosts"), 0)
        self.counted = dict(self.found)
        self._last_host = ""

    def add(self, chunk: KeyChunk) -> None:
        """Add a chunk; chunks of one key are consecutive."""
        number, _, name = chunk.name.partition(":")
        if not number or not name:
            return
        kind, members = name.partition(":")[0], chunk.members
        if kind == "q":
            self.found["queued"] += len(members)
        elif kind == "s":
            self.found["seen"] += len(members)
        elif kind == "i":
            self.found["in flight"] += sum(map(bool, members))
        elif kind == "h":
            self.found["hosts"] += chunk.name != self._last_host
            self._last_host = chunk.name
            self.found["queued"] += sum(name in _FIRST for name in members[::2])
        elif name == "cnt":
            fields = dict(zip(members[::2], members[1::2], strict=True))
            self._count("queued", fields, "q")
            self._count("in flight", fields, "l")
            self._count("seen", fields, "seen", "mk")
            self._count("hosts", fields, "hosts")

    def _count(self, what: str, fields: Mapping[str, str], *names: str) -> None:
        for name in names:
            text = fields.get(name, "0")
            self.counted[what] += int(text) if text.lstrip("-").isdecimal() else 0

    @property
    def difference(self) -> str:
        """Contradiction of chunks and counters, as text; empty if there is none."""
        return ", ".join(
            f"{n:,} {what}, counted as {self.counted[what]:,}"
            for what, n in self.found.items()
            if n != self.counted[what]
        )

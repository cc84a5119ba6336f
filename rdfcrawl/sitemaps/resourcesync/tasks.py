"""What a record of the frontier asks of a source, as short text.

A document, a page of a long one, a part of a dump and a resource are each one record,
so that a crash costs one of them. Equal tasks of equal URLs are the same record.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from hashlib import blake2b
from typing import Any, Final

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.sitemaps.resourcesync.documents import Capability, Change
from rdfcrawl.sitemaps.resourcesync.fixity import Fixity, parse_hashes

MAX_TASK_CHARS: Final = 2048
MAX_OTHERS: Final = 8  # mirrors that are kept for one resource


class Do(StrEnum):
    """What is done with the answer."""

    READ = "read"  # a document of ResourceSync
    UNPACK = "unpack"  # a part of a dump
    GET = "get"  # a resource
    PATCH = "patch"  # what changed of a resource


class Mode(StrEnum):
    """Why a source is read."""

    SYNC = "sync"  # whatever its state asks for
    BASELINE = "baseline"  # all of it, for the first time
    CHANGES = "changes"  # what changed since the last time
    AUDIT = "audit"  # all of it, to compare with what is there


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a record of the frontier is for.

    Attributes:
        do: see `Do`.
        mode: see `Mode`.
        source: `source_id` of the set of resources; empty until that is known.
        site: registered domain of the source: what it may speak of.
        run: one reading of the source, for whatever reason; the parts of different
            runs are different records.
        part: place in the run, see `runs`.
        expected: what the document has to be; None: any.
        without: capabilities that failed in this run and are not tried again.
        depth: documents from the first one to here.
        cursor: entries of the document that are done.
        version: of the document that `cursor` counts in.
        seen_us: latest change before `cursor`.
        has_datetime: `datetime` was seen before `cursor`.
        uri: of the resource, if that is not the URL of the record.
        change: what became of the resource.
        as_of_us: when that was so; Unix time in microseconds.
        modified_us: its last modification.
        hashes: of the resource, as `Fixity.text`.
        length: of the resource in bytes.
        media_type: of the resource; of a patch, that of the patch.
        encoding: the content coding that hashes and length are of.
        others: where else the resource is, in the order to try.
        patch_hashes: of a patch.
        patch_length: of a patch.
        manifest: of a part of a dump, where a copy of its manifest is.
    """

    do: Do = Do.READ
    mode: Mode = Mode.SYNC
    source: str = ""
    site: str = ""
    run: str = ""
    part: str = ""
    expected: Capability | None = None
    without: tuple[str, ...] = ()
    depth: int = 0
    cursor: int = 0
    version: str = ""
    seen_us: int | None = None
    has_datetime: bool = False
    uri: str = ""
    change: Change | None = None
    as_of_us: int | None = None
    modified_us: int | None = None
    hashes: str = ""
    length: int | None = None
    media_type: str = ""
    encoding: str = ""
    others: tuple[str, ...] = ()
    patch_hashes: str = ""
    patch_length: int | None = None
    manifest: str = ""

    @property
    def fixity(self) -> Fixity:
        """What the bytes of the resource, or of the part of a dump, have to be."""
        return Fixity(parse_hashes(self.hashes)[0], self.length)

    @property
    def patch_fixity(self) -> Fixity:
        """What the bytes of the patch have to be."""
        return Fixity(parse_hashes(self.patch_hashes)[0], self.patch_length)

    def text(self) -> str:
        """Return it as ASCII; what is as it is by default is left out.

        It is at most `MAX_TASK_CHARS` long: of one that would be longer, mirrors, the
        manifest and then the digests but one are left out.

        Raises:
            SourceFault: `BAD_URI`: it is longer still.

        >>> Task(cursor=5).text()
        '{"c":5}'
        """
        text = _write(self)
        task = self
        if len(text) > MAX_TASK_CHARS:
            task = replace(task, others=(), manifest="")
            text = _write(task)
        if len(text) > MAX_TASK_CHARS:
            task = replace(task, hashes=task.hashes.rpartition(" ")[2], version="")
            text = _write(task)
        if len(text) > MAX_TASK_CHARS:
            raise SourceFault(Reason.BAD_URI, f"too long: {self.uri[:100]}...")
        return text

    @classmethod
    def of(cls, text: str) -> Task:
        """Return what `text` has made.

        Raises:
            SourceFault: `BAD_ANSWER`: it is no task.

        >>> Task.of('{"c":5}').cursor
        5
        """
        try:
            return _read(text)
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise SourceFault(Reason.BAD_ANSWER, f"no task: {text[:80]!r}") from error


_KEYS: Final = {
    "do": "o",
    "mode": "y",
    "source": "s",
    "site": "d",
    "run": "r",
    "part": "p",
    "expected": "x",
    "without": "w",
    "depth": "l",
    "cursor": "c",
    "version": "v",
    "seen_us": "n",
    "has_datetime": "e",
    "uri": "u",
    "change": "k",
    "as_of_us": "t",
    "modified_us": "f",
    "hashes": "h",
    "length": "b",
    "media_type": "m",
    "encoding": "g",
    "others": "a",
    "patch_hashes": "i",
    "patch_length": "j",
    "manifest": "q",
}
_NAMES: Final = {key: name for name, key in _KEYS.items()}
_DEFAULTS: Final = {each.name: each.default for each in fields(Task)}
_ENUMS: Final = {"do": Do, "mode": Mode, "expected": Capability, "change": Change}
_NUMBERS: Final = frozenset(
    {
        *("depth", "cursor", "seen_us", "as_of_us", "modified_us", "length"),
        *("patch_length", "has_datetime"),
    }
)
_LISTS: Final = frozenset({"without", "others"})


def _write(task: Task) -> str:
    values = {
        key: getattr(task, name)
        for name, key in _KEYS.items()
        if getattr(task, name) != _DEFAULTS[name]
    }
    return json.dumps(values, separators=(",", ":"))


def _read(text: str) -> Task:
    found = json.loads(text or "{}")
    if not isinstance(found, dict):
        raise TypeError(text[:80])
    values: dict[str, Any] = {}
    for key, value in found.items():
        name = _NAMES[key]
        if name in _ENUMS:
            values[name] = _ENUMS[name](value)
        elif name in _NUMBERS:
            values[name] = int(value) if name != "has_datetime" else bool(value)
        elif name in _LISTS:
            values[name] = tuple(map(str, value))
        else:
            values[name] = str(value)
    return Task(**values)


def source_id(url: str) -> str:
    """Return a short name for a set of resources, from its capability list's URL.

    >>> source_id("http://example.org/capabilitylist.xml")
    '7e89428608c5'
    """
    return blake2b(url.encode(), digest_size=6).hexdigest()


def source_of(task: Task, url: str) -> str:
    """Return the id of the set of resources whose state a document is read with.

    Args:
        task: of the record.
        url: of the document, after redirects.
    """
    return task.source or source_id(url)

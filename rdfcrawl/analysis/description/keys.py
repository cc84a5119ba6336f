"""The keys of the figure table: host, kind of figure, and its subject."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple


class FigureKind(StrEnum):
    """Kinds of figures; the values define their order in the table."""

    DOCUMENTS = "D"  # number
    FIRST = "F"  # negative time of the first version, ms
    LAST = "L"  # time of the last version, ms
    PLACE = "P"  # common prefix of the IRIs of documents
    TRIPLES = "T"  # number
    SPACE = "U"  # common prefix of the IRIs of entities
    BLANK_SUBJECTS = "b"
    CLASSES = "c"  # by class: distinct instances
    ENTITIES = "e"  # distinct IRIs as subjects
    FORMATS = "f"  # by name of format: distinct documents
    PUBLISHERS = "h"  # by IRI and name: number of documents
    LINKS = "l"  # by host and predicate: number
    LICENCES = "n"  # by IRI: number of documents
    OBJECTS = "o"
    PROPERTIES = "p"  # by property: number of triples
    VOCABULARIES = "v"  # by namespace: number of triples and instances


class FigureKey(NamedTuple):
    """Host, kind of figure, and its subject, which may be empty."""

    host: bytes
    kind: FigureKind
    about: bytes

    @classmethod
    def of(cls, key: bytes) -> FigureKey:
        """Return the parts of a key."""
        host, kind, about = key.split(b"\t", 2)
        return cls(host, _KINDS[kind], about)


_KINDS: Final = {kind.encode(): kind for kind in FigureKind}


@lru_cache(maxsize=65_536)
def key_prefix(host: bytes, kind: FigureKind) -> bytes:
    r"""Return the beginning of a key, up to its subject.

    >>> key_prefix(b"e.example", FigureKind.CLASSES)
    b'e.example\tc\t'
    """
    # Host names and IRIs contain no tab, so all keys of a host are adjacent.
    return b"%s\t%s\t" % (host, kind.encode())

"""The keys of the table of figures: host, kind of figure, and what it is about."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple


class FigureKind(StrEnum):
    """What a figure of a host or of the crawl says; in the order of the table."""

    DOCUMENTS = "D"  # number
    FIRST = "F"  # negative time of the first version, ms
    LAST = "L"  # time of the last version, ms
    PLACE = "P"  # what the IRIs of documents begin with
    TRIPLES = "T"  # number
    SPACE = "U"  # what the IRIs of entities begin with
    BLANK_SUBJECTS = "b"
    CLASSES = "c"  # by class: different instances
    ENTITIES = "e"  # different IRIs as subjects
    FORMATS = "f"  # by name of format: different documents
    PUBLISHERS = "h"  # by IRI and name: number of documents
    LINKS = "l"  # by host and predicate: number
    LICENCES = "n"  # by IRI: number of documents
    OBJECTS = "o"
    PROPERTIES = "p"  # by property: number of triples
    VOCABULARIES = "v"  # by namespace: number of triples and instances


class FigureKey(NamedTuple):
    """Host, kind of figure, and what it is about, which may be nothing."""

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
    r"""Return the key of figures of a kind, up to what they are about.

    >>> key_prefix(b"e.example", FigureKind.CLASSES)
    b'e.example\tc\t'
    """
    # No name of a host and no IRI has a tab in it, so all of a host stand together.
    return b"%s\t%s\t" % (host, kind.encode())

"""Classes, properties and vocabularies of the stored statements, with samples."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from rdfcrawl.analysis.crawl_index.hosts import MAX_HOST_CHARS, ids_of_hosts
from rdfcrawl.analysis.crawl_index.members import LogMember
from rdfcrawl.core.namespaces import RDF_TYPE

CLASS: Final = "class"
PROPERTY: Final = "predicate"
MOST_TERMS: Final = 2000
"""Terms of a kind with a count of their own."""
MOST_SAMPLES: Final = 3
"""Sample statements of a term."""
OTHERS: Final = b""
"""In place of a term: all terms beyond these."""
_MOST_SPACES: Final = 10_000  # namespaces
_MOST_OF_HOST: Final = 8  # namespaces of one host
_MAX_CHARS: Final = 200  # of a term
_MAX_SAMPLE_CHARS: Final = 500  # of each part of a sample
_TYPE: Final = RDF_TYPE.encode()
_find_pairs: Final = re.compile(
    rb"^(?:<[^>]*>|_:\S+) <([^>]*)> (?:<([^>]*)>)?", re.MULTILINE
).findall
_iter_statements: Final = re.compile(
    rb"^(<[^>]*>|_:\S+) <([^>]*)> (.*) <([^>]*)> \.$", re.MULTILINE
).finditer
_host_of: Final = re.compile(rb"[a-z]+://([^/?#>]*)").match
_DOCUMENT: Final = b"\n#\tdocument <"
_ADD: Final = """
INSERT INTO vocabulary VALUES (?, ?, ?)
ON CONFLICT (kind, term) DO UPDATE SET n = n + excluded.n
"""
_ADD_SAMPLE: Final = "INSERT INTO vocabulary_sample VALUES (?, ?, ?, ?, ?)"
_N_SAMPLES: Final = """
SELECT kind, term, (SELECT COUNT(*) FROM vocabulary_sample AS s
    WHERE s.kind = v.kind AND s.term = v.term)
FROM vocabulary AS v WHERE term <> ''
"""
_ADD_TO_HOST: Final = """
INSERT INTO host_vocabulary SELECT ?1, ?2, ?3
WHERE EXISTS (SELECT 1 FROM host_vocabulary WHERE host = ?1 AND space = ?2)
    OR (SELECT COUNT(*) FROM host_vocabulary WHERE host = ?1) < ?4
ON CONFLICT (host, space) DO UPDATE SET n = n + excluded.n
"""

Pairs = Counter[tuple[bytes, bytes]]


class TermKey(NamedTuple):
    """A class or property."""

    kind: str
    term: bytes


class VocabularyTally:
    """Classes and properties by the number of statements, and vocabularies of hosts.

    A version of a document counts when it is stored, so a document that has changed
    counts again. Terms beyond the first 2,000 of a kind count together. Three samples
    of each term: at most 3 MB, and 120 bytes for each host.
    """

    schema = """
    CREATE TABLE IF NOT EXISTS vocabulary (
        kind TEXT, term TEXT, n INTEGER, PRIMARY KEY (kind, term)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS vocabulary_sample (
        kind TEXT, term TEXT, subject TEXT, value TEXT, document TEXT
    );
    CREATE INDEX IF NOT EXISTS vocabulary_samples ON vocabulary_sample (kind, term);
    CREATE TABLE IF NOT EXISTS vocabulary_space (
        id INTEGER PRIMARY KEY, space TEXT UNIQUE
    );
    CREATE TABLE IF NOT EXISTS host_vocabulary (
        host INTEGER, space INTEGER, n INTEGER, PRIMARY KEY (host, space)
    ) WITHOUT ROWID;
    """

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Add the terms of a member of documents."""
        if member.kind != "quads":
            return
        by_host: defaultdict[str, Pairs] = defaultdict(Counter)
        samples = _TermSamples(connection)
        for document in (b"\n" + member.mark + member.content).split(_DOCUMENT):
            pairs = _find_pairs(document)
            by_host[_host(document)].update(pairs)
            samples.take(document, set(pairs))
        _count_terms(connection, _sum(by_host), samples)
        by_host.pop("", None)
        _count_spaces(connection, by_host)


def _sum(by_host: Mapping[str, Pairs]) -> Counter[TermKey]:
    """Return the number of statements with each class and property."""
    found: Counter[TermKey] = Counter()
    for pairs in by_host.values():
        for (predicate, thing), n in pairs.items():
            for key in _keys_of(predicate, thing):
                found[key] += n
    return found


def _keys_of(predicate: bytes, thing: bytes) -> Iterator[TermKey]:
    """Yield the property and the class of a statement."""
    if 0 < len(predicate) <= _MAX_CHARS:
        yield TermKey(PROPERTY, predicate)
    if predicate == _TYPE and 0 < len(thing) <= _MAX_CHARS:
        yield TermKey(CLASS, thing)


class _TermSamples:
    """Samples of a member for terms that have too few, each of another document.

    Args:
        connection: to the index.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.n_known = Counter[TermKey](
            {
                TermKey(kind, term.encode()): n
                for kind, term, n in connection.execute(_N_SAMPLES)
            }
        )
        self._sated = {key for key, n in self.n_known.items() if n >= MOST_SAMPLES}
        self._found: defaultdict[TermKey, list[tuple[str, str, str]]]
        self._found = defaultdict(list)

    def take(self, document: bytes, pairs: set[tuple[bytes, bytes]]) -> None:
        """Take samples of the terms in a document."""
        wanted = {key for pair in pairs for key in _keys_of(*pair)} - self._sated
        if not wanted:
            return
        for line in _iter_statements(document):
            subject, predicate, value, graph = line.groups()
            thing = value[1:-1] if value.startswith(b"<") else b""
            for key in wanted.intersection(_keys_of(predicate, thing)):
                wanted.discard(key)
                found = self._found[key]
                found.append((_text(subject), _text(value), _text(graph)))
                if len(found) + self.n_known[key] >= MOST_SAMPLES:
                    self._sated.add(key)
            if not wanted:
                return

    def rows(self, keys: Iterable[TermKey]) -> Iterator[tuple[str, ...]]:
        """Yield rows of the table, of some terms."""
        for key in keys:
            for sample in self._found.get(key, ()):
                yield key.kind, _text(key.term), *sample


def space_of(term: str) -> str:
    """Return the namespace of a term; the term itself if it has none.

    >>> space_of("http://xmlns.com/foaf/0.1/name"), space_of("urn:x:y#z")
    ('http://xmlns.com/foaf/0.1/', 'urn:x:y#')
    """
    end = max(term.rfind("#"), term.rfind("/"))
    end = end if end >= 0 else term.rfind(":")
    return term[: end + 1] or term


def _host(document: bytes) -> str:
    found = _host_of(document, 0, 2 * MAX_HOST_CHARS)
    name = found[1].decode("utf-8", "replace") if found else ""
    return name.rpartition("@")[2].lower()[:MAX_HOST_CHARS]


def _count_terms(
    connection: sqlite3.Connection, found: Counter[TermKey], samples: _TermSamples
) -> None:
    known = samples.n_known
    n_of_kind = Counter(key.kind for key in known)
    for key in [key for key in found if key not in known]:
        if n_of_kind[key.kind] < MOST_TERMS:
            n_of_kind[key.kind] += 1
        else:
            found[TermKey(key.kind, OTHERS)] += found.pop(key)
    connection.executemany(
        _ADD, [(kind, _text(term), n) for (kind, term), n in found.items()]
    )
    connection.executemany(_ADD_SAMPLE, samples.rows(found))


def _text(part: bytes) -> str:
    return part.decode("utf-8", "replace")[:_MAX_SAMPLE_CHARS]


def _count_spaces(connection: sqlite3.Connection, by_host: Mapping[str, Pairs]) -> None:
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for host, pairs in by_host.items():
        for (predicate, thing), n in pairs.items():
            term = thing if predicate == _TYPE and thing else predicate
            if len(term) <= _MAX_CHARS:
                counts[host][space_of(term.decode("utf-8", "replace"))] += n
    ids = ids_of_hosts(connection, counts)
    spaces = _ids_of_spaces(connection, {x for each in counts.values() for x in each})
    connection.executemany(
        _ADD_TO_HOST,
        [
            (ids[host], spaces[space], n, _MOST_OF_HOST)
            for host, of_host in counts.items()
            for space, n in of_host.most_common(_MOST_OF_HOST)
            if host in ids and space in spaces
        ],
    )


def _ids_of_spaces(connection: sqlite3.Connection, spaces: set[str]) -> dict[str, int]:
    """Return the numbers of namespaces; new ones are created, unless too many."""
    ids: dict[str, int] = {}
    for space in sorted(spaces):
        connection.execute(
            "INSERT OR IGNORE INTO vocabulary_space (space) SELECT ?1 WHERE"
            " COALESCE((SELECT MAX(id) FROM vocabulary_space), 0) < ?2",
            (space, _MOST_SPACES),
        )
        found = connection.execute(
            "SELECT id FROM vocabulary_space WHERE space = ?", (space,)
        )
        if row := found.fetchone():
            ids[space] = row[0]
    return ids

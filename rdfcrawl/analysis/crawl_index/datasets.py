"""Datasets that a crawl has found: their descriptions and fetched files."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from rdfcrawl.analysis.crawl_index.members import LogMember
from rdfcrawl.core.errors import Reason
from rdfcrawl.core.namespaces import DCAT, DCTERMS, RDF_TYPE, SD, VOID
from rdfcrawl.rdf.terms import text_of_term
from rdfcrawl.stores.provenance.records import Activity

# A member without these describes no dataset; the search is cheap.
_MARKS: Final = (VOID.encode(), DCAT.encode(), SD.encode())
_PROPERTIES: Final = {
    RDF_TYPE: "type",
    f"{VOID}dataDump": "dump",
    f"{VOID}sparqlEndpoint": "endpoint",
    f"{VOID}triples": "triples",
    f"{DCAT}distribution": "distribution",
    f"{DCAT}downloadURL": "dump",
    f"{DCAT}accessURL": "access",
    f"{DCAT}endpointURL": "endpoint",
    f"{SD}endpoint": "endpoint",
    f"{DCTERMS}title": "title",
    f"{DCTERMS}license": "licence",
    f"{DCTERMS}modified": "modified",
    f"{DCTERMS}issued": "issued",
}
_KINDS: Final = {
    f"<{VOID}Dataset>": "VoID",
    f"<{DCAT}Dataset>": "DCAT",
    f"<{SD}Service>": "SPARQL",
}
# A subject with one of these is a dataset, or a part of one.
_EVIDENCE: Final = frozenset({"dump", "endpoint", "triples", "distribution", "access"})
_find_statements: Final = re.compile(
    rb"^(<[^>]*>|_:\S+) <(%s)> (.*) <([^>]*)> \.$"
    % b"|".join(re.escape(name.encode()) for name in _PROPERTIES),
    re.MULTILINE,
).findall
_dump_of: Final = re.compile(r"dump\(dataset=(.*?), way=\d+, part=\d+").match
_source_step: Final = re.compile(r"source\(.*?payload=(\w+)\(").match
_STEPS: Final = {"ckan": "CKAN", "sparql": "SPARQL", "sync": "ResourceSync"}
# As written by `harvest`: the dataset comes first.
_of_dataset: Final = re.compile(r"(\S+): (.{0,500})").fullmatch
_DATASET_FAULTS: Final = frozenset({str(Reason.WAY_FAILED), str(Reason.SAMPLE_DIFFERS)})
_MAX_DATASETS: Final = 100_000
_MAX_SAID: Final = 60  # of one subject
_MAX_FILES: Final = 1000  # of one dataset
_MAX_CHARS: Final = 2000  # of a name or value
_MAX_OF_ENDPOINT: Final = 20  # datasets that one endpoint counts for
# The steps of an endpoint or a portal share a URL: their figures are added up within
# one run. A dump has the figures of its last fetch.
_PUT_FILE: Final = """
INSERT INTO dataset_file SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
    WHERE (SELECT n_files FROM dataset WHERE name = ?1) < ?11
ON CONFLICT (dataset, url) DO UPDATE SET status = excluded.status,
    http_status = excluded.http_status, reason = excluded.reason,
    n_statements = excluded.n_statements
        + CASE WHEN ?10 OR run <> excluded.run THEN 0 ELSE n_statements END,
    n_bytes = excluded.n_bytes
        + CASE WHEN ?10 OR run <> excluded.run THEN 0 ELSE n_bytes END,
    ended_ms = excluded.ended_ms, run = excluded.run
"""
_ADD_WORDS: Final = """
UPDATE dataset SET
    kinds = CASE WHEN instr(' ' || kinds || ' ', ' ' || :kind || ' ') THEN kinds
        ELSE trim(kinds || ' ' || :kind) END,
    ways = CASE WHEN instr(' ' || ways || ' ', ' ' || :way || ' ') THEN ways
        ELSE trim(ways || ' ' || :way) END
WHERE name = :name
"""
_OF_ENDPOINT: Final = """
SELECT subject FROM dataset_said JOIN dataset ON name = subject
WHERE about = 'endpoint' AND value = ?1 AND subject <> ?1 LIMIT ?2
"""


class DatasetStatement(NamedTuple):
    """A statement of a document about a dataset, or about one of its distributions."""

    subject: str
    about: str
    value: str
    document: str


class DatasetTally:
    """Descriptions of datasets, the files fetched for each, and faults.

    At most 100,000 datasets, with 60 statements and 1,000 files each: 500 bytes for
    each of these, and nothing for documents that describe no dataset.
    """

    schema = """
    CREATE TABLE IF NOT EXISTS dataset (
        name TEXT PRIMARY KEY, kinds TEXT, ways TEXT, title TEXT, licence TEXT,
        modified TEXT, document TEXT, n_stated INTEGER, n_stored INTEGER,
        n_files INTEGER, n_faulty INTEGER, last_ms INTEGER
    );
    CREATE INDEX IF NOT EXISTS dataset_stored ON dataset (n_stored DESC, name);
    CREATE INDEX IF NOT EXISTS dataset_last ON dataset (last_ms DESC, name);
    CREATE INDEX IF NOT EXISTS dataset_document ON dataset (document);
    CREATE TABLE IF NOT EXISTS dataset_said (
        subject TEXT, about TEXT, value TEXT, document TEXT,
        PRIMARY KEY (subject, about, value)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS dataset_endpoint ON dataset_said (value)
        WHERE about = 'endpoint';
    CREATE TABLE IF NOT EXISTS dataset_file (
        dataset TEXT, url TEXT, status TEXT, http_status INTEGER, reason TEXT,
        n_statements INTEGER, n_bytes INTEGER, ended_ms INTEGER, run INTEGER,
        PRIMARY KEY (dataset, url)
    ) WITHOUT ROWID;
    """

    def take(self, connection: sqlite3.Connection, member: LogMember) -> None:
        """Add the statements of a member about datasets, or fetches of their files."""
        if member.kind == "quads":
            if any(mark in member.content for mark in _MARKS):
                _add_descriptions(connection, iter_statements(member.content))
        elif member.kind == "provenance":
            for each in member.activities:
                if each.task:
                    _add_fetch(connection, each)
                for reason, _, detail in each.faults:
                    if reason in _DATASET_FAULTS and (found := _of_dataset(detail)):
                        _add_fault(connection, found[1], found[2])


def iter_statements(content: bytes) -> Iterable[DatasetStatement]:
    """Yield the statements in complete lines of N-Quads about datasets."""
    for subject, predicate, value, graph in _find_statements(content):
        document = _text(graph)
        yield DatasetStatement(
            _node(_text(subject), document),
            _PROPERTIES[predicate.decode()],
            _node(_text(value), document),
            document,
        )


def _text(found: bytes) -> str:
    return found.decode("utf-8", "replace")[:_MAX_CHARS]


def _node(term: str, document: str) -> str:
    """Return an IRI without brackets, and a blank node with its document."""
    if term.startswith("<"):
        return term[1:-1]
    return f"{term} {document}" if term.startswith("_:") else term


def _add_descriptions(
    connection: sqlite3.Connection, statements: Iterable[DatasetStatement]
) -> None:
    by_subject: dict[str, list[DatasetStatement]] = defaultdict(list)
    for each in statements:
        by_subject[each.subject].append(each)
    for subject, said in by_subject.items():
        kinds = {
            kind
            for each in said
            if each.about == "type" and (kind := _KINDS.get(f"<{each.value}>"))
        }
        if not (kinds or any(each.about in _EVIDENCE for each in said)):
            continue
        kept = said[:_MAX_SAID]
        connection.executemany(
            "INSERT OR IGNORE INTO dataset_said SELECT ?1, ?2, ?3, ?4 WHERE"
            " (SELECT COUNT(*) FROM dataset_said WHERE subject = ?1) < ?5",
            [(*each, _MAX_SAID) for each in kept if each.about != "type"],
        )
        is_named = not subject.startswith("_:") or bool(kinds)
        is_part = any(x.about in ("dump", "access") for x in kept) and not kinds
        if is_named and (kinds or not is_part or _says(kept, "triples")):
            _describe(connection, subject, kinds, kept)


def _says(said: list[DatasetStatement], about: str) -> str:
    value = next((each.value for each in said if each.about == about), "")
    return _text_of(value) if value.startswith('"') else value


def _text_of(literal: str) -> str:
    """Return the text of a literal of N-Quads, whose end may be cut off."""
    end = literal.rfind('"') or len(literal)
    return text_of_term(b"", f'{literal[:end]}"'.encode())


def _describe(
    connection: sqlite3.Connection,
    name: str,
    kinds: Iterable[str],
    said: list[DatasetStatement],
) -> None:
    if not _make(connection, name):
        return
    stated = _says(said, "triples")
    is_number = stated.isascii() and stated.isdecimal() and len(stated) < 18
    for kind in sorted(kinds):
        _add_words(connection, name, kind=kind)
    for each in said:
        if each.about == "endpoint" and each.value != name:
            _copy_files(connection, name, each.value)
    first = said[0].document
    connection.execute(
        "UPDATE dataset SET title = COALESCE(NULLIF(title, ''), ?),"
        " licence = COALESCE(NULLIF(licence, ''), ?),"
        " modified = MAX(modified, ?), n_stated = COALESCE(n_stated, ?),"
        " document = COALESCE(NULLIF(document, ''), ?) WHERE name = ?",
        (
            _says(said, "title"),
            _says(said, "licence"),
            _says(said, "modified") or _says(said, "issued"),
            int(stated) if is_number else None,
            first,
            name,
        ),
    )


def _make(connection: sqlite3.Connection, name: str) -> bool:
    """Create a dataset; return False if there are too many."""
    connection.execute(
        "INSERT OR IGNORE INTO dataset"
        " SELECT ?1, '', '', '', '', '', '', NULL, 0, 0, 0, 0"
        " WHERE COALESCE((SELECT MAX(rowid) FROM dataset), 0) < ?2",
        (name[:_MAX_CHARS], _MAX_DATASETS),
    )
    found = connection.execute("SELECT 1 FROM dataset WHERE name = ?", (name,))
    return found.fetchone() is not None


def _add_words(
    connection: sqlite3.Connection, name: str, *, kind: str = "", way: str = ""
) -> None:
    """Add a kind and a way to those of a dataset, without duplicates."""
    connection.execute(_ADD_WORDS, {"name": name, "kind": kind, "way": way})


def _add_fetch(connection: sqlite3.Connection, activity: Activity) -> None:
    """Add a fetch of a file of a dataset, or of a step of a source."""
    if found := _dump_of(activity.task):
        name, kind, way = found[1], "", "dump"
    elif (found := _source_step(activity.task)) and found[1] in _STEPS:
        name = activity.uri.partition("?")[0]
        kind = _STEPS[found[1]]
        way = "endpoint" if kind == "SPARQL" else "harvest"
    else:
        return
    if not _make(connection, name):
        return
    _add_words(connection, name, kind=kind)
    _put_file(connection, name, activity, way)
    if way == "endpoint":
        described = connection.execute(_OF_ENDPOINT, (name, _MAX_OF_ENDPOINT))
        for (other,) in described.fetchall():
            _put_file(connection, other, activity, way)


def _put_file(
    connection: sqlite3.Connection, name: str, activity: Activity, way: str
) -> None:
    connection.execute(
        _PUT_FILE,
        (
            *(name, activity.uri[:_MAX_CHARS], activity.status, activity.http_status),
            *(activity.reason, activity.n_statements, max(activity.n_bytes, 0)),
            *(activity.ended_ms, max(activity.run, 0)),
            *(way == "dump", _MAX_FILES),
        ),
    )
    _sum_up(connection, name, way)


def _sum_up(connection: sqlite3.Connection, name: str, way: str) -> None:
    _add_words(connection, name, way=way)
    connection.execute(
        "UPDATE dataset SET (n_stored, n_files, n_faulty, last_ms) ="
        " (SELECT SUM(n_statements), COUNT(*), SUM(reason <> ''), MAX(ended_ms)"
        " FROM dataset_file WHERE dataset = ?1) WHERE name = ?1",
        (name,),
    )


def _copy_files(connection: sqlite3.Connection, name: str, endpoint: str) -> None:
    """Copy the files of an endpoint to a dataset that was described later."""
    copied = connection.execute(
        "INSERT OR REPLACE INTO dataset_file SELECT ?1, url, status, http_status,"
        " reason, n_statements, n_bytes, ended_ms, run FROM dataset_file"
        " WHERE dataset = ?2"
        " LIMIT ?3",
        (name, endpoint, _MAX_FILES),
    )
    if copied.rowcount > 0:
        _sum_up(connection, name, "endpoint")


def _add_fault(connection: sqlite3.Connection, name: str, detail: str) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO dataset_said SELECT ?1, 'fault', ?2, '' WHERE"
        " EXISTS (SELECT 1 FROM dataset WHERE name = ?1)"
        " AND (SELECT COUNT(*) FROM dataset_said WHERE subject = ?1) < ?3",
        (name, detail, 2 * _MAX_SAID),
    )

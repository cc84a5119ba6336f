"""The process that runs one query: `python -m rdfcrawl.monitor.page.query_child`.

A query of Oxigraph cannot be interrupted, but a process can. The store is first brought
up to date, as far as time allows; then it is opened read-only, so that several
processes can query it, and network, other processes and writing to files are disabled
for good.

In: one job as JSON. Out: a line when the query begins, and a line with its answer; or
a line with `refusal`.
"""

from __future__ import annotations

import errno
import io
import json
import os
import resource
import time
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyoxigraph as ox

from rdfcrawl.core.errors import ConfigError, RdfcrawlError, StoreFault
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import PREFIXES
from rdfcrawl.monitor.page.child_jobs import ChildOutput, begin_job
from rdfcrawl.monitor.page.query_rules import BUSY, check_query
from rdfcrawl.rdf.extraction.confinement import SECCOMP, confine
from rdfcrawl.rdf.results import WRITERS, json_term
from rdfcrawl.stores.files import wait_for_lock
from rdfcrawl.stores.followers.oxigraph import LOCK_NAME
from rdfcrawl.stores.followers.queried_store import QueriedStore
from rdfcrawl.stores.followers.query import invalid_query, run_query
from rdfcrawl.stores.followers.query_text import names_provenance
from rdfcrawl.stores.followers.term_notes import term_notes
from rdfcrawl.stores.log.crawl_log import CrawlLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rdfcrawl.rdf.results import Row

MAX_ANSWER_BYTES: Final = 16 * 1024 * 1024
MAX_VIEW_BYTES: Final = 8 * 1024 * 1024  # of an answer on the page, as JSON
MAX_CELL_CHARS: Final = 2000  # of a term in a table
ROW_FORMATS: Final = ("csv", "tsv", "json", "xml")
_OF_TRIPLES: Final = {"ttl": ox.RdfFormat.TURTLE, "nt": ox.RdfFormat.N_TRIPLES}
_NICE: Final = 5
_MEMORY_BYTES: Final = 2 * 1024 * 1024 * 1024  # of address space, during the query
_LOCK_SECS: Final = 1.0  # to wait for another process


class _BoundedText(io.StringIO):
    """A text that refuses to be too long."""

    n_chars = 0

    def write(self, text: str, /) -> int:
        self.n_chars += len(text)
        if self.n_chars > MAX_ANSWER_BYTES:
            raise ConfigError(
                f"query: the answer has more than {MAX_ANSWER_BYTES:,} characters;"
                " request fewer rows"
            )
        return super().write(text)


def answer_of(store: ox.Store, job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to the query of a job.

    Args:
        store: to query; its default graph is the union of all graphs, unless the
            query has FROM.
        job: `query`, `rows` (the limit), `form`: `view`, or that of a download, and
            for the view `most` rows of a page.

    Raises:
        ConfigError: the query is wrong, or has no answer in this form.
        OSError: the query uses a disabled function.
    """
    query, most, form = job["query"], int(job["rows"]), job["form"]
    try:
        result = run_query(store, query)
        if isinstance(result, ox.QueryBoolean):
            return {"kind": "boolean", "is_true": bool(result)}
        if isinstance(result, ox.QueryTriples):
            triples = list(islice(result, most + 1))
            return _triples(triples, most, "ttl" if form == "view" else form)
        names = [variable.value for variable in result.variables]
        rows: list[Row] = [list(row) for row in islice(result, most + 1)]
    except (SyntaxError, ValueError) as error:
        raise invalid_query(job["query"], error) from error
    if form == "view":
        return _in_pages(names, rows, most, int(job["most"]))
    return _rows(names, rows, most, form)


def _triples(triples: list[ox.Triple], most: int, form: str) -> dict[str, Any]:
    kind = _OF_TRIPLES.get(form)
    if kind is None:
        raise ConfigError(f"as={form[:20]}: statements can be {', '.join(_OF_TRIPLES)}")
    written = ox.serialize(
        triples[:most],
        format=kind,
        prefixes=PREFIXES if kind is ox.RdfFormat.TURTLE else None,
    )
    text = _BoundedText()
    text.write((written or b"").decode())
    return {
        "kind": "triples",
        "n_rows": min(len(triples), most),
        "is_cut": len(triples) > most,
        "text": text.getvalue(),
    }


def _rows(names: list[str], rows: list[Row], most: int, form: str) -> dict[str, Any]:
    if form not in ROW_FORMATS:
        raise ConfigError(f"as={form[:20]}: rows can be {', '.join(ROW_FORMATS)}")
    text = _BoundedText()
    WRITERS[form](names, rows[:most], text)
    return {
        "kind": "rows",
        "variables": names,
        "n_rows": min(len(rows), most),
        "is_cut": len(rows) > most,
        "text": text.getvalue(),
    }


def _in_pages(
    names: list[str], rows: list[Row], most: int, on_page: int
) -> dict[str, Any]:
    """Return rows in pages of serialized JSON; a long answer is cut."""
    pages, n_bytes, n_rows = list[str](), 0, 0
    for start in range(0, min(len(rows), most), on_page):
        given = rows[start : min(start + on_page, most)]
        page = json.dumps([list(_cells(row)) for row in given], ensure_ascii=False)
        n_bytes += len(page.encode())
        if n_bytes > MAX_VIEW_BYTES:
            if not pages:
                on_first = counted(len(given), "row")
                raise ConfigError(
                    f"query: more than {MAX_VIEW_BYTES:,} bytes in {on_first};"
                    " request fewer rows (rows, most)"
                )
            break
        pages.append(page)
        n_rows += len(given)
    return {
        "kind": "rows",
        "variables": names,
        "n_rows": n_rows,
        "is_cut": len(rows) > n_rows,
        "pages": pages,
    }


def _cells(row: Row) -> Iterable[dict[str, Any] | None]:
    """Yield the terms of a row, as in the JSON of SPARQL, but of bounded length."""
    for term in row:
        if term is None:
            yield None
            continue
        cell = json_term(term)
        value = cell["value"]
        if not isinstance(value, str):  # a quoted triple
            cell, value = {"type": "triple"}, str(term)
        is_cut = len(value) > MAX_CELL_CHARS
        cell["value"] = value[:MAX_CELL_CHARS]
        yield cell | {"is_cut": True} if is_cut else cell


class StoreLag(NamedTuple):
    """Lag of a store behind its log.

    Attributes:
        n_behind: documents, estimated; -1: not known.
        note: why the store was not brought up to date; empty if that was tried.
    """

    n_behind: int
    note: str = ""


def main() -> None:
    """Answer one query."""
    output = ChildOutput()
    try:
        job = begin_job(_NICE)
        chosen = QueriedStore.of(
            Path(job["root"]), has_provenance=names_provenance(job["query"])
        )
        lag = _bring_up_to_date(chosen, job)
        with _opened(chosen.path) as store:
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
            layers = confine()
            check_query(job["query"], is_confined=SECCOMP in layers)
            output.send(begun=lag._asdict())
            answer = answer_of(store, job)
            has_result = bool(answer.get("is_true") or answer.get("n_rows"))
            notes = term_notes(store, job["query"], has_result=has_result)
            answer["notes"] = notes
            output.send(answer=answer)
    except RdfcrawlError as error:
        output.send(refusal=str(error))
    except (OSError, MemoryError, RuntimeError) as error:  # the latter of RocksDB
        output.send(refusal=_refusal_of(error))
    os._exit(0)  # nothing needs cleaning up, and the store may be large


def _refusal_of(error: Exception) -> str:
    if os.strerror(errno.EPERM) in str(error):
        return "query: requests to other endpoints are not allowed"
    return f"query: {' '.join(str(error).split()) or 'it needed too much memory'}"


def _bring_up_to_date(store: QueriedStore, job: Mapping[str, Any]) -> StoreLag:
    """Apply new documents of the log, within the time of the job."""
    root = Path(job["root"])
    log = CrawlLog(root)
    _, following = store.following(
        log, is_once=job["is_once"], patience_secs=0, lock_secs=_LOCK_SECS
    )
    deadline = time.monotonic() + job["update_secs"]
    try:
        following.open()
        try:
            following.catch_up(lambda: time.monotonic() > deadline)
        finally:
            following.close()
    except StoreFault as fault:  # its present content can be queried nevertheless
        if not fault.may_pass:
            raise
        return StoreLag(-1, str(fault).replace(f"{root}/", ""))
    n_bytes = log.n_unread_bytes(following.checkpoint)
    return StoreLag(-int(-n_bytes // following.counts.bytes_per_document))


@contextmanager
def _opened(path: Path) -> Iterator[ox.Store]:
    """Open a store for reading, while no process writes it.

    Raises:
        ConfigError: another process has it open, or there is none.
    """
    try:
        fd = os.open(path / LOCK_NAME, os.O_RDWR)
    except FileNotFoundError as error:
        raise ConfigError(f"{path.name}: there is no store yet") from error
    try:
        if not wait_for_lock(fd, _LOCK_SECS, is_shared=True):
            raise ConfigError(BUSY)
        yield ox.Store.read_only(str(path))
    finally:
        os.close(fd)


if __name__ == "__main__":
    main()

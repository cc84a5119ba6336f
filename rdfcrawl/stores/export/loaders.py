"""The commands that load exported files into stores."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rdfcrawl.stores.export.plan import FileFormat

GRAPH: Final = "urn:rdfcrawl:export"
"""Graph for triples, where a loader requires one."""

RDF_11_ONLY: Final = frozenset({"Virtuoso", "QLever", "GraphDB", "Neptune"})
"""Stores whose loaders read no triple terms and base directions of RDF 1.2."""

_OF_NEPTUNE: Final = {
    "nq": "nquads",
    "nt": "ntriples",
    "ttl": "turtle",
    "rdf": "rdfxml",
}
_MOST_NAMES: Final = 20


class LoaderCommand(NamedTuple):
    """Command that loads files into a store.

    Attributes:
        store: its name.
        command: for a shell; empty if the loader cannot read the format.
    """

    store: str
    command: str


def loader_commands(
    folder: Path, names: Sequence[str], file_format: FileFormat
) -> Iterator[LoaderCommand]:
    """Yield the command of each bulk loader for all of the files.

    Args:
        folder: of the files.
        names: of the files, all of one format.
        file_format: of the files.
    """
    name, packing = file_format
    has_gzip = packing in ("", "gz")
    paths = _words(folder, names, file_format.suffix)
    for store, formats, command in (
        (
            "Jena TDB2",
            "nq nt trig ttl rdf jsonld",
            f"tdb2.tdbloader --loc tdb2 {paths}",
        ),
        ("Virtuoso", "nq nt trig ttl rdf", _virtuoso(folder, names, file_format)),
        ("QLever", "nq nt ttl", _qlever(paths, file_format)),
        (
            "Oxigraph",
            "nq nt trig ttl rdf jsonld",
            f"oxigraph load --location oxigraph --file {paths}",
        ),
        (
            "GraphDB",
            "nq nt trig ttl rdf jsonld",
            f"importrdf load --force --id REPOSITORY {paths}",
        ),
        ("Neptune", "nq nt ttl rdf", _neptune(folder, names, name)),
    ):
        is_read = name in formats.split() and (has_gzip or store == "QLever")
        yield LoaderCommand(store, command if is_read else "")
    if name == "parquet":
        glob = str(folder / (names[0] if len(names) == 1 else f"*{file_format.suffix}"))
        query = f"FROM {_quoted_sql(glob)} LIMIT 10"
        yield LoaderCommand("DuckDB", f"duckdb -c {shlex.quote(query)}")


def _words(folder: Path, names: Sequence[str], suffix: str) -> str:
    """Return the paths as words of a shell, or a pattern for many."""
    if len(names) > _MOST_NAMES:
        return f"{shlex.quote(str(folder))}/*{suffix}"
    return " ".join(shlex.quote(str(folder / name)) for name in names)


def _quoted_sql(text: str) -> str:
    return "'{}'".format(text.replace("'", "''"))


def _virtuoso(folder: Path, names: Sequence[str], file_format: FileFormat) -> str:
    # The second argument is a pattern of SQL's LIKE.
    pattern = names[0] if len(names) == 1 else f"%{file_format.suffix}"
    where = ", ".join(map(_quoted_sql, (str(folder), pattern, GRAPH)))
    statements = f"ld_dir({where}); rdf_loader_run(); checkpoint;"
    return f"isql-vt 1111 dba PASSWORD exec={shlex.quote(statements)}"


def _qlever(paths: str, file_format: FileFormat) -> str:
    reader = {"gz": "gzip -dc", "zst": "zstd -dc"}.get(file_format.packing, "cat")
    words = f"{reader} {paths}"
    return (
        f"qlever index --name crawl --format {file_format.name}"
        f" --input-files {shlex.quote(paths)} --cat-input-files {shlex.quote(words)}"
    )


def _neptune(folder: Path, names: Sequence[str], name: str) -> str:
    """Return the request of Neptune's loader, which reads only from S3."""
    what = names[0] if len(names) == 1 else folder.name + "/"
    source = f"s3://BUCKET/{what}"
    local = str(folder / names[0]) if len(names) == 1 else str(folder)
    copy = "cp" if len(names) == 1 else "sync --exclude manifest.json"
    request = {
        "source": source,
        "format": _OF_NEPTUNE.get(name, ""),
        "iamRoleArn": "ROLE",
        "region": "REGION",
    }
    return (
        f"aws s3 {copy} {shlex.quote(local)} {shlex.quote(source)} &&"
        " curl -H 'Content-Type: application/json'"
        f" -d {shlex.quote(json.dumps(request))} https://ENDPOINT:8182/loader"
    )

"""Files of RDF: names, content, and statements that a format cannot express."""

from __future__ import annotations

import gzip
import logging
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest

from rdfcrawl.core.errors import ConfigError, StoreFault
from rdfcrawl.rdf.serializing import open_packed
from rdfcrawl.stores.followers.log_comparison import compare
from rdfcrawl.stores.followers.rdf_files import FileFollower
from rdfcrawl.stores.followers.renewed import document_name, host_name
from rdfcrawl.stores.log.crawl_log import CrawlLog
from tests.support.command_forks import scrapy
from tests.support.follower_kinds import follow
from tests.support.written_logs import RawVersion, Written, write_log

if TYPE_CHECKING:
    from pathlib import Path

A, B, C = "http://e/people/a?x=1", "http://e/b", "https://f.example:8443/"


def names(path: Path) -> list[str]:
    """Return the files that readers see."""
    found = [each for each in path.rglob("*") if ".rdfcrawl" not in each.parts]
    return sorted(str(each.relative_to(path)) for each in found if each.is_file())


def test_names_are_safe_bounded_and_differ() -> None:
    """If IRIs are of any length and characters, then each has a name of its own."""
    tails = ("", ".", "..", "a", "A", "é", "%C3%A9", "x" * 9999, "x" * 9998, "a/../b")
    hosts = ("e", "é", "..", ".", "%2e", "x" * 999, "é" * 999, "[::1]", "a/b")
    iris = [f"http://{host}/{tail}" for host in hosts for tail in tails]
    iris += ["urn:a", "urn:a:..", "file:///etc/passwd", "http:", "mailto:../../x"]
    found = {document_name(iri) for iri in iris}
    assert len(found) == len(set(iris))
    for name in found:
        parts = name.split("/")
        assert len(parts) == 3
        assert all(part.strip(".") and len(part.encode()) < 240 for part in parts)
        assert parts[2][0] != "."
    assert len({host_name(f"http://{host}/") for host in hosts[:7]}) == 7


def test_documents_have_files_which_go_with_them(tmp_path: Path) -> None:
    """If a document is gone, then so is its file, and the folders it was in."""
    path, some = tmp_path / "it", [Written(g, 1, [(g, "x")]) for g in (A, B, C)]
    write_log(tmp_path, some, "1")
    build = FileFollower.from_options
    follow(tmp_path, build(f"turtle:{path}", {}))
    assert names(path) == sorted(f"{document_name(g)}.ttl" for g in (A, B, C))
    text = (path / f"{document_name(A)}.ttl").read_text()
    assert text.endswith('<http://e/s> <http://e/p> "x" .\n')
    write_log(tmp_path, [Written(A, 2, [(A, "y")]), Written(C, 2)], "2")
    follow(tmp_path, build(f"turtle:{path}", {}))
    assert names(path) == sorted(f"{document_name(g)}.ttl" for g in (A, B))
    assert '"y"' in (path / f"{document_name(A)}.ttl").read_text()
    assert not (path / "f.example").exists()


@pytest.mark.parametrize("compression", ["gz", "zst"])
@pytest.mark.parametrize(
    ("scheme", "extension"),
    [("turtle", "ttl"), ("ntriples", "nt"), ("nquads", "nq"), ("jsonld", "jsonld")],
)
def test_hosts_have_files_in_each_format(
    scheme: str, extension: str, compression: str, tmp_path: Path
) -> None:
    """If files are per host and compressed, then each has its documents."""
    path = tmp_path / "it"
    many = "".join(f'<{B}> <http://e/p> "{n}" <{B}> .\n' for n in range(9000))
    write_log(tmp_path, [Written(A, 1, [(A, "x")]), RawVersion(B, 1, many.encode())])
    write_log(tmp_path, [Written("urn:x", 1, [("urn:x", "y")])], "2")
    options = {"per": "host", "compression": compression}
    follow(tmp_path, FileFollower.from_options(f"{scheme}:{path}", options))
    tail = f"{extension}.{compression}"
    assert names(path) == [f"e.{tail}", f"no-host.{tail}"]
    kind = ox.RdfFormat.from_extension(extension)
    with open_packed(path / f"e.{tail}", compression) as file:
        found = {quad.object.value for quad in ox.parse(file.read(), format=kind)}
    assert found == {"x", *map(str, range(9000))}
    if compression == "gz":
        assert gzip.decompress((path / f"no-host.{tail}").read_bytes())


def test_what_a_format_cannot_say_is_left_out_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """If JSON-LD cannot express a statement, then it has the others, with a warning."""
    term = "<<( <http://e/s> <http://e/p> <http://e/o> )>>"
    lines = [f"<http://e/r> <http://e/p> {term} <{A}> .\n"]
    lines += [f'<http://e/s> <http://e/p> "x" <{A}> .\n']
    write_log(tmp_path, [RawVersion(A, 1, "".join(lines).encode())])
    with caplog.at_level(logging.WARNING):
        follow(
            tmp_path,
            FileFollower.from_options(f"jsonld:{tmp_path / 'j'}", {"per": "all"}),
        )
    assert "1 statement left out that JSON-LD cannot express" in caplog.text
    content = (tmp_path / "j" / "all.jsonld").read_bytes()
    assert len(list(ox.parse(content, format=ox.RdfFormat.JSON_LD))) == 1
    caplog.clear()
    follow(tmp_path, FileFollower.from_options(f"turtle:{tmp_path / 't'}", {}))
    content = (tmp_path / "t" / f"{document_name(A)}.ttl").read_bytes()
    assert len(list(ox.parse(content, format=ox.RdfFormat.TURTLE))) == 2
    assert not caplog.text


def test_files_that_say_no_graphs_are_not_compared(tmp_path: Path) -> None:
    """If several documents are in one file of Turtle, then it cannot be compared."""

    def is_listed(scheme: str, per: str) -> bool:
        uri = f"{scheme}:{tmp_path}"
        store = FileFollower.from_options(uri, {"per": per})
        return store.statements() is not None

    assert is_listed("turtle", "document")
    assert is_listed("trig", "all")
    assert not is_listed("turtle", "host")
    assert not is_listed("ntriples", "all")


def test_only_a_new_folder_is_taken(tmp_path: Path) -> None:
    """If something else is at the path, or options were others, one line says so."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")])])
    with pytest.raises(ConfigError, match="was not created by rdfcrawl"):
        follow(tmp_path, FileFollower(tmp_path))
    follow(tmp_path, FileFollower(tmp_path / "it"))
    with pytest.raises(ConfigError, match="created with per=document; delete"):
        follow(tmp_path, FileFollower(tmp_path / "it", per="host"))
    with pytest.raises(ConfigError, match="compression='xz': must be one of gz, zst"):
        FileFollower.from_options("trig:x", {"compression": "xz"})


def test_log_is_loaded_by_a_command(tmp_path: Path) -> None:
    """If files are named on the command line, then they are written and compared."""
    write_log(tmp_path / "one", [Written(A, 1, [(A, "x")])])
    for action in ("load", "verify"):
        uri = f"ntriples:{tmp_path / 'it'}"
        done = scrapy("store", action, uri, f"-sCRAWL_DIR={tmp_path}")
        assert (done.returncode, done.stderr) == (0, "")
    assert len(names(tmp_path / "it")) == 1
    assert "0 missing, 0 stale, 0 surplus" in done.stdout


@pytest.mark.parametrize("compression", [None, "gz", "zst"])
def test_damaged_file_is_told_in_one_line(
    compression: str | None, tmp_path: Path
) -> None:
    """If a file of the store was cut, then verifying says that it cannot be read."""
    path, options = tmp_path / "it", {"per": "all", "compression": compression}
    write_log(tmp_path, [Written(A, 1, [(A, "x")])])
    follow(tmp_path, FileFollower.from_options(f"nquads:{path}", options))
    (file,) = path.glob("all.nq*")
    file.write_bytes(file.read_bytes()[:-5])
    log, store = (
        CrawlLog(tmp_path),
        FileFollower.from_options(f"nquads:{path}", options),
    )
    store.open(log.identity)
    with pytest.raises(StoreFault, match="the store cannot be read: "):
        compare(log, store, tmp_path)
    store.close()

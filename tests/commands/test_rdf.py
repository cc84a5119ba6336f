"""`scrapy rdf`, as a person runs it."""

from __future__ import annotations

import gzip
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest

from tests.conftest import LOOPBACK_NETS
from tests.support.web_archives import HOST, Archive

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import RunRdf
    from tests.support.crawl_webs import Loopback

ROOT = Path(__file__).resolve().parents[2]
LAB = f"-sGUARD_ALLOW_NETS={LOOPBACK_NETS}"
PAGE = b"""<!DOCTYPE html><html><head><title>t</title>
<link rel="alternate" type="text/turtle" href="/data.ttl">
<script type="application/ld+json">
{"@context": {"@vocab": "http://schema.org/"}, "@id": "#me", "@type": "Person",
 "name": "A \\u001b[31m"}</script></head>
<body><div itemscope itemtype="http://schema.org/Book"><b itemprop="name">B</b></div>
</body></html>"""
TURTLE = b"@prefix e: <http://a.example/> . e:s e:p e:o , 1 , 'x'@en .\n"


def triples(turtle: str) -> set[ox.Triple]:
    """Return the triples of a text."""
    return {quad.triple for quad in ox.parse(turtle, format=ox.RdfFormat.TURTLE)}


@pytest.fixture(scope="module")
def server(loopback: Loopback) -> RawServer:
    """Return a server with some documents."""
    response = loopback.response
    return loopback(
        {
            "/page": response(PAGE, "text/html"),
            "/moved": loopback.redirect("/page"),
            "/empty": response(b"<!DOCTYPE html><p>nothing", "text/html"),
            "/data.ttl": response(TURTLE, "text/turtle"),
            "/secret": response(TURTLE, "text/turtle"),
            "/robots.txt": response(b"User-agent: *\nDisallow: /secret", "text/plain"),
        },
        host="127.0.78.1",
    )


def test_page_is_described_in_full(rdf: RunRdf, server: RawServer) -> None:
    """If a page is annotated, then the command shows how it was read, and its links."""
    done = rdf(server.url("/moved"))
    assert done.returncode == 0, done.stderr
    assert "schema:Person" in done.stdout
    assert "schema:Book" in done.stdout
    told = " ".join(done.stderr.split())
    assert f"document {server.url('/page')}" in told
    assert f"redirected {server.url('/moved')}" in told
    assert "read as HTML, decided by content-type" in told
    assert "extractor json-ld: 2 statements" in told
    assert "extractor microdata: 2 statements" in told
    assert f"{server.url('/data.ttl')} (alternate)" in told


def test_nothing_of_the_web_steers_the_terminal(server: RawServer) -> None:
    """If a literal has an escape sequence, then it is not sent to a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "rdf", LAB, server.url("/page")],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
    )
    os.close(follower)
    shown = b""
    try:
        while piece := os.read(leader, 65536):
            shown += piece
    except OSError:  # Linux: the other end is closed
        pass
    os.close(leader)
    assert process.wait(600) == 0
    assert b"schema:" in shown
    assert b"\x1b[" in shown, "coloured"
    assert b"A \x1b[31m" not in shown


def test_standard_input_may_be_a_file(tmp_path: Path) -> None:
    """If a file is standard input, it is read like a pipe, also by other processes."""
    path = tmp_path / "some.xml"  # read in a child, whose standard input is another
    path.write_bytes(b"<a><urn:p xmlns:urn='urn:'/></a>")
    with path.open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", "rdf", "-"],
            cwd=ROOT,
            stdin=file,
            capture_output=True,
            text=True,
            check=False,
        )
    assert "the page has no annotation" in done.stderr


def test_page_without_annotation_is_reported(rdf: RunRdf, server: RawServer) -> None:
    """If there is nothing in a page, then the command says so, and exits with 1."""
    done = rdf(server.url("/empty"))
    assert done.returncode == 1
    assert "no annotation" in done.stderr
    assert done.stdout == ""


def test_reason_and_remedy_of_no_statements(rdf: RunRdf, tmp_path: Path) -> None:
    """If there are no statements or links, then a hint says why and what to type."""
    files = {
        "app.html": (b"<script src=a.js></script>", "scripts fill: a browser renders"),
        "login.html": (b"<input name=p type='password'>", "behind a login"),
        "plain.html": (b"<p>nothing", "without annotation: `look SITE`"),
        "some.txt": (b"words", "in no known format: --media-type TYPE"),
        "links.html": (
            b"<a href=/x>x</a>",
            "1 hyperlink is not followed: --follow abox",
        ),
        "classes.ttl": (
            b"<#a> a <http://a.example/C> .",
            "are not followed: --follow all",
        ),
    }
    for name, (content, hint) in files.items():
        (tmp_path / name).write_bytes(content)
        done = rdf(tmp_path / name)
        hints = [x for x in done.stderr.splitlines() if x.startswith("hint ")]
        assert any(hint in x for x in hints), done.stderr
    done = rdf(tmp_path / "links.html", "--follow", "abox,hyperlink")
    assert "not followed" not in done.stderr


def test_captures_of_a_web_archive(rdf: RunRdf, tmp_path: Path) -> None:
    """If a file is a web archive, then each readable capture is shown and written."""
    archive = Archive()
    archive.add_statement("one")
    archive.add(f"{HOST}/page", PAGE, ("Content-Type", "text/html"))
    archive.add(f"{HOST}/picture", b"GIF89a", ("Content-Type", "image/gif"))
    archive.add(f"{HOST}/gone", b"", status="404 Not Found")
    path, target = tmp_path / "a.warc.gz", tmp_path / "all.nq"
    path.write_bytes(archive.content())
    done = rdf(path)
    assert done.returncode == 0, done.stderr
    assert f"capture     {HOST}/one (text/turtle): 1 statement\n" in done.stderr
    assert f"capture     {HOST}/page (text/html): 4 statements\n" in done.stderr
    assert "statements  5 of 2 captures" in done.stderr
    assert "<urn:x:one>" in done.stdout
    done = rdf(path, "--to", target)
    assert len(target.read_text().splitlines()) == 5
    assert done.stdout == ""
    written = target.read_bytes()
    path.write_bytes(b"no archive")
    assert rdf(path, "--to", target).returncode == 1
    assert target.read_bytes() == written
    done = rdf(path)
    assert done.returncode == 1
    assert "hint        no capture has a format of RDF" in done.stderr
    assert rdf(path, "--to", tmp_path / "all.ttl").returncode == 2


@pytest.mark.parametrize("name", ["kept.nq", "kept.nt", "kept.hdt"])
def test_a_document_without_statements_replaces_no_file(
    rdf: RunRdf, server: RawServer, tmp_path: Path, name: str
) -> None:
    """If a document is gone or broken, then the file of `--to` is not replaced."""
    target, source = tmp_path / name, tmp_path / "page.nt"
    target.write_text("kept")
    for content in (b"", b"nonsense"):
        source.write_bytes(content)
        assert rdf(source, "--to", target).returncode == 1
    done = rdf(server.url("/nothing"), "--to", target)
    assert done.returncode == 1
    assert f"not written {target}, as there are no statements" in done.stderr
    assert target.read_text() == "kept"
    source.write_bytes(b"<urn:x:s> <urn:x:p> 1 .")
    assert rdf(source, "--to", target).returncode == 0
    assert target.read_bytes() != b"kept"
    assert {each.name for each in tmp_path.iterdir()} == {name, "page.nt"}


def test_robots_are_obeyed_by_default(rdf: RunRdf, server: RawServer) -> None:
    """If robots.txt forbids a document, then it is not read, except by a setting."""
    done = rdf(server.url("/secret"))
    assert done.returncode == 1
    assert "robots_disallowed" in done.stderr
    done = rdf(server.url("/secret"), "-s", "ROBOTSTXT_OBEY=0")
    assert triples(done.stdout) == triples(TURTLE.decode())


def test_file_is_unpacked_and_written_as_hdt(rdf: RunRdf, tmp_path: Path) -> None:
    """If a dump becomes an HDT file, then that has the same statements."""
    dump, target = tmp_path / "d.ttl.gz", tmp_path / "d.hdt"
    dump.write_bytes(gzip.compress(TURTLE))
    done = rdf(dump, "--to", target)
    assert done.returncode == 0, done.stderr
    assert "gzip" in done.stderr
    again = rdf(target)
    assert "HDT" in again.stderr
    assert triples(again.stdout) == triples(TURTLE.decode())


def test_url_of_a_file_has_no_steps_up(rdf: RunRdf, tmp_path: Path) -> None:
    """If a path leads up and down again, then the URL is that of the file."""
    (tmp_path / "a.ttl").write_text("<> <urn:x:p> <#b> .")
    (tmp_path / "down").mkdir()
    done = rdf(tmp_path / "down" / ".." / "a.ttl")
    url = (tmp_path / "a.ttl").as_uri()
    assert done.stdout.strip() == f"<{url}> <urn:x:p> <{url}#b> ."


def test_losses_of_hdt_are_reported(rdf: RunRdf, tmp_path: Path) -> None:
    """If a statement cannot be written, then the command says so, and writes others."""
    dump, target = tmp_path / "d.nt", tmp_path / "d.hdt"
    dump.write_text('<http://a> <http://b> "\\u0000" .\n<http://a> <http://b> "x" .\n')
    done = rdf(dump, "--to", target)
    assert done.returncode == 0, done.stderr
    assert "\nnot written " in done.stderr
    assert len(triples(rdf(target).stdout)) == 1


@pytest.mark.parametrize("suffix", [".nt", ".hdt"])
def test_graph_names_that_a_file_cannot_hold_are_reported(
    rdf: RunRdf, tmp_path: Path, suffix: str
) -> None:
    """If a format has no graphs, then triples are written and lost names are shown."""
    dump, target = tmp_path / "d.nq", tmp_path / f"d{suffix}"
    dump.write_text(
        '<http://a> <http://b> "x <http://g> ." <http://g> .\n'
        "<http://a> <http://b> <http://c> .\n"
        "_:a <http://b> _:a <http://g> .\n"
    )
    done = rdf(dump, "--to", target)
    assert done.returncode == 0, done.stderr
    assert "\nnot written the graph names of 2 statements" in done.stderr
    found = list(ox.parse(rdf(target).stdout, format=ox.RdfFormat.TURTLE))
    assert len(found) == 3
    if suffix == ".nt":
        assert len(list(ox.parse(path=target))) == 3
    quads = tmp_path / "e.nq"
    assert "not written" not in rdf(dump, "--to", quads).stderr
    assert len({quad.graph_name for quad in ox.parse(path=quads)}) == 2


def test_limit_cuts_the_statements(rdf: RunRdf, tmp_path: Path) -> None:
    """If there are more statements than are to be shown, then it says how many."""
    path = tmp_path / "d.ttl"
    path.write_bytes(TURTLE)
    done = rdf(path, "--limit", "2")
    assert len(triples(done.stdout)) == 2
    assert "2 of 3 statements" in done.stderr


def test_rules_are_used(rdf: RunRdf, server: RawServer, tmp_path: Path) -> None:
    """If the rules are wrong, then one line names the file, and the exit code is 2."""
    rules = tmp_path / "rules.yaml"
    rules.write_text("- [")
    done = rdf(server.url("/page"), "--rules", str(rules))
    assert done.returncode == 2
    assert str(rules) in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["a", "b"],
        ["/no/such/file"],
        ["http://"],
        ["x.ttl", "--follow", "nonsense"],
        ["x.ttl", "--limit", "-1"],
        [str(ROOT / "LICENSE"), "--to", "x.hdt", "--base", "b"],
    ],
)
def test_wrong_usage_is_one_line(rdf: RunRdf, words: list[str]) -> None:
    """If the command cannot be done, then one line says why, and the code is 2."""
    done = rdf(*words)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1

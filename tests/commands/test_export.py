"""`scrapy export`: its messages, refusals, and ends."""

from __future__ import annotations

import os
import shutil
import signal
import time
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest
from rdflib import Graph, Namespace
from rdflib.namespace import DCAT

from rdfcrawl.core.records import Record
from tests.support.command_forks import scrapy, shared_forks
from tests.support.described_documents import WORKER, describe, document
from tests.support.shapes import DCAT_AP, violations
from tests.support.shapes import VOID as VOID_SHAPES
from tests.support.small_disk import MIB, small_disk
from tests.support.written_logs import RawVersion, make_newer, tear_log, write_log
from tests.support.written_provenance import write_provenance

if TYPE_CHECKING:
    import subprocess

SPDX = Namespace("http://spdx.org/rdf/terms#")
N_DOCUMENTS, N_LINES = 40, 2000
LINE = b'<http://e/s%d> <http://e/p> "%d" <http://e/%d> .\n'


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a crawl of some documents."""
    folder = tmp_path_factory.mktemp("export")
    documents = [
        RawVersion(
            f"http://e/{n}", 1, b"".join(LINE % (i, n, n) for i in range(N_LINES))
        )
        for n in range(N_DOCUMENTS)
    ]
    write_log(folder / "one", documents)
    return folder


def command(folder: Path, *words: str) -> list[str]:
    """Return the words of the command."""
    return ["export", f"-sCRAWL_DIR={folder}", *words]


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return scrapy(*command(folder, *words))


def test_summary_and_loaders_are_shown(crawl: Path, tmp_path: Path) -> None:
    """If an export succeeds, then it counts the output and shows how to load it."""
    done = run(crawl, "--to", f"{tmp_path}/all/", "--shards", "2", "--hosts", "e")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("40 documents, 80,000 statements in 2 files, ")
    loaders = [line for line in done.stdout.splitlines() if line.startswith("# ")]
    assert loaders == [
        *("# Jena TDB2", "# Virtuoso", "# QLever", "# Oxigraph", "# GraphDB"),
        "# Neptune",
    ]
    names = [f"{tmp_path}/all/part-0000{n}.nq.gz" for n in range(2)]
    assert f"tdb2.tdbloader --loc tdb2 {' '.join(names)}\n" in done.stdout


def test_export_of_nothing_names_the_options_to_change(
    crawl: Path, tmp_path: Path
) -> None:
    """If no statement is chosen, then a line names the options, without loaders."""
    words = "--to", f"{tmp_path}/none.nq", "--hosts", "other.example", "--graphs", "*"
    done = run(crawl, *words, "--since", "2026-09-21")
    line = "no statement matches: change or leave out --hosts, --graphs, --since"
    assert (done.returncode, done.stderr) == (0, f"scrapy: export: {line}\n")
    assert done.stdout.startswith("0 documents, 0 statements in 1 file, ")
    assert len(done.stdout.splitlines()) == 1


def test_standard_output_has_statements_alone(crawl: Path) -> None:
    """If the target is standard output, then nothing but statements is there."""
    done = run(crawl, "--to", "-", "--format", "nt", "--graphs", "http://e/3")
    assert done.returncode == 0
    assert len(list(ox.parse(done.stdout, format=ox.RdfFormat.N_TRIPLES))) == N_LINES
    (line,) = done.stderr.splitlines()
    assert line.startswith("1 document, 2,000 statements, ")


def test_provenance_is_exported_alone(tmp_path: Path) -> None:
    """If the provenance is exported, then its statements alone are written."""
    write_log(tmp_path / "one", [RawVersion("http://e/1", 1, LINE % (1, 1, 1))])
    fetched = [document(record=Record(f"http://e/{n}")) for n in range(3)]
    write_provenance(tmp_path / "one", fetched)
    target = tmp_path / "provenance.nq"
    done = run(tmp_path, "--provenance", "--to", str(target))
    assert (done.returncode, done.stderr) == (0, "")
    assert target.read_bytes() == b"".join(describe(x, WORKER) for x in fetched)


def test_closed_pipe_is_one_line(crawl: Path, tmp_path: Path) -> None:
    """If the reader of standard output goes away, then one line says so."""
    words = command(crawl, "--to", "-", "--format", "nq")
    reader, writer = os.pipe()
    told = tmp_path / "told"
    with os.fdopen(writer, "wb") as out, told.open("wb") as err:
        process = shared_forks().start(["-m", "scrapy", *words], out, err)
    os.read(reader, 10)
    os.close(reader)
    assert process.wait() == 1
    assert told.read_text() == "scrapy: export: standard output was closed\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_leaves_nothing(
    crawl: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """If Ctrl-C is pressed, or the process gets SIGTERM, nothing half stays."""
    folder, told = tmp_path / "to", tmp_path / "told"
    folder.mkdir()
    target = folder / "x.jsonld"
    target.write_text("before")
    words = ["-m", "scrapy", *command(crawl, "--to", str(target))]
    with told.open("wb") as out:
        process = shared_forks().start(words, out)
    while process.poll() is None and not (folder / "x.jsonld.part").exists():
        time.sleep(0.005)
    process.send_signal(number)
    assert process.wait() == -signal.SIGINT
    line = "scrapy: export: interrupted; the export was cancelled\n"
    assert told.read_text() == line
    assert [path.name for path in folder.iterdir()] == ["x.jsonld"]
    assert target.read_text() == "before"


@pytest.mark.parametrize("words", [["--to", "x.nt"], ["--to", "x.hdt"]])
def test_full_disk_is_one_line(crawl: Path, tmp_path: Path, words: list[str]) -> None:
    """If a disk is full, of the target or of temporary files, then nothing is left."""
    with small_disk(tmp_path) as disk:
        disk.fill(1 * MIB)
        before = sorted(disk.path.iterdir())
        done = run(crawl, *words[:1], str(disk.path / words[1]), "--memory", "16M")
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert line.startswith("scrapy: export: ")
        assert str(disk.path) in line
        assert line.endswith(": No space left on device; the export was cancelled")
        assert sorted(disk.path.iterdir()) == before


def test_damage_of_the_log_is_reported(crawl: Path, tmp_path: Path) -> None:
    """If a part of the log cannot be read, then the rest is exported."""
    shutil.copytree(crawl / "one", tmp_path / "one")
    (segment,) = (tmp_path / "one" / "quads").glob("*.gz")
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    done = run(tmp_path, "--to", str(tmp_path / "x.nq"))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("scrapy: export: damaged segment quads/")
    assert done.stdout.startswith(f"{N_DOCUMENTS - 1} documents, ")


def test_torn_log_is_exported_and_a_newer_one_refused(tmp_path: Path) -> None:
    """If a log ends in half a member, it is read so far; a newer format is refused."""
    whole, torn = (
        RawVersion(f"http://e/{n}", 1, LINE % (n, n, n)) for n in range(1, 3)
    )
    tear_log(tmp_path / "one", whole, torn)
    target = tmp_path / "x.nq"
    done = run(tmp_path, "--to", str(target))
    assert (done.returncode, done.stderr) == (0, "")
    assert target.read_bytes() == whole.quads
    make_newer(tmp_path / "one")
    done = run(tmp_path, "--to", str(target))
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "the log has format 99" in line
    assert target.read_bytes() == whole.quads


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "export: give a target"),
        (["--to", "x.nq", "--latest", "--all-versions"], "give one of --latest"),
        (["--to", "x.nq", "--provenance", "--hosts", "e"], "leave out --hosts"),
        (["--to", "x.nq", "-sCRAWL_ID=two"], "CRAWL_ID=two: no crawl of this name"),
    ],
)
def test_wrong_words_are_reported_in_one_line(
    crawl: Path, words: list[str], told: str
) -> None:
    """If the command is used wrongly, then one line says why."""
    done = run(crawl, *words)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert told in line


def test_export_is_described(crawl: Path, tmp_path: Path) -> None:
    """If a description is requested, then it names the exported files."""
    target, description = tmp_path / "all", tmp_path / "about.ttl"
    words = ("--to", f"{target}/", "--shards", "2", "--describe", str(description))
    done = run(crawl, *words, "-sDESCRIBE_PUBLISHER=Ada")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"description: {description}\n40 documents, ")
    data = Graph().parse(description)
    assert violations(data, DCAT_AP, VOID_SHAPES) == []
    found = {
        str(url): str(data.value(data.value(node, SPDX.checksum), SPDX.checksumValue))
        for node, url in data.subject_objects(DCAT.downloadURL)
    }
    files = list(target.glob("*.nq.gz"))
    assert len(files) == 2
    assert found == {
        path.as_uri(): sha256(path.read_bytes()).hexdigest() for path in files
    }


def test_crawl_is_described_in_its_folder(crawl: Path) -> None:
    """If no file is named, then the description is in the folder of the crawl."""
    done = run(crawl, "--describe")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [
        *("description:", str(crawl / "one" / "void.ttl")),
        *("description:", str(crawl / "one" / "dcat.ttl")),
    ]
    # Where statements go, nothing else does.
    done = run(crawl, "--to", "-", "--format", "nq", "--describe")
    assert all(line.endswith(" .") for line in done.stdout.splitlines())
    assert done.stderr.startswith("description: ")
    data = Graph().parse(crawl / "one" / "dcat.ttl")
    (segment,) = data.objects(None, DCAT.downloadURL)
    assert Path(str(segment).removeprefix("file://")).is_file()


def test_description_of_a_part_is_refused(crawl: Path, tmp_path: Path) -> None:
    """If only a part is exported, then a description of it is refused."""
    for words in (("--hosts", "e"), ("--since", "2026-01-01"), ("--graphs", "*")):
        done = run(crawl, "--to", f"{tmp_path}/x.nq", "--describe", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert "--describe" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    done = run(crawl, "--describe", str(tmp_path / "no" / "x.ttl"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "the export was cancelled" in done.stderr

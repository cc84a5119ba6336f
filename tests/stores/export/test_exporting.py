"""Exports have the statements of the log, as another reader finds."""

from __future__ import annotations

import gzip
import json
import random
import sys
import threading
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet as pq
import pyoxigraph as ox
import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.columns.rows import iter_lines
from rdfcrawl.stores.export import exporting
from rdfcrawl.stores.export.exporting import ExportReport, export
from rdfcrawl.stores.export.plan import ExportPlan, ShardRule, parse_shards
from rdfcrawl.stores.export.selection import DocumentSelection, parse_hosts, parse_since
from rdfcrawl.stores.log.compaction import compact
from rdfcrawl.stores.log.crawl_log import CrawlLog
from tests.support.hdt_files import lines_of
from tests.support.written_logs import RawVersion, write_log

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

N_DOCUMENTS = 60
SHARED = "http://h1.example/shared"
Written = tuple[CrawlLog, list[RawVersion]]


def document(n: int, version_ms: int) -> RawVersion:
    """Return a version: blank nodes that hang together, and a graph that others say."""
    chance = random.Random(n * 1000 + version_ms)
    graph = f"http://h{n % 4}.example/{n}"
    lines = [f'<{graph}#it> <urn:x:p> "{version_ms} {n} é\\n"@en <{graph}> .\n']
    for i in range(chance.randrange(5)):
        lines += [
            f"<{graph}#it> <urn:x:has> _:b{n}n{i} <{graph}> .\n",
            f"_:b{n}n{i} <urn:x:next> _:b{n}n{i + 1} <{graph}> .\n",
            f'_:b{n}n{i} <urn:x:in> "{i}" <{SHARED}> .\n',
        ]
    return RawVersion(graph, version_ms, "".join(lines).encode())


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Return a log of two workers, and all versions in it."""
    root = tmp_path_factory.mktemp("log")
    versions = [document(n, 1000) for n in range(N_DOCUMENTS)]
    versions += [document(n, 2000) for n in range(0, N_DOCUMENTS, 3)]
    gone = RawVersion("http://h1.example/1", 3000, b"")
    write_log(root, [*versions[::2], gone], "a")
    write_log(root, versions[1::2], "b")
    return CrawlLog(root), [*versions, gone]


def latest(versions: Iterable[RawVersion]) -> list[RawVersion]:
    """Return the latest version of each document that has one."""
    ordered = sorted(versions, key=lambda each: each.version_ms)
    found = {each.graph: each for each in ordered}.values()
    return [each for each in found if each.quads]


def exported(
    log: CrawlLog, target: object, choice: DocumentSelection | None = None, **more: Any
) -> ExportReport:
    """Export to a target."""
    plan = ExportPlan.of(str(target), selection=choice or DocumentSelection(), **more)
    return export(log, plan)


def read(path: Path) -> list[ox.Quad]:
    """Return the statements of a file, by its name."""
    content, name = path.read_bytes(), path.name
    if name.endswith(".gz"):
        content, name = gzip.decompress(content), name.removesuffix(".gz")
    if name.endswith(".zst"):
        content, name = zstd.decompress(content), name.removesuffix(".zst")
    if name.endswith(".parquet"):
        batches = pq.ParquetFile(path).iter_batches()
        content, name = b"".join(chain(*map(iter_lines, batches))), "x.nq"
    if name.endswith(".hdt"):
        content, name = b"".join(lines_of(content)), "x.nt"
    kind = ox.RdfFormat.from_extension(name.rpartition(".")[2])
    assert kind is not None
    return list(ox.parse(content, format=kind))


def canonical(quads: Iterable[ox.Quad], *, has_graphs: bool = True) -> set[ox.Quad]:
    """Return statements whose blank nodes have labels that depend on these alone."""
    if not has_graphs:
        quads = (ox.Quad(x.subject, x.predicate, x.object) for x in quads)
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(dataset)


def said(versions: Iterable[RawVersion], *, has_graphs: bool = True) -> set[ox.Quad]:
    """Return what versions say together."""
    lines = b"".join(each.quads for each in versions)
    parsed = ox.parse(lines, format=ox.RdfFormat.N_QUADS)
    return canonical(parsed, has_graphs=has_graphs)


@pytest.mark.parametrize(
    "name", ["nq", "nt", "trig", "ttl", "jsonld", "nq.gz", "ttl.zst", "hdt", "parquet"]
)
def test_file_has_the_latest_versions(
    written: Written, name: str, tmp_path: Path
) -> None:
    """If a log is exported, then the file has the latest version of each document."""
    log, versions = written
    path = tmp_path / f"out.{name}"
    path.write_text("an older export")
    report = exported(log, path)
    (file,) = report.files
    assert report.n_documents == len(latest(versions))
    assert file.n_bytes == path.stat().st_size
    assert file.sha256 == sha256(path.read_bytes()).hexdigest()
    assert list(tmp_path.iterdir()) == [path]
    got = read(path)
    assert file.n_quads == report.n_quads == len(got)
    has_graphs = name.partition(".")[0] in (*("nq", "trig", "jsonld", "parquet"),)
    want = said(latest(versions), has_graphs=has_graphs)
    assert canonical(got, has_graphs=has_graphs) == want


@pytest.mark.parametrize("name", ["nq", "hdt", "parquet"])
@pytest.mark.parametrize(
    ("rule", "n_files"),
    [
        (ShardRule(n_bytes=2000), None),
        (ShardRule(n_files=7), 7),
        (ShardRule(is_by_host=True), 4),
    ],
    ids=["size", "number", "host"],
)
def test_files_of_a_folder_are_the_log_together(
    written: Written,
    name: str,
    rule: ShardRule,
    n_files: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If documents are spread over files, then each is complete in one of them."""
    monkeypatch.setattr("rdfcrawl.stores.export.output.PIECE_BYTES", 500)
    monkeypatch.setattr(exporting, "_PENDING_BYTES", 3000)
    log, versions = written
    folder = tmp_path / "all"
    report = exported(log, f"{folder}/", format_name=name, shard_rule=rule)
    manifest = json.loads((folder / "manifest.json").read_text())
    files = manifest["files"]
    assert {each["name"] for each in files} | {"manifest.json"} == {
        each.name for each in folder.iterdir()
    }
    assert len(files) == (n_files or len(files)) > 3
    subjects: list[str] = []
    for each in files:
        path = folder / each["name"]
        content = path.read_bytes()
        assert each["bytes"] == len(content)
        assert each["sha256"] == sha256(content).hexdigest()
        quads = read(path)
        assert each["quads"] == len(quads)
        subjects += {str(x.subject)[1:-1] for x in quads if "#it" in str(x.subject)}
        if rule.is_by_host:
            hosts = {x.split("/")[2] for x in subjects if x.endswith("#it")}
            assert path.stem in hosts
    assert len(subjects) == len(set(subjects)) == manifest["documents"]
    assert report.n_quads == manifest["quads"]
    has_graphs = name != "hdt"
    together = [quad for each in files for quad in read(folder / each["name"])]
    want = said(latest(versions), has_graphs=has_graphs)
    assert canonical(together, has_graphs=has_graphs) == want


def test_all_versions_keep_their_blank_nodes_apart(
    written: Written, tmp_path: Path
) -> None:
    """If all versions are exported, then no node of one is a node of another."""
    log, versions = written
    path = tmp_path / "all.nq"
    exported(log, path, DocumentSelection(has_all_versions=True))
    apart = [
        RawVersion("", 0, each.quads.replace(b"_:b", b"_:v%d" % each.version_ms))
        for each in versions
    ]
    assert canonical(read(path)) == said(apart)


def test_columns_tell_versions_apart(written: Written, tmp_path: Path) -> None:
    """If all versions are written as Parquet, then DuckDB can count each of them."""
    log, versions = written
    path = tmp_path / "all.parquet"
    exported(log, path, DocumentSelection(has_all_versions=True))
    query = f"SELECT document, version, count(*) FROM '{path}' GROUP BY ALL"
    expected = {
        (each.graph, each.version_ms, each.quads.count(b"\n"))
        for each in versions
        if each.quads
    }
    found = duckdb.connect().execute(query).fetchall()
    assert set(found) == expected


def test_selections_choose_documents_and_graphs(
    written: Written, tmp_path: Path
) -> None:
    """If hosts, graphs or a time are named, then nothing else is exported."""
    log, versions = written
    path = tmp_path / "some.nq"
    exported(log, path, DocumentSelection(hosts=parse_hosts(["h1.example,h2.example"])))
    hosts = ("http://h1.", "http://h2.")
    chosen = [each for each in latest(versions) if each.graph.startswith(hosts)]
    assert canonical(read(path)) == said(chosen)
    exported(log, path, DocumentSelection(since_ms=parse_since("1970-01-01T00:00:02Z")))
    chosen = [each for each in latest(versions) if each.version_ms >= 2000]
    assert canonical(read(path)) == said(chosen)
    graphs = ("http://h3.example/3", "*/sha*")
    exported(log, path, DocumentSelection(graphs=graphs))
    names = {quad.graph_name.value for quad in read(path)}  # type: ignore[union-attr]
    assert names == {"http://h3.example/3", SHARED}
    report = exported(log, path, DocumentSelection(graphs=("http://nowhere/",)))
    assert (report.n_documents, report.n_quads, path.read_bytes()) == (0, 0, b"")


@pytest.mark.parametrize("name", ["nq.gz", "jsonld", "hdt", "ttl.zst", "parquet"])
def test_nothing_is_a_file_too(written: Written, name: str, tmp_path: Path) -> None:
    """If nothing is chosen, then the file is sound, and a folder has one."""
    nothing = DocumentSelection(since_ms=2**50)
    exported(written[0], tmp_path / f"x.{name}", nothing)
    assert read(tmp_path / f"x.{name}") == []
    report = exported(written[0], f"{tmp_path}/d/", nothing, format_name=name)
    assert [each.n_quads for each in report.files] == [0]
    assert read(tmp_path / "d" / f"part-00000.{name}") == []


def test_names_of_hosts_are_names_of_files(tmp_path: Path) -> None:
    """If a host has a name that no file should have, then it is written otherwise."""
    graphs = [
        "http://[::1]:8/a",
        "urn:x:a",
        "http://xn--bcher-kva.example/",
        "http://../",
    ]
    write_log(
        tmp_path / "log",
        [
            RawVersion(graph, 1, b"<urn:s> <urn:p> <urn:o> <%s> .\n" % graph.encode())
            for graph in graphs
        ],
    )
    rule = ShardRule(is_by_host=True)
    exported(CrawlLog(tmp_path / "log"), f"{tmp_path}/d/", shard_rule=rule)
    names = sorted(each.name for each in (tmp_path / "d").iterdir())
    assert all(name[0] != "." and "/" not in name for name in names)
    assert len(names) == 5
    assert "xn--bcher-kva.example.nq.gz" in names


def test_target_of_nobody_else_is_touched(written: Written, tmp_path: Path) -> None:
    """If a folder has files, or an export fails, then existing files stay."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "mine").touch()
    with pytest.raises(ConfigError, match="the folder is not empty"):
        exported(written[0], tmp_path / "d")
    path = tmp_path / "x.nq"
    path.write_text("before")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    for target in (path, f"{tmp_path}/e/"):
        plan = ExportPlan.of(str(target), selection=DocumentSelection())
        with pytest.raises(OSError, match="No space"):
            export(written[0], plan, fail)
    assert path.read_text() == "before"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["d", "x.nq"]


def test_two_exports_to_one_file_do_not_mix(written: Written, tmp_path: Path) -> None:
    """If a file is being written, then another export to it is refused."""
    path = tmp_path / "x.nq"

    def export_too(_: int) -> None:
        with pytest.raises(
            ConfigError, match=r"x\.nq\.part: another export is writing"
        ):
            exported(written[0], path)

    plan = ExportPlan.of(str(path), selection=DocumentSelection())
    report = export(written[0], plan, export_too)
    assert len(read(path)) == report.n_quads
    assert list(tmp_path.iterdir()) == [path]


def test_draft_of_a_killed_export_is_written_anew(
    written: Written, tmp_path: Path
) -> None:
    """If a killed process has left half a file, then the next one replaces it."""
    (tmp_path / "x.nq.part").write_text("half")
    (tmp_path / "d.part").mkdir()
    (tmp_path / "d.part" / "part-00000.nq.gz").write_text("half")
    n_quads = exported(written[0], tmp_path / "x.nq").n_quads
    assert len(read(tmp_path / "x.nq")) == n_quads
    assert exported(written[0], f"{tmp_path}/d/").n_quads == n_quads
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == ["d", "x.nq"]


def test_log_that_is_written_and_compacted_is_read_as_it_was(tmp_path: Path) -> None:
    """If workers write and versions are dropped meanwhile, then no document is torn."""
    root = tmp_path / "log"
    graphs = [f"http://e/{n}" for n in range(20)]

    def versions(number: int) -> list[RawVersion]:
        line = '<http://e/s> <urn:x:p{}> "{}" <{}> .\n'
        return [
            RawVersion(
                graph,
                number,
                "".join(line.format(i, number, graph) for i in range(3)).encode(),
            )
            for graph in graphs
        ]

    write_log(root, versions(1))
    is_over = threading.Event()

    def change() -> None:
        for number in range(2, 20):
            write_log(root, versions(number), f"w{number}")
            compact(CrawlLog(root), least_share=0.0, patience_secs=0.0)
        is_over.set()

    writer = threading.Thread(target=change)
    writer.start()
    try:
        while not is_over.is_set():
            for name in ("x.nq", "x.parquet"):
                exported(CrawlLog(root), tmp_path / name)
                found: dict[str, list[str]] = {}
                for quad in read(tmp_path / name):
                    found.setdefault(str(quad.graph_name), []).append(str(quad.object))
                assert found.keys() == {f"<{graph}>" for graph in graphs}
                assert {len(each) for each in found.values()} == {3}
                assert {len(set(each)) for each in found.values()} == {1}
    finally:
        writer.join()
    assert {str(quad.object) for quad in read(tmp_path / "x.nq")} <= {
        f'"{number}"' for number in range(1, 20)
    }


@pytest.mark.parametrize(
    ("target", "more", "told"),
    [
        ("x", {}, "gives no format"),
        ("x.gz", {}, "must be nq, nt"),
        ("x.hdt.gz", {}, ".hdt is already compressed"),
        ("x.nq", {"format_name": "xml"}, "--format xml: must be nq"),
        ("x.nq", {"shard_rule": ShardRule()}, "several files need a folder"),
        ("-", {}, "needs --format"),
        ("no/x.nq", {}, "does not exist"),
        ("x.nq", {"scratch": "nowhere"}, "--scratch nowhere: must be a writable"),
        ("x.nq", {"memory_bytes": 5}, "--memory: must be at least 16M"),
    ],
)  # fmt: skip
def test_wrong_plans_are_told(
    target: str,
    more: dict[str, Any],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If the parts of a plan do not go together, then one line says why."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=told):
        ExportPlan.of(target, selection=DocumentSelection(), **more)


def test_wrong_words_are_told() -> None:
    """If hosts, times or numbers of files are none, then one line says so."""
    with pytest.raises(ConfigError, match="--hosts: not a host"):
        parse_hosts(["*"])
    with pytest.raises(ConfigError, match="--since noon: must be a date"):
        parse_since("noon")
    with pytest.raises(ConfigError, match="--shards 0: must be"):
        parse_shards(None, 0, by_host=False)
    with pytest.raises(ConfigError, match="give only one of --shard-size"):
        parse_shards("1G", 2, by_host=False)
    with pytest.raises(ConfigError, match="--shard-size big: must be"):
        parse_shards("big", None, by_host=False)

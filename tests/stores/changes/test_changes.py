"""Two states of a log are compared: documents by kind, statements as a patch."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.stores.changes.comparing import EarlierState, LogComparison, find_start
from rdfcrawl.stores.changes.patch import write_patch
from rdfcrawl.stores.crawl_folder import FORMAT, note_run, note_worker
from rdfcrawl.stores.followers.verification import is_same, quads_of
from rdfcrawl.stores.log.compaction import compact
from rdfcrawl.stores.log.crawl_log import CrawlLog, iter_latest
from tests.support.command_forks import scrapy
from tests.support.examples import few
from tests.support.sparql_services import FUSEKI, find_jar, require
from tests.support.written_logs import RawVersion, Written, versions_in, write_log

A, B, C, D = (f"http://{name}.example/" for name in "abcd")
E = "http://a.example/e"


def kinds(root: Path, since: int, earlier: Path | None = None) -> dict[str, str]:
    """Return the kind of change of each document."""
    log = CrawlLog(earlier) if earlier else None
    start = EarlierState("then", since, log)
    with LogComparison(CrawlLog(root), start) as comparison:
        return {x.document.graph: x.kind.value for x in comparison.changes()}


def patch_of(root: Path, start: EarlierState) -> str:
    """Return the patch of the changes in a log."""
    file = io.StringIO()
    with LogComparison(CrawlLog(root), start) as comparison:
        write_patch(comparison, file)
    return file.getvalue()


def patched(quads: set[str], patch: str) -> set[str]:
    """Apply an RDF Patch to statements, strictly: deleted statements exist."""
    header, begin, *changes, end = patch.splitlines(keepends=True)
    assert re.fullmatch(r"H id <urn:uuid:[0-9a-f-]{36}> \.\n", header)
    assert (begin, end) == ("TX .\n", "TC .\n")
    result = set(quads)
    for line in changes:
        kind, _, quad = line.partition(" ")
        quad = re.sub(r"<_:([^>]*)>", r"_:\1", quad)
        assert len(list(ox.parse(quad, format=ox.RdfFormat.N_QUADS))) == 1
        if kind == "D":
            result.remove(quad)
        else:
            assert kind == "A"
            result.add(quad)
    return result


def state(root: Path, until: int = 2**62) -> set[str]:
    """Return the statements of the latest versions up to a time."""
    latest: dict[str, tuple[tuple[int, bytes], bytes]] = {}
    for each in versions_in(root):
        if each.version_ms <= until:
            found = each.version, b"".join(each.pieces())
            latest[each.graph] = max(found, latest.get(each.graph, found))
    quads = b"".join(quads for _, quads in latest.values())
    return set(quads.decode().splitlines(keepends=True))


def a_web(root: Path) -> None:
    """Write a log of two runs, which end at 15 and 30."""
    first = [Written(g, 10, [(g, "x")]) for g in (A, B, C)]
    write_log(root, [*first, Written(D, 10)], "w1")
    second = [
        *(Written(A, 20, [(A, "y")]), Written(B, 20), Written(E, 20, [(E, "x")])),
        Written(D, 20, [(D, "x")]),
    ]
    write_log(root, second, "w2")
    note_run(root / "quads", 0, 15)
    note_run(root / "quads", 0, 14)
    note_run(root / "quads", 1, 30)


def test_each_document_is_of_one_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If documents come, change and go, then each is reported once, since any time."""
    monkeypatch.setattr("rdfcrawl.stores.log.crawl_log._PART_RECORDS", 1)
    a_web(tmp_path)
    expected = {A: "changed", B: "deleted", C: "unchanged", D: "new", E: "new"}
    assert kinds(tmp_path, 15) == expected
    now = {A: "new", C: "new", D: "new", E: "new"}
    assert kinds(tmp_path, 5) == now
    assert kinds(tmp_path, 25) == dict.fromkeys(now, "unchanged")
    # Compaction drops the statements of A and B, not their versions.
    assert compact(CrawlLog(tmp_path)).n_dropped == 3
    assert kinds(tmp_path, 15) == expected


def test_lost_segment_does_not_change_what_others_are(tmp_path: Path) -> None:
    """If the version that replaced another one is lost, no other document suffers."""
    write_log(tmp_path, [Written(A, 1, [(A, "x")]), Written(C, 3, [(C, "x")])], "w1")
    write_log(tmp_path, [Written(A, 5, [(A, "y")])], "w2")
    assert compact(CrawlLog(tmp_path)).n_dropped == 1
    (tmp_path / "quads" / "w2-00000.nq.gz").unlink()
    assert kinds(tmp_path, 2) == {C: "new"}


def test_what_fresh_has_moved_aside_is_an_earlier_state(tmp_path: Path) -> None:
    """If a crawl was restarted by fresh=1, then documents not found again go."""
    a_web(tmp_path)
    (tmp_path / "before-1").mkdir()
    (tmp_path / "quads").rename(tmp_path / "before-1" / "quads")
    found = [Written(A, 40, [(A, "y")]), Written(C, 40, [(C, "z")])]
    write_log(tmp_path, [*found, Written(B, 40, [(B, "x")])])
    start = find_start(tmp_path, None)
    assert start.name == "before-1"
    assert kinds(tmp_path, -1, tmp_path / "before-1") == {
        A: "unchanged", B: "new", C: "changed", D: "deleted", E: "deleted"
    }  # fmt: skip
    quads = patched(state(tmp_path / "before-1"), patch_of(tmp_path, start))
    assert quads == state(tmp_path)


def test_start_is_a_run_a_time_or_a_folder(tmp_path: Path) -> None:
    """If an operator names a run or a time, then just that is found."""
    a_web(tmp_path)
    assert find_start(tmp_path, None).since_ms == 15
    assert find_start(tmp_path, "2").since_ms == 30
    assert find_start(tmp_path, "1970-01-02").since_ms == 86_400_000
    assert find_start(tmp_path, "19700102").since_ms == 86_400_000
    for wrong, told in (("3", "runs 1 to 2"), ("x", "--since x: must be a date")):
        with pytest.raises(ConfigError, match=told):
            find_start(tmp_path, wrong)
    (tmp_path / "quads" / "runs.txt").write_text("0 1\n1 x\n\n9")
    assert find_start(tmp_path, None).name == "the beginning"


def test_runs_follow_each_other_whatever_clocks_say(tmp_path: Path) -> None:
    """If the clock of a run is behind, its documents still count as later."""
    write_log(tmp_path, [Written(g, 10, [(g, "x")]) for g in (A, B)], "w1")
    write_log(tmp_path, [Written(A, 20, [(A, "y")]), Written(B, 20)], "w2")
    write_log(tmp_path, [Written(A, 21, [(A, "z")])], "w3")
    for run, worker in enumerate(("w1", "w2", "w3")):
        note_worker(tmp_path / "quads", run, worker)
        note_run(tmp_path / "quads", run, 1000 + run)
    found = []
    for text in ("1", "2", None):
        start = find_start(tmp_path, text)
        with LogComparison(CrawlLog(tmp_path), start) as comparison:
            found.append({x.document.graph: x.kind for x in comparison.changes()})
    assert found == [{A: "changed", B: "deleted"}, {A: "changed"}, {A: "changed"}]
    compact(CrawlLog(tmp_path))
    with LogComparison(CrawlLog(tmp_path), find_start(tmp_path, "1")) as comparison:
        kinds = {x.document.graph: x.kind for x in comparison.changes()}
    assert kinds == {A: "changed", B: "deleted"}


def test_log_that_is_moved_aside_meanwhile_is_told(tmp_path: Path) -> None:
    """If `fresh=1` moves a log while it is compared, then the comparison fails."""
    a_web(tmp_path)
    start = find_start(tmp_path, None)
    with LogComparison(CrawlLog(tmp_path), start) as comparison:
        changes = comparison.changes()
        next(changes)
        (tmp_path / "before-1").mkdir()
        (tmp_path / "quads").rename(tmp_path / "before-1" / "quads")
        write_log(tmp_path, [Written(A, 1)])
        with pytest.raises(ConfigError, match="was replaced while it was read"):
            list(changes)


def test_last_generation_is_the_earlier_state(tmp_path: Path) -> None:
    """If the clock was set back between two `fresh=1`, the last is still the last."""
    for name, generation in (("before-2", 1), ("before-1", 2)):
        identity = {"log": "x", "generation": generation, "format": FORMAT}
        (tmp_path / name / "quads").mkdir(parents=True)
        (tmp_path / name / "quads" / "log.json").write_text(json.dumps(identity))
    assert find_start(tmp_path, None).name == "before-1"


versions = st.builds(
    Written,
    st.sampled_from((A, B, C)),
    st.integers(1, 6),
    st.lists(st.tuples(st.sampled_from((A, B, C)), st.sampled_from("xy")), max_size=3),
)


@settings(max_examples=few(8))
@given(
    written=st.lists(versions, max_size=12),
    since=st.integers(0, 6),
)
def test_patch_makes_the_later_state_of_the_earlier(
    written: list[Written], since: int
) -> None:
    """If documents share graphs, then a patch still removes and adds the right ones."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        write_log(root, written)
        patch = patch_of(root, EarlierState("then", since))
        assert patched(state(root, since), patch) == state(root)


def test_patch_of_blank_nodes_gives_an_isomorphic_graph(tmp_path: Path) -> None:
    """If graphs have blank nodes, then the patch goes by their labels in the log."""

    def nodes(*pairs: str) -> bytes:
        lines = (f"_:{x[0]} <http://e/p> _:{x[1]} <{A}> .\n" for x in pairs)
        return "".join(lines).encode()

    write_log(tmp_path, [RawVersion(A, 1, nodes("ab", "bc"))])
    before = state(tmp_path)
    write_log(tmp_path, [RawVersion(A, 2, nodes("ba", "bc", "cd"))])
    found = patched(before, patch_of(tmp_path, EarlierState("then", 1)))
    quads = b"".join(piece.quads for piece in iter_latest(tmp_path / "quads"))
    assert is_same(quads_of(line.encode() for line in found), quads_of([quads]))


@pytest.mark.in_turn(2)
@pytest.mark.service
def test_jena_makes_the_later_state_by_the_patch(tmp_path: Path) -> None:
    """If Jena applies a patch to the earlier state, then it has the later one."""
    require(["java", "javac"], [FUSEKI])
    nasty = (
        rb'_:a <x:p> "tab\t \"q\" \u0001 \\ _:b <x:g> ." <%s> .',
        rb"_:a <x:q> _:b-2.x <%s> .",
        rb'<x:s> <x:p> <<( <x:s> <x:p> "z"@en )>> <%s> .',
        rb'<x:s> <x:p> "r"@ar--rtl <%s> .',
        '<x:ü> <x:p> "\U0001f600"^^<x:t> <%s> .'.encode(),
    )
    words: list[str] = []
    for number in range(len(nasty) + 2):  # one goes and the next comes; all; none
        root = tmp_path / str(number)
        for version_ms in (1, 2):
            chosen = nasty[number - version_ms : number - version_ms + 1]
            if number >= len(nasty):
                chosen = nasty if (number + version_ms) % 2 else ()
            lines = b"".join(line % A.encode() + b"\n" for line in chosen)
            both = b"_:z <x:p> _:z <%s> .\n" % A.encode()
            written = [
                RawVersion(A, version_ms, lines),
                RawVersion(B, version_ms, both),
            ]
            write_log(root, written, f"w{version_ms}")
        (root / "old.nq").write_text("".join(state(root, 1)))
        (root / "patch").write_text(patch_of(root, EarlierState("then", 1)))
        words += [str(root / name) for name in ("old.nq", "patch", "new.nq")]
    java = ["java", "-XX:TieredStopAtLevel=1", "-cp", str(find_jar(FUSEKI))]
    program = Path(__file__).parents[2] / "support" / "java" / "ApplyPatches.java"
    subprocess.run([*java, str(program), *words], check=True, capture_output=True)
    for number in range(len(nasty) + 2):
        root = tmp_path / str(number)
        wanted = "".join(state(root)).encode()
        assert is_same(quads_of([(root / "new.nq").read_bytes()]), quads_of([wanted]))


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `scrapy changes`."""
    return scrapy("changes", f"-sCRAWL_DIR={folder}", *words)


def test_command_tells_hosts_and_documents(tmp_path: Path) -> None:
    """If a crawl has run twice, then the command reports the changes of the second."""
    root = tmp_path / "one"
    a_web(root)
    done = command(tmp_path, "--documents")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout
        == f"""\
changed   {A}
deleted   {B}
new       {E}
new       {D}

Since run 1, which ended at 1970-01-01T00:00:00Z:

host             new    changed  unchanged    deleted
a.example          1          1          0          0
b.example          0          0          0          1
d.example          1          0          0          0
c.example          0          0          1          0
all                2          1          1          1
"""
    )
    found = json.loads(command(tmp_path, "--format", "json", "--documents").stdout)
    total = {"new": 2, "changed": 1, "unchanged": 1, "deleted": 1}
    assert found["total"] == total
    assert found["hosts"]["a.example"]["changed"] == 1
    assert {x["document"]: x["change"] for x in found["documents"]} == {
        A: "changed", B: "deleted", D: "new", E: "new"
    }  # fmt: skip
    plain = json.loads(command(tmp_path, "--format", "json").stdout)
    assert plain["total"] == total
    patch = command(tmp_path, "--format", "patch", "--since", "1").stdout
    assert patched(state(root, 15), patch) == state(root)
    compact(CrawlLog(root))
    done = command(tmp_path, "--format", "patch")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "scrapy: --format patch: a compaction has dropped the former statements of 2"
    )
    assert (
        "The earlier statements of 2 documents were dropped" in command(tmp_path).stdout
    )
    shutil.rmtree(root)
    assert command(tmp_path).returncode == 2

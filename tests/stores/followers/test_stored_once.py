"""What several documents say is stored once, and never lost."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.namespaces import RC
from rdfcrawl.stores.followers.following import LogFollowing
from rdfcrawl.stores.followers.log_comparison import compare
from rdfcrawl.stores.followers.oxigraph import OxigraphFollower
from rdfcrawl.stores.followers.protocol import DocumentRefused
from rdfcrawl.stores.followers.rdf_files import FileFollower
from rdfcrawl.stores.followers.stored_once import StoredOnce
from rdfcrawl.stores.log.compaction import compact
from rdfcrawl.stores.log.crawl_log import CrawlLog
from tests.support.examples import few
from tests.support.follower_kinds import dies_before
from tests.support.written_logs import RawVersion, write_log

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rdfcrawl.stores.log.documents import LogDocument
    from tests.support.written_logs import Version

A, B, C, D = (f"http://{name}.example/" for name in "abcd")
NQUADS = ox.RdfFormat.N_QUADS
OPTIONS = {"per": "all", "renew_secs": 0}
LINK = f"<{RC}storedAs>"

Said = dict[str, set[str]]  # by graph, statements without it


def says(graph: str, version_ms: int, text: str) -> RawVersion:
    """Return a version of a document with a statement for each letter."""
    lines = [f'<http://e/s> <http://e/p> "{x}" <{graph}> .\n' for x in text]
    return RawVersion(graph, version_ms, "".join(lines).encode())


def said_by(version: Version) -> set[str]:
    """Return the statements of a version without their graph."""
    end = f" <{version.graph}> ."
    return {line.removesuffix(end) for line in version.quads.decode().splitlines()}


class RefusingFollower(OxigraphFollower):
    """Follower that refuses a version of some documents."""

    def apply(self, documents: Sequence[LogDocument]) -> None:
        """Apply documents, or raise a refusal."""
        for each in documents:
            if each.graph in {A, B} and each.version_ms == 1:
                raise DocumentRefused(each.graph, "no")
        super().apply(documents)


def follow_to_files(root: Path, *, once: bool = True) -> None:
    """Follow a log to its end, into a file; Oxigraph can be in no process forked."""
    follower = FileFollower.from_options(f"nquads:{root}/files", OPTIONS)
    log = CrawlLog(root)
    table = StoredOnce(root / "once.sqlite", log) if once else None
    following = LogFollowing(log, follower, patience_secs=0, once=table)
    try:
        following.open()
        following.catch_up()
        following.renew(at_once=True)
    finally:
        following.close()


def said_in_files(root: Path) -> Said:
    """Return the content of the file."""
    found: Said = {}
    file = root / "files" / "all.nq"
    for quad in ox.parse(file.read_bytes() if file.exists() else b"", format=NQUADS):
        said = f"{quad.subject} {quad.predicate} {quad.object}"
        found.setdefault(quad.graph_name.value, set()).add(said)
    return found


def follow(
    root: Path, *, once: bool = True, follower: OxigraphFollower | None = None
) -> Said:
    """Follow a log to its end; return the content of the store."""
    log, follower = CrawlLog(root), follower or OxigraphFollower(root / "store")
    table = StoredOnce(root / "once.sqlite", log) if once else None
    following = LogFollowing(log, follower, patience_secs=0, once=table)
    try:
        following.open()
        following.catch_up()
        return said_in(follower)
    finally:
        following.close()


def said_in(follower: OxigraphFollower) -> Said:
    """Return the content of an open store."""
    found: Said = {}
    for graph in follower.graphs():
        lines = [line.decode() for line in follower.read_graph(graph)]
        found[graph] = {line.removesuffix(f" <{graph}> .\n") for line in lines}
    return found


def link(graph: str, other: str) -> set[str]:
    """Return the stored statements of a duplicate."""
    return {f"<{graph}> {LINK} <{other}>"}


def check_kept(found: Said, log: Iterable[Version]) -> None:
    """Check that each latest version is stored, itself or by its link."""
    latest = {each.graph: each for each in sorted(log, key=lambda x: x.version_ms)}
    for graph, version in latest.items():
        said, wanted = found.get(graph, set()), said_by(version)
        if said != wanted:
            (only,) = said
            subject, name, other = only.split(" ")
            assert (subject, name) == (f"<{graph}>", LINK)
            assert found[other[1:-1]] == wanted
    assert found.keys() <= latest.keys()


def n_stored(found: Said, said: Iterable[str]) -> int:
    """Return how many graphs say just that."""
    return sum(each == set(said) for each in found.values())


def test_duplicates_name_the_document_that_has_their_statements(tmp_path: Path) -> None:
    """If documents say the same, then one is stored, and the others name it.

    Of those that are read together that is the shortest URL, and the first of these.
    """
    long = "http://a.example/?tracked=1"
    log = [says(long, 1, "xy"), says(B, 2, "yx"), says(A, 3, "xy"), says(C, 4, "z!")]
    write_log(tmp_path, log)
    found = follow(tmp_path)
    assert found[B] == link(B, A)
    assert found[long] == link(long, A)
    check_kept(found, log)


@pytest.mark.parametrize("text", ["", "x", "zz", "zy"])
def test_what_a_representative_no_longer_says_comes_back(
    tmp_path: Path, text: str
) -> None:
    """If the representative changes or goes, then another one has the statements."""
    log = [says(A, 1, "xy"), says(B, 1, "xy"), says(C, 1, "xy")]
    write_log(tmp_path, log, "w1")
    assert follow(tmp_path)[C] == link(C, A)
    log.append(says(A, 2, text))
    write_log(tmp_path, log[3:], "w2")
    found = follow(tmp_path)
    check_kept(found, log)
    assert found[C] == link(C, B)
    log.append(says(A, 3, "xy"))  # it says the same again, but is not the first now
    write_log(tmp_path, log[4:], "w3")
    assert follow(tmp_path)[A] == link(A, B)


documents = st.builds(
    says,
    st.sampled_from((A, B, C, D)),
    st.integers(1, 6),
    st.sampled_from(("", "x", "xy", "yx", "xyz", "zz")),
)


@settings(max_examples=few(10))
@given(
    log=st.lists(documents, max_size=12, unique_by=lambda x: (x.graph, x.version_ms)),
    cuts=st.lists(st.integers(1, 4), max_size=6),
    steps=st.lists(st.sampled_from(("compact", "kill", "lose", "all")), max_size=6),
    deaths=st.lists(st.integers(1, 700), min_size=6, max_size=6),
)
def test_nothing_is_lost_in_any_order(
    log: list[RawVersion], cuts: list[int], steps: list[str], deaths: list[int]
) -> None:
    """If versions come in any order, and anything happens between, nothing is lost.

    The follower dies at any line, its table is lost, the log is compacted, and all is
    stored for a while. At the end, each content is stored once, or more often where a
    store had it in several graphs before.
    """
    with tempfile.TemporaryDirectory() as name:
        root, n_before = Path(name), 0
        for number, n_now in enumerate([*cuts, len(log)]):
            write_log(root, log[n_before : n_before + n_now], f"w{number}")
            n_before += n_now
            step = steps[number] if number < len(steps) else ""
            if step == "compact":
                compact(CrawlLog(root), scratch=root)
            elif step == "kill":
                dies_before(deaths[number], lambda: follow_to_files(root))
            elif step == "lose":
                (root / "once.sqlite").unlink(missing_ok=True)
            follow_to_files(root, once=step != "all")
            found = said_in_files(root)
            check_kept(found, log[:n_before])
        if {"all", "lose"}.isdisjoint(steps):
            assert all(
                n_stored(found, said_by(x)) < 2 for x in log if len(x.quads) > 60
            )


@pytest.mark.parametrize("step", [37, pytest.param(1, marks=pytest.mark.soak)])
def test_every_line_may_be_the_last(tmp_path: Path, step: int) -> None:
    """If a follower dies at each of its lines in turn, then nothing is ever missing.

    The store always has the statements of a duplicate, under some name.
    """
    log = [says(each, 1, "xy") for each in (A, B, C)]
    write_log(tmp_path, log, "w1")
    follow_to_files(tmp_path)
    log += [says(A, 2, "z!"), says(D, 2, "z!")]
    write_log(tmp_path, log[3:], "w2")
    n_lines = 1
    while dies_before(n_lines, lambda: follow_to_files(tmp_path)):
        assert n_stored(said_in_files(tmp_path), said_by(log[0])) >= 1
        n_lines += step
    assert n_lines > 400
    found = said_in_files(tmp_path)
    check_kept(found, log)
    assert found[C] == link(C, B)
    assert found[D] == link(D, A)


def test_what_a_document_says_of_itself_is_its_own(tmp_path: Path) -> None:
    """If statements name their own document, then those of two differ; both are stored.

    Of blank nodes, the labels make no difference.
    """
    nodes = "_:b%sn0 <http://e/p> <%s> <%s> .\n_:b%sn0 <http://e/q> _:b%sn1 <%s> .\n"
    log = [
        RawVersion(each, 1, (nodes % (name, about, each, name, name, each)).encode())
        for each, name, about in (
            (A, "0a", "urn:x"),
            (B, "0b", "urn:x"),
            (C, "0c", C),
            (D, "0d", D),
        )
    ]
    write_log(tmp_path, log)
    found = follow(tmp_path)
    assert found[B] == link(B, A)
    assert [len(found[each]) for each in (A, C, D)] == [2, 2, 2]


def test_graphs_beside_the_own_are_compared_by_their_names(tmp_path: Path) -> None:
    """If documents write other graphs, too, then these have all that is said in them.

    Documents that write nothing but other graphs have nothing to be stored once.
    """
    log = [
        RawVersion(
            each,
            1,
            says(each, 1, "xy" if each != C else "").quads + says(D, 1, text).quads,
        )
        for each, text in ((A, "z!"), (B, "z!"), (C, "z!"))
    ]
    write_log(tmp_path, [*log, says("http://e.example/", 1, "xy")])
    found = follow(tmp_path)
    both = {'<http://e/s> <http://e/p> "x"', '<http://e/s> <http://e/p> "y"'}
    other = {'<http://e/s> <http://e/p> "z"', '<http://e/s> <http://e/p> "!"'}
    assert found == {A: both, B: link(B, A), D: other, "http://e.example/": both}
    write_log(tmp_path, [RawVersion(A, 2, b""), RawVersion(C, 2, b"")], "w2")
    assert follow(tmp_path) == {B: both, D: other, "http://e.example/": both}


def test_very_long_documents_are_stored_once(tmp_path: Path) -> None:
    """If documents of more than 1 MiB say the same, then so are they."""
    text = [f'<http://e/s> <http://e/p> "{n:0200}"' for n in range(6000)]
    log = [
        RawVersion(each, 1, "".join(f"{x} <{each}> .\n" for x in text).encode())
        for each in (A, B)
    ]
    write_log(tmp_path, log)
    assert follow(tmp_path)[B] == link(B, A)
    write_log(tmp_path, [says(A, 2, "xy")], "w2")
    assert follow(tmp_path)[B] == set(text)


def test_what_the_store_refuses_represents_nothing(tmp_path: Path) -> None:
    """If a store does not take the representative, then it gets another document."""
    write_log(tmp_path, [says(each, 1, "xy") for each in (A, B, C, D)])
    follower = RefusingFollower(tmp_path / "store")
    assert follow(tmp_path, follower=follower) == {
        C: {'<http://e/s> <http://e/p> "x"', '<http://e/s> <http://e/p> "y"'},
        D: link(D, C),
    }
    write_log(tmp_path, [says(C, 2, "z"), says(A, 3, "xy")], "w2")
    found = follow(tmp_path, follower=follower)
    assert len(found[A]) == 2
    assert found[D] == link(D, A)


def test_the_statements_of_a_crawl_begun_anew_stay_until_its_end(
    tmp_path: Path,
) -> None:
    """If `fresh=1` moves the log aside, then duplicates in it still come back.

    At the end of the crawl, documents not found again are dropped, duplicates too.
    """
    write_log(tmp_path, [says(each, 1, "xy") for each in (A, B, C, D)], "w1")
    follow(tmp_path)
    aside = tmp_path / "before-1"
    aside.mkdir()
    (tmp_path / "quads").rename(aside / "quads")
    write_log(tmp_path, [says(A, 2, "z"), says(D, 2, "xy")], "w2")
    found = follow(tmp_path)
    assert (found[A], found[C], found[D]) == ({'<http://e/s> <http://e/p> "z"'},
        link(C, B), link(D, B))  # fmt: skip
    assert len(found[B]) == 2
    log, follower = CrawlLog(tmp_path), OxigraphFollower(tmp_path / "store")
    table = StoredOnce(tmp_path / "once.sqlite", log)
    following = LogFollowing(log, follower, patience_secs=0, once=table)
    following.open()
    following.catch_up()
    following.end_generation()
    found = said_in(follower)
    following.close()
    assert found.keys() == {A, D}
    assert len(found[D]) == 2


def test_a_store_of_several_crawls_is_refused(tmp_path: Path) -> None:
    """If several crawls fill a store, then none can store statements once.

    Another one could replace what represents documents of the first.
    """
    one, two = tmp_path / "one", tmp_path / "two"
    follower = OxigraphFollower(tmp_path / "store")
    for root in (one, two):
        write_log(root, [says(A, 1, "xy")])
    follow(one, follower=follower)
    for once in (True, False):
        with pytest.raises(ConfigError, match="SAME_STATEMENTS_ONCE: several"):
            follow(two, follower=follower, once=once)
    follow(one, follower=follower, once=False)
    follow(two, follower=follower, once=False)


def test_duplicates_are_compared_by_what_represents_them(tmp_path: Path) -> None:
    """If a representative lacks statements, its duplicates are stale, too."""
    write_log(tmp_path, [says(A, 1, "xy"), says(B, 1, "xy"), says(C, 1, "zz!")])
    follow(tmp_path)
    log, follower = CrawlLog(tmp_path), OxigraphFollower(tmp_path / "store")
    follower.open(log.identity)
    try:
        assert compare(log, follower, tmp_path, is_once=True).is_equal
        quads = follower.store.quads_for_pattern(None, None, None, ox.NamedNode(A))
        follower.store.remove(next(quads))
        found = compare(log, follower, tmp_path, is_once=True)
    finally:
        follower.close()
    assert found.stale.names == [A, B]
    assert found.surplus.n_graphs == found.missing.n_graphs == 0

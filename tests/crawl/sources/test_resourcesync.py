"""Copies that are kept equal to their sources: `scrapy crawl resourcesync`."""

from __future__ import annotations

import hashlib
import signal
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.resourcesync import ResourceSyncOptions
from rdfcrawl.sources.harvest.resourcesync.resources import (
    PARTIAL,
    ResourceFiles,
    path_of,
)
from rdfcrawl.sources.resourcesync.fixity import ExpectedBytes
from tests.support.resourcesync_source import archive, document, facts_of, fixity_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rdfcrawl.dataweb.nodes.resourcesync import ResourceSyncNode
    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult, RunningCrawl
    from tests.support.crawl_webs import Loopback

    Entry = tuple[str, Mapping[str, str], str]

RESOURCES, CHANGES, XML = "resourcelist", "changelist", "application/xml"


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    """Yield a server of sources."""
    with LocalWeb(first_address="127.83.0.1", n_hosts=8) as web:
        yield web


def start(
    commands: Commands,
    url: str,
    folder: Path,
    *,
    has_files: bool = True,
    arguments: dict[str, str] | None = None,
    **settings: Any,
) -> RunningCrawl:
    """Begin to synchronize with one source."""
    if has_files:
        settings["RESOURCESYNC_FILES"] = folder / "mirror"
    given = {"sources": url} | (arguments or {})
    return commands.start_crawl(
        arguments=given, spider="resourcesync", folder=folder, **settings
    )


def synchronize(
    commands: Commands, url: str, folder: Path, **options: Any
) -> CrawlResult:
    """Synchronize with one source."""
    result = start(commands, url, folder, **options).wait()
    assert result.code == 0, result.stderr
    return result


def mirror(folder: Path) -> dict[Path, str]:
    """Return the files that are kept, with their digests."""
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (folder / "mirror").rglob("*")
        if path.is_file()
    }


def expected(nodes: Iterable[ResourceSyncNode], folder: Path) -> dict[Path, str]:
    """Return the files that a mirror has when it is equal to its sources."""
    return {
        path_of(folder / "mirror", url): digest
        for node in nodes
        for url, digest in node.digests().items()
    }


def labels(result: CrawlResult) -> set[str]:
    """Return the statements of the latest graphs."""
    predicate = "http://www.w3.org/2000/01/rdf-schema#label"
    return {o for _, p, o, _ in result.latest_quads if p == predicate}


def true_labels(node: ResourceSyncNode) -> set[str]:
    """Return the statements of the source."""
    return {o for _, p, o in node.iter_truth() if p.endswith("label>")}


@pytest.mark.in_turn(2, rooms=("sources",))
def test_mirrors_equal_their_sources_after_changes(
    commands: Commands, web: LocalWeb
) -> None:
    """If 400 changes follow a baseline, then a mirror equals its source."""
    copy = web.start(ResourceSyncOptions(n_resources=60, found_by=()))
    lists = web.start(
        ResourceSyncOptions(
            n_resources=120, list_size=50, has_dumps=False, found_by=("robots",)
        )
    )
    dumps = web.start(
        ResourceSyncOptions(
            n_resources=120, package_size=50, has_lists=False, found_by=("html",)
        )
    )
    others = web.start(
        ResourceSyncOptions(
            n_resources=60,
            has_dumps=False,
            has_patches=True,
            mirrors=(copy.origin,),
            found_by=("http",),
        )
    )
    nodes = [lists, dumps, others]
    urls = [lists.origin, dumps.origin, f"{others.origin}/data/r0.ttl"]
    folder = commands.folder()
    synchronize(commands, ",".join(urls), folder, SITEMAP_ENTRIES=100)
    assert mirror(folder) == expected(nodes, folder)
    assert web.targets(lists).count("/resync/resourcelist-0.xml") == 1
    assert all(not t.startswith("/data/") for t in web.targets(dumps))
    # A copy that is other bytes, as its RDF is, is not taken for the resource.
    assert web.targets(copy).count("/data/r3.json") == 1
    assert "/data/r3.json" not in web.targets(others)
    assert "/data/r1.nt" in web.targets(others)

    for node in (lists, dumps):
        made = node.evolve(400)
        assert min(made[x] for x in ("created", "updated", "deleted", "moved")) > 20
    others.evolve(60)
    web.forget()
    result = synchronize(commands, ",".join(urls), folder)
    assert mirror(folder) == expected(nodes, folder)
    assert labels(result) == set().union(*map(true_labels, nodes))
    assert any(t.startswith("/patch/") for t in web.targets(others))
    assert all(not t.startswith("/data/") for t in web.targets(dumps))

    web.forget()
    result = synchronize(commands, ",".join(urls), folder)
    for node in nodes:
        assert len(web.targets(node)) <= 9, web.targets(node)


@pytest.mark.in_turn(2, rooms=("sources",))
def test_killed_mirror_is_completed(commands: Commands, web: LocalWeb) -> None:
    """If a crawl is killed in the middle, then the next one ends with the same."""
    lists = web.start(ResourceSyncOptions(n_resources=100, has_dumps=False))
    dumps = web.start(
        ResourceSyncOptions(n_resources=100, package_size=12, has_lists=False)
    )
    nodes = [lists, dumps]
    urls = ",".join(node.origin for node in nodes)
    folder = commands.folder()

    def kill(n_files: int) -> None:
        running = start(commands, urls, folder, FRONTIER_LEASE_SECS=2)
        commands.wait_until(
            lambda: len(web.targets(lists)) > n_files or running.has_ended()
        )
        running.send(signal.SIGKILL)
        running.process.wait()

    kill(40)
    assert mirror(folder) != expected(nodes, folder)
    result = synchronize(commands, urls, folder, FRONTIER_LEASE_SECS=2)
    assert mirror(folder) == expected(nodes, folder)
    assert labels(result) == set().union(*map(true_labels, nodes))

    for node in nodes:
        node.evolve(150)
    web.forget()
    kill(40)
    assert mirror(folder) != expected(nodes, folder)
    result = synchronize(commands, urls, folder, FRONTIER_LEASE_SECS=2)
    assert mirror(folder) == expected(nodes, folder)
    assert labels(result) == set().union(*map(true_labels, nodes))


class Source:
    """A source of a few resources, written by hand."""

    def __init__(self, loopback: Loopback, host: str) -> None:
        self._loopback = loopback
        self.server: RawServer = loopback(host=host)
        self.at = self.server.url
        self.offers: dict[str, str] = {}

    def put(self, path: str, body: bytes, media_type: str = "text/turtle") -> str:
        """Serve a body; return its URL."""
        self.server.pages[path] = self._loopback.response(body, media_type)
        return self.at(path)

    def resource(self, name: str, text: str) -> tuple[str, bytes]:
        """Serve an RDF resource; return its URL and bytes."""
        body = f'<> <urn:x:says> "{text}" .'.encode()
        return self.put(f"/{name}.ttl", body), body

    def list(
        self, entries: Sequence[Entry], at: str = "2024-01-01", way: str = RESOURCES
    ) -> None:
        """Serve a list, and a capability list that offers it."""
        md = {"capability": way, "from" if way == CHANGES else "at": at}
        up = self.at("/capabilities.xml")
        self.offers[way] = self.put(f"/{way}.xml", document(md, entries, up=up), XML)
        offers = [(url, {"capability": each}, "") for each, url in self.offers.items()]
        md, up = {"capability": "capabilitylist"}, self.at("/description.xml")
        self.put("/capabilities.xml", document(md, offers, up=up), XML)


def test_wrong_bytes_overwrite_nothing(commands: Commands, loopback: Loopback) -> None:
    """If bytes do not match their hash, then the former content stays."""
    source = Source(loopback, "127.83.2.1")
    names = [source.resource(f"r{n}", f"first {n}") for n in range(4)]
    source.list([(url, facts_of(body), "") for url, body in names])
    source.list([], way=CHANGES)
    folder = commands.folder()
    url = source.at("/capabilities.xml")
    synchronize(commands, url, folder)
    before = mirror(folder)
    assert len(before) == 4

    # The first changes and is hashed wrongly, the second is gone, without a word.
    wrong, _ = source.resource("r0", "second")
    entries = [(url, facts_of(body), "") for url, body in (names[0], *names[2:])]
    entries[0][1]["hash"] = "md5:" + "0" * 32
    source.list(entries, at="2024-01-02")
    source.list([], way=CHANGES, at="2024-01-02")
    result = synchronize(commands, url, folder, arguments={"audit": "1"})
    gone = path_of(folder / "mirror", names[1][0])
    assert mirror(folder) == {k: v for k, v in before.items() if k != gone}
    assert "bad_fixity" in result.faults(wrong)
    assert {o for *_, o, _ in result.latest_quads if o.startswith('"first')} == {
        '"first 0"',
        '"first 2"',
        '"first 3"',
    }
    assert '"second"' not in {o for _, _, o, _ in result.quads}
    assert result.ask(f"<{names[1][0]}> prov:wasInvalidatedBy ?x .")

    # Unavailable files are requested again.
    source.resource("r0", "first 0")
    entries[0][1].update(facts_of(names[0][1]))
    n_asked = source.server.targets.count("/r0.ttl")
    synchronize(commands, url, folder)
    assert source.server.targets.count("/r0.ttl") == n_asked + 1


def test_source_of_changes_alone_is_followed(
    commands: Commands, loopback: Loopback
) -> None:
    """If a source offers only a change list, then each run takes its new changes."""
    source = Source(loopback, "127.83.2.2")

    def change(name: str, what: str, day: int) -> Entry:
        url, _ = source.resource(name, f"{name} of {day}")
        return url, {"change": what, "datetime": f"2024-01-{day:02}T00:00:00Z"}, ""

    changes = [change("r0", "created", 1), change("r1", "updated", 2)]
    source.list(changes, way=CHANGES)
    folder = commands.folder()
    url = source.at("/capabilities.xml")
    first = synchronize(commands, url, folder, has_files=False)
    assert labels_said(first) == {'"r0 of 1"', '"r1 of 2"'}
    assert first.faults(url) == []

    changes += [change("r0", "updated", 3), change("r1", "deleted", 4)]
    source.list(changes, way=CHANGES)
    second = synchronize(commands, url, folder, has_files=False)
    assert labels_said(second) == {'"r0 of 3"'}
    assert source.server.targets.count("/r1.ttl") == 1


def test_emptied_list_is_believed_when_it_is_read_again(
    commands: Commands, loopback: Loopback
) -> None:
    """If a list of resources is empty for a run, then they stay, and so do files.

    They are deleted when the next run finds none either, and at once by a list of
    changes that says so.
    """
    alone, changing = (Source(loopback, f"127.83.2.{n}") for n in (8, 9))
    resources = {}
    for source in (alone, changing):
        rows = [source.resource(f"r{n}", f"{n}") for n in range(4)]
        resources[source] = [(url, facts_of(body), "") for url, body in rows]
    folders = {source: commands.folder() for source in resources}

    def run(source: Source, *listed: int, changes: Sequence[Entry] = ()) -> set[str]:
        rows = [resources[source][n] for n in listed]
        source.list(rows)
        if source is changing:
            source.list(changes, way=CHANGES)
        url, folder = source.at("/capabilities.xml"), folders[source]
        result = synchronize(commands, url, folder, has_files=False)
        is_doubted = len(labels_said(result)) > len(listed)
        assert ("fault/copy_kept" in result.statistics) is is_doubted
        return {o.strip('"') for o in labels_said(result)}

    every = {"0", "1", "2", "3"}
    steps = [((0, 1, 2, 3), every), ((), every), ((0, 1, 2, 3), every), ((), every)]
    for listed, expected in (*steps, ((), set())):
        assert run(alone, *listed) == expected
    assert run(alone, 0, 2) == {"0", "2"}
    assert run(changing, 0, 1, 2, 3) == every
    gone = {"change": "deleted", "datetime": "2024-01-02T00:00:00Z"}
    deleted: list[Entry] = [(url, gone, "") for url, _, _ in resources[changing]]
    assert run(changing, changes=deleted) == set()


def labels_said(result: CrawlResult) -> set[str]:
    """Return the statements of the latest versions of the resources."""
    return {o for _, p, o, _ in result.latest_quads if p == "urn:x:says"}


def test_crawl_comes_upon_a_source(commands: Commands, web: LocalWeb) -> None:
    """If a page names a source, then it is synchronized with where that is wanted."""
    node = web.start(ResourceSyncOptions(n_resources=12, found_by=("html",)))
    arguments = {"harvest": "resourcesync"}
    result = commands.crawl([node.origin], arguments=arguments)
    assert labels(result) == true_labels(node)
    assert "/resync/capabilitylist.xml" in web.targets(node)
    web.forget()
    commands.crawl([node.origin])
    assert "/resync/capabilitylist.xml" not in web.targets(node)


def test_sitemap_that_is_a_list_of_resources(commands: Commands, web: LocalWeb) -> None:
    """If a sitemap says that it is a list of ResourceSync, then it is read as that."""
    node = web.start(ResourceSyncOptions(n_resources=12, found_by=("robots",)))
    result = commands.crawl(
        arguments={"sites": node.origin, "harvest": "resourcesync"}, spider="sitemap"
    )
    assert labels(result) == true_labels(node)
    assert "/resync/resourcedump-0.zip" in web.targets(node)


@pytest.mark.in_turn(2, rooms=("sources",))
@pytest.mark.parametrize(
    "n_resources", [5_000, pytest.param(100_000, marks=pytest.mark.soak)]
)
def test_long_list_is_read_in_flat_memory(
    commands: Commands, loopback: Loopback, n_resources: int
) -> None:
    """If a list has very many resources, then it takes the memory of a short one."""
    peaks = []
    for place, n in enumerate((100, n_resources)):
        source = Source(loopback, f"127.83.3.{place + 1}")
        facts = {"type": "image/jpeg"}
        source.list([(source.at(f"/{k}.jpg"), facts, "") for k in range(n)])
        url = source.at("/capabilities.xml")
        result = start(commands, url, commands.folder(), has_files=False).wait()
        assert result.statistics["document/stored"] >= n
        peaks.append(result.peak_bytes)
    assert peaks[1] - peaks[0] < 30 * 2**20


def test_descriptions_of_sources_and_resources_are_fetched(
    commands: Commands, loopback: Loopback
) -> None:
    """If a document or an entry links to its description, then that is followed."""
    source = Source(loopback, "127.83.4.2")
    link = '<rs:ln rel="describedby" href="{}"/>'.format
    about = [source.resource(name, name)[0] for name in ("source", "image")]
    image = source.put("/image.png", b"1", "image/png")
    source.list([(image, {"type": "image/png"}, link(about[1]))])
    md, up = {"capability": "capabilitylist"}, source.at("/description.xml")
    offers = [(source.offers[RESOURCES], {"capability": RESOURCES}, "")]
    body = document(md, offers, up=up).decode()
    body = body.replace("<url>", f"{link(about[0])}<url>", 1)
    source.put("/capabilities.xml", body.encode(), XML)
    url = source.at("/capabilities.xml")
    result = synchronize(commands, url, commands.folder(), has_files=False)
    assert about[0] in result.graphs
    assert about[1] not in result.graphs
    given = {"follow": "none,describedby"}
    folder = commands.folder()
    result = synchronize(commands, url, folder, has_files=False, arguments=given)
    assert set(about) <= result.graphs


def test_large_resources_of_a_dump_are_read(
    commands: Commands, loopback: Loopback
) -> None:
    """If a resource in a dump is too large for memory, then it is read all the same."""
    source = Source(loopback, "127.83.4.1")
    lines = (f'<urn:x:{n}> <urn:x:says> "{n}" .\n' for n in range(60_000))
    body = "".join(lines).encode()
    entry = source.at("/large.ttl"), facts_of(body), ""
    data = archive("resourcedump-manifest", {"at": "2024-01-01"}, [entry], [body])
    part = source.put("/part.zip", data, "application/zip"), facts_of(data), ""
    source.list([part], way="resourcedump")
    url = source.at("/capabilities.xml")
    result = start(commands, url, commands.folder(), has_files=False).wait()
    assert len(result.about(source.at("/large.ttl"))) == 60_000
    spooled = (result.folder / "spool").rglob("*.body")
    assert list(spooled) == []


# -- files -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "uri",
    [
        "http://example.org/../../../etc/passwd",
        "http://example.org/%2e%2e%2f%2e%2e%2fetc",
        "http://../a",
        "http://example.org/a\\..\\b\x00c",
        f"http://example.org/{'a' * 5000}",
        f"http://{'a' * 5000}/",
        "http://example.org/\u202e\ud7ff",
    ],
)
def test_files_stay_in_their_folder(tmp_path: Path, uri: str) -> None:
    """If a URI is written to lead elsewhere, then its file is in the folder still."""
    files = ResourceFiles(tmp_path)
    path = files.write(uri, ByteSource(b"1"), ExpectedBytes())
    assert path.parent.parent == tmp_path.resolve()
    assert path.read_bytes() == b"1"
    assert path_of(tmp_path, uri + "x") != path
    files.remove(uri)
    assert not path.exists()


def test_wrong_bytes_leave_no_file_behind(tmp_path: Path) -> None:
    """If bytes are wrong, then the file before them stays, and nothing else."""
    files = ResourceFiles(tmp_path)
    path = files.write("http://a.example/", ByteSource(b"1"), fixity_of(b"1"))
    with pytest.raises(SourceFault) as caught:
        files.write("http://a.example/", ByteSource(b"2"), fixity_of(b"1"))
    assert caught.value.fault.reason is Reason.BAD_FIXITY
    assert path.read_bytes() == b"1"
    assert list((tmp_path / PARTIAL).rglob("*.body")) == []

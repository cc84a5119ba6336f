"""Data that move between files, mirrors, pages and lists of their site, run by run."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from tests.crawl.sources.test_dcat_us import catalog, dataset
from tests.support.sitemap_sites import Site, index, urlset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conftest import RawServer
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

SAYS = "urn:x:says"
_N_RUNS = 6

Told = dict[str, str]


def lines(told: Told) -> bytes:
    """Return statements as N-Triples."""
    return "".join(f'<{url}> <{SAYS}> "{x}" .\n' for url, x in told.items()).encode()


class DataSite(Site):
    """A site with one dataset, whose resources have pages below `/r/`."""

    def __init__(self, loopback: Loopback, host: str) -> None:
        super().__init__(loopback, host)
        self.robots(self.at("/sitemap.xml"))
        self.resources = [self.at(f"/r/{n}") for n in range(2)]

    def all(self, text: str) -> Told:
        """Return what all resources say."""
        return dict.fromkeys(self.resources, text)

    def dump(self, path: str, text: str) -> None:
        """Serve a dump of the resources."""
        self.put(path, lines(self.all(text)), "application/n-triples")

    def pages(self, text: str) -> None:
        """Serve the pages of the resources."""
        for n, url in enumerate(self.resources):
            self.put(f"/r/{n}", lines({url: text}))

    def fails(self, path: str, status: str = "503 Busy") -> None:
        """Let a file fail."""
        self.server.pages[path] = self._loopback.response(b"no", status=status)

    def redirects(self, path: str, target: str) -> None:
        """Redirect a file."""
        self.server.pages[path] = self._loopback.redirect(self.at(target))

    def lists(self, *dumps: str, samples: int = 0, has_pages: bool = False) -> None:
        """Serve a sitemap with the dataset, if it has dumps, and with the pages.

        The second dump is for the failure of the first one.
        """
        places = [
            f'<sc:dataDumpLocation priority="{5 * (not n)}">{self.at(path)}'
            "</sc:dataDumpLocation>"
            for n, path in enumerate(dumps)
        ]
        uris = self.resources[:samples]
        described = (
            f"<sc:dataset><sc:datasetURI>{self.at('/set')}</sc:datasetURI>"
            f"<sc:linkedDataPrefix>{self.at('/r/')}</sc:linkedDataPrefix>"
            f"{''.join(places)}"
            f"{''.join(f'<sc:sampleURI>{x}</sc:sampleURI>' for x in uris)}"
            "<changefreq>always</changefreq></sc:dataset>"
        )
        entries = self.resources if has_pages else ()
        body = urlset(entries, described if dumps else "")
        self.put("/sitemap.xml", body, "application/xml")


def dump_moves(site: DataSite) -> Iterator[Told]:
    """The sitemap names a dump that fails at first in place of another one."""
    site.lists("/1.nt")
    site.dump("/1.nt", "1")
    yield site.all("1")
    site.lists("/2.nt")
    site.fails("/1.nt", "404 No")
    site.fails("/2.nt")
    yield site.all("1")
    site.dump("/2.nt", "2")
    yield site.all("2")


def new_dump_never_works(site: DataSite) -> Iterator[Told]:
    """The pages are requested when the new dump has failed for three runs."""
    site.pages("page")
    site.lists("/1.nt", has_pages=True)
    site.dump("/1.nt", "1")
    yield site.all("1")
    site.lists("/2.nt", has_pages=True)
    site.fails("/2.nt")
    for _ in range(3):
        yield site.all("1")
    yield site.all("page")
    site.dump("/2.nt", "2")
    yield site.all("2")


def mirror_is_withdrawn(site: DataSite) -> Iterator[Told]:
    """The mirror in use is withdrawn while the dump fails."""
    site.lists("/main.nt", "/mirror.nt")
    site.dump("/main.nt", "1")
    site.dump("/mirror.nt", "1")
    yield site.all("1")
    site.fails("/main.nt")
    site.dump("/mirror.nt", "2")
    yield site.all("2")
    site.lists("/main.nt")
    yield site.all("2")
    site.dump("/main.nt", "3")
    yield site.all("3")


def mirror_redirects(site: DataSite) -> Iterator[Told]:
    """The mirror redirects to another file, and the dump works again."""
    site.lists("/main.nt", "/mirror.nt")
    site.redirects("/mirror.nt", "/files.nt")
    site.dump("/main.nt", "1")
    yield site.all("1")
    site.fails("/main.nt")
    site.dump("/files.nt", "2")
    yield site.all("2")
    site.dump("/main.nt", "3")
    yield site.all("3")


def pages_get_a_dump(site: DataSite) -> Iterator[Told]:
    """Pages are read before there is a dump, and once it is gone."""
    site.pages("1")
    site.lists(has_pages=True)
    yield site.all("1")
    site.dump("/d.nt", "2")
    site.lists("/d.nt", has_pages=True)
    yield site.all("2")
    site.lists(has_pages=True)
    site.fails("/d.nt", "404 No")
    site.pages("3")
    yield site.all("3")


def samples_are_withdrawn(site: DataSite) -> Iterator[Told]:
    """Samples, whose pages say more than the dump, are withdrawn one by one."""
    notes = {url: f"{url}#note" for url in site.resources}
    for n, url in enumerate(site.resources):
        site.put(f"/r/{n}", lines({notes[url]: "page"}))
    site.dump("/d.nt", "1")
    for n_samples in (2, 1, 0):
        site.lists("/d.nt", samples=n_samples)
        noted = map(notes.__getitem__, site.resources[:n_samples])
        yield site.all("1") | dict.fromkeys(noted, "page")


def index_loses_a_part(site: DataSite) -> Iterator[Told]:
    """An index lacks a sitemap in one run, and the sitemap fails in another."""
    site.robots(site.at("/index.xml"))
    for n, url in enumerate(site.resources):
        site.put(f"/{n}.xml", urlset([url]), "application/xml")
    parts = [f"<loc>{site.at(f'/{n}.xml')}</loc>" for n in range(2)]
    site.pages("1")
    for n in (2, 1, 2):
        site.put("/index.xml", index(parts[:n]), "application/xml")
        yield site.all("1")
    site.fails("/1.xml")
    yield site.all("1")


_SCENARIOS: tuple[Callable[[DataSite], Iterator[Told]], ...] = (
    *(dump_moves, new_dump_never_works, mirror_is_withdrawn, mirror_redirects),
    *(pages_get_a_dump, samples_are_withdrawn, index_loses_a_part),
)


def said(result: CrawlResult, site: DataSite | RawServer) -> dict[str, list[str]]:
    """Return what the resources of a site say, once for each document."""
    origin = site.at("") if isinstance(site, Site) else site.url("")
    found = defaultdict[str, list[str]](list)
    for subject, predicate, text, _ in result.latest_quads:
        if predicate == SAYS and subject.startswith(origin):
            found[subject].append(text.strip('"'))
    return found


@pytest.mark.in_turn(2, rooms=("sources",))
def test_data_that_move_are_never_lost_and_never_twice(
    commands: Commands, loopback: Loopback
) -> None:
    """If data move within their site, then each statement is in one document.

    The last good copy stays until the data were read at their new place, for three runs
    at most. Steps that are not described go on as the last one.
    """
    sites = [DataSite(loopback, f"127.96.8.{n + 1}") for n in range(len(_SCENARIOS))]
    steps = [scenario(site) for scenario, site in zip(_SCENARIOS, sites, strict=True)]
    expected: list[Told] = [{} for _ in sites]
    folder = commands.folder()
    seeds = {"sites": ",".join(site.at("/") for site in sites)}
    for run in range(_N_RUNS):
        expected = [
            next(step, before) for step, before in zip(steps, expected, strict=True)
        ]
        result = commands.crawl(
            arguments=seeds, spider="sitemap", folder=folder, RETRY_TIMES=0
        )
        assert result.code == 0, result.stderr
        for scenario, site, told in zip(_SCENARIOS, sites, expected, strict=True):
            once = {url: [text] for url, text in told.items()}
            assert said(result, site) == once, (scenario.__name__, run)


def test_descriptions_come_and_go(commands: Commands, loopback: Loopback) -> None:
    """If the description of a dataset is gone, then its pages have the data.

    If it comes after the pages were crawled, then the dump has them from the next run
    on. Nothing is frozen in between.
    """
    going, coming = (DataSite(loopback, f"127.20.14.{n}") for n in (1, 2))
    void, folder = "http://rdfs.org/ns/void#", commands.folder()
    place = "/.well-known/void"
    for site in (going, coming):
        del site.server.pages["/robots.txt"]
        links = "".join(f"<> <urn:x:l> <{url}> .\n" for url in site.resources)
        site.put("/", links.encode())

    def run(text: str, described: DataSite) -> list[dict[str, list[str]]]:
        for site in (going, coming):
            site.pages(text)
            site.dump("/d.nt", text)
            site.server.pages.pop(place, None)
        described.put(
            place,
            f"<#d> a <{void}Dataset> ; <{void}dataDump> </d.nt> ;"
            f" <{void}uriSpace> '{described.at('/r/')}' .".encode(),
        )
        result = commands.crawl(
            [going.at("/"), coming.at("/")],
            folder=folder,
            arguments={"harvest": "all"},
            REVISIT_SECS=0,
        )
        assert result.code == 0, result.stderr
        return [said(result, site) for site in (going, coming)]

    def once(site: DataSite, text: str) -> dict[str, list[str]]:
        return {url: [text] for url in site.resources}

    assert run("v0", going) == [once(going, "v0"), once(coming, "v0")]
    assert run("v1", coming)[0] == once(going, "v1")
    assert run("v2", coming) == [once(going, "v2"), once(coming, "v2")]


def test_files_of_a_catalog_are_renamed(commands: Commands, loopback: Loopback) -> None:
    """If a catalog has other files than before, then the files of others stay.

    A later run requests files by the description that it had, while it reads the
    present one. A page without data is no file that others wait for.
    """
    site, folder = loopback(host="127.96.8.20"), commands.folder()
    site.pages["/page"] = loopback.response(b"<html><p>No data", "text/html")
    for files, changed in (("ab", "ab"), ("cb", "c"), ("b", ""), ("bc", "bc")):
        for name in changed:
            told = lines({site.url(f"/r/{name}"): files})
            site.pages[f"/{name}.nt"] = loopback.response(told, "text/turtle")
        own = [(f"/{name}.nt", "application/n-triples") for name in files]
        body = catalog(dataset(site, "set", *own, ("/page", "")))
        site.pages["/data.json"] = loopback.response(body, "application/json")
        result = commands.crawl(
            [site.url("/data.json")],
            arguments={"harvest": "dcat"},
            folder=folder,
            REVISIT_SECS=0,
        )
        assert result.code == 0, result.stderr
        assert {*said(result, site)} == {site.url(f"/r/{name}") for name in files}

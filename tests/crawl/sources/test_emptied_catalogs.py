"""Lists of datasets that lose all of them, or most, for a run or for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.crawl.sources.test_dcat_us import catalog, dataset
from tests.crawl.sources.test_revisits import DatedSite
from tests.support.sitemap_sites import dump_at, urlset

if TYPE_CHECKING:
    from collections.abc import Collection

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

NTRIPLES = "application/n-triples"
VOID = "http://rdfs.org/ns/void#"
_N = 30  # datasets, of which each has a file


class ListSite(DatedSite):
    """A site with a list of datasets, which may be read in one of three forms."""

    def __init__(self, loopback: Loopback, host: str, path: str) -> None:
        super().__init__(loopback, host)
        self.list = self.at(path)
        self._path = path

    def lists(self, numbers: Collection[int]) -> None:
        """Serve the list with some datasets."""
        urls = {self.at(f"/set/{n}"): self.at(f"/{n}.nt") for n in numbers}
        if self._path == "/void.ttl":
            body = (
                f"<{self.at('/void.ttl')}> a <{VOID}DatasetDescription> . "
                + "".join(
                    f"<{name}> a <{VOID}Dataset> ; <{VOID}dataDump> <{dump}> . "
                    for name, dump in urls.items()
                )
            )
            self.tagged(self._path, body.encode())
        elif self._path == "/data.json":
            sets = (
                dataset(self.server, f"set/{n}", (f"/{n}.nt", NTRIPLES))
                for n in numbers
            )
            self.put(self._path, catalog(*sets), "application/json")
        else:
            described = "".join(
                f"<sc:dataset><sc:datasetURI>{name}</sc:datasetURI>{dump_at(dump)}"
                "<changefreq>always</changefreq></sc:dataset>"
                for name, dump in urls.items()
            )
            entries = [self.at("/page")]
            self.put(self._path, urlset(entries, described), "application/xml")


def test_lists_without_datasets_are_doubted(
    commands: Commands, loopback: Loopback
) -> None:
    """If a list loses most datasets, then they stay until a later run misses them too.

    Their files are read meanwhile. Datasets that are back are doubted like others when
    they are missing once more.
    """
    paths = ("/data.json", "/void.ttl", "/sitemap.xml")
    sites = [ListSite(loopback, f"127.96.12.{n}", x) for n, x in enumerate(paths, 1)]
    for site in sites:
        site.put("/page", b"<urn:x:a> <urn:x:b> 1 .")
    folder, every = commands.folder(), range(_N)
    steps: list[tuple[Collection[int], Collection[int]]] = [
        (every, every),
        ((), every),
        (every[3:], every[3:]),  # three are believed at once
        (every[25:], every[3:]),
        (every[25:], every[25:]),
    ]
    for run, (listed, kept) in enumerate(steps):
        for site in sites:
            site.lists(listed)
            for n in every:
                told = f'<{site.at(f"/r/{n}")}> <urn:x:says> "{run}" .\n'
                site.put(f"/{n}.nt", told.encode(), NTRIPLES)
        result = commands.crawl(
            [site.list for site in sites],
            arguments={"harvest": "dcat,void,sitemap"},
            folder=folder,
            REVISIT_SECS=0,
        )
        assert result.code == 0, result.stderr
        told_by = {(s, o) for s, p, o, _ in result.latest_quads if p == "urn:x:says"}
        for site in sites:
            expected = {(site.at(f"/r/{n}"), f'"{run}"') for n in kept}
            own = {each for each in told_by if each[0].startswith(site.at("/"))}
            assert own == expected, (run, site.list)
        is_doubted = "fault/copy_kept" in result.statistics
        assert is_doubted is (len(kept) > len(listed)), run

"""Lists of datasets that lose all of them, or most, for a run or for good."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.crawl.sources.test_dcat_us import catalog, dataset
from tests.crawl.sources.test_revisits import DatedSite
from tests.support.sitemap_sites import dump_at, urlset

if TYPE_CHECKING:
    from collections.abc import Collection

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

NTRIPLES = "application/n-triples"
TREE = "https://w3id.org/tree#"
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


def test_short_lists_are_doubted_too(commands: Commands, loopback: Loopback) -> None:
    """If a catalog of one dataset or a page of a collection is empty, then all stays.

    A later run that finds them empty, too, is believed.
    """
    catalog, tree = (ListSite(loopback, f"127.96.12.{n}", "/data.json") for n in (5, 6))
    catalog.put(
        "/0.nt", f'<{catalog.at("/r")}> <urn:x:says> "0" .\n'.encode(), NTRIPLES
    )
    folder = commands.folder()

    def run(*members: str) -> set[str]:
        catalog.lists([0] if members else [])
        for path, following in (("/front", "/members"), ("/members", "")):
            page: dict[str, Any] = {"@id": tree.at(path), "@type": f"{TREE}Node"}
            if following:
                node = {f"{TREE}node": {"@id": tree.at(following)}}
                page[f"{TREE}relation"] = {"@type": f"{TREE}Relation", **node}
            rows = [{"@id": tree.at(f"/{x}"), "urn:x:says": x} for x in members]
            own = [{"@id": tree.at("/set"), f"{TREE}member": rows}]
            body = json.dumps([page, *([] if following else own)])
            tree.put(path, body.encode(), "application/ld+json")
        result = commands.crawl(
            [catalog.list, tree.at("/front")], folder=folder, REVISIT_SECS=0
        )
        assert result.code == 0, result.stderr
        return {o.strip('"') for _, p, o, _ in result.latest_quads if p == "urn:x:says"}

    every = {"0", "a", "b"}
    assert [run("a", "b"), run(), run("a", "b"), run()] == [every] * 4
    assert not run()
    assert run("a", "b") == every


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

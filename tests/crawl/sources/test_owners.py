"""Each statement of a dataset is in one document, whichever way the data come."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest

from tests.support.dataset_sites import DatasetSite, EndpointSite, dataset

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

SAYS = "urn:x:says"
DCAT = "http://www.w3.org/ns/dcat#"
NAMES = ("1", "2")
# How the dump of each dataset responds in each run: in full, with a part and then an
# error, or with a status.
DUMPS = {
    "steady": ("full", "full", "full", "full", "full"),
    "late": ("500", "full", "503", "404", "full"),
    "cut": ("cut", "full", "cut", "500", "full"),
    "gone": ("full", "404", "404", "full", "full"),
    "down": ("500", "500", "full", "full", "500"),
    "both": ("cut", "full", "500", "full", "full"),
}
_ENDS = ("full", "404")


class OwnedSite(EndpointSite):
    """A site whose datasets have dumps and pages; `both` has an endpoint, too."""

    def change(self, run: int) -> dict[str, str]:
        """Serve the version of a run; return the one that each resource should have."""
        rows, expected, pages = "", {}, []
        for name, ways in DUMPS.items():
            resources = [self.at(f"/{name}/{x}") for x in NAMES]
            self._serve_dump(name, resources, ways[run], f"v{run}")
            for url in resources:
                self.put(f"/{name}/{url[-1]}", f'<> <{SAYS}> "v{run}" .')
                # A copy of an earlier run stays, until its dump is gone.
                last = max((n for n in range(run + 1) if ways[n] in _ENDS), default=run)
                is_kept = ways[last] == "full" and name != "both"
                expected[url] = f"v{last if is_kept else run}"
            pages += [] if name == "late" else resources[:1]
            places = {"sparqlEndpointLocation": self.endpoint} if name == "both" else {}
            rows += dataset(
                datasetURI=self.at(f"/about/{name}"),
                dataDumpLocation=self.at(f"/{name}.nt"),
                linkedDataPrefix=self.at(f"/{name}/"),
                **places,
            )
            self.put(f"/about/{name}", f"<> <urn:x:see> <{'> , <'.join(resources)}> .")
        self._store.clear()
        for name in NAMES:
            subject, says = ox.NamedNode(self.at(f"/both/{name}")), ox.NamedNode(SAYS)
            self._store.add(ox.Quad(subject, says, ox.Literal(f"v{run}")))
        self.sitemap(rows, pages)
        return expected

    def _serve_dump(
        self, name: str, resources: list[str], way: str, version: str
    ) -> None:
        lines = [f'<{url}> <{SAYS}> "{version}" .\n' for url in resources]
        whole = self.respond("".join(lines))
        reply = {"full": whole, "cut": [whole[: -len(lines[1])], None]}.get(way)
        self.reply(f"/{name}.nt", reply or self.respond("", status=f"{way} No"))


@pytest.mark.in_turn(2, rooms=("sources", "pipelines"))
@pytest.mark.parametrize("are_sliced", [False, True], ids=["dumps", "slices"])
def test_each_resource_is_in_one_document(
    commands: Commands, loopback: Loopback, *, are_sliced: bool
) -> None:
    """If dumps fail and come back, then each resource has one version, in one document.

    The last good copy stays while the dump fails. Pages that were requested instead of
    a dump are deleted when it is back, and requested again when it is gone.
    """
    site = OwnedSite(loopback, f"127.96.5.{1 + are_sliced}")
    folder = commands.folder()
    for run in range(5):
        expected = site.change(run)
        result = site.crawl(
            commands,
            folder=folder,
            arguments={"slice": int(are_sliced)},
            RETRY_TIMES=0,
            REVISIT_SECS=0,
            HOST_BACKOFF_SECS=0.1,
        )
        found = defaultdict(list)
        for subject, predicate, text, _ in result.latest_quads:
            if predicate == SAYS:
                found[subject].append(text.strip('"'))
        if not are_sliced and not run:  # pages, and the part of a dump
            del found[site.at("/cut/1")][1:]
        assert found == {url: [version] for url, version in expected.items()}, run


def test_content_decides_on_files_of_unknown_format(
    commands: Commands, loopback: Loopback
) -> None:
    """If nothing says what a download is, then it is kept up if it has statements.

    A page without any is no failure of its dataset.
    """
    site, folder = DatasetSite(loopback, "127.96.5.3"), commands.folder()

    def crawl(version: str, *files: str) -> set[str]:
        site.put("/data", f'<> <{SAYS}> "{version}" .', "text/turtle")
        site.put("/page", "<html><title>x</title></html>", "text/html")
        rows = (
            f"<#{x}> <{DCAT}distribution> <#{x}1> . "
            f"<#{x}1> <{DCAT}downloadURL> <{site.at(f'/{x}')}> ."
            for x in files
        )
        seed = site.put("/catalog", "".join(rows), "text/turtle")
        result = commands.crawl([seed], folder=folder, REVISIT_SECS=0)
        assert "fault/way_failed" not in result.statistics
        return {text for _, name, text, _ in result.latest_quads if name == SAYS}

    assert crawl("v1", "data", "page") == {'"v1"'}
    assert crawl("v2", "data", "page") == {'"v2"'}
    assert crawl("v3", "page") == set()

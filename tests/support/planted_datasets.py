"""Datasets with mirrors and endpoints, and portals in DCAT, with planted differences.

See `planted_sites`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, ClassVar

from tests.support.planted_services import PlantedEndpoint
from tests.support.planted_sites import (
    DIFFERENCES,
    Found,
    PlantedSite,
)
from tests.support.sitemap_sites import Site, urlset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfcrawl.dataweb.local import LocalWeb
    from tests.conftest import RawRequest, Step
    from tests.support.crawl_webs import Loopback

_SCHEMA = "https://project-open-data.cio.gov/v1.1/schema"


class PlantedMirrors(PlantedSite):
    """A dataset of a Semantic Sitemap for each dump, with a mirror for its failure.

    The copy of a mirror is compared with its dump once that works again, and the copy
    of a dump with its mirror while the dump fails.
    """

    kind = "dataset"
    media_type = "application/n-triples"
    names: ClassVar[tuple[str, ...]] = (*DIFFERENCES, "back", "behind", "apart")
    others: ClassVar = {"back": "equal", "behind": "stale", "apart": "stale"}
    _at_mirror: ClassVar = ("back", "behind")  # their dumps fail at first

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        sets = "".join(
            f"<sc:dataset><sc:datasetURI>{url}/set</sc:datasetURI>"
            f'<sc:dataDumpLocation priority="5">{url}</sc:dataDumpLocation>'
            f'<sc:dataDumpLocation priority="0">{self._mirror(url)}'
            "</sc:dataDumpLocation></sc:dataset>"
            for url in self.listed()
        )
        sitemap = ("application/xml", urlset([], sets))
        return self.robots() | {"/sitemap.xml": sitemap}

    @staticmethod
    def _mirror(url: str) -> str:
        return url.replace("/d/", "/mirror/")

    def body(self, name: str) -> bytes:
        """See `PlantedSite`."""
        found = super().body(name)
        is_other = self.is_later and name in ("behind", "apart")
        return found.replace(f"{name} 1".encode(), b"other") if is_other else found

    def expected(self) -> Found:
        """See `PlantedSite`."""
        found = super().expected() - {(self.url("behind"), "stale")}
        return found | {(self._mirror(self.url("behind")), "stale")}

    def _reply(self, request: RawRequest) -> bytes | list[Step]:
        name = request.target.rpartition("/")[2]
        if name in self.names and request.target == f"/mirror/{name}":
            self.n_requests += 1
            return self._tagged(request, self.body(name), self.media_type)
        failing = ("apart",) if self.is_later else self._at_mirror
        if request.target.startswith("/d/") and name in failing:
            self.n_requests += 1
            return self._loopback.response(b"no", "text/plain", status="500 Down")
        return super()._reply(request)


class PlantedDataJson(PlantedSite):
    """The datasets of a portal that a page names: `/data.json`, as Socrata has it."""

    kind = "dataset"
    media_type = "application/n-triples"

    def seeds(self) -> list[tuple[str, str]]:
        """See `PlantedSite`."""
        return [(self.at("/"), "")]

    def lists(self) -> dict[str, tuple[str, bytes]]:
        """See `PlantedSite`."""
        page = (
            "<!DOCTYPE html><html><title>Open data</title><script>"
            "window.socrata = window.socrata || {};"
            'window.socrata.featureFlags = {"domain_locale":"en_US"};</script></html>'
        )
        datasets = [
            {
                "@type": "dcat:Dataset",
                "identifier": f"{url}/set",
                "title": url,
                "accessLevel": "public",
                "distribution": [
                    {
                        "@type": "dcat:Distribution",
                        "downloadURL": url,
                        "mediaType": self.media_type,
                    }
                ],
            }
            for url in self.listed()
        ]
        catalog = {
            "@context": f"{_SCHEMA}/catalog.jsonld",
            "@type": "dcat:Catalog",
            "conformsTo": _SCHEMA,
            "dataset": datasets,
        }
        return {
            "/": ("text/html", page.encode()),
            "/data.json": ("application/json", json.dumps(catalog).encode()),
        }

    def expected(self) -> Found:
        """See `PlantedSite`; the catalog itself has changed."""
        return super().expected() | {(self.at("/data.json"), "stale")}


class PlantedDatasetEndpoint(PlantedEndpoint):
    """Datasets of a Semantic Sitemap: each is a graph of an endpoint elsewhere.

    The graph of a dataset that the sitemap no longer has is still there.
    """

    def __init__(self, loopback: Loopback, web: LocalWeb, host: str) -> None:
        super().__init__(web)
        self._site = Site(loopback, host)
        self.endpoint, self.site = self.site, host
        self._site.robots(self._site.at("/sitemap.xml"))
        self._list(self.names)

    def _list(self, names: Iterable[str]) -> None:
        sets = "".join(
            f"<sc:dataset><sc:datasetURI>{self._site.at('/set/')}{name}</sc:datasetURI>"
            f"<sc:sparqlEndpointLocation>{self.endpoint}</sc:sparqlEndpointLocation>"
            f"<sc:sparqlGraphName>{self._graph(name)}</sc:sparqlGraphName></sc:dataset>"
            for name in names
        )
        self._site.put("/sitemap.xml", urlset([], sets), "application/xml")

    def seeds(self) -> list[tuple[str, str]]:
        """See `PlantedSite`."""
        return [(self._site.at("/"), "sitemap")]

    def change(self) -> None:
        """See `PlantedSite`."""
        super().change()
        self._fill(["dropped"])
        self._list([*(x for x in self.names if x != "dropped"), "added"])

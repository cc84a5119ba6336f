"""Portals that publish their catalog in DCAT: ArcGIS Hub, Socrata, Opendatasoft.

Written from the documentation of the platforms: "Federate data and manage catalog
feeds" and the Feed API of ArcGIS Hub; Project Open Data Metadata Schema 1.1 for the
`/data.json` of Socrata; the Explore API 2.1 of Opendatasoft with its exports of a
catalog, and the default header of its themes.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar
from xml.sax.saxutils import escape

from tests.otherweb.site import NOT_FOUND, Answer, Request, Site

_SCHEMA = "https://project-open-data.cio.gov/v1.1/schema"
_JSON = "application/json; charset=utf-8"
_ETAG = '"front"'


def _distribution(title: str, media_type: str, **urls: str) -> dict[str, str]:
    return {"title": title, "mediaType": media_type} | urls


class DcatPortal(Site):
    """One portal; the data of a dataset are a statement with its name.

    Attributes:
        catalog: path of its catalog.
        has_catalog: the feeds are switched on.
        api: path of a response of its API that has no RDF.
        has_rdf: it offers the data as RDF.
        datasets: titles by name; names are made by `names`.
    """

    catalog: ClassVar[str]
    api: ClassVar[str]
    has_rdf: ClassVar[bool] = True
    names: ClassVar[tuple[str, ...]] = ("aaaa-1111", "bbbb-2222", "cccc-3333")

    def __init__(self, host: str) -> None:
        super().__init__(host)
        self.has_catalog = True
        self.datasets = {name: f"Dataset {name}" for name in self.names}

    def page(self) -> str:
        """Return the marks of the platform in a page."""
        raise NotImplementedError

    def write_catalog(self) -> Answer:
        """Return the catalog."""
        raise NotImplementedError

    def file(self, path: str) -> Answer:
        """Return other responses."""
        raise NotImplementedError

    def data_path(self, name: str) -> str:
        """Return the target of the data of a dataset in RDF."""
        raise NotImplementedError

    def answer(self, request: Request) -> Answer:
        """Answer pages and the API."""
        if request.path == "/":
            if request.headers.get("if-none-match") == _ETAG:
                return Answer(304, "", b"", {"ETag": _ETAG})
            page = f"<!DOCTYPE html><html><title>Open data</title>{self.page()}</html>"
            return Answer(200, "text/html", page.encode(), {"ETag": _ETAG})
        if request.path == self.catalog:
            return self.write_catalog() if self.has_catalog else NOT_FOUND
        if request.path == self.api:
            return Answer(200, _JSON, b'{"total_count": 3, "results": []}')
        for name in self.datasets:
            if request.target == self.data_path(name):
                return self._data(name)
        return self.file(request.path)

    def _data(self, name: str) -> Answer:
        body = f'<{self.url("/d/" + name)}> <urn:x:says> "{name}" .\n'
        return Answer(200, "application/n-triples", body.encode())

    def _data_json(self, *datasets: dict[str, Any]) -> Answer:
        value = {
            "@context": f"{_SCHEMA}/catalog.jsonld",
            "@type": "dcat:Catalog",
            "conformsTo": _SCHEMA,
            "describedBy": f"{_SCHEMA}/catalog.json",
            "dataset": datasets,
        }
        return Answer(200, _JSON, json.dumps(value).encode())


class HubPortal(DcatPortal):
    """A site of ArcGIS Hub: a page of scripts, and feeds of its catalog."""

    catalog = "/api/feed/dcat-us/1.1.json"
    api = "/api/search/v1/collections"
    has_rdf = False

    def page(self) -> str:
        """See `DcatPortal`."""
        assets = "https://hubcdn.arcgis.com/opendata-ui/assets"
        return (
            f'<link rel="stylesheet" href="{assets}/vendor-0123.css">'
            f'<script src="{assets}/opendata-ui-4567.js"></script>'
        )

    def write_catalog(self) -> Answer:
        """See `DcatPortal`; `/data.json` is its former address."""
        return self._data_json(*map(self._dataset, self.datasets))

    def _dataset(self, name: str) -> dict[str, Any]:
        item = f"https://www.arcgis.com/home/item.html?id={name}&sublayer=0"
        page = self.url(f"/datasets/{name}")
        csv = self.url(f"/api/download/v1/items/{name}/csv?layers=0")
        service = self.url(f"/server/rest/services/{name}/FeatureServer/0")
        return {
            "@type": "dcat:Dataset",
            "identifier": item,
            "landingPage": page,
            "title": self.datasets[name],
            "description": "<p>Lakes</p>",
            "keyword": ["lakes"],
            "issued": "2021-01-29T15:34:38.000Z",
            "modified": "2026-08-16T11:33:19.805Z",
            "publisher": {"name": "City of Example"},
            "contactPoint": {"@type": "vcard:Contact", "fn": "gis"},
            "accessLevel": "public",
            "spatial": "-121.5577,38.4386,-120.1158,38.8031",
            "distribution": [
                _distribution("ArcGIS Hub Dataset", "text/html", accessURL=page),
                _distribution(
                    "ArcGIS GeoService", "application/json", accessURL=service
                ),
                _distribution("CSV", "text/csv", accessURL=csv),
            ],
        }

    def data_path(self, name: str) -> str:
        """See `DcatPortal`; Hub has no RDF."""
        del name
        return ""

    def file(self, path: str) -> Answer:
        """See `DcatPortal`."""
        return self.write_catalog() if path == "/data.json" else NOT_FOUND


class SocrataPortal(DcatPortal):
    """A domain of Socrata: each dataset has an identifier of 4 and 4 characters."""

    catalog = "/data.json"
    api = "/api/views/aaaa-1111.json"

    def page(self) -> str:
        """See `DcatPortal`."""
        return (
            '<script id="feature-flags">//<![CDATA[\n'
            "window.socrata = window.socrata || {};\n"
            'window.socrata.featureFlags = {"domain_locale":"en_US"};\n//]]></script>'
        )

    def write_catalog(self) -> Answer:
        """See `DcatPortal`."""
        return self._data_json(*map(self._dataset, self.datasets))

    def _dataset(self, name: str) -> dict[str, Any]:
        view = self.url(f"/api/views/{name}")
        rows = {
            ending: f"{view}/rows.{ending}?accessType=DOWNLOAD"
            for ending in ("csv", "rdf", "json", "xml")
        }
        types = {
            "csv": "text/csv",
            "rdf": "application/rdf+xml",
            "json": "application/json",
            "xml": "application/xml",
        }
        return {
            "@type": "dcat:Dataset",
            "identifier": view,
            "landingPage": self.url(f"/d/{name}"),
            "title": self.datasets[name],
            "modified": "2026-05-05",
            "accessLevel": "public",
            "publisher": {"@type": "org:Organization", "name": "data.example.gov"},
            "distribution": [
                {
                    "@type": "dcat:Distribution",
                    "downloadURL": url,
                    "mediaType": types[ending],
                }
                for ending, url in rows.items()
            ],
        }

    def data_path(self, name: str) -> str:
        """See `DcatPortal`."""
        return f"/api/views/{name}/rows.rdf?accessType=DOWNLOAD"

    def file(self, path: str) -> Answer:
        """See `DcatPortal`."""
        del path
        return NOT_FOUND


class OpendatasoftPortal(DcatPortal):
    """A domain of Opendatasoft: exports of its catalog and of its datasets."""

    catalog = "/api/explore/v2.1/catalog/exports/dcat"
    api = "/api/explore/v2.1/catalog/datasets"

    def page(self) -> str:
        """See `DcatPortal`."""
        return (
            '<nav class="ods-front-header" ods-responsive-menu breakpoint="1000">'
            '<a class="ods-front-header__portal-brand" href="/">Open data</a></nav>'
        )

    def write_catalog(self) -> Answer:
        """See `DcatPortal`."""
        datasets = "".join(map(self._dataset, self.datasets))
        text = (
            '<?xml version="1.0" encoding="UTF-8"?>\n<rdf:RDF'
            ' xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
            ' xmlns:dcat="http://www.w3.org/ns/dcat#"'
            ' xmlns:dcterms="http://purl.org/dc/terms/">'
            f'<dcat:Catalog rdf:about="{self.url(self.api)}/">'
            "<dcterms:title><![CDATA[example catalog]]></dcterms:title>"
            f"{datasets}</dcat:Catalog></rdf:RDF>"
        )
        return Answer(200, "application/rdf+xml; charset=utf-8", text.encode())

    def _dataset(self, name: str) -> str:
        about = self.url(f"{self.api}/{name}")
        kinds = {"turtle": "text/turtle", "csv": "text/csv"}
        files = "".join(
            f'<dcat:distribution><dcat:Distribution rdf:about="{about}-{kind}">'
            f"<dcterms:title>{kind}</dcterms:title>"
            f'<dcat:accessURL rdf:resource="{about}/exports/{kind}"/>'
            f'<dcat:downloadURL rdf:resource="{about}/exports/{kind}"/>'
            "<dcat:mediaType rdf:resource="
            f'"https://www.iana.org/assignments/media-types/{media_type}"/>'
            "</dcat:Distribution></dcat:distribution>"
            for kind, media_type in kinds.items()
        )
        return (
            f'<dcat:dataset><dcat:Dataset rdf:about="{about}">'
            f"<dcterms:title>{escape(self.datasets[name])}</dcterms:title>"
            '<dcterms:spatial rdf:resource="France entière"/>'
            f"{files}</dcat:Dataset></dcat:dataset>"
        )

    def data_path(self, name: str) -> str:
        """See `DcatPortal`."""
        return f"{self.api}/{name}/exports/turtle"

    def file(self, path: str) -> Answer:
        """See `DcatPortal`."""
        del path
        return NOT_FOUND


PORTALS = (HubPortal, SocrataPortal, OpendatasoftPortal)

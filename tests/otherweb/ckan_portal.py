"""A CKAN portal: pages, action API, and the endpoints of ckanext-dcat."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pyoxigraph as ox

from tests.otherweb.ckan_holdings import (
    GROUPS,
    ORGANIZATIONS,
    TAGS,
    Holdings,
    Package,
    stock,
)
from tests.otherweb.site import NOT_FOUND, Answer, Request, Site
from tests.otherweb.statements import (
    DCAT,
    DCT,
    HYDRA,
    RDF,
    XSD,
    write,
)

_DCAT_ENDINGS = {
    "rdf": "application/rdf+xml",
    "xml": "application/rdf+xml",
    "ttl": "text/turtle",
    "n3": "text/n3",
    "jsonld": "application/ld+json",
}
_JSON = "application/json;charset=utf-8"
_node = ox.NamedNode
Query = Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Portal:
    """Kind of a portal.

    Attributes:
        version: of CKAN.
        n_packages: in its database.
        folder: `ckan.root_path`, where it does not have a host for itself.
        dcat: ckanext-dcat is installed.
        most_rows: `ckan.search.rows_max`.
        robots: the rules; CKAN's own forbid the API.
        searches: anonymous visitors may search.
    """

    version: str
    n_packages: int
    folder: str = ""
    dcat: bool = False
    most_rows: int = 20
    robots: str = ""
    searches: bool = True


CKAN_ROBOTS = """User-agent: *
Disallow: /dataset/rate/
Disallow: /revision/
Disallow: /dataset/*/history
Disallow: /api/
Disallow: /user/
"""


class _ActionError(Exception):
    """An action that failed, as the API says it."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class CkanPortal(Site):
    """One host with a portal."""

    def __init__(self, host: str, portal: Portal) -> None:
        super().__init__(host)
        self.portal = portal
        self.robots = portal.robots
        self.front = self.url(portal.folder)
        self.holdings: Holdings = stock(self.front, portal.n_packages)
        self._actions: dict[str, Callable[[Query], Any]] = {
            "package_search": self._package_search,
            "package_list": self._package_list,
            "package_show": self._package_show,
            "current_package_list_with_resources": self._current_packages,
            "organization_list": lambda q: self._collections(ORGANIZATIONS, q),
            "group_list": lambda q: self._collections(GROUPS, q),
            "tag_list": lambda _: sorted(TAGS),
            "status_show": self._status_show,
            "site_read": lambda _: True,
        }

    def published(self) -> set[ox.Triple]:
        """Return the metadata in their served RDF, and the uploads.

        Without RDF: the statements fixed by the table of the mapping.
        """
        described = (self._write(p) for p in self.holdings.public())
        return self.holdings.contents.union(*described)

    def published_by_api(self) -> set[ox.Triple]:
        """Return the statements fixed by the table of the mapping, and the uploads."""
        described = (self.describe(p) for p in self.holdings.public())
        return self.holdings.contents.union(*described)

    def answer(self, request: Request) -> Answer:
        """Answer pages, files and the API."""
        path = request.path.removeprefix(self.portal.folder)
        if not request.path.startswith(self.portal.folder):
            return Answer(200, "text/html", b"<title>City</title><p>Elsewhere.")
        if path in self.holdings.files:
            return Answer(200, *self.holdings.files[path])
        if found := re.fullmatch(r"/api/(?:3/)?action/([a-z_]+)/?", path):
            return self._act(found[1], request)
        return self._answer_page(path, request)

    # -- pages ---------------------------------------------------------------

    def _answer_page(self, path: str, request: Request) -> Answer:
        if path in {"", "/"}:
            return self._page("Welcome", self._alternates("/catalog"))
        if found := re.fullmatch(r"/catalog\.([a-z0-9]+)", path):
            return self._catalog(found[1], request)
        if found := re.fullmatch(r"/dataset/([^/.]+)(?:\.([a-z0-9]+))?", path):
            return self._dataset(found[1], found[2])
        return NOT_FOUND

    def _page(self, title: str, head: str) -> Answer:
        body = (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta name="generator" content="ckan {self.portal.version}">'
            f"<title>{title} - CKAN</title>{head}</head>"
            f'<body data-site-root="{self.front}/" data-locale-root="{self.front}/">'
            f'<a href="{self.front}/dataset/">Datasets</a></body></html>'
        )
        return Answer(200, "text/html; charset=utf-8", body.encode())

    def _alternates(self, path: str) -> str:
        if not self.portal.dcat:
            return ""
        return "".join(
            f'<link rel="alternate" type="{media_type}"'
            f' href="{self.front}{path}.{ending}"/>'
            for ending, media_type in _DCAT_ENDINGS.items()
        )

    def _dataset(self, name: str, ending: str | None) -> Answer:
        package = self._find(name)
        if package is None:
            return NOT_FOUND
        if ending is None:
            path = f"/dataset/{package['id']}"
            return self._page("A dataset", self._alternates(path))
        if not self.portal.dcat or ending not in _DCAT_ENDINGS:
            return NOT_FOUND
        media_type = _DCAT_ENDINGS[ending]
        return Answer(200, media_type, write(self._write(package), media_type))

    def _catalog(self, ending: str, request: Request) -> Answer:
        """Answer a page of the catalog, whose links to others are literals."""
        if not self.portal.dcat or ending not in _DCAT_ENDINGS:
            return NOT_FOUND
        packages, size = self.holdings.public(), 15
        n_pages = -(-len(packages) // size)
        number = int(request.first("page", "1"))
        address = f"{self.front}/catalog.{ending}"
        here = _node(f"{address}?page={number}")
        statements = {
            ox.Triple(here, _node(RDF + "type"), _node(HYDRA + "PagedCollection"))
        }
        pages = {"first": 1, "last": n_pages}
        pages |= {"next": number + 1} if number < n_pages else {}
        pages |= {"previous": number - 1} if number > 1 else {}
        for relation, page in pages.items():
            url = ox.Literal(f"{address}?{urlencode({'page': page})}")
            statements.add(ox.Triple(here, _node(HYDRA + relation), url))
        catalog = _node(self.front)
        statements.add(ox.Triple(catalog, _node(RDF + "type"), _node(DCAT + "Catalog")))
        for package in packages[(number - 1) * size : number * size]:
            about = _node(self._iri(package))
            statements.add(ox.Triple(catalog, _node(DCAT + "dataset"), about))
            statements |= self._write(package)
        media_type = _DCAT_ENDINGS[ending]
        return Answer(200, media_type, write(statements, media_type))

    # -- the mapping of ckanext-dcat --------------------------------------------

    def _iri(self, package: Package) -> str:
        extras = {extra["key"]: extra["value"] for extra in package["extras"]}
        return str(extras.get("uri") or f"{self.front}/dataset/{package['id']}")

    def describe(self, package: Package) -> set[ox.Triple]:
        """Return a package as DCAT, following the table of the mapping."""
        about = _node(self._iri(package))
        extras = {extra["key"]: extra["value"] for extra in package["extras"]}
        found = {ox.Triple(about, _node(RDF + "type"), _node(DCAT + "Dataset"))}

        def say(subject: ox.NamedNode, predicate: str, term: Any) -> None:
            if term:
                term = term if isinstance(term, ox.NamedNode) else ox.Literal(term)
                found.add(ox.Triple(subject, _node(predicate), term))

        say(about, DCT + "title", package["title"])
        say(about, DCT + "description", package["notes"])
        say(about, DCT + "identifier", extras.get("identifier") or package["id"])
        for tag in package["tags"]:
            say(about, DCAT + "keyword", tag["name"])
        if package["url"]:
            say(about, DCAT + "landingPage", _node(package["url"]))
        for resource in package["resources"]:
            address = f"{self.front}/dataset/{package['id']}/resource/{resource['id']}"
            form = _node(address)
            say(about, DCAT + "distribution", form)
            say(form, RDF + "type", _node(DCAT + "Distribution"))
            say(form, DCT + "title", resource["name"])
            say(form, DCT + "description", resource["description"])
            say(form, DCAT + "accessURL", _node(resource["url"]))
        return found | self._dates(about, package)

    def _write(self, package: Package) -> set[ox.Triple]:
        """Return a package as this portal serves it; how it says formats is free."""
        found = self.describe(package)
        if not self.portal.dcat:
            return found
        for resource in package["resources"]:
            address = f"{self.front}/dataset/{package['id']}/resource/{resource['id']}"
            said = {
                DCT + "format": resource["format"],
                DCAT + "mediaType": resource["mimetype_inner"] or resource["mimetype"],
            }
            found |= {
                ox.Triple(_node(address), _node(predicate), ox.Literal(text))
                for predicate, text in said.items()
                if text
            }
            if packing := resource.get("package_format"):
                predicate = _node(DCAT + "packageFormat")
                found.add(ox.Triple(_node(address), predicate, _node(packing)))
        return found

    @staticmethod
    def _dates(about: ox.NamedNode, package: Package) -> set[ox.Triple]:
        kind = _node(XSD + "dateTime")
        return {
            ox.Triple(about, _node(DCT + name), ox.Literal(package[key], datatype=kind))
            for name, key in (
                ("issued", "metadata_created"),
                ("modified", "metadata_modified"),
            )
        }

    # -- the action API --------------------------------------------------------

    def _act(self, name: str, request: Request) -> Answer:
        api_help = f"{self.front}/api/3/action/help_show?name={name}"
        action = self._actions.get(name)
        if action is None:
            text = f"Bad request - Action name not known: {name}"
            return Answer(
                400, "application/json;charset=utf-8", json.dumps(text).encode()
            )
        query = {key: values[0] for key, values in request.query.items()}
        if request.method == "POST" and request.body:
            query |= {k: str(v) for k, v in json.loads(request.body).items()}
        status, said = 200, {"help": api_help, "success": True}
        try:
            said["result"] = action(query)
        except _ActionError as error:
            status = error.status
            problem = {"__type": error.kind, "message": str(error)}
            said |= {"success": False, "error": problem}
        return Answer(
            status, "application/json;charset=utf-8", json.dumps(said).encode()
        )

    def _find(self, name: str) -> Package | None:
        found = (p for p in self.holdings.public() if name in {p["id"], p["name"]})
        return next(found, None)

    def _package_show(self, query: Query) -> Package:
        if not (name := query.get("id")):
            raise _ActionError(409, "Validation Error", "Missing value")
        known = [p for p in self.holdings.packages if name in {p["id"], p["name"]}]
        if (found := self._find(name)) is not None:
            return found
        if known and known[0]["private"]:
            raise _ActionError(403, "Authorization Error", "Access denied")
        raise _ActionError(404, "Not Found Error", "Not found")

    def _package_list(self, query: Query) -> list[str]:
        names = [package["name"] for package in self.holdings.public()]
        start = _number(query, "offset", 0)
        return names[start : start + _number(query, "limit", len(names))]

    def _current_packages(self, query: Query) -> list[Package]:
        start = _number(query, "offset", 0)
        limit = _number(query, "limit", self.portal.most_rows)
        return self.holdings.public()[start : start + min(limit, self.portal.most_rows)]

    def _package_search(self, query: Query) -> dict[str, Any]:
        if not self.portal.searches:
            raise _ActionError(403, "Authorization Error", "Access denied")
        found = self.holdings.public()
        for key in ("q", "fq"):
            for test in _solr(query.get(key, "")):
                found = [package for package in found if test(package)]
        sort = query.get("sort") or "score desc, metadata_modified desc"
        for clause in reversed(sort.split(",")):
            name, _, direction = clause.strip().partition(" ")
            if name not in {"name", "id", "metadata_modified", "metadata_created"}:
                continue
            found.sort(key=lambda p: str(p[name]), reverse=direction == "desc")
        rows = min(_number(query, "rows", 10), self.portal.most_rows)
        start = _number(query, "start", 0)
        return {
            "count": len(found),
            "sort": sort,
            "facets": {},
            "search_facets": {},
            "results": found[start : start + rows],
        }

    @staticmethod
    def _collections(names: Mapping[str, str], query: Query) -> list[Any]:
        if query.get("all_fields", "").lower() not in {"true", "1"}:
            return sorted(names)
        return [{"name": n, "title": t, "state": "active"} for n, t in names.items()]

    def _status_show(self, _: Query) -> dict[str, Any]:
        return {
            "ckan_version": self.portal.version,
            "site_url": self.front,
            "site_title": "Other data",
            "site_description": "",
            "error_emails_to": None,
            "locale_default": "en",
            "extensions": ["stats", "dcat"] if self.portal.dcat else ["stats"],
        }


def _number(query: Query, name: str, default: int) -> int:
    text = query.get(name) or str(default)
    if not text.isdigit():
        raise _ActionError(409, "Validation Error", f"{name}: Invalid integer")
    return int(text)


_CLAUSE = re.compile(
    r"""(?P<sign>[+-]?)(?P<name>[a-z_]+|\*):
    (?: "(?P<phrase>[^"]*)"
      | [\[{](?P<low>\S+)\sTO\s(?P<high>[^\]}]+)[\]}]
      | (?P<word>\S+) )""",
    re.VERBOSE,
)


def _solr(text: str) -> list[Callable[[Package], bool]]:
    """Return tests for the clauses of a Solr query: fields, phrases and ranges."""
    rest = _CLAUSE.sub("", text).replace(" AND ", " ").strip()
    if rest not in {"", "AND"}:
        raise _ActionError(409, "Search Query Error", f"cannot parse {rest!r}")
    return [_test(clause.groupdict()) for clause in _CLAUSE.finditer(text)]


def _test(clause: dict[str, Any]) -> Callable[[Package], bool]:
    name, low, high = clause["name"], clause["low"], clause["high"]
    word = clause["phrase"] if clause["phrase"] is not None else clause["word"]
    if name == "*" or word == "*":
        return lambda _: True

    def values(package: Package) -> list[str]:
        if name == "organization":
            return [package["organization"]["name"]]
        if name in {"groups", "tags"}:
            return [entry["name"] for entry in package[name]]
        if name == "dataset_type":
            return [package["type"]]
        return [str(package.get(name, ""))]

    def passes(package: Package) -> bool:
        if low is None:
            found = any(value == word for value in values(package))
        else:
            value = values(package)[0]
            found = low == "*" or value >= str(low).rstrip("Z")
            found = found and (high == "*" or value <= str(high).rstrip("Z"))
        return found is not (clause["sign"] == "-")

    return passes

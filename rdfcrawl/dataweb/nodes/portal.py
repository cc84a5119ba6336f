"""A CKAN portal of any size: datasets are generated on request."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pyoxigraph as ox

from rdfcrawl.core.namespaces import DCAT, HYDRA, XSD
from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NOT_FOUND, NodeResponse, json_response
from rdfcrawl.dataweb.nodes.base import RDF_TYPE, serialize, to_ntriples
from rdfcrawl.dataweb.nodes.portal_datasets import (
    N_GROUPS,
    N_ORGANIZATIONS,
    PortalDatasets,
    PortalRevision,
    describe_section,
    id_of_section,
    section_names,
)
from rdfcrawl.dataweb.nodes.portal_index import DatasetIndex
from rdfcrawl.dataweb.nodes.portal_search import BadQuery
from rdfcrawl.dataweb.nodes.site import HTML, TURTLE, ChangingSite, SiteOptions, respond

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rdfcrawl.dataweb.messages import NodeRequest
    from rdfcrawl.dataweb.nodes.base import NodePlan, Statement

DEFAULT_ROWS = 10

_ACTION = re.compile(r"/api/(?:3/)?action/([a-z_]{1,50})/?\Z")
_DATASET = re.compile(r"/dataset/([a-z0-9-]{1,60})(?:\.(ttl|rdf|jsonld))?\Z")
_CATALOG = re.compile(r"/catalog\.(ttl|rdf|jsonld)\Z")
_FILE = re.compile(r"/files/([0-9]{1,7})/([0-9]{1,7})\.([a-z]{3})\Z")
_FORMATS = {
    "ttl": ox.RdfFormat.TURTLE,
    "rdf": ox.RdfFormat.RDF_XML,
    "jsonld": ox.RdfFormat.JSON_LD,
}
# CKAN's own robots.txt; the delay is an option.
_ROBOTS = (
    "User-agent: *\nDisallow: /dataset/rate/\nDisallow: /revision/\n"
    "Disallow: /dataset/*/history\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalOptions(SiteOptions["PortalNode"]):
    """The options of a portal.

    Attributes:
        n_datasets: at the beginning.
        rows_cap: upper limit of the rows of one search (`rows_max`).
        search: `refused` answers 403 to `package_search`.
        lists: `package_list` is there; otherwise 403.
        forbids_api: robots.txt has `Disallow: /api/`, as CKAN's own.
        delay_secs: `Crawl-Delay` (CKAN's own says 10); 0 states none.
        rdf_every: each so-many-th dataset has a Turtle file, which is served and in
            the truth; 0 for none.
        n_wide: resources of dataset 0, if more than its usual ones.
        dcat: native DCAT at `/catalog.{ttl,rdf,jsonld}` and `/dataset/ID.*`: paged by
            `hydra:next`, by `Link`, or `looping` (the last page leads to the second).
        dcat_page: datasets of one page of the native catalogue.
        unavailable_every: each so-many-th call of the API answers 503 with
            `Retry-After: 1`; 0 for none.
        version: of CKAN, in `status_show`.
    """

    kind: ClassVar[NodeKind] = NodeKind.PORTAL
    n_datasets: int = 200
    rows_cap: int = 1000
    search: Literal["on", "refused"] = "on"
    lists: bool = True
    forbids_api: bool = True
    delay_secs: float = 0.0
    rdf_every: int = 10
    n_wide: int = 0
    dcat: Literal["no", "hydra", "link", "looping"] = "no"
    dcat_page: int = 100
    unavailable_every: int = 0
    version: str = "2.10.4"

    def build(self, plan: NodePlan) -> PortalNode:
        """Make the node."""
        return PortalNode(plan, self)


class _Refusal(Exception):
    """An error that CKAN reports as `success: false`."""

    def __init__(self, status: int, kind: str, message: object) -> None:
        super().__init__(kind)
        self.status = status
        self.error = {"__type": kind, "message": message}


class PortalNode(ChangingSite):
    """Dataset K is named `dataset-K`; all but its revision follows from K."""

    def __init__(self, plan: NodePlan, options: PortalOptions) -> None:
        super().__init__(plan)
        self.options = options
        self._datasets = PortalDatasets(
            plan.origin,
            options.n_datasets,
            rdf_every=options.rdf_every,
            n_wide=options.n_wide,
            links=plan.links,
        )
        self._index = DatasetIndex(self._datasets)
        self._n_calls = 0
        self._actions: dict[str, Callable[[dict[str, str]], object]] = {
            "package_list": self._package_list,
            "package_show": self._package_show,
            "package_search": self._package_search,
            "current_package_list_with_resources": self._current,
            "organization_list": lambda _: self._names("organization"),
            "organization_show": lambda given: self._show_of("organization", given),
            "group_list": lambda _: self._names("group"),
            "group_show": lambda given: self._show_of("group", given),
            "site_read": lambda _: True,
            "status_show": self._status_show,
        }

    # -- for tests -----------------------------------------------------------------

    @property
    def n_datasets(self) -> int:
        """Number of present datasets."""
        return len(self._datasets)

    def ids(self) -> list[str]:
        """Return the ids of all present datasets."""
        return self._datasets.ids()

    def names(self) -> list[str]:
        """Return the names of all present datasets."""
        return self._datasets.names()

    def id_of(self, number: int) -> str:
        """Return the id of a dataset."""
        return self._datasets.id_of(number)

    def revise(
        self, changed: int = 5, deleted: int = 3, *, created: int = 0, seed: int = 1
    ) -> PortalRevision:
        """Let a day pass, on which datasets change, go and come.

        A change shows in title, `metadata_modified` and the Turtle file.
        """
        with self._lock:
            self._index.forget()
            return self._datasets.revise(changed, deleted, created=created, seed=seed)

    def iter_truth(self) -> Iterator[Statement]:
        """Yield patterns of each dataset, none joined, and the triples of files."""
        return self._datasets.iter_truth()

    def dataset(self, number: int) -> dict[str, Any]:
        """Return a dataset as `package_show` does."""
        return self._datasets.package(number)

    def change(self, **arguments: Any) -> object:
        """Do `revise`."""
        done = self.revise(**arguments)
        return {
            "changed": sorted(done.changed),
            "deleted": sorted(done.deleted),
            "created": sorted(done.created),
        }

    # -- for clients ---------------------------------------------------------------

    @property
    def robots(self) -> str:
        """CKAN's own."""
        text = _ROBOTS + ("Disallow: /api/\n" if self.options.forbids_api else "")
        if self.options.delay_secs:
            text += f"Crawl-Delay: {self.options.delay_secs:g}\n"
        return text

    @property
    def delay_secs(self) -> float:
        """`Crawl-Delay` of robots.txt."""
        return self.options.delay_secs

    def respond_other(self, request: NodeRequest) -> NodeResponse:
        """Serve the API, pages, files and catalogues."""
        path = request.path
        if path == "/":
            page = _page("Welcome - CKAN", f"{self.n_datasets} datasets.")
            return NodeResponse(200, page, content_type=HTML)
        if path.startswith("/api"):
            return self._respond_api(request)
        if match := _CATALOG.match(path):
            return self._respond_catalog(request, match[1])
        if match := _DATASET.match(path):
            return self._respond_dataset(request, match)
        if match := _FILE.match(path):
            return self._respond_file(request, match)
        return NOT_FOUND

    def _respond_api(self, request: NodeRequest) -> NodeResponse:
        if request.path in ("/api", "/api/3", "/api/3/"):
            return json_response(200, {"version": 3})
        match = _ACTION.match(request.path)
        action = self._actions.get(match[1]) if match else None
        if match is None or action is None:
            return json_response(400, "Bad request - Action name not known")
        self._n_calls += 1
        every = self.options.unavailable_every
        if every and self._n_calls % every == 0:
            headers = (("Retry-After", "1"),)
            return NodeResponse(
                503, b"busy\n", content_type="text/plain", headers=headers
            )
        help_url = f"{self.origin}/api/3/action/help_show?name={match[1]}"
        try:
            result = action(_parameters(request))
        except _Refusal as refusal:
            value = {"help": help_url, "success": False, "error": refusal.error}
            return json_response(refusal.status, value)
        value = {"help": help_url, "success": True, "result": result}
        return json_response(200, value)

    # -- actions ---------------------------------------------------------------------

    def _package_list(self, given: dict[str, str]) -> list[str]:
        if not self.options.lists:
            raise _Refusal(403, "Authorization Error", "Access denied")
        names = self.names()
        offset = _integer(given, "offset", 0)
        return names[offset : offset + _integer(given, "limit", len(names))]

    def _current(self, given: dict[str, str]) -> list[dict[str, Any]]:
        there = list(self._datasets.iter_there())
        offset = _integer(given, "offset", 0)
        limit = min(_integer(given, "limit", DEFAULT_ROWS), self.options.rows_cap)
        return list(map(self._datasets.package, there[offset : offset + limit]))

    def _package_show(self, given: dict[str, str]) -> dict[str, Any]:
        wanted = given.get("id")
        if not wanted:
            raise _Refusal(409, "Validation Error", {"id": ["Missing value"]})
        number = self._datasets.number_of(wanted)
        if number is None:
            raise _Refusal(404, "Not Found Error", "Not found")
        return self._datasets.package(number)

    def _package_search(self, given: dict[str, str]) -> dict[str, Any]:
        if self.options.search == "refused":
            raise _Refusal(403, "Authorization Error", "Access denied")
        start = _integer(given, "start", 0)
        rows = min(_integer(given, "rows", DEFAULT_ROWS), self.options.rows_cap)
        sort = given.get("sort", "score desc, metadata_modified desc")
        try:
            found = self._index.search(given.get("q", ""), given.get("fq", ""), sort)
        except BadQuery as error:
            message = f"Search Query is invalid: {error}"
            raise _Refusal(409, "Search Query Error", message) from error
        return {
            "count": len(found),
            "sort": sort,
            "facets": {},
            "search_facets": {},
            "results": list(map(self._datasets.package, found[start : start + rows])),
        }

    def _names(self, section: str) -> list[str]:
        count = N_ORGANIZATIONS if section == "organization" else N_GROUPS
        return section_names(section, count)

    def _show_of(self, section: str, given: dict[str, str]) -> dict[str, Any]:
        wanted = given.get("id", "")
        for name in self._names(section):
            if wanted in (name, id_of_section(name)):
                field = "organization" if section == "organization" else "groups"
                n_packages = len(self._index.search("", f"{field}:{name}", "id asc"))
                return describe_section(section, name) | {"package_count": n_packages}
        raise _Refusal(404, "Not Found Error", "Not found")

    def _status_show(self, _: dict[str, str]) -> dict[str, Any]:
        extensions = ["stats"] if self.options.dcat == "no" else ["stats", "dcat"]
        return {
            "ckan_version": self.options.version,
            "site_url": self.origin,
            "site_title": "CKAN",
            "site_description": "",
            "locale_default": "en",
            "error_emails_to": None,
            "extensions": extensions,
        }

    # -- pages, files, native DCAT ---------------------------------------------------

    def _respond_dataset(
        self, request: NodeRequest, match: re.Match[str]
    ) -> NodeResponse:
        number = self._datasets.number_of(match[1])
        if number is None:
            return NOT_FOUND
        if not match[2]:
            page = _page(self._datasets.title(number), "A dataset.")
            return NodeResponse(200, page, content_type=HTML)
        if self.options.dcat == "no":
            return NOT_FOUND
        rdf_format = _FORMATS[match[2]]
        body = serialize(self._datasets.describe(number), rdf_format)
        when = self._datasets.modified(number)
        return respond(request, body, content_type=rdf_format.media_type, modified=when)

    def _respond_catalog(self, request: NodeRequest, extension: str) -> NodeResponse:
        pages = request.query_fields().get("page", ["1"])[-1]
        if self.options.dcat == "no" or not re.fullmatch("[0-9]{1,7}", pages):
            return NOT_FOUND
        page, size = int(pages), self.options.dcat_page
        there = list(self._datasets.iter_there())
        n_pages = max(-(-len(there) // size), 1)
        if not 1 <= page <= n_pages:
            return NOT_FOUND
        base = f"{self.origin}/catalog.{extension}?page="
        following = page + 1 if page < n_pages else 0
        if self.options.dcat == "looping" and not following:
            following = min(2, n_pages)
        statements = list(self._catalog_statements(there[(page - 1) * size :][:size]))
        headers = {}
        if self.options.dcat == "link":
            if following:
                headers["Link"] = f'<{base}{following}>; rel="next"'
        else:
            statements += _hydra(base, page, following, len(there), n_pages)
        rdf_format = _FORMATS[extension]
        return respond(
            request,
            serialize(statements, rdf_format),
            content_type=rdf_format.media_type,
            headers=headers,
        )

    def _catalog_statements(self, numbers: Sequence[int]) -> Iterator[Statement]:
        catalog = f"<{self.origin}/>"
        yield catalog, RDF_TYPE, f"<{DCAT}Catalog>"
        for number in numbers:
            yield catalog, f"<{DCAT}dataset>", self._datasets.iri(number)
            yield from self._datasets.describe(number)

    def _respond_file(self, request: NodeRequest, match: re.Match[str]) -> NodeResponse:
        number, nth = int(match[1]), int(match[2])
        if not self._datasets.is_there(number):
            return NOT_FOUND
        if request.target != self._datasets.file_path(number, nth):
            return NOT_FOUND
        if nth >= self._datasets.n_own(number):
            return NOT_FOUND
        when = self._datasets.modified(number)
        if match[3] == "ttl":
            body = to_ntriples(self._datasets.file_statements(number))
            return respond(request, body, content_type=TURTLE, modified=when)
        body = f"k,v\n{number},{nth}\n".encode()
        return respond(request, body, content_type="text/csv", modified=when)

    # -- datasets --------------------------------------------------------------------


def _page(title: str, text: str) -> bytes:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="generator" content="ckan 2.10.4"><title>{title}</title></head>'
        f"<body><p>{text}</p></body></html>\n"
    ).encode()


def _hydra(
    base: str, page: int, following: int, n_items: int, n_pages: int
) -> Iterator[Statement]:
    view = f"<{base}{page}>"
    integer = f"{XSD}integer"
    yield view, RDF_TYPE, f"<{HYDRA}PagedCollection>"
    yield view, f"<{HYDRA}totalItems>", f'"{n_items}"^^<{integer}>'
    yield view, f"<{HYDRA}firstPage>", f"<{base}1>"
    yield view, f"<{HYDRA}lastPage>", f"<{base}{n_pages}>"
    if following:
        yield view, f"<{HYDRA}nextPage>", f"<{base}{following}>"


def _parameters(request: NodeRequest) -> dict[str, str]:
    """Query string, and the JSON object that a POST may carry."""
    try:
        given = {k: v[-1] for k, v in request.query_fields().items()}
        if request.body:
            given |= {k: str(v) for k, v in json.loads(request.body).items()}
    except (ValueError, AttributeError, RecursionError) as error:
        raise _Refusal(400, "Bad Request", f"JSON Error: {error}") from error
    return given


def _integer(given: dict[str, str], name: str, default: int) -> int:
    text = given.get(name, str(default))
    if not re.fullmatch("[0-9]{1,9}", text):
        raise _Refusal(409, "Validation Error", {name: ["Must be a natural number"]})
    return int(text)

"""A node that is a Source of ResourceSync: resources that come, change and go."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rdfcrawl.core.namespaces import RESOURCESYNC
from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.messages import NOT_FOUND, NodeResponse
from rdfcrawl.dataweb.nodes.resourcesync_documents import (
    WELL_KNOWN,
    Facts,
    write_document,
    write_item,
    write_package,
)
from rdfcrawl.dataweb.nodes.resourcesync_resources import (
    N_RDF,
    TYPES,
    ChangeKind,
    ChangingResources,
    ResourceEvent,
    ResourceVersion,
    is_rdf,
)
from rdfcrawl.dataweb.nodes.site import (
    EPOCH,
    FRONT_PAGE,
    HTML,
    XML,
    ChangingSite,
    SiteOptions,
    respond,
    w3c_date,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from rdfcrawl.dataweb.messages import NodeRequest
    from rdfcrawl.dataweb.nodes.base import NodePlan, Statement

Way = Literal["well-known", "robots", "html", "http"]
WAYS: tuple[Way, ...] = ("well-known", "robots", "html", "http")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSyncOptions(SiteOptions["ResourceSyncNode"]):
    """Options of a Source.

    Attributes:
        n_resources: at the beginning; half of them are RDF.
        list_size: entries of one list; if there are more, there is an index.
        package_size: resources of one ZIP of a dump.
        hashes: of `md5`, `sha-1`, `sha-256`; each entry has them all.
        n_wrong: resources whose hashes are wrong wherever they are stated.
        found_by: `/.well-known/resourcesync`, a `Sitemap:` line of robots.txt for the
            resource list, `link` of the front page, `Link` of every resource.
        has_dumps: there are a resource dump and a change dump too.
        has_lists: there are a resource list and a change list.
        mirrors: origins that have each resource too, at the same path; the first is
            preferred.
        has_patches: updates of JSON resources have a link to a JSON Patch.
    """

    kind: ClassVar[NodeKind] = NodeKind.RESOURCESYNC
    n_resources: int = 60
    list_size: int = 50_000
    package_size: int = 1000
    hashes: tuple[str, ...] = ("md5", "sha-256")
    n_wrong: int = 0
    found_by: tuple[Way, ...] = WAYS
    has_dumps: bool = True
    has_lists: bool = True
    mirrors: tuple[str, ...] = ()
    has_patches: bool = False

    def build(self, plan: NodePlan) -> ResourceSyncNode:
        """Make the node."""
        return ResourceSyncNode(plan, self)


@dataclass(frozen=True, slots=True)
class SourceChange:
    """One change: URL, kind, and time."""

    url: str
    kind: ChangeKind
    at: datetime


class ResourceSyncNode(ChangingSite):
    """Resources at `/data/NAME`, the documents of ResourceSync below `/resync/`."""

    def __init__(self, plan: NodePlan, options: ResourceSyncOptions) -> None:
        super().__init__(plan)
        self.options = options
        self._all = ChangingResources(
            plan.origin,
            options.n_resources,
            n_wrong=options.n_wrong,
            hashes=options.hashes,
            links=plan.links,
        )
        self._documents: dict[str, bytes] = {}

    # -- for tests -----------------------------------------------------------------

    @property
    def description_url(self) -> str:
        """URL of the source description."""
        return self.origin + WELL_KNOWN

    @property
    def capability_list_url(self) -> str:
        """URL of the one capability list."""
        return f"{self.origin}/resync/capabilitylist.xml"

    @property
    def wrong_urls(self) -> frozenset[str]:
        """URLs of present resources whose hashes are wrong."""
        return frozenset(self.origin + path for path in self._all.wrong_paths())

    def state(self) -> dict[str, bytes]:
        """Return all present resources: URL and bytes."""
        with self._lock:
            return {
                self.origin + path: self._all.body(one)
                for path, one in self._all.versions.items()
            }

    def digests(self) -> dict[str, str]:
        """Return all present resources: URL and SHA-256 in hex."""
        return {url: hashlib.sha256(b).hexdigest() for url, b in self.state().items()}

    def changes(self) -> list[SourceChange]:
        """Return all changes since the beginning, in their order."""
        return [
            SourceChange(self.origin + one.path, one.kind, one.at)
            for one in self._all.events
        ]

    def evolve(self, n: int = 20, *, seed: int = 1) -> Counter[str]:
        """Make `n` changes in the hour after the last: equal seeds make equal ones.

        A tenth are moves: the resource is deleted here and created there with the
        same bytes, so that there are more entries in the change list than changes.

        Returns:
            How many there are of `created`, `updated`, `deleted` and `moved`.
        """
        with self._lock:
            self._documents.clear()
            return self._all.evolve(n, seed=seed)

    def change(self, **arguments: Any) -> object:
        """Do `evolve`."""
        return dict(self.evolve(**arguments))

    def iter_truth(self) -> Iterator[Statement]:
        """Yield the triples of all present RDF resources."""
        for one in self._all.versions.values():
            if is_rdf(one.number):
                yield from self._all.statements(one)

    # -- for clients ---------------------------------------------------------------

    @property
    def robots(self) -> str:
        """The resource list as a sitemap."""
        text = "User-agent: *\nDisallow:\n"
        if "robots" in self.options.found_by:
            text += f"Sitemap: {self.origin}/resync/resourcelist.xml\n"
        return text

    def respond_other(self, request: NodeRequest) -> NodeResponse:
        """Serve resources and documents."""
        path = request.target
        known = self._all.versions.get(path)
        if known is not None:
            headers = {}
            if "http" in self.options.found_by:
                headers["Link"] = f'<{self.capability_list_url}>; rel="resourcesync"'
            return respond(
                request,
                self._all.body(known),
                content_type=TYPES[known.number % len(TYPES)][1],
                modified=known.modified,
                headers=headers,
            )
        if path == "/":
            return respond(request, self._front_page(), content_type=HTML)
        if path.startswith("/patch/"):
            return self._respond_patch(request)
        return self._respond_document(request)

    def _front_page(self) -> bytes:
        if "html" not in self.options.found_by:
            return FRONT_PAGE
        link = f'<link rel="resourcesync" href="{self.capability_list_url}">'
        return FRONT_PAGE.replace(b"<title>", link.encode() + b"<title>")

    def _respond_document(self, request: NodeRequest) -> NodeResponse:
        path = request.target
        if not self._documents:
            self._documents = dict(self._iter_documents())
        body = self._documents.get(path)
        if body is None and path.startswith("/resync/"):
            body = self._package(path)
        if body is None:
            return NOT_FOUND
        content_type = "application/zip" if path.endswith(".zip") else XML
        return respond(request, body, content_type=content_type, modified=self._all.now)

    def _respond_patch(self, request: NodeRequest) -> NodeResponse:
        number, _, revision = request.target[7:].partition("-")
        if not (number.isdecimal() and revision.isdecimal()):
            return NOT_FOUND
        patch = [{"op": "replace", "path": "/revision", "value": int(revision)}]
        body = json.dumps(patch).encode()
        return respond(request, body, content_type="application/json-patch+json")

    # -- documents -------------------------------------------------------------------

    def _iter_documents(self) -> Iterator[tuple[str, bytes]]:
        if "well-known" in self.options.found_by:
            yield WELL_KNOWN, self._describe()
        yield "/resync/capabilitylist.xml", self._list_capabilities()
        resources = list(self._all.versions.items())
        if self.options.has_lists:
            items = [self._write_resource(*one) for one in resources]
            md = {"capability": "resourcelist", "at": w3c_date(self._all.now)}
            yield from self._iter_lists("resourcelist", items, md, [])
            changes = [self._write_change(one) for one in self._all.events]
            md = {"capability": "changelist", "from": w3c_date(EPOCH)}
            yield from self._iter_lists("changelist", changes, md, self._all.events)
        if self.options.has_dumps:
            yield self._list_packages("resourcedump", len(resources))
            yield self._list_packages("changedump", len(self._all.events))

    def _describe(self) -> bytes:
        item = write_item(self.capability_list_url, md={"capability": "capabilitylist"})
        return write_document([item], md={"capability": "description"})

    def _list_capabilities(self) -> bytes:
        lists = ("resourcelist", "changelist") if self.options.has_lists else ()
        dumps = ("resourcedump", "changedump") if self.options.has_dumps else ()
        items = [
            write_item(f"{self.origin}/resync/{name}.xml", md={"capability": name})
            for name in (*lists, *dumps)
        ]
        up = {"rel": "up", "href": self.description_url}
        return write_document(items, md={"capability": "capabilitylist"}, links=[up])

    def _iter_lists(
        self, name: str, items: list[str], md: Facts, events: Sequence[ResourceEvent]
    ) -> Iterator[tuple[str, bytes]]:
        """Write a list, or an index of lists; only the last of changes is open."""
        up = {"rel": "up", "href": self.capability_list_url}
        size = self.options.list_size
        if len(items) <= size:
            yield f"/resync/{name}.xml", write_document(items, md=md, links=[up])
            return
        index = {"rel": "index", "href": f"{self.origin}/resync/{name}.xml"}
        parts = []
        for start in range(0, len(items), size):
            path = f"/resync/{name}-{start // size}.xml"
            part_md = md | _span(events, start, start + size)
            parts.append(
                write_item(
                    self.origin + path,
                    md={k: v for k, v in part_md.items() if k != "capability"},
                    is_index=True,
                )
            )
            part = items[start : start + size]
            yield path, write_document(part, md=part_md, links=[up, index])
        body = write_document(parts, md=md, links=[up], is_index=True)
        yield f"/resync/{name}.xml", body

    def _list_packages(self, name: str, n_items: int) -> tuple[str, bytes]:
        size = self.options.package_size
        time = {"at": w3c_date(self._all.now)}
        if name == "changedump":
            time = {"from": w3c_date(EPOCH)}
        items = []
        for start in range(0, n_items, size):
            path = f"/resync/{name}-{start // size}.zip"
            md = {"type": "application/zip", **time}
            if name == "changedump":
                md |= _span(self._all.events, start, start + size)
            items.append(write_item(self.origin + path, md=md))
        up = {"rel": "up", "href": self.capability_list_url}
        document = write_document(items, md={"capability": name, **time}, links=[up])
        return f"/resync/{name}.xml", document

    def _package(self, path: str) -> bytes | None:
        """Return one ZIP of a dump: manifest and resources."""
        name, _, number = path[8:].removesuffix(".zip").partition("-")
        is_ours = self.options.has_dumps and path.endswith(".zip")
        if not (is_ours and name in ("resourcedump", "changedump")):
            return None
        if not number.isdecimal():
            return None
        start = int(number) * self.options.package_size
        end = start + self.options.package_size
        items: list[str] = []
        files: list[tuple[str, bytes]] = []
        if name == "resourcedump":
            md = {"at": w3c_date(self._all.now)}
            for url_path, one in list(self._all.versions.items())[start:end]:
                inside = f"resources/{len(files)}{url_path[url_path.rindex('.') :]}"
                files.append((inside, self._all.body(one)))
                items.append(self._write_resource(url_path, one, inside))
        else:
            md = {"from": w3c_date(EPOCH)} | _span(self._all.events, start, end)
            for event in self._all.events[start:end]:
                inside = ""
                if event.kind != "deleted":
                    inside = f"changes/{len(files)}.dat"
                    files.append((inside, self._all.body(event.version)))
                items.append(self._write_change(event, inside))
        if not items:
            return None
        md = {"capability": f"{name}-manifest", **md}
        manifest = write_document(items, md=md)
        return write_package([("manifest.xml", manifest), *files])

    def _write_resource(self, path: str, one: ResourceVersion, inside: str = "") -> str:
        facts = self._all.facts(one) | {"path": f"/{inside}" if inside else ""}
        return write_item(
            self.origin + path,
            md=facts,
            lastmod=w3c_date(one.modified),
            links=self._links(path, one),
        )

    def _write_change(self, event: ResourceEvent, inside: str = "") -> str:
        md = {"change": event.kind, "datetime": w3c_date(event.at)}
        url = self.origin + event.path
        lastmod = w3c_date(event.at)
        if event.kind == "deleted":
            return write_item(url, md=md, lastmod=lastmod)
        md |= self._all.facts(event.version) | {"path": f"/{inside}" if inside else ""}
        links = self._links(event.path, event.version)
        is_json = event.version.number % len(TYPES) == N_RDF
        if self.options.has_patches and is_json and event.kind == "updated":
            name = f"{event.version.number}-{event.version.revision}"
            patch_type = "application/json-patch+json"
            href = f"{self.origin}/patch/{name}"
            links.append(
                {"rel": f"{RESOURCESYNC}patch", "href": href, "type": patch_type}
            )
        return write_item(url, md=md, lastmod=lastmod, links=links)

    def _links(self, path: str, one: ResourceVersion) -> list[Facts]:
        links = [
            {"rel": "duplicate", "pri": str(place), "href": mirror + path}
            | {"modified": w3c_date(one.modified)}
            for place, mirror in enumerate(self.options.mirrors, 1)
        ]
        if not is_rdf(one.number):
            about = f"{self.origin}/data/r{one.number - one.number % len(TYPES)}.ttl"
            links.append({"rel": "describedby", "href": about})
        return links


def _span(events: Sequence[ResourceEvent], start: int, end: int) -> Facts:
    """Return `from` and `until` of some changes in a row; the last ones are open."""
    if not events:
        return {}
    begin = events[start].at if start else EPOCH
    span = {"from": w3c_date(begin)}
    if end < len(events):
        span["until"] = w3c_date(events[end].at)
    return span

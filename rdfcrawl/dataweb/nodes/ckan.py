"""A node that behaves like the API of a CKAN portal."""

from __future__ import annotations

import json
import re
import uuid
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.namespaces import DCAT, DCTERMS
from rdfcrawl.dataweb.messages import NOT_FOUND, NodeResponse, json_response
from rdfcrawl.dataweb.nodes.base import RDF_TYPE, NodePlan, WebNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdfcrawl.dataweb.messages import NodeRequest
    from rdfcrawl.dataweb.nodes.base import Statement

DCT_TITLE = f"<{DCTERMS}title>"

MAX_ROWS = 1000  # CKAN's own default of ckan.search.rows_max
DEFAULT_ROWS = 10

_ACTION = re.compile(r"/api/(?:3/)?action/([a-z_]{1,50})/?\Z")
_FRONT_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="generator" content="ckan 2.8.1"><title>Welcome - CKAN</title></head>
<body><p>A portal with {count} datasets.</p></body></html>
"""


class _ActionError(Exception):
    """An error that CKAN reports as `success: false`."""

    def __init__(self, status: int, kind: str, details: dict[str, Any]) -> None:
        super().__init__(kind)
        self.status = status
        self.error = {"__type": kind, **details}


class CkanNode(WebNode):
    """One dataset per link, as ORCA fills its portals."""

    def __init__(self, plan: NodePlan) -> None:
        super().__init__(plan)
        self._packages: dict[str, dict[str, Any]] = {}
        for url in plan.links:
            name = _strip(url)
            while name in self._packages:
                name += "x"
            self._packages[name] = _package(name, url)
        self._by_id = {one["id"]: one for one in self._packages.values()}
        page = _FRONT_PAGE.format(count=len(self._packages)).encode()
        self._front = NodeResponse(200, page, content_type="text/html; charset=utf-8")
        self._actions: dict[str, Callable[[dict[str, str]], object]] = {
            "package_list": self._package_list,
            "package_show": self._package_show,
            "package_search": self._package_search,
            "site_read": lambda _: True,
            "status_show": self._status_show,
        }

    def respond(self, request: NodeRequest) -> NodeResponse:
        """Respond to the front page and the actions of the API, else 404."""
        if request.path == "/":
            return self._front
        if request.path in ("/api/3", "/api/3/", "/api"):
            return json_response(200, {"version": 3})
        match = _ACTION.match(request.path)
        if not match:
            return NOT_FOUND
        action = self._actions.get(match[1])
        if action is None:
            message = f"Bad request - Action name not known: {match[1]}"
            return json_response(400, message)
        envelope: dict[str, Any] = {
            "help": f"{self.plan.origin}/api/3/action/help_show?name={match[1]}"
        }
        try:
            result = action(_parameters(request))
        except _ActionError as error:
            envelope |= {"success": False, "error": error.error}
            return json_response(error.status, envelope)
        return json_response(200, envelope | {"success": True, "result": result})

    def iter_truth(self) -> Iterator[Statement]:
        """Yield five patterns per link; each stands for itself, none is joined."""
        for number, url in enumerate(self.plan.links):
            dataset, distribution = f"_:d{number}", f"_:r{number}"
            yield dataset, RDF_TYPE, f"<{DCAT}Dataset>"
            yield dataset, f"<{DCAT}distribution>", distribution
            yield dataset, DCT_TITLE, f'"Dataset {url}"'
            yield distribution, RDF_TYPE, f"<{DCAT}Distribution>"
            yield distribution, f"<{DCAT}accessURL>", f"<{url}>"

    def _package_list(self, parameters: dict[str, str]) -> list[str]:
        offset = _integer(parameters, "offset", 0)
        limit = _integer(parameters, "limit", len(self._packages))
        return sorted(self._packages)[offset : offset + limit]

    def _package_show(self, parameters: dict[str, str]) -> dict[str, Any]:
        wanted = parameters.get("id")
        if not wanted:
            raise _ActionError(409, "Validation Error", {"id": ["Missing value"]})
        package = self._packages.get(wanted) or self._by_id.get(wanted)
        if package is None:
            raise _ActionError(404, "Not Found Error", {"message": "Not found"})
        return package

    def _package_search(self, parameters: dict[str, str]) -> dict[str, Any]:
        start = _integer(parameters, "start", 0)
        rows = min(_integer(parameters, "rows", DEFAULT_ROWS), MAX_ROWS)
        words = parameters.get("q", "").replace("*:*", "").lower().split()
        found = [
            package
            for name, package in sorted(self._packages.items())
            if all(word in name or word in package["title"].lower() for word in words)
        ]
        return {
            "count": len(found),
            "sort": "name asc",
            "facets": {},
            "search_facets": {},
            "results": found[start : start + rows],
        }

    def _status_show(self, _: dict[str, str]) -> dict[str, Any]:
        return {
            "ckan_version": "2.8.1",
            "site_url": self.plan.origin,
            "site_title": "CKAN",
            "site_description": "",
            "locale_default": "en",
            "error_emails_to": None,
            "extensions": ["stats"],
        }


def _strip(url: str) -> str:
    return re.sub("[^a-z0-9]", "", url.lower())


def _package(name: str, url: str) -> dict[str, Any]:
    package_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name}/{url}"))
    resource = {
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name}/{url}/dist")),
        "package_id": package_id,
        "name": f"dist{name}",
        "url": url,
        "format": "",
        "position": 0,
        "state": "active",
    }
    return {
        "id": package_id,
        "name": name,
        "title": f"Dataset {url}",
        "author": "ldcbench",
        "organization": {"name": "dice-group", "title": "dice-group"},
        "private": False,
        "state": "active",
        "type": "dataset",
        "num_resources": 1,
        "resources": [resource],
        "num_tags": 0,
        "tags": [],
        "extras": [],
    }


def _parameters(request: NodeRequest) -> dict[str, str]:
    """Query string, and the JSON object that a POST may carry."""
    try:
        parameters = {k: v[-1] for k, v in request.query_fields().items()}
        if request.body:
            members = json.loads(request.body)
            parameters |= {k: str(v) for k, v in members.items()}
    except (ValueError, AttributeError, RecursionError) as error:
        message = f"JSON Error: {error}"
        raise _ActionError(400, "Bad Request", {"message": message}) from error
    return parameters


def _integer(parameters: dict[str, str], name: str, default: int) -> int:
    text = parameters.get(name, str(default))
    if not re.fullmatch("[0-9]{1,9}", text):
        raise _ActionError(
            409, "Validation Error", {name: ["Must be a natural number"]}
        )
    return int(text)

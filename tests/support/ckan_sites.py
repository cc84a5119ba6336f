"""A site of a CKAN portal and of the files that its datasets have.

Source: CKAN 2.10 documentation, "API guide" and "Action API reference".
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from tests.crawl.sources.test_revisits import DatedSite

if TYPE_CHECKING:
    from tests.conftest import RawRequest
    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

NTRIPLES = "application/n-triples"
_ACTION = "/api/3/action/"
_FROM = re.compile(r'metadata_modified:\[\s*"?([^\s"\]]+)').search
_IDS = re.compile(r'"([0-9a-z-]+)"').findall


class CkanSite(DatedSite):
    """A portal and files of one statement each.

    Attributes:
        packages: the datasets by id, as `package_show` has them.
        failing: actions that answer 503.
    """

    def __init__(self, loopback: Loopback, host: str) -> None:
        super().__init__(loopback, host)
        self.packages: dict[str, dict[str, Any]] = {}
        self.failing: set[str] = set()
        self._clock = 0
        self.server.pages["*"] = self._reply

    def file(self, path: str, text: str, *, is_tagged: bool = True) -> str:
        """Serve a file; return its URL."""
        body = f'<{self.at(path)}> <urn:x:says> "{text}" .\n'.encode()
        (self.tagged if is_tagged else self.put)(path, body, NTRIPLES)
        return self.at(path)

    def dataset(self, name: str, *resources: dict[str, Any], **members: Any) -> None:
        """Create a dataset, or replace it."""
        self._clock += 1
        self.packages[name] = {
            "id": name,
            "name": name,
            "title": name,
            "state": "active",
            "private": False,
            "metadata_modified": f"2024-01-01T{self._clock // 60:02}:"
            f"{self._clock % 60:02}:00.000000",
            "resources": [
                {"id": f"{name}-{n}", "state": "active", "format": "N-Triples", **one}
                for n, one in enumerate(resources)
            ],
            **members,
        }

    def harvest(self, commands: Commands, **settings: Any) -> CrawlResult:
        """Harvest the portal."""
        arguments = {"portals": self.at("/")}
        return commands.crawl(arguments=arguments, spider="ckan", **settings)

    def texts(self, result: CrawlResult) -> dict[str, str]:
        """Return the statements of the latest version of each document."""
        says = {(g, o) for _, p, o, g in result.latest_quads if p == "urn:x:says"}
        return {g.removeprefix(self.at("/")): o.strip('"') for g, o in says}

    def _reply(self, request: RawRequest) -> bytes:
        path, query = urlsplit(request.target).path, urlsplit(request.target).query
        action = path.removeprefix(_ACTION)
        if path == action:
            return self._loopback.response(b"no", "text/plain", status="404 No")
        if action in self.failing:
            return self._loopback.response(b"", status="503 Busy")
        visible = [
            x
            for x in self.packages.values()
            if x["state"] == "active" and not x["private"]
        ]
        given = dict(parse_qsl(query))
        status = "200 OK"
        result: Any = None
        if action == "status_show":
            result = {"site_title": "Portal", "ckan_version": "2.10.4"}
        elif action == "package_list":
            result = sorted(x["name"] for x in visible)[int(given.get("offset", 0)) :]
        elif action == "package_search":
            result = _found(visible, given)
        elif action == "package_show":
            result = next((x for x in visible if x["id"] == given["id"]), None)
        if result is None:
            status = "404 Not Found"
        error = {"__type": "Not Found Error", "message": "Not found"}
        reply = {"success": result is not None, "result": result, "error": error}
        body = json.dumps(reply).encode()
        return self._loopback.response(body, "application/json", status=status)


def _found(visible: list[dict[str, Any]], given: dict[str, str]) -> dict[str, Any]:
    """Return the result of a search in the order of changes."""
    text = given.get("fq", "")
    if since := _FROM(text):
        first = since[1].rstrip("Z")
        visible = [x for x in visible if x["metadata_modified"] >= first]
    elif "id:(" in text:
        ids = set(_IDS(text))
        visible = [x for x in visible if x["id"] in ids]
    key = "metadata_modified" if "metadata_modified" in given.get("sort", "") else "id"
    rows = sorted(visible, key=lambda one: (one[key], one["id"]))
    start = int(given.get("start", 0))
    return {
        "count": len(rows),
        "results": rows[start : start + int(given.get("rows", 10))],
    }

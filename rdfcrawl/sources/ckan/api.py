"""Requests of the action API, version 3.

Source: CKAN documentation, "API guide" and "Action API reference".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote, urlencode

from rdfcrawl.uri import MAX_URL_CHARS

MAX_ROWS: Final = 1000  # CKAN's own default of ckan.search.rows_max
AUTHORIZATION: Final = "Authorization"  # header of keys and tokens in all versions

_IN_PHRASE = re.compile(r'(["\\])')
_NOT_NEGATED = re.compile(r"\s*(?:[-!]|NOT\b)").match
_HAS_OR = re.compile(r"\bOR\b|\|\|").search


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalScope:
    """The part of a portal to harvest; the entire portal by default.

    `q` is a query of the search box, `fq` a filter query in Solr's syntax.
    """

    organization: str = ""
    group: str = ""
    q: str = ""
    fq: str = ""

    @property
    def is_unrestricted(self) -> bool:
        """Whether the entire portal is harvested."""
        return not (self.organization or self.group or self.q.strip() or self.fq)

    def filters(self) -> list[str]:
        """Return the clauses of `fq`, each of them required."""
        clauses = []
        if self.fq.strip():
            # A negation alone in brackets matches nothing in Lucene.
            is_bare = _NOT_NEGATED(self.fq) and not _HAS_OR(self.fq)
            clauses.append(self.fq.strip() if is_bare else f"+({self.fq.strip()})")
        if self.organization:
            name = phrase(self.organization)
            clauses.append(f"+(organization:{name} OR owner_org:{name})")
        if self.group:
            clauses.append(f"+groups:{phrase(self.group)}")
        return clauses


ENTIRE_PORTAL: Final = PortalScope()


@dataclass(frozen=True, slots=True, kw_only=True)
class CkanRequest:
    """A request, a POST if it has a body; `repr` hides the headers with the key."""

    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalAddress:
    """URL of a portal, and the requests of a harvest."""

    # of the front page, without the final slash: `https://h` or, below a path,
    # `https://h/data`
    url: str
    scope: PortalScope = ENTIRE_PORTAL
    # API key or token, sent only to `url`
    key: str = field(default="", repr=False)

    @property
    def catalogue_urls(self) -> tuple[str, ...]:
        """Alternative URLs of the catalogue in ckanext-dcat, fastest to read first.

        A portal without ckanext-dcat responds with 404.

        Source: the documentation of ckanext-dcat, "RDF endpoints".
        """
        return tuple(f"{self.url}/catalog.{name}" for name in ("ttl", "rdf", "jsonld"))

    def action(
        self, name: str, parameters: Mapping[str, str | int] | None = None
    ) -> CkanRequest:
        """Return the request of one action.

        A cacheable GET, or a POST if the URL would be too long.
        """
        url = f"{self.url}/api/3/action/{name}"
        headers = [("Accept", "application/json")]
        if self.key:
            headers.append((AUTHORIZATION, self.key))
        query = urlencode(parameters or {}, errors="replace")
        if len(url) + 1 + len(query) <= MAX_URL_CHARS:
            full = f"{url}?{query}" if query else url
            return CkanRequest(url=full, headers=tuple(headers))
        headers.append(("Content-Type", "application/json"))
        body = json.dumps(dict(parameters or {})).encode()
        return CkanRequest(url=url, headers=tuple(headers), body=body)

    def search(
        self,
        *,
        rows: int,
        start: int = 0,
        sort: str = "",
        modified_from: str = "",
        clauses: Iterable[str] = (),
    ) -> CkanRequest:
        """Return the request of a page of `package_search`, restricted to the scope.

        Args:
            rows: size of the page; portals may return fewer (`MAX_ROWS`, often 100).
            start: rows before the page.
            sort: order in Solr's syntax; empty leaves it to the portal.
            modified_from: minimum `metadata_modified`, in the form of `solr_time`.
            clauses: further clauses of `fq`.
        """
        filters = [*self.scope.filters(), *clauses]
        if modified_from:
            filters.append(f"+metadata_modified:[{modified_from} TO *]")
        parameters: dict[str, str | int] = {"rows": rows, "start": start}
        if sort:
            parameters["sort"] = sort
        if filters:
            parameters["fq"] = " ".join(filters)
        if self.scope.q.strip():
            parameters["q"] = self.scope.q.strip()
        return self.action("package_search", parameters)

    def search_ids(self, ids: Iterable[str], *, rows: int) -> CkanRequest:
        """Return a request that finds which of the datasets exist."""
        alternatives = " OR ".join(map(phrase, ids))
        plain = PortalAddress(url=self.url, key=self.key)
        return plain.search(rows=rows, clauses=[f"+id:({alternatives})"])

    def show(self, name: str) -> CkanRequest:
        """Return the request of one dataset by name or id."""
        return self.action("package_show", {"id": name})

    def status(self) -> CkanRequest:
        """Return the request for the description of the portal."""
        return self.action("status_show")

    def page(self, section: str, name: str) -> str:
        """Return the URL of a page, for example `page("dataset", id)`."""
        return f"{self.url}/{section}/{path_segment(name)}"


def path_segment(name: str) -> str:
    """Return a name as one segment of a path."""
    return quote(name, safe="~", errors="replace")


def phrase(text: str) -> str:
    r"""Return a text as a phrase of Solr's syntax.

    >>> phrase('a "b"')
    '"a \\"b\\""'
    """
    return '"' + _IN_PHRASE.sub(r"\\\1", text) + '"'

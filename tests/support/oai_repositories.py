"""A repository of OAI-PMH 2.0 on loopback, as the protocol describes it.

Source: The Open Archives Initiative Protocol for Metadata Harvesting 2.0, sections 2.5
(deleted records, datestamps), 3 (errors, flow control) and 4 (verbs).
"""

from __future__ import annotations

import gzip
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape, quoteattr

OAI_DC = "http://www.openarchives.org/OAI/2.0/oai_dc/"
DC = "http://purl.org/dc/elements/1.1/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@dataclass(slots=True)
class RepositoryItem:
    """An item; `stamp` is a day or a time in UTC."""

    name: str
    stamp: str
    title: str = ""
    sets: tuple[str, ...] = ()
    is_deleted: bool = False
    is_broken: bool = False  # its metadata are not well-formed
    url: str = ""


@dataclass(slots=True)
class OaiRepository:
    """A repository, and the faults that real ones have.

    Attributes:
        deleted: support for deleted records: `no`, `transient` or `persistent`.
        day: datestamps are days.
        says_times: its description says that they are times.
        page: records of a page.
        busy: numbers of the list requests that are 503, from 1.
        expired: numbers of the list requests whose token has expired, from 1.
        cut: numbers of the list requests whose response is cut, from 1.
        broken: numbers of the list requests that are a page of an error, from 1.
    """

    items: dict[str, RepositoryItem] = field(default_factory=dict)
    deleted: str = "persistent"
    day: bool = True
    says_times: bool = False
    page: int = 3
    now: str = "2026-01-01T00:00:00Z"
    prefixes: tuple[str, ...] = ("oai_dc",)
    zips: bool = False
    busy: frozenset[int] = frozenset()
    expired: frozenset[int] = frozenset()
    cut: frozenset[int] = frozenset()
    broken: frozenset[int] = frozenset()
    requests: list[dict[str, str]] = field(default_factory=list)
    n_lists: int = 0
    origin: str = ""

    def put(self, *items: RepositoryItem) -> None:
        """Add or replace items."""
        self.items |= {each.name: each for each in items}

    @property
    def base(self) -> str:
        """The base URL."""
        return f"{self.origin}/oai"

    def record_of(self, name: str, prefix: str = "oai_dc") -> str:
        """Return the URL of the record of an item."""
        identifier = f"oai%3Ae.example%3A{name}"
        return (
            f"{self.base}?verb=GetRecord&identifier={identifier}"
            f"&metadataPrefix={prefix}"
        )

    def lists(self) -> list[dict[str, str]]:
        """Return the arguments of the requests of lists."""
        return [each for each in self.requests if each.get("verb") == "ListRecords"]

    def forget(self) -> None:
        """Forget the requests and their faults so far."""
        self.requests.clear()
        self.n_lists = 0
        self.busy = self.expired = self.cut = self.broken = frozenset()

    # -- responses ---------------------------------------------------------------------

    def respond(self, target: str) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of the response to a request."""
        parts = urlsplit(target)
        if parts.path != "/oai":
            return 404, {}, b""
        given = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        self.requests.append(given)
        verb = given.get("verb", "")
        if verb == "ListRecords":
            self.n_lists += 1
            if self.n_lists in self.busy:
                return 503, {"Retry-After": "1"}, b""
            if self.n_lists in self.broken:
                return 200, {"Content-Type": "text/html"}, b"<html><p>error</p></html>"
        content = self._content(verb, given).encode()
        if verb == "ListRecords" and self.n_lists in self.cut:
            content = content[: len(content) // 2]
        headers = {"Content-Type": "text/xml; charset=utf-8"}
        if self.zips:
            headers["Content-Encoding"] = "gzip"
            content = gzip.compress(content)
        return 200, headers, content

    def _content(self, verb: str, given: dict[str, str]) -> str:
        makers = {
            "Identify": self._identify,
            "ListMetadataFormats": self._formats,
            "ListRecords": self._records,
            "GetRecord": self._record,
        }
        maker = makers.get(verb)
        if maker is None:
            body, named = '<error code="badVerb">Illegal OAI verb</error>', ""
        else:
            body = maker(given)
            pairs = (f" {name}={quoteattr(value)}" for name, value in given.items())
            named = "" if body.startswith("<error") else "".join(pairs)
            if not body.startswith("<error"):
                body = f"<{verb}>{body}</{verb}>"
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"'
            ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
            f"<responseDate>{self.now}</responseDate>"
            f"<request{named}>{self.base}</request>{body}</OAI-PMH>"
        )

    def _identify(self, _: dict[str, str]) -> str:
        stamps = [each.stamp for each in self.items.values()]
        is_day = self.day and not self.says_times
        form = "YYYY-MM-DD" if is_day else "YYYY-MM-DDThh:mm:ssZ"
        return (
            f"<repositoryName>Test</repositoryName><baseURL>{self.base}</baseURL>"
            "<protocolVersion>2.0</protocolVersion>"
            "<adminEmail>admin@e.example</adminEmail>"
            f"<earliestDatestamp>{min(stamps, default='2000-01-01')}"
            f"</earliestDatestamp><deletedRecord>{self.deleted}</deletedRecord>"
            f"<granularity>{form}</granularity>"
        )

    def _formats(self, _: dict[str, str]) -> str:
        namespaces = {
            "oai_dc": OAI_DC,
            "rdf": RDF,
            "mods": "http://www.loc.gov/mods/v3",
        }
        return "".join(
            f"<metadataFormat><metadataPrefix>{each}</metadataPrefix>"
            f"<schema>{namespaces[each]}schema.xsd</schema>"
            f"<metadataNamespace>{namespaces[each]}</metadataNamespace>"
            "</metadataFormat>"
            for each in self.prefixes
        )

    def _records(self, given: dict[str, str]) -> str:
        start = 0
        if "resumptionToken" in given:  # an exclusive argument
            if len(given) > 2:
                return '<error code="badArgument">exclusive</error>'
            if self.n_lists in self.expired:
                return '<error code="badResumptionToken">expired</error>'
            start_, prefix, since, until, chosen = given["resumptionToken"].split("!")
            start = int(start_)
        else:
            prefix = given.get("metadataPrefix", "")
            since, until = given.get("from", ""), given.get("until", "")
            chosen = given.get("set", "")
            length = len("2026-01-01" if self.day else "2026-01-01T00:00:00Z")
            if not prefix or any(x and len(x) > length for x in (since, until)):
                return '<error code="badArgument">missing or too fine</error>'
        if prefix not in self.prefixes:
            return '<error code="cannotDisseminateFormat">no</error>'
        found = self._selected(since, until, chosen)
        if not found:
            return '<error code="noRecordsMatch">none</error>'
        rows = [self._row(x, prefix) for x in found[start : start + self.page]]
        following = start + self.page
        token = ""
        if following < len(found):
            token = "!".join((str(following), prefix, since, until, chosen))
        if token or start:
            size = f'completeListSize="{len(found)}" cursor="{start}"'
            rows.append(f"<resumptionToken {size}>{escape(token)}</resumptionToken>")
        return "".join(rows)

    def _selected(self, since: str, until: str, chosen: str) -> list[RepositoryItem]:
        items = sorted(self.items.values(), key=lambda each: (each.stamp, each.name))
        return [
            each
            for each in items
            if each.stamp >= since
            and (not until or each.stamp[: len(until)] <= until)
            and (not chosen or chosen in each.sets)
            and not (each.is_deleted and self.deleted == "no")
        ]

    def _record(self, given: dict[str, str]) -> str:
        item = self.items.get(given.get("identifier", "").rpartition(":")[2])
        if item is None:
            return '<error code="idDoesNotExist">no</error>'
        return self._row(item, given.get("metadataPrefix", ""))

    def _row(self, item: RepositoryItem, prefix: str) -> str:
        sets = "".join(f"<setSpec>{each}</setSpec>" for each in item.sets)
        status = ' status="deleted"' if item.is_deleted else ""
        header = (
            f"<header{status}><identifier>oai:e.example:{item.name}</identifier>"
            f"<datestamp>{item.stamp}</datestamp>{sets}</header>"
        )
        if item.is_deleted:
            return f"<record>{header}</record>"
        title = "a < b & c </x>" if item.is_broken else escape(item.title)
        if prefix == "rdf":
            metadata = (
                f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:dc="{DC}"><rdf:Description'
                f' rdf:about="http://e.example/{item.name}"><dc:title>{title}'
                "</dc:title></rdf:Description></rdf:RDF>"
            )
        else:
            url = f"<dc:identifier>{item.url}</dc:identifier>" if item.url else ""
            metadata = (
                f'<oai_dc:dc xmlns:oai_dc="{OAI_DC}" xmlns:dc="{DC}">'
                f'<dc:title xml:lang="en">{title}</dc:title>{url}</oai_dc:dc>'
            )
        return f"<record>{header}<metadata>{metadata}</metadata></record>"


class ServedRepository:
    """Serves a repository on an address of loopback."""

    def __init__(self, repository: OaiRepository, host: str) -> None:
        self.repository = repository
        self.hits: Counter[str] = Counter()
        served = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                served.hits[self.path] += 1
                status, headers, body = served.repository.respond(self.path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer((host, 0), Handler)
        repository.origin = f"http://{host}:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

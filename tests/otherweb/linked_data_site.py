"""Linked Data in its usual manners: 303, hashes, content negotiation, links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyoxigraph as ox

from tests.otherweb.pages import Page, plain_page
from tests.otherweb.site import NOT_FOUND, Answer, Request, Site, see_other
from tests.otherweb.statements import (
    FOAF,
    FORMATS,
    RDFS,
    population,
    triples,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_node = ox.NamedNode


class SeeOtherSite(Site):
    """Things are not documents: `/id/x` answers 303 and the way to `/data/x`.

    Attributes:
        start_url: the thing that leads to everything else.
    """

    robots = (
        "User-agent: other-bot\nDisallow: /\n\n"
        "User-agent: *\nDisallow: /secret/\nDisallow: /*?print=\n"
    )

    def __init__(self, host: str, *, n: int) -> None:
        super().__init__(host)
        self.start_url = self.url("/id/web")
        self.n = n
        self._documents: dict[str, list[ox.Triple]] = {}
        for i in range(n):
            self._documents[f"p{i}"] = self._person(i)
        pair = "</id/pair-a> foaf:nick 'a' . </id/pair-b> foaf:nick 'b'@en ."
        self._documents["pair"] = triples(pair, base=self.root)

    def _person(self, i: int) -> list[ox.Triple]:
        thing = f"</id/p{i}>"
        return triples(
            f"""{thing} a foaf:Person ; foaf:name "Person {i}"@en, "人{i}"@ja ;
            foaf:age {i:03} ; dct:extent 1.50, 1.0e1 ;
            foaf:knows </id/p{(i * 3 + 1) % self.n}>, </id/p{(i + 1) % self.n}> ;
            foaf:made [ dct:title '''two
lines {i}''' ; dct:hasPart ("a" "b") ] .
            </data/p{i}> foaf:primaryTopic {thing} ; rdfs:seeAlso </secret/p{i}>,
            </data/p{i}?print=1> .""",
            base=self.root,
        )

    def lead_to(self, urls: Sequence[str]) -> None:
        """Link to other sites from the start."""
        links = [self.url("/id/p0"), self.url("/id/pair-a"), self.url("/id/pair-b")]
        start = _node(self.start_url)
        self._documents["web"] = [
            ox.Triple(start, _node(RDFS + "seeAlso"), _node(url))
            for url in [*links, self.url("/id/hidden"), *urls]
        ]

    def published(self) -> set[ox.Triple]:
        """Return all statements that may be fetched."""
        return set().union(*self._documents.values())

    def answer(self, request: Request) -> Answer:
        """Redirect from things to their documents, and serve these."""
        room, _, name = request.target[1:].partition("/")
        if room == "id" and name == "hidden":
            return see_other("/secret/hidden")
        if room == "id":
            name = "pair" if name.startswith("pair-") else name
            return see_other(f"/data/{name}") if name in self._documents else NOT_FOUND
        if room == "data" and name in self._documents:
            media_type = request.prefers(["text/html", *FORMATS])
            if media_type is None:
                return Answer(406, body=b"RDF or HTML?")
            if media_type == "text/html":
                return Answer(200, media_type, b"<title>For people</title>")
            body = write(self._documents[name], media_type)
            return Answer(200, media_type, body, {"Vary": "Accept"})
        return NOT_FOUND


class HashSite(Site):
    """Documents about things within them, one for each serialization.

    There is no robots.txt. Each document leads to the next.
    """

    def __init__(self, host: str) -> None:
        super().__init__(host)
        self.documents: dict[str, Page] = {}
        endings = ("ttl", "rdf", "nt", "jsonld", "n3", "trig", "nq")
        for i, (ending, media_type) in enumerate(zip(endings, FORMATS, strict=True)):
            url = self.url(f"/d{i}.{ending}")
            page = plain_page(url, media_type, seed=100 + i)
            following = self.url(f"/d{i + 1}.{(*endings, 'x')[i + 1]}#0")
            link = ox.Triple(_node(url + "#0"), _node(FOAF + "knows"), _node(following))
            states = page.states | {link}
            body = write(states, media_type)
            self.documents[f"/d{i}.{ending}"] = Page(media_type, body, states)
        self.first = self.url("/d0.ttl#0")

    def published(self) -> set[ox.Triple]:
        """Return the statements of all documents."""
        return set().union(*(page.states for page in self.documents.values()))

    def answer(self, request: Request) -> Answer:
        """Serve a document."""
        page = self.documents.get(request.target)
        return Answer(200, page.media_type, page.body) if page else NOT_FOUND


class NegotiatingSite(Site):
    """One URL for each thing, which gives an accepted format (200).

    Some give nothing but a page, with a header or an element that leads to the data.
    """

    robots = "User-agent: *\nAllow: /\n"

    def __init__(self, host: str, *, n: int) -> None:
        super().__init__(host)
        self._data: dict[str, list[ox.Triple]] = {}
        for i in range(n):
            url = self.url(f"/thing/{i}")
            links = triples(f"<{url}> rdfs:seeAlso <{self.url(f'/thing/{i + 1}')}> .")
            things = population(f"{url}#", 4, seed=i)
            self._data[str(i)] = [*things, *(links if i + 1 < n else [])]
        self.first = self.url("/thing/0")

    def published(self) -> set[ox.Triple]:
        """Return the statements of all things."""
        return set().union(*self._data.values())

    def answer(self, request: Request) -> Answer:
        """Negotiate; every third thing has a page and a document instead."""
        room, _, name = request.target[1:].partition("/")
        name, _, ending = name.partition(".")
        if name not in self._data or room != "thing":
            return NOT_FOUND
        if ending:
            body = write(self._data[name], "text/turtle")
            return Answer(200, "text/turtle; charset=utf-8", body)
        if int(name) % 3:
            kinds = ["application/rdf+xml", "text/turtle", "text/html"]
            media_type = request.prefers(kinds[int(name) % 3 - 1 :]) or "text/turtle"
            if media_type == "text/html":
                return Answer(200, media_type, b"<title>page</title>")
            where = {"Content-Location": f"/thing/{name}.rdf", "Vary": "accept"}
            return Answer(200, media_type, write(self._data[name], media_type), where)
        return self._page(name)

    @staticmethod
    def _page(name: str) -> Answer:
        target = f"{name}.ttl"
        if int(name) % 2:
            link = f'<{target}>; type="text/turtle"; rel="describedby alternate"'
            return Answer(200, "text/html", b"<title>x</title>", {"Link": link})
        head = f'<link rel="alternate" type="text/turtle" href="{target}">'
        return Answer(200, "text/html", f"<head>{head}</head>".encode())

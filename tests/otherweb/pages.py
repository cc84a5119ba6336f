"""Annotated pages, and by the recommendations the statements in them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.otherweb.statements import SCHEMA, population, triples, write

if TYPE_CHECKING:
    import pyoxigraph as ox


@dataclass(frozen=True)
class Page:
    """A document: its responses, and its statements."""

    media_type: str
    body: bytes
    states: frozenset[ox.Triple]


def plain_page(url: str, media_type: str, *, seed: int) -> Page:
    """Return a document of a serialization, about things within it."""
    states = frozenset(population(f"{url}#", 3, seed=seed))
    return Page(media_type, write(states, media_type), states)


def json_ld_page(url: str) -> Page:
    """Return a page with two data blocks of JSON-LD 1.1, 7."""
    person = {
        "@context": {"@vocab": SCHEMA, "home": {"@id": "url", "@type": "@id"}},
        "@id": "#me",
        "@type": "Person",
        "name": ["Ärger </script", {"@value": "anger", "@language": "en"}],
        "home": "../",
        "address": {"@type": "PostalAddress", "postalCode": "01234"},
    }
    place = {
        "@context": {"s": SCHEMA, "at": {"@id": "s:itemList", "@container": "@list"}},
        "@graph": [{"@id": "#place", "at": ["a", 1, True, {"@id": "#me"}]}],
    }
    first = json.dumps(person).replace("</", "<\\/")
    body = f"""<!DOCTYPE html><html><head><title>JSON-LD</title>
    <script type="application/ld+json">{first}</script>
    <script>var no = {{"@id": "http://no.example/"}};</script></head>
    <body><script type='application/ld+json;profile="x"'>{json.dumps(place)}</script>
    </body></html>"""
    states = triples(
        f"""@prefix s: <{SCHEMA}> . <#me> a s:Person ;
        s:name "Ärger </script", "anger"@en ; s:url <../> ;
        s:address [ a s:PostalAddress ; s:postalCode "01234" ] .
        <#place> s:itemList ("a" 1 true <#me>) .""",
        base=url,
    )
    return Page("text/html; charset=UTF-8", body.encode(), frozenset(states))


def microdata_page(url: str) -> Page:
    """Return a page with Microdata, read as "Microdata to RDF" says."""
    body = """<!DOCTYPE html><html lang="fr"><meta charset="iso-8859-15"><body>
    <div itemscope itemtype="https://schema.org/Product" itemid="#p" itemref="more">
      <h1 itemprop="name">Caf\u00e9 &amp; th\u00e9</h1>
      <a itemprop="url" href="x?a=1&amp;b=2">lien</a>
      <img itemprop="image" src="/i.png" alt="">
      <div itemprop="offers" itemscope itemtype="https://schema.org/Offer">
        <meta itemprop="price" content="12.50">
        <data itemprop="sku" value="7">sept</data>
        <time itemprop="validFrom" datetime="2026-01-02">hier</time>
      </div>
    </div>
    <p id="more">
    <span itemprop="http://other.example/p" lang="de">Stra\u00dfe</span></p>
    </body></html>"""
    states = triples(
        """@prefix s: <https://schema.org/> . <#p> a s:Product ;
        s:name "Caf\u00e9 & th\u00e9"@fr ; s:url <x?a=1&b=2> ; s:image </i.png> ;
        <http://other.example/p> "Stra\u00dfe"@de ;
        s:offers [ a s:Offer ; s:price "12.50"@fr ; s:sku 7 ;
          s:validFrom "2026-01-02"^^xsd:date ] .""",
        base=url,
    )
    return Page("text/html", body.encode("iso-8859-15"), frozenset(states))


def rdfa_page(url: str) -> Page:
    """Return a page with RDFa 1.1 Lite and some of Core."""
    body = """<!DOCTYPE html><html prefix="ex: http://ex.example/ns#"><head>
    <base href="sub/"><title property="dcterms:title">A page</title></head><body>
    <div vocab="http://schema.org/" resource="#r" typeof="Event ex:Thing">
      <b property="name" lang="en">Party</b>
      <time property="startDate" datetime="2026-05-01T20:00:00">then</time>
      <a property="url" href="there">there</a>
      <span property="ex:n" datatype="xsd:integer" content="5">five</span>
      <div rel="location"><p typeof="Place"><i property="name">Here</i></p></div>
    </div></body></html>"""
    base = url.rsplit("/", 1)[0] + "/sub/"
    states = triples(
        """@prefix s: <http://schema.org/> . @prefix ex: <http://ex.example/ns#> .
        <> dct:title "A page" . <#r> a s:Event, ex:Thing ; s:name "Party"@en ;
        s:startDate "2026-05-01T20:00:00"^^xsd:dateTime ; s:url <there> ;
        ex:n "5"^^xsd:integer ; s:location [ a s:Place ; s:name "Here" ] .
        <> <http://www.w3.org/ns/rdfa#usesVocabulary> s: .""",
        base=base,
    )
    return Page("text/html;charset=utf-8", body.encode(), frozenset(states))

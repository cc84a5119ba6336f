"""A crawl that has ended describes itself, and ends even if it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rdflib import Graph, URIRef
from rdflib.namespace import DCAT, DCTERMS, FOAF, RDF, VOID

from tests.support.shapes import DCAT_AP, violations
from tests.support.shapes import VOID as VOID_SHAPES

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

LICENCE = "urn:x:zero"
PAGE = f"""<> <{DCTERMS.license}> <{LICENCE}> ; a <urn:x:Page> ;
<{DCTERMS.publisher}> [ <{FOAF.name}> "The city" ] ; <urn:x:next> <%s> ."""


def described(folder: object, name: str) -> Graph:
    """Return the graph that rdflib reads in a description."""
    return Graph().parse(f"{folder}/{name}")


@pytest.mark.parametrize("words", [("crawl",), ("workers", "-n2")], ids=" ".join)
def test_crawl_describes_itself(
    commands: Commands, loopback: Loopback, words: tuple[str, ...]
) -> None:
    """If a crawl ends, it is described once: data, hosts, formats and licences."""
    address = f"127.93.{len(words)}"
    other = loopback(host=f"{address}.2")
    other.pages["/"] = loopback.response(b"<> <urn:x:p> 1 .", "text/turtle")
    body = (PAGE % other.url("/")).encode()
    one = loopback({"/": loopback.response(body, "text/turtle")}, host=f"{address}.1")
    given = (*words, "linkeddata", f"-aseeds={one.url('/')}")
    given += ("-sDESCRIBE_PUBLISHER=Ada",)
    result = commands.start(*given, PROGRESS="off", DESCRIBE="auto").wait()
    assert result.code == 0, result.stderr
    void = described(result.folder, "void.ttl")
    dcat = described(result.folder, "dcat.ttl")
    assert violations(void, VOID_SHAPES) == violations(dcat, DCAT_AP) == []
    (everything,) = void.objects(None, FOAF.primaryTopic)
    assert int(str(void.value(everything, VOID.triples))) == len(result.quads)
    assert int(str(void.value(everything, VOID.documents))) == 2
    hosts = {f"{everything}:host:{x.url('')[7:].rstrip('/')}" for x in (one, other)}
    found = set(map(str, void.objects(everything, VOID.subset)))
    assert found == hosts == {str(x) for x in dcat.subjects(DCTERMS.isPartOf)}
    (linkset,) = void.subjects(RDF.type, VOID.Linkset)
    assert {str(void.value(linkset, VOID.subjectsTarget)),
            str(void.value(linkset, VOID.objectsTarget))} == hosts  # fmt: skip
    (host,) = dcat.subjects(DCTERMS.license, URIRef(LICENCE))
    agents = dcat.objects(None, DCTERMS.publisher)
    assert {str(dcat.value(x, FOAF.name)) for x in agents} == {"Ada", "The city"}
    (published,) = dcat.objects(host, DCAT.distribution)
    assert str(dcat.value(published, DCAT.mediaType)).endswith("/text/turtle")
    assert "not described" not in result.stderr
    assert not list(result.folder.glob(".*.draft"))


def test_crawl_ends_well_if_it_cannot_be_described(
    commands: Commands, loopback: Loopback
) -> None:
    """If the description cannot be written, then that is one line, and no failure."""
    server = loopback({"/": loopback.response(b"<> <urn:x:p> 1 .")}, host="127.93.9.1")
    folder = commands.folder()
    (folder / "linkeddata" / "void.ttl").mkdir(parents=True)
    result = commands.crawl([server.url("/")], folder=folder, DESCRIBE="on")
    assert result.code == 0
    (line,) = [x for x in result.stderr.splitlines() if "not described" in x]
    assert "void.ttl" in line
    assert "Traceback" not in result.stderr
    assert len(result.quads) == 1


def test_description_can_be_left_out(commands: Commands, loopback: Loopback) -> None:
    """If DESCRIBE is off, nothing is written; a wrong value is refused at the start."""
    server = loopback({"/": loopback.response(b"<> <urn:x:p> 1 .")}, host="127.93.9.2")
    result = commands.crawl([server.url("/")], DESCRIBE="off")
    assert result.code == 0
    assert not list(result.folder.glob("*.ttl"))
    wrong = commands.crawl([server.url("/")], DESCRIBE="perhaps")
    assert wrong.code == 2
    assert "DESCRIBE" in wrong.stderr
    assert len(wrong.stderr.splitlines()) == 1

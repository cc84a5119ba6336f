"""rdflib in a project: documents and stores of a crawl as its graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import RawServer
    from tests.support.crawl_webs import Loopback
    from tests.support.project import Project
    from tests.support.project_fixtures import StartProject

SPIDERS = """
    import rdflib
    import scrapy
    from rdflib.namespace import FOAF

    from rdfcrawl import LinkedDataSpider, extract


    class Ordinary(scrapy.Spider):
        name = "ordinary"

        async def parse(self, response):
            with await extract(response, settings=self.settings) as rdf:
                dataset = rdf.dataset()
                default = dataset.default_graph
                yield {
                    "in default": len(default),
                    "in graphs": {str(g.identifier): len(g) for g in dataset.graphs()},
                    "all": len(rdf.graph()),
                }


    class Names(LinkedDataSpider):
        name = "names"
        custom_settings = {"STORES": {"oxigraph:crawl/names/oxigraph": {}}}

        def parse_document(self, document):
            graph = document.graph()
            names = graph.query("SELECT ?n { ?p foaf:knows/foaf:name ?n }",
                                initNs={"foaf": FOAF})
            graphs = document.dataset().graphs()
            (identifier,) = {each.identifier for each in graphs if len(each)}
            yield {"names": [str(name) for name, in names], "graph": str(identifier),
                   "turtle": graph.serialize(format="turtle")}
"""
SCRIPT = """
    import json
    from rdflib import FOAF, Literal

    from rdfcrawl import open_dataset

    dataset = open_dataset("crawl/names/oxigraph")
    (subject,) = dataset.subjects(FOAF.name, Literal("Bob", lang="en"))
    rows = dataset.query("SELECT ?g { GRAPH ?g { ?s foaf:name ?n } }",
                         initNs={"foaf": str(FOAF)})
    with open("stored.jl", "w") as file:
        file.write(json.dumps({"bob": str(subject), "graphs": [str(g) for g, in rows]}))
"""
TRIG = b"""@prefix : <urn:x:> . :a :p :b . <#g> { :a :p :c , :d }"""
TURTLE = b"""@prefix foaf: <http://xmlns.com/foaf/0.1/> .
<#ann> foaf:knows [ foaf:name "Bob"@en ] ; foaf:age 30 ; foaf:nick "x"@ar--rtl ."""


@pytest.fixture(scope="module")
def site(loopback: Loopback) -> RawServer:
    """Return a host with a dataset and a graph."""
    trig = loopback.response(TRIG, "application/trig")
    return loopback({"/trig": trig, "/ann": loopback.response(TURTLE)})


@pytest.fixture(scope="module")
def project(start_project: StartProject, site: RawServer) -> Project:
    """Return a project with an ordinary spider and one of ours."""
    project = start_project("graphs")
    text = SPIDERS.replace(
        '"ordinary"', f'"ordinary"\n        start_urls = ["{site.url("/trig")}"]'
    )
    project.write("spiders/graphs.py", text)
    return project


def test_response_of_scrapy_is_a_dataset(project: Project, site: RawServer) -> None:
    """If an ordinary spider extracts a response, then rdflib has its graphs."""
    done = project.run("crawl", "ordinary", "-O", "ordinary.jl")
    assert done.code == 0, done.stderr
    (item,) = project.feed("ordinary.jl")
    named = {
        name: n
        for name, n in item["in graphs"].items()
        if not name.startswith("urn:x-rdflib")
    }
    assert (item["in default"], named, item["all"]) == (1, {site.url("/trig#g"): 2}, 3)


def test_document_and_store_are_graphs(project: Project, site: RawServer) -> None:
    """If a document is parsed and stored, then rdflib queries it at both places."""
    url = site.url("/ann")
    done = project.run("crawl", "names", f"-aseeds={url}", "-O", "names.jl")
    assert done.code == 0, done.stderr
    (item,) = [each for each in project.feed("names.jl") if "names" in each]
    assert (item["names"], item["graph"]) == (["Bob"], url)
    assert "foaf:name" in item["turtle"]
    assert '"x"^^<https://www.w3.org/ns/i18n#ar_rtl>' in item["turtle"]
    project.write("stored.py", SCRIPT)
    done = project.installed.run(f"{project.name}.stored", folder=project.folder)
    assert done.code == 0, done.stderr
    (stored,) = project.feed("stored.jl")
    assert stored["graphs"] == [url]

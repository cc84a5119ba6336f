"""Semantic Sitemaps: datasets, and the ways to them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.sources.access import AccessMethod, DatasetAccess
from rdfcrawl.sources.sitemaps.access import (
    CrossHostStatement,
    believed,
    choose_way,
    claims_about_others,
    is_confirmed,
    is_covered,
    order_mirrors,
    ways_to_dataset,
)
from rdfcrawl.sources.sitemaps.description import dataset_iri, describe_dataset
from rdfcrawl.sources.sitemaps.entry import SitemapEntry, SitemapLimits
from rdfcrawl.sources.sitemaps.protocol import Sitemap
from rdfcrawl.sources.sitemaps.semantic import (
    DataLocation,
    SitemapDataset,
    Slicing,
    UriPrefix,
)
from tests.support.examples import examples

SITE = "http://example.org/sitemap.xml"
DERI = "http://sw.deri.org/2007/07/sitemapextension/scschema.xsd"
DERIV = "http://sw.deriv.org/2007/07/sitemapextension/scschema.xsd"
E = "http://example.org"
LABEL = "<sc:datasetLabel>Product Catalog for Example.org</sc:datasetLabel>"
NAMED = f"<sc:datasetURI>{E}/aboutcatalog.rdf#catalog</sc:datasetURI>"
DUMP = f"<sc:dataDumpLocation>{E}/cataloguedump.rdf</sc:dataDumpLocation>"
PREFIX = f"<sc:linkedDataPrefix>{E}/products/</sc:linkedDataPrefix>"

BASIC = (
    f"<sc:dataset>{LABEL}{DUMP}{PREFIX}<changefreq>monthly</changefreq></sc:dataset>"
)
COMPLETE = f"""<sc:dataset>{LABEL}{NAMED}{DUMP}
<sc:dataFragmentDumpLocation>{E}/cataloguedump_part1.rdf
</sc:dataFragmentDumpLocation>
<sc:dataFragmentDumpLocation>{E}/cataloguedump_part2.rdf
</sc:dataFragmentDumpLocation>
{PREFIX}<sc:sparqlEndPoint>{E}/queryengine/sparql</sc:sparqlEndPoint>
<changefreq>monthly</changefreq></sc:dataset>"""
BACKUP = "http://backup.example.org/cataloguedump.rdf"
SECOND = "http://secondary.example.org/queryengine/sparql"
MIRRORED = f"""<sc:dataset>{LABEL}{NAMED}{DUMP}
<sc:dataDumpLocation
  priority="0">{BACKUP}</sc:dataDumpLocation>
<sc:sparqlEndPoint priority="10">{E}/queryengine/sparql
</sc:sparqlEndPoint>
<sc:sparqlEndPoint>{SECOND}
</sc:sparqlEndPoint><changefreq>monthly</changefreq></sc:dataset>"""
SECOND_REVISION = f"""<sc:dataset>
<sc:datasetLabel>Example Corp. Product Catalog</sc:datasetLabel>
<sc:datasetURI>{E}/catalog.rdf#catalog</sc:datasetURI>
<sc:linkedDataPrefix slicing="subject-object">{E}/products/</sc:linkedDataPrefix>
<sc:sampleURI>{E}/products/widgets/X42</sc:sampleURI>
<sc:sparqlEndpointLocation slicing="subject-object">{E}/sparql
</sc:sparqlEndpointLocation>
<sc:sparqlGraphName>*</sc:sparqlGraphName>
<sc:dataDumpLocation>{E}/data/catalogdump.part1.rdf.gz</sc:dataDumpLocation>
<sc:dataDumpLocation>{E}/data/catalogdump.part2.rdf.gz</sc:dataDumpLocation>
<sc:dataDumpLocation>{E}/data/catalogdump.part3.rdf.gz</sc:dataDumpLocation>
<sc:lastmod>2007-11-21T14:41:09+00:00</sc:lastmod>
<sc:changefreq>weekly</sc:changefreq></sc:dataset>"""


def read(
    body: str, namespace: str = DERI, limits: SitemapLimits | None = None
) -> tuple[list[SitemapDataset], FaultLog]:
    """Return the datasets of a sitemap, which has a URL as well."""
    log = FaultLog()
    document = (
        '<?xml version="1.0" encoding="UTF-8"?>'
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        f'xmlns:sc="{namespace}">{body}<url><loc>{E}/page</loc></url></urlset>'
    )
    sitemap = Sitemap(
        document.encode(), url=SITE, log=log, limits=limits or SitemapLimits()
    )
    items = list(sitemap)
    assert any(isinstance(item, SitemapEntry) for item in items)
    return [item for item in items if isinstance(item, SitemapDataset)], log


def one(body: str, namespace: str = DERI) -> SitemapDataset:
    """Return the only dataset of a sitemap without faults."""
    (dataset,), log = read(body, namespace)
    assert not log.all()
    return dataset


def ways(dataset: SitemapDataset) -> dict[AccessMethod, tuple[tuple[str, ...], ...]]:
    """Return the ways to a dataset, in their order."""
    return {way.way: way.parts for way in ways_to_dataset(dataset, seed="s")}


@pytest.mark.parametrize("namespace", [DERI, DERIV, "", "urn:wrong"])
def test_the_basic_example(namespace: str) -> None:
    """If a dataset has a dump and a prefix, then the dump goes before the crawl."""
    dataset = one(BASIC, namespace)
    assert dataset.label == "Product Catalog for Example.org"
    assert dataset.changefreq == "monthly"
    assert ways(dataset) == {
        AccessMethod.DUMP: ((f"{E}/cataloguedump.rdf",),),
        AccessMethod.PREFIX: ((f"{E}/products/",),),
    }
    assert list(ways(dataset)) == [AccessMethod.DUMP, AccessMethod.PREFIX]


def test_the_complete_example() -> None:
    """If a dataset has all ways, then they are tried from the least intrusive on."""
    dataset = one(COMPLETE, DERIV)
    assert dataset.uri == f"{E}/aboutcatalog.rdf#catalog"
    assert list(ways(dataset).items()) == [
        (AccessMethod.DUMP, ((f"{E}/cataloguedump.rdf",),)),
        (
            AccessMethod.FRAGMENTS,
            ((f"{E}/cataloguedump_part1.rdf",), (f"{E}/cataloguedump_part2.rdf",)),
        ),
        (AccessMethod.SPARQL, ((f"{E}/queryengine/sparql",),)),
        (AccessMethod.PREFIX, ((f"{E}/products/",),)),
    ]


def test_the_example_with_mirrors() -> None:
    """If mirrors have priorities, then 0 comes last and 10 is ten times 1."""
    dataset = one(MIRRORED, DERIV)
    assert dataset.are_mirrors
    assert ways(dataset)[AccessMethod.DUMP] == ((f"{E}/cataloguedump.rdf", BACKUP),)
    firsts = Counter(
        order_mirrors(dataset.endpoints, f"seed {n}")[0] for n in range(5500)
    )
    assert 400 < firsts[SECOND] < 600
    assert firsts[SECOND] + firsts[f"{E}/queryengine/sparql"] == 5500


def test_the_example_of_the_second_revision() -> None:
    """If several dumps have no priorities and differ, then all of them are needed."""
    dataset = one(SECOND_REVISION)
    assert not dataset.are_mirrors
    assert dataset.lastmod == "2007-11-21T14:41:09Z"
    assert dataset.changefreq == "weekly"
    assert dataset.prefixes[0].slicing is Slicing.SUBJECT_OBJECT
    assert dataset.endpoints[0].slicing is Slicing.SUBJECT_OBJECT
    found = ways_to_dataset(dataset, seed="s")
    parts = [(f"{E}/data/catalogdump.part{n}.rdf.gz",) for n in (1, 2, 3)]
    assert found[0] == DatasetAccess(AccessMethod.DUMP, tuple(parts))
    assert found[1] == DatasetAccess(AccessMethod.SPARQL, ((f"{E}/sparql",),), ("*",))
    assert found[2] == DatasetAccess(
        AccessMethod.PREFIX, ((f"{E}/products/",), (f"{E}/products/widgets/X42",))
    )


ELEMENTS = {
    AccessMethod.DUMP: DUMP,
    AccessMethod.FRAGMENTS: "".join(
        f"<sc:dataFragmentDump>{E}/{n}.nt</sc:dataFragmentDump>" for n in range(2)
    ),
    AccessMethod.SPARQL: (
        f"<sc:sparqlEndpointLocation>{E}/s</sc:sparqlEndpointLocation>"
    ),
    AccessMethod.PREFIX: PREFIX,
}


@pytest.mark.parametrize("chosen", range(16))
def test_every_combination_of_ways(chosen: int) -> None:
    """If a dataset has some of the ways, then they are returned in order."""
    there = [way for n, way in enumerate(ELEMENTS) if chosen >> n & 1]
    dataset = one(
        f"<sc:dataset>{LABEL}{''.join(ELEMENTS[x] for x in there)}</sc:dataset>"
    )
    assert list(ways(dataset)) == there


@pytest.mark.parametrize(
    ("element", "way"),
    [
        ("dataDumpLocation", AccessMethod.DUMP),
        ("dataDump", AccessMethod.DUMP),
        ("sparqlEndPoint", AccessMethod.SPARQL),
        ("sparqlEndpoint", AccessMethod.SPARQL),
        ("sparqlEndpointLocation", AccessMethod.SPARQL),
        ("sparqlEndPointLocation", AccessMethod.SPARQL),
        ("linkedDataPrefix", AccessMethod.PREFIX),
    ],
)
@pytest.mark.parametrize("prefix", ["sc:", "", "cs:"])
def test_spellings(element: str, way: AccessMethod, prefix: str) -> None:
    """If an element is spelled as in an example, then it is known, prefix or not."""
    name = prefix + element
    dataset = one(f"<{prefix}dataset><{name}> {E}/x/\n</{name}></{prefix}dataset>")
    assert ways(dataset) == {way: ((f"{E}/x/",),)}


def test_elements_that_are_not_closed() -> None:
    """If elements of a dataset are not closed, then the next one closes them."""
    (dataset,), log = read(
        f"<sc:dataset><sc:dataDumpLocation>{E}/d<sc:linkedDataPrefix>{E}/p/"
        f"<sc:sampleURI>{E}/p/1</b>2</sc:sampleURI></sc:dataset>"
    )
    assert ways(dataset) == {
        AccessMethod.DUMP: ((f"{E}/d",),),
        AccessMethod.PREFIX: ((f"{E}/p/",),),
    }
    assert log.count(Reason.BAD_URI) == 1


@pytest.mark.parametrize("element", ["dataFragmentDump", "dataFragmentDumpLocation"])
def test_one_fragment_is_a_fault(element: str) -> None:
    """If a dump has but one fragment, then that is a fault, and it is a way."""
    (dataset,), log = read(
        f"<sc:dataset><sc:{element}>{E}/x</sc:{element}></sc:dataset>"
    )
    assert ways(dataset) == {AccessMethod.FRAGMENTS: ((f"{E}/x",),)}
    assert log.count(Reason.SYNTAX) == 1


@pytest.mark.parametrize("prefix", ["sc:", ""])
def test_frequency_and_date_with_and_without_prefix(prefix: str) -> None:
    """If these elements have a prefix or none, then they mean the same."""
    dataset = one(
        f"<sc:dataset><{prefix}changefreq>daily</{prefix}changefreq>"
        f"<{prefix}lastmod>2007-11</{prefix}lastmod></sc:dataset>"
    )
    assert dataset.changefreq == "daily"
    assert dataset.lastmod == "2007-11"


@pytest.mark.parametrize(
    ("text", "slicing"),
    [
        ("subject", Slicing.SUBJECT),
        ("subject-object", Slicing.SUBJECT_OBJECT),
        ("cbd", Slicing.CBD),
        ("scbd", Slicing.SYMMETRIC_CBD),
        ("symmetric-cbd", Slicing.SYMMETRIC_CBD),
        ("MSG", Slicing.MSG),
    ],
)
def test_slicing_methods(text: str, slicing: Slicing) -> None:
    """If a slicing method is named, then it is known."""
    dataset = one(
        f"<sc:dataset><sc:linkedDataPrefix slicing='{text}'>{E}/</sc:linkedDataPrefix>"
        f"<sc:sparqlEndpointLocation sc:slicing='{text}'>{E}/s"
        "</sc:sparqlEndpointLocation></sc:dataset>"
    )
    assert dataset.prefixes[0].slicing is slicing
    assert dataset.endpoints[0].slicing is slicing


def test_graphs_of_an_endpoint() -> None:
    """If named graphs are stated, then they are kept; `*` is all of them."""
    body = "<sc:dataset>{}<sc:sparqlGraphName>{}</sc:sparqlGraphName></sc:dataset>"
    for name in ("*", "urn:x:graph", f"{E}/g"):
        dataset = one(body.format(ELEMENTS[AccessMethod.SPARQL], name))
        assert ways_to_dataset(dataset, seed="")[0].graphs == (name,)


def test_values_that_mean_nothing() -> None:
    """If values of a dataset are wrong, then they are left out and the rest is kept."""
    (dataset,), log = read(
        f"<sc:dataset>{LABEL}<sc:datasetLabel>Other</sc:datasetLabel>"
        f"<sc:dataDumpLocation priority='high'>{E}/d</sc:dataDumpLocation>"
        "<sc:dataDumpLocation>no url</sc:dataDumpLocation>"
        "<sc:dataDumpLocation>http://e/a<b/>c</sc:dataDumpLocation>"
        "<sc:linkedDataPrefix slicing='thin'>urn:x</sc:linkedDataPrefix>"
        f"<sc:linkedDataPrefix slicing='thin'>{E}/x/</sc:linkedDataPrefix>"
        "<sc:sampleURI>relative</sc:sampleURI><sc:changefreq>often</sc:changefreq>"
        "<sc:unheardOf a='b'>kept</sc:unheardOf></sc:dataset>"
    )
    assert dataset.dumps == (DataLocation(f"{E}/d"),)
    assert dataset.prefixes == (UriPrefix(f"{E}/x/", f"{E}/x/"),)
    assert (dataset.samples, dataset.changefreq) == ((), None)
    assert dataset.others[0].values == (("@a", "b"), ("", "kept"))
    assert (log.count(Reason.BAD_URI), log.count(Reason.SYNTAX)) == (4, 4)


def test_a_dataset_that_is_cut_is_left_out() -> None:
    """If a document ends within a dataset, then the dataset is skipped."""
    body = f"<urlset>{SECOND_REVISION}"
    for at in range(len("<urlset>"), len(body) - 1):
        log = FaultLog()
        items = list(Sitemap(body[:at].encode(), url=SITE, log=log))
        is_over = body[:at].endswith("</sc:dataset")
        assert not items, (at, is_over)


def test_many_datasets() -> None:
    """If a sitemap has many datasets, then each is by itself, and has its position."""
    datasets, _ = read(BASIC * 3)
    assert [dataset.position for dataset in datasets] == [0, 1, 2]
    datasets, log = read(
        f"<sc:dataset>{PREFIX * 30}</sc:dataset>", limits=SitemapLimits(n_values=20)
    )
    assert not datasets
    assert log.count(Reason.TOO_MANY_ENTRIES) == 1


@pytest.mark.parametrize(
    ("prefix", "uri", "is_below"),
    [
        (f"{E}/products/", f"{E}/products/1", True),
        (f"{E}/products/", f"{E}/products/1#it", True),
        (f"{E}/products/", f"{E}/product", False),
        (f"{E}/products/", "https://example.org/products/1", False),
        (E, f"{E}/x", True),
        (E, f"{E}.evil.example/x", False),
        (f"{E}/onto#", f"{E}/onto#Class", True),
        (f"{E}/onto#", f"{E}/ontology", False),
        ("HTTP://EXAMPLE.org:80/p", f"{E}/p1", True),
        (f"{E}/é/", f"{E}/%C3%A9/1", True),
        (f"{E}/products/", "urn:x", False),
    ],
)
def test_what_need_not_be_crawled(prefix: str, uri: str, is_below: bool) -> None:
    """If a URI is below a prefix, then the dataset covers it."""
    dataset = one(
        f"<sc:dataset><sc:linkedDataPrefix>{prefix}</sc:linkedDataPrefix></sc:dataset>"
    )
    assert is_covered(uri, dataset.prefixes) is is_below


OWN_DUMP = f"<sc:dataDumpLocation>{BACKUP}</sc:dataDumpLocation>"
OWN = f"<sc:dataset>{NAMED}{OWN_DUMP}</sc:dataset>"


@pytest.mark.parametrize(
    ("own", "is_true"),
    [
        (OWN, True),
        (MIRRORED, True),
        (OWN.replace(NAMED, NAMED.replace("#catalog", "#other")), False),
        (OWN.replace(NAMED, DUMP), True),
        (OWN.replace(NAMED, ""), False),
        (OWN.replace("cataloguedump", "other"), False),
        (OWN.replace("dataDumpLocation", "dataFragmentDump"), False),
        ("", False),
    ],
)
def test_claims_about_other_hosts(own: str, is_true: bool) -> None:
    """If a host says of itself what another says of it, then that is believed."""
    dataset = one(MIRRORED)
    claim = CrossHostStatement("dump", BACKUP)
    claims = claims_about_others(dataset, SITE, ())
    assert claims == (claim, CrossHostStatement("endpoint", SECOND))
    assert is_confirmed(claim, dataset, SITE, read(own)[0]) is is_true


def test_a_sitemap_of_several_hosts() -> None:
    """If a host's robots.txt names a sitemap, then it speaks for that host."""
    hosts = ("backup.example.org", "secondary.example.org")
    assert not claims_about_others(one(MIRRORED), SITE, hosts)


def test_what_is_not_believed_is_not_followed() -> None:
    """If claims are not confirmed, then no way leads there, and each is a fault."""
    dataset, log = one(MIRRORED), FaultLog()
    kept = believed(dataset, claims_about_others(dataset, SITE, ()), log)
    assert ways(kept) == {
        AccessMethod.DUMP: ((f"{E}/cataloguedump.rdf",),),
        AccessMethod.SPARQL: ((f"{E}/queryengine/sparql",),),
    }
    assert log.count(Reason.UNCONFIRMED_CLAIM) == 2


def test_a_site_cannot_shield_the_uris_of_another() -> None:
    """If a sitemap claims the prefix of another host, then it covers nothing there."""
    dataset = one(
        "<sc:dataset><sc:linkedDataPrefix>http://victim/</sc:linkedDataPrefix></sc:dataset>"
    )
    kept = believed(dataset, claims_about_others(dataset, SITE, ()), FaultLog())
    assert not is_covered("http://victim/x", kept.prefixes)


@pytest.mark.parametrize("element", ["dataFragmentDump", "dataDumpLocation"])
def test_a_part_is_not_a_way_to_a_dataset(element: str) -> None:
    """If one of several parts is not believed, then none is a way, but is fetched."""
    urls = (f"{E}/1.nt", "http://other.example/2.nt")
    places = "".join(f"<sc:{element}>{url}</sc:{element}>" for url in urls)
    dataset = one(f"<sc:dataset>{places}</sc:dataset>")
    kept = believed(dataset, claims_about_others(dataset, SITE, ()), FaultLog())
    assert not ways(kept)
    assert [part.url for part in kept.parts_left] == [f"{E}/1.nt"]


TWO = (
    "<sc:dataDumpLocation{}>http://a/d.nt</sc:dataDumpLocation>"
    "<sc:dataDumpLocation>http://b/d.nt</sc:dataDumpLocation>"
)
ENDPOINT = "<sc:sparqlEndpointLocation{}>http://a/q</sc:sparqlEndpointLocation>"
FRAGMENTS = "".join(
    f"<sc:dataFragmentDump>http://a/{n}</sc:dataFragmentDump>" for n in "12"
)


@pytest.mark.parametrize(
    ("body", "are_mirrors"),
    [
        (TWO.format(""), False),
        (TWO.format(' priority="1"'), True),
        (TWO.format(' priority="0"') + ENDPOINT.format(' slicing="cbd"'), True),
        (TWO.format("") + ENDPOINT.format(' priority="3"'), True),
        (TWO.format("") + FRAGMENTS, True),
        (TWO.format("") + ENDPOINT.format(' slicing="cbd"'), False),
        (
            TWO.format("")
            + ENDPOINT.format(' priority="3"')
            + "<sc:sparqlGraphName>*</sc:sparqlGraphName>",
            False,
        ),
    ],
)
def test_mirrors_and_parts(body: str, are_mirrors: bool) -> None:
    """If a feature is of one revision only, then it decides; otherwise: parts."""
    assert one(f"<sc:dataset>{body}</sc:dataset>").are_mirrors is are_mirrors


@pytest.mark.parametrize("body", [BASIC, COMPLETE, MIRRORED, SECOND_REVISION])
def test_descriptions_are_statements(body: str) -> None:
    """If a dataset is described, then all lines are right, and the same each time."""
    dataset, log = one(body), FaultLog()
    lines = list(describe_dataset(dataset, sitemap=SITE))
    block = b"".join(iter_checked(lines, log))
    assert not log.all()
    assert block.count(b"\n") == len(lines)
    assert lines == list(describe_dataset(dataset, sitemap=SITE))


def test_the_description_of_a_dataset() -> None:
    """If a dataset has a dump, an endpoint and a prefix, then VoID and DCAT say so."""
    text = "".join(describe_dataset(one(SECOND_REVISION), sitemap=SITE))
    name = f"<{E}/catalog.rdf#catalog>"
    void, dcat = "http://rdfs.org/ns/void#", "http://www.w3.org/ns/dcat#"
    for line in (
        f'{name} <http://purl.org/dc/terms/title> "Example Corp. Product Catalog" .',
        f"{name} <{void}dataDump> <{E}/data/catalogdump.part2.rdf.gz> .",
        f"{name} <{void}sparqlEndpoint> <{E}/sparql> .",
        f'{name} <{void}uriSpace> "{E}/products/" .',
        f"{name} <{void}exampleResource> <{E}/products/widgets/X42> .",
        f"{name} <urn:rdfcrawl:vocab#declaredBy> <{SITE}> .",
        f"<{dcat}downloadURL> <{E}/data/catalogdump.part3.rdf.gz> .",
        f"<{dcat}endpointURL> <{E}/sparql> .",
        '<urn:rdfcrawl:vocab#partOfDump> "true"',
    ):
        assert line in text


def test_a_dataset_without_name_has_a_stable_one() -> None:
    """If a dataset has no URI, then its name is of its sitemap and its label."""
    first, second = one(BASIC), one(BASIC.replace(DUMP, ""))
    assert dataset_iri(first, SITE) == dataset_iri(second, SITE)
    assert dataset_iri(first, SITE) != dataset_iri(first, SITE + "?2")


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_damaged_datasets(data: st.DataObject) -> None:
    """If a dataset is damaged, then its ways and statements are still right."""
    body = bytearray(f"<urlset>{COMPLETE}{SECOND_REVISION}{MIRRORED}</urlset>".encode())
    for _ in range(data.draw(st.integers(1, 12))):
        at = data.draw(st.integers(0, len(body) - 1))
        n_bytes = data.draw(st.integers(0, 5))
        body[at : at + n_bytes] = data.draw(st.binary(max_size=5))
    for item in Sitemap(bytes(body), url=SITE, log=FaultLog()):
        if isinstance(item, SitemapDataset):
            ways_to_dataset(item, seed="s")
            kept = believed(item, claims_about_others(item, SITE, ()), FaultLog())
            lines = list(describe_dataset(kept, sitemap=SITE))
            block = b"".join(iter_checked(lines, FaultLog()))
            assert block.count(b"\n") <= len(lines)


def test_way_stays_until_it_fails() -> None:
    """If a way fails, the best that is left comes next; the crawl of URIs is last."""
    all_ways = (
        DatasetAccess(AccessMethod.DUMP, (("a", "b"), ("c",))),
        DatasetAccess(AccessMethod.PREFIX, (("p",),)),
        DatasetAccess(AccessMethod.SPARQL, (("q", "r"),)),
    )
    everything = {*"abcqr"}
    assert choose_way(all_ways, None, everything) == 0
    assert choose_way(all_ways, 0, everything - {"a"}) == 0
    assert choose_way(all_ways, 0, everything - {"a", "b"}) == 2
    assert choose_way(all_ways, 2, everything) == 2
    assert choose_way(all_ways, 2, {"a"}) == 1
    assert choose_way(all_ways[:1], 0, {"a"}) == 1

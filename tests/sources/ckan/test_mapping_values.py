"""Single values of a dataset of CKAN, its bounds, and anything in it."""

from __future__ import annotations

import json
import time
from typing import Any

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.sources.ckan.fields import (
    DATASET_FIELDS,
    RESOURCE_FIELDS,
    MappingLimits,
)
from rdfcrawl.sources.ckan.mapping import document_url, iter_statements
from rdfcrawl.sources.ckan.places import wkt_of
from tests.support.ckan_packages import (
    CKAN_2_8,
    DCAT,
    DCT,
    EU,
    IANA,
    PORTAL,
    SCHEMING_2_10,
    XSD,
    D,
    R,
    Written,
    dataset,
    extras,
    resource,
)
from tests.support.examples import examples

# -- single values ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("2020", f'"2020"^^<{XSD}gYear>'),
        ("2020-02", f'"2020-02"^^<{XSD}gYearMonth>'),
        ("2020-02-29", f'"2020-02-29"^^<{XSD}date>'),
        ("2020-02-29T10:00", f'"2020-02-29T10:00:00"^^<{XSD}dateTime>'),
        ("2020-02-29 10:00:01Z", f'"2020-02-29T10:00:01Z"^^<{XSD}dateTime>'),
        ("2021-02-29", '"2021-02-29"'),
        ("31.12.2020", '"31.12.2020"'),
        ("summer", '"summer"'),
        ("2020-01-01T25:00:00", '"2020-01-01T25:00:00"'),
    ],
)
def test_dates(text: str, term: str) -> None:
    """If a date is one, then it has its datatype; free text stays text, counted."""
    found = Written(dataset(issued=text))
    assert found.one(D, f"{DCT}issued") == term
    assert found.log.count(Reason.BAD_TERM) == ("^^" not in term)


@pytest.mark.parametrize(
    ("url", "term", "fault"),
    [
        ("http://e.example/a b.csv", "<http://e.example/a%20b.csv>", Reason.REPAIRED),
        ("http://e.example/a|b", "<http://e.example/a%7Cb>", Reason.REPAIRED),
        ("http://e.example/é", "<http://e.example/é>", None),
        (" http://e.example/ \n", "<http://e.example/>", None),
        ("/dataset/x.csv", '"/dataset/x.csv"', Reason.BAD_TERM),
        ("www.e.example/x", '"www.e.example/x"', Reason.BAD_TERM),
        ("http://a.example/ http://b.example/", None, Reason.BAD_TERM),
        ("http://a b/", '"http://a b/"', Reason.BAD_TERM),
        ("javascript:alert(1)", '"javascript:alert(1)"', Reason.BAD_TERM),
        ("http://[::1/x", '"http://[::1/x"', Reason.BAD_TERM),
        ('http://e.example/"><x>', "<http://e.example/%22%3E%3Cx%3E>", Reason.REPAIRED),
        ("C:\\data\\x.csv", '"C:\\\\data\\\\x.csv"', Reason.BAD_TERM),
    ],
)
def test_urls(url: str, term: str | None, fault: Reason | None) -> None:
    """If a URL is bad, then it is mended as browsers do or stays a text; counted."""
    found = Written(resource(url=url))
    told = found.one(R, f"{DCAT}accessURL")
    assert told == (term or json.dumps(url))
    assert [one.reason for one in found.log.all()] == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ("R/P1Y", "ANNUAL"),
        ("Monthly", "MONTHLY"),
        ("semi-annual", "ANNUAL_2"),
        ("DAILY_2", "DAILY_2"),
        ("continuously updated", "UPDATE_CONT"),
    ],
)
def test_frequencies(fields: str, code: str) -> None:
    """If a frequency is a known word, then it is the one of the EU's table."""
    found = Written(extras(accrualPeriodicity=fields))
    assert found.one(D, f"{DCT}accrualPeriodicity") == f"<{EU}frequency/{code}>"


@pytest.mark.parametrize(
    ("key", "name", "kind"),
    [
        ("frequency", "accrualPeriodicity", "Frequency"),
        ("language", "language", "LinguisticSystem"),
        ("rights", "rights", "RightsStatement"),
        ("conforms_to", "conformsTo", "Standard"),
        ("provenance", "provenance", "ProvenanceStatement"),
    ],
)
def test_what_has_no_name_is_a_node_of_its_class(
    key: str, name: str, kind: str
) -> None:
    """If a vocabulary lacks a word, then it labels a node of the range's class."""
    found = Written(dataset(**{key: "when it rains"}))
    node = found.one(D, f"{DCT}{name}")
    assert node.startswith("_:")
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    assert found.one(node, label) == '"when it rains"'
    kinds = found.of(node, "http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    assert kinds == [f"<{DCT}{kind}>"]


@pytest.mark.parametrize(
    ("spatial", "wanted"),
    [
        ("http://sws.example/town", "<http://sws.example/town>"),
        ("POINT(1 2)", "wktLiteral"),
        ("SRID=4326;POINT(1 2)", "EPSG/0/4326> POINT"),
        ("1.0, 2.0, 3.0, 4.0", "POLYGON ((1.0 2.0, 3.0 2.0, 3.0 4.0"),
        ("A town", '"A town"'),
        (
            '{"type":"MultiPolygon","coordinates":[[[[1,2],[3,4],[1,2]]]]}',
            "MULTIPOLYGON",
        ),
        ('{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}', "POINT"),
    ],
)
def test_places(spatial: str, wanted: str) -> None:
    """If a place is GeoJSON, WKT, a box, an IRI or a name, then it is said as such."""
    found = Written(extras(spatial=spatial))
    assert len(found.of(D, f"{DCT}spatial")) == 1
    assert any(wanted in term for one in found.triples for term in one)
    assert found.log.all() == []


def test_bounds_of_geographic_metadata() -> None:
    """If a harvested dataset has four bounds, then they are one box."""
    bounds = {f"bbox-{name}": "1" for name in ("west-long", "south-lat", "east-long")}
    found = Written(extras(**bounds, **{"bbox-north-lat": "2"}))
    assert "POLYGON" in found.one(D, f"{DCT}spatial", f"{DCAT}bbox")


@pytest.mark.parametrize(
    "geometry",
    [
        {"type": "Point", "coordinates": ["a", 2]},
        {"type": "Point", "coordinates": [float("nan"), 2]},
        {"type": "Polygon", "coordinates": 3},
        {"type": "Circle", "coordinates": [1, 2]},
        {"type": ["Point"], "coordinates": [1, 2]},
        {"type": "Polygon"},
        {},
    ],
)
def test_what_is_no_geometry_gives_no_wkt(geometry: dict[str, Any]) -> None:
    """If coordinates are not numbers, then there is no geometry."""
    assert wkt_of(geometry) == ""
    assert not Written(dataset(spatial=geometry)).of(D, f"{DCAT}bbox")


def test_text_that_is_no_geometry_stays_text() -> None:
    """If the geometry of a place is neither WKT nor a box, then it is text, counted."""
    places = [{"geometry": "north of the river"}, {"geometry": {"type": "Point"}}]
    found = Written(dataset(spatial_coverage=places))
    place = found.one(D, f"{DCT}spatial")
    geometry = "http://www.w3.org/ns/locn#geometry"
    assert found.of(place, geometry) == ['"north of the river"']
    assert found.log.count(Reason.BAD_TERM) == 2


def test_geometry_in_place_of_a_place_is_its_geometry() -> None:
    """If a place is written as GeoJSON alone, then it has that geometry."""
    point = {"type": "Point", "coordinates": [7.5, 50.25]}
    found = Written(dataset(spatial_coverage=[point]))
    place = found.one(D, f"{DCT}spatial")
    geometry = "http://www.w3.org/ns/locn#geometry"
    assert any("POINT (7.5 50.25)" in x for x in found.of(place, geometry))
    assert found.log.all() == []


@pytest.mark.parametrize(
    ("members", "predicate"),
    [
        ({"temporal": "2019-01-01/2019-12-31"}, f"{DCT}temporal"),
        (
            {"retention_period": {"start": "2019-01-01", "end": "2019-12-31"}},
            "http://healthdataportal.eu/ns/health#retentionPeriod",
        ),
    ],
)
def test_periods(members: dict[str, Any], predicate: str) -> None:
    """If a period is an interval of ISO 8601 or an object, then it has both ends."""
    found = Written(dataset(**members))
    period = found.one(D, predicate)
    assert found.one(period, f"{DCAT}startDate") == f'"2019-01-01"^^<{XSD}date>'
    assert found.one(period, f"{DCAT}endDate") == f'"2019-12-31"^^<{XSD}date>'


def test_tags_in_one_text() -> None:
    """If the tags are one text with commas, then each of them is a keyword."""
    found = Written(dataset(tag_string="tree, wood,, "))
    assert found.of(D, f"{DCAT}keyword") == ['"tree"', '"wood"']


def test_neighbours_in_a_series() -> None:
    """If a dataset names its neighbours in a series, then they are linked."""
    places = {"first": {"id": "a1"}, "previous": {"uri": "http://e.example/b"}}
    found = Written(dataset(series_navigation=[places | {"next": "c3", "last": None}]))
    base = "https://data.example/open/dataset/"
    assert found.of(D, f"{DCAT}first") == [f"<{base}a1>"]
    assert found.of(D, f"{DCAT}prev") == ["<http://e.example/b>"]
    assert found.of(D, f"{DCAT}next") == [f"<{base}c3>"]
    assert found.of(D, f"{DCAT}last") == []


def test_relationships_of_unknown_kinds_are_counted() -> None:
    """If a relationship is of a kind that CKAN has not, then it is a named fault."""
    relationships = [{"type": "rhymes_with", "object": "older-trees"}]
    found = Written(dataset(relationships_as_subject=relationships))
    assert found.log.count(Reason.BAD_TERM) == 1
    assert not any("older-trees" in o for _, _, o in found.triples)


def test_uploads_are_downloads() -> None:
    """If the portal has the file of a resource itself, then its URL is a download."""
    url = "https://data.example/open/trees.csv"
    found = Written(resource(url=url, url_type="upload"))
    assert found.one(R, f"{DCAT}accessURL") == f"<{url}>"
    assert found.one(R, f"{DCAT}downloadURL") == f"<{url}>"


def test_media_type_as_the_format() -> None:
    """If the format of a resource is a media type, then it is read as one."""
    found = Written(resource(format="text/csv"))
    assert found.one(R, f"{DCAT}mediaType") == f"<{IANA}text/csv>"


def test_unknown_algorithm_of_a_checksum_stays_text() -> None:
    """If a checksum is of an algorithm that SPDX has not, then its name is kept."""
    found = Written(resource(hash="abcd", hash_algorithm="town-hash"))
    spdx = "http://spdx.org/rdf/terms#"
    checksum = found.one(R, f"{spdx}checksum")
    assert found.one(checksum, f"{spdx}algorithm") == '"town-hash"'


def test_a_licence_without_url() -> None:
    """If a licence has only a title, then it is a node with that title."""
    found = Written(dataset(license_id="other-open", license_title="Other (Open)"))
    licence = found.one(D, f"{DCT}license")
    assert licence.startswith("_:")
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    assert found.one(licence, label) == '"Other (Open)"'
    assert not Written(dataset(license_id="notspecified")).of(D, f"{DCT}license")


def test_two_resources_with_one_iri_are_two() -> None:
    """If resources share an IRI or id, then each is a distribution of its own."""
    one = {"uri": "http://r.example/x", "url": "http://f.example/1"}
    two = {**one, "id": "r1", "url": "http://f.example/2"}
    three = {**one, "id": "r1", "url": "http://f.example/3"}
    found = Written(dataset(resources=[one, two, three]))
    nodes = found.of(D, f"{DCAT}distribution")
    assert len(set(nodes)) == 3
    for node, number in zip(nodes, "123", strict=True):
        assert found.one(node, f"{DCAT}accessURL") == f"<http://f.example/{number}>"


@pytest.mark.parametrize("kind", ["harvest", "showcase"])
def test_what_is_no_dataset_gives_nothing(kind: str) -> None:
    """If an entry is a harvest source or a showcase, then nothing is said."""
    assert Written(dataset(type=kind)).triples == []
    assert Written({"title": "no id, no name"}).triples == []


def test_the_name_of_the_document_is_the_page_by_id() -> None:
    """If a dataset has an id, then its document keeps its name when renamed."""
    url = "https://data.example/open/dataset/7d1c"
    assert document_url(dataset(), PORTAL) == url
    assert document_url(dataset(name="other", uri="http://x/"), PORTAL) == url
    odd = document_url({"name": "a b/../ä"}, PORTAL)
    assert odd == "https://data.example/open/dataset/a%20b%2F..%2F%C3%A4"


# -- bounds ----------------------------------------------------------------------------


def test_a_dataset_with_10_000_resources_streams() -> None:
    """If a dataset has 10,000 resources, then its lines come as they are requested."""
    one = CKAN_2_8["resources"][0]  # type: ignore[index]
    package = {**CKAN_2_8, "resources": [{**one, "id": f"r{n}"} for n in range(10_000)]}
    lines = iter_statements(package, PORTAL, log := FaultLog())
    begun = time.process_time()
    assert next(lines)
    first = time.process_time() - begun
    rest = sum(chunk.count(b"\n") for chunk in iter_checked(lines, log))
    assert rest > 100_000
    assert log.all() == []
    print(f"first line {first * 1e3:.1f} ms, all {time.process_time() - begun:.1f} s")


def test_limits_are_named() -> None:
    """If a dataset has too many resources or too long a text, then it is said."""
    limits = MappingLimits(resources=2, literal_chars=10)
    package = dataset(
        title="x" * 11,
        notes="short",
        resources=[{"id": str(n)} for n in range(5)],
        tags=[{"name": "y" * 11}],
        provenance="z" * 11,
    )
    found = Written(package, limits=limits)
    assert len(found.of(D, f"{DCAT}distribution")) == 2
    assert found.of(D, f"{DCT}title") == []
    assert found.one(D, f"{DCT}description") == '"short"'
    counts = {one.reason: one.count for one in found.log.all()}
    assert counts[Reason.TOO_MANY_ENTRIES] == 3
    assert counts[Reason.LITERAL_TOO_LONG] == 3


# -- anything --------------------------------------------------------------------------

_MORE = """
    id name uri type state resources extras tags groups organization contact
    publisher creator author author_email maintainer_email spatial
    spatial_coverage temporal temporal_start temporal_coverage license_id
    license_url license_title tags_translated keywords hash hash_algorithm
    format mimetype url access_url download_url access_services in_series
    series_navigation relationships_as_subject email text geom bbox centroid
    coordinates key value start end object en de
"""
_KEYS = sorted(
    {key for one in (*DATASET_FIELDS, *RESOURCE_FIELDS) for key in one.keys}
    | set(_MORE.split())
)
_TEXTS = st.text(max_size=12) | st.sampled_from(
    [
        *("http://a/", "http://a b", "http://a/%zz", "mailto:a@b", "a@b.c", "en_US"),
        *(
            "[",
            '["a", {"b": 1}]',
            '{"en": "x"}',
            '{"de": [1, null]}',
            "{a,b}",
            "\ud800",
        ),
        *("POINT(1 2)", '{"type":"Point","coordinates":[1,2]}', "1,2,3,4", "2020"),
        *(
            "text/csv",
            "CSV",
            'x"y\\\n\r\x00',
            "urn:a b",
            "http://[",
            "P1Y",
            "1e5",
            "1.0",
        ),
    ]
)
_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(_KEYS) | st.text(max_size=4), inner, max_size=6
        )
    ),
    max_leaves=30,
)


@given(st.dictionaries(st.sampled_from(_KEYS), _ANY, max_size=12), st.booleans())
@settings(max_examples=examples(150), deadline=None)
def test_any_package_gives_statements(package: dict[str, Any], has_id: bool) -> None:
    """If the fields of a package are anything, then every line is a statement."""
    if has_id:
        package["id"] = "7d1c"
    log = FaultLog()
    lines = list(iter_statements(package, PORTAL, log))
    assert list(iter_statements(package, PORTAL, FaultLog())) == lines
    kind = pyoxigraph.RdfFormat.N_TRIPLES
    assert len(list(pyoxigraph.parse("".join(lines).encode(), kind))) == len(lines)


@given(st.data())
@settings(max_examples=examples(100), deadline=None)
def test_one_value_replaced_by_anything(data: st.DataObject) -> None:
    """If one value of a real dataset is anything, then every line is a statement."""
    package = json.loads(
        json.dumps(data.draw(st.sampled_from([CKAN_2_8, SCHEMING_2_10])))
    )
    key = data.draw(st.sampled_from(sorted(package)))
    package[key] = data.draw(_ANY)
    log = FaultLog()
    text = "".join(iter_statements(package, PORTAL, log))
    list(pyoxigraph.parse(text.encode(), pyoxigraph.RdfFormat.N_TRIPLES))

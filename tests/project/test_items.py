"""Items: the statements of pages as nested dicts, in one shape for all syntaxes."""

from __future__ import annotations

import asyncio
import csv
import gzip
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import pytest
from scrapy.http import HtmlResponse, TextResponse

from rdfcrawl import ConfigError, SourceFault, extract
from tests.support.crawl_webs import Loopback
from tests.support.pages import blocks, commands_in, read_page
from tests.support.product_pages import (
    DAMAGED,
    JSON_LD,
    MICRODATA,
    NAIL,
    PAGE,
    RDFA,
    TURTLE,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.crawl_fixtures import CrawlResult
    from tests.support.project import Project
    from tests.support.project_fixtures import StartProject

URL = "http://example.org/shop"
PREFIXES = """VERSION "1.2" PREFIX : <https://schema.org/>
PREFIX foaf: <http://xmlns.com/foaf/0.1/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> """
EQUAL = (
    '[{"@id": "http://example.org/shop#it", "@type": "Product",'
    ' "@source": "http://example.org/shop",'
    ' "brand": {"@type": "Brand", "name": "Bright"},'
    ' "image": ["http://example.org/b.jpg", "http://example.org/a.jpg"],'
    ' "name": "Lamp \u00e9clair", "offers": {"@type": "Offer",'
    ' "availability": "http://schema.org/InStock", "price": "19.50"}}]'
)


def items(body: str, media_type: str = "text/turtle", **options: Any) -> list[Any]:
    """Return the items of a document."""
    headers = {"Content-Type": f"{media_type}; charset=utf-8"}
    kind = HtmlResponse if media_type == "text/html" else TextResponse
    response = kind(URL, body=body.encode(), encoding="utf-8", headers=headers)
    with asyncio.run(extract(response)) as rdf:
        return list(rdf.items(**options))


def shape(turtle: str, **options: Any) -> Any:
    """Return the only item of Turtle, without its document."""
    (item,) = items(PREFIXES + turtle, **options)
    assert item.pop("@source") == URL
    return item


def test_equal_data_of_all_syntaxes_gives_equal_items() -> None:
    """If a product is stated in any syntax, then its item has the same bytes."""
    pages = [PAGE.format(each) for each in (JSON_LD, DAMAGED, RDFA, MICRODATA)]
    found = [items(each, "text/html", type="schema:Product") for each in pages]
    found.append(items(TURTLE, type="Product"))
    (text,) = {json.dumps(each, ensure_ascii=False) for each in found}
    assert text == EQUAL


@pytest.mark.parametrize(
    ("turtle", "expected"),
    [
        (':name "A"@en , "A"@fr , "B"@ar--rtl', {"name": ["A", "B"]}),
        (":n 7, 7.0, 7e0, 07", {"n": 7}),
        (":n 19.50, -1.5e-3, .5", {"n": [19.5, -0.0015, 0.5]}),
        (':n 0.123456789012345, "INF"^^xsd:double', {"n": [0.123456789012345, "INF"]}),
        (":n 0.1234567890123456", {"n": "0.1234567890123456"}),
        (':n "x"^^xsd:byte, 1234567890123456789', {"n": ["x", "1234567890123456789"]}),
        (':b true, "0"^^xsd:boolean, 1, "1"', {"b": [True, False, 1, "1"]}),
        (':d "2026-11-29"^^xsd:date', {"d": "2026-11-29"}),
        (":l ( 1 ( 2 ) [ :n 3 ] ), 4 ; :m () ; :o ( 5 )",
         {"l": [[1, [2], {"n": 3}], 4], "m": [], "o": [5]}),
        (":p [ rdf:first 1 ; rdf:rest 2 ]", {"p": {"rdf:first": 1, "rdf:rest": 2}}),
        (":is :InStock ; :url <> ; :see <http://e.org/>",
         {"is": "http://schema.org/InStock", "see": "http://e.org/", "url": URL}),
        ("foaf:p 1 ; <http://e.org/p> 2 ; <http://schema.org/a/b> 3 ; <urn:p> 4",
         {"foaf:p": 1, "http://e.org/p": 2, "http://schema.org/a/b": 3, "urn:p": 4}),
        (':same "https://schema.org/InStock", "https://schema.org/docs/x.html"',
         {"same": ["http://schema.org/InStock", "https://schema.org/docs/x.html"]}),
        (":empty _:x", {"empty": {"@id": "_:0"}}),
        (":a _:x ; :b _:x . _:x :n 1",
         {"a": {"@id": "_:0", "n": 1}, "b": {"@id": "_:0"}}),
        (":a [ :b <#n> ] ; :z <#n> . <#n> :n 1 ; :up <#it>",
         {"a": {"b": {"@id": f"{URL}#n"}},
          "z": {"@id": f"{URL}#n", "n": 1, "up": {"@id": f"{URL}#it"}}}),
        ('rdf:type [ :n 1 ], "x"', {"rdf:type": [{"n": 1}, "x"]}),
    ],
)  # fmt: skip
def test_values_have_one_shape(turtle: str, expected: dict[str, Any]) -> None:
    """If a property has values of some kind, then the item has them as documented."""
    found = shape(f'<> :name "Shop" . <#it> a :Product ; {turtle} .')
    assert found == {"@id": f"{URL}#it", "@type": "Product", **expected}
    assert repr(found) == repr({"@id": f"{URL}#it", "@type": "Product", **expected})


def test_items_are_given_in_full_or_as_lists() -> None:
    """If it is wanted, then literals are complete, and all values are lists."""
    turtle = '<#it> a :Product ; :name "A"@en ; :n 7 ; :t " b " ; :x "c"@ar--rtl .'
    assert shape(turtle, full=True) == {
        "@id": f"{URL}#it",
        "@type": "Product",
        "n": {"@value": "7", "@type": "xsd:integer"},
        "name": {"@value": "A", "@language": "en"},
        "t": " b ",
        "x": {"@value": "c", "@language": "ar", "@direction": "rtl"},
    }
    turtle = "<#it> a :Product ; :offers [ :price 7 ] ; :l ( 1 ) ."
    assert shape(turtle, lists=True) == {
        "@id": f"{URL}#it",
        "@type": ["Product"],
        "l": [[1]],
        "offers": [{"price": [7]}],
    }


@pytest.mark.parametrize(
    ("turtle", "options", "names"),
    [
        ("<#a> a :P ; :r <#b> . <#b> a :P .", {}, "a"),
        ("<#b> a :P . <#a> a :P ; :r <#b> .", {}, "a"),
        ("<#a> a :P ; :r <#b> . <#b> a :P ; :r <#a> .", {}, "a"),
        ("<#a> a :P ; :r <#b> . <#b> a :P ; :r <#a> . <#c> a :P ; :r <#b> .", {}, "c"),
        ("<#a> a :P ; :r [ :r <#b> ] . <#b> a :Q .", {"type": "Q"}, "b"),
        ("<#a> a :P ; :r ( <#b> ) . <#b> a foaf:Q .", {}, "a"),
        ("<#a> a :P . <#b> a foaf:Q .", {"type": ["foaf:Q", "P"]}, "ab"),
        ("<#a> a :P . <#b> a foaf:Q .", {"type": "foaf:Q,P"}, "ab"),
        ("<#a> a :P ; :r <#b> . <#b> a :P .", {"nested": True}, "ab"),
        ("<> a :Q ; :r <#a> . <#a> a :P ; :r <> .", {"type": "P"}, "a"),
        ("<> :r <#a> . <#a> a :P .", {}, "a"),
        ("<#l> a rdf:List ; :r <#a> . <#a> :r (1) .", {}, "l"),
    ],
)  # fmt: skip
def test_nested_nodes_are_no_items(
    turtle: str, options: dict[str, Any], names: str
) -> None:
    """If a node is nested in another item of the class, then it is no item itself."""
    found = items(PREFIXES + turtle, **options)
    assert [each["@id"] for each in found] == [f"{URL}#{name}" for name in names]


def test_nested_items_name_each_other() -> None:
    """If nested items are wanted, too, then those with an IRI are not nested."""
    turtle = "<#a> a :P ; :r <#b>, [ a :P ] . <#b> a :P ; :s [ :n 1 ] ."
    first, *others = items(PREFIXES + turtle, type="P", nested=True)
    assert first["r"] == [f"{URL}#b", {"@type": "P"}]
    assert [each.get("s") for each in others] == [None, {"n": 1}]


def _ids(item: Any) -> list[str]:
    """Return the nodes that are described in an item."""
    if isinstance(item, list):
        return [name for each in item for name in _ids(each)]
    if not isinstance(item, dict):
        return []
    inner = [name for each in item.values() for name in _ids(each)]
    return inner + ([item["@id"]] if len(item) > 1 and "@fault" not in item else [])


def test_bounds_of_items_lose_no_node() -> None:
    """If an item is too deep or too large, then a fault marks where it is cut."""
    chain = "".join(f"<#n{i}> a :P ; :r <#n{i + 1}> . " for i in range(80))
    found = items(PREFIXES + chain)
    assert len(found) == 3
    assert sorted(_ids(found)) == sorted(f"{URL}#n{i}" for i in range(80))
    assert json.dumps(found).count('"@fault": "too_deep"') == 2

    many = "".join(f"<#root> :r <#n{i}> . <#n{i}> a :P . " for i in range(12_000))
    first, *others = items(PREFIXES + f"<#root> a :P . {many}")
    assert first["@fault"] == "too_large"
    assert (len(first["r"]), len(others)) == (10_000, 2_000)
    assert json.dumps(others).count("@fault") == 0

    shared = ", ".join(str(i) for i in range(1_000))
    many = "".join(f"<#n{i}> a :P ; :r _:s . " for i in range(300))
    found = items(PREFIXES + f"{many} _:s :r {shared} .")
    assert len(found) == 300
    assert len(found[0]["r"]["r"]) == 1_000
    assert found[-1]["r"] == {"@fault": "too_large"}

    with pytest.raises(SourceFault, match="items of more than 100000 statements"):
        items(PREFIXES + "<#a> :r " + ", ".join(map(str, range(100_001))) + " .")


def test_unknown_classes_are_refused() -> None:
    """If the prefix of a class is not known, then an error lists those that are."""
    for name in ("shop:Product", ":Product", "schema:", "P Q"):
        message = f"class {name!r}: must be a name of schema.org, as Product, an IRI"
        with pytest.raises(ConfigError, match=re.escape(message)):
            items("", type=name)
    assert items("", type="urn:p,http://e.org/P,dc:P,all") == []


PIPELINE = """
    from itemadapter import ItemAdapter
    from rdfcrawl import Document
    from scrapy.exceptions import DropItem


    class Shop:
        def process_item(self, item):
            if isinstance(item, Document):
                return item
            product = ItemAdapter(item)
            if product["name"] == "Gone":
                raise DropItem("not sold any more")
            product["title"] = product["name"].title()
            return item
"""
MAKER = """@prefix : <http://schema.org/> . <http://SITE/maker#it> a :Organization ;
:name "Maker" ; :url <http://SITE/maker> ; :owns <http://SITE/owner#it> ."""
OWNER = """@prefix : <http://schema.org/> . <http://SITE/owner#it> a :Person ;
:name "Owner" ; :owns <http://SITE/maker#it> ; :likes <http://SITE/none> ."""
SAW = """@prefix : <http://schema.org/> . <http://SITE/saw#it> a :Product ;
:name "saw, small" ; :price 9.5 ; :manufacturer <http://SITE/maker#it> ;
:offers [ a :Offer ; :price 9 ], [ a :Offer ; :price 8 ] ; :l () ."""
GONE = (
    '@prefix : <http://schema.org/> . <http://SITE/gone#it> a :Product ; :name "Gone".'
)
ARGUMENTS = ("-adepth=0", "-aitems=schema:Product", "-sSTATS_DUMP=True")
FEEDS = ("-Oshop.jl", "-Oshop.json", "-Oshop.csv", "-Oall.nq")


@pytest.fixture(scope="module")
def shop(start_project: StartProject) -> Iterator[tuple[Project, str, CrawlResult]]:
    """Yield a project that has crawled a shop, the shop, and the result."""
    with Loopback() as loopback:
        site = loopback({})
        host = site.url("/").split("/")[2]
        pages = {"maker": MAKER, "owner": OWNER, "saw": SAW, "gone": GONE}
        for name, text in pages.items():
            body = text.replace("SITE", host).encode()
            site.pages[f"/{name}"] = loopback.response(body, "text/turtle")
        lamp = PAGE.format(MICRODATA).encode()
        site.pages["/lamp"] = loopback.response(lamp, "text/html; charset=utf-8")
        project = start_project("shop")
        project.write("pipelines.py", PIPELINE)
        project.add_settings('ITEM_PIPELINES = {"shop.pipelines.Shop": 1000}\n')
        seeds = ",".join(site.url(f"/{name}") for name in (*pages, "lamp"))
        words = ("crawl", "linkeddata", f"-aseeds={seeds}", *ARGUMENTS, *FEEDS)
        yield project, site.url(""), project.run(*words)


def rows(project: Project, name: str) -> list[dict[str, str]]:
    """Return the rows of a table."""
    text = (project.folder / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def test_crawl_sends_items_to_pipelines_and_feeds(
    shop: tuple[Project, str, CrawlResult],
) -> None:
    """If a crawl has `-a items`, then its pipelines and feeds get items alone."""
    project, site, done = shop
    assert done.code == 0, done.stderr
    found = {each["title"]: each for each in project.feed("shop.jl")}
    assert found.keys() == {"Lamp \u00c9clair", "Saw, Small"}
    saw = found["Saw, Small"]
    assert saw == {
        "@id": f"{site}/saw#it",
        "@type": "Product",
        "@source": f"{site}/saw",
        "l": [],
        "manufacturer": f"{site}/maker#it",
        "name": "saw, small",
        "offers": [{"@type": "Offer", "price": 9}, {"@type": "Offer", "price": 8}],
        "price": 9.5,
        "title": "Saw, Small",
    }
    assert "\u00e9" in (project.folder / "shop.jl").read_text(encoding="utf-8")
    array = json.loads((project.folder / "shop.json").read_text(encoding="utf-8"))
    assert array == project.feed("shop.jl")
    table = {each["title"]: each for each in rows(project, "shop.csv")}
    assert table["Saw, Small"]["price"] == "9.5"
    assert json.loads(table["Saw, Small"]["offers"]) == saw["offers"]
    assert table["Saw, Small"]["offers.price"] == ""
    assert table["Lamp \u00c9clair"]["offers.price"] == "19.50"
    assert list(table["Saw, Small"])[:5] == ["@id", "@type", "@source", "brand.@type",
                                             "brand.name"]  # fmt: skip
    assert (project.folder / "all.nq").stat().st_size
    assert "'items/built': 3" in done.stderr


def test_feeds_choose_items_and_columns(shop: tuple[Project, str, CrawlResult]) -> None:
    """If a feed has a filter or fields of its own, then it has these items and columns.

    An unchanged page that is fetched again has its items, too.
    """
    project, site, _ = shop
    feeds = {
        "rows.jl": {"format": "jl", "item_classes": ["rdfcrawl.Document"]},
        "fields.csv": {"format": "csv", "fields": {"@id": "id", "offers.price": "EUR"}},
        "latin.jl": {"format": "jl", "encoding": "latin-1"},
    }
    seed = f"-aseeds={site}/lamp"
    more = f"-sFEEDS={json.dumps(feeds)}"
    done = project.run("crawl", "linkeddata", seed, *ARGUMENTS, more)
    assert done.code == 0, done.stderr
    assert {each["url"] for each in project.feed("rows.jl")} == {f"{site}/lamp"}
    assert rows(project, "fields.csv") == [{"id": f"{site}/lamp#it", "EUR": "19.50"}]
    assert "Lamp \u00e9" in (project.folder / "latin.jl").read_text(encoding="latin-1")


def test_export_writes_the_items_of_a_crawl(
    shop: tuple[Project, str, CrawlResult],
) -> None:
    """If stored statements are exported as items, then they are those of the crawl."""
    project = shop[0]

    def export(*words: str) -> str:
        done = project.run("export", *words)
        assert done.code == 0, done.stderr
        return done.stderr

    export("--class", "schema:Product", "--format", "jl", "-o", "out.jl")
    found = project.feed("out.jl")
    fed = [dict(each) for each in project.feed("shop.jl")]
    assert {each.pop("title") for each in fed} == {"Lamp \u00c9clair", "Saw, Small"}
    assert [each["name"] for each in found].count("Gone") == 1
    assert all(each in found for each in fed)
    assert len(found) == 3
    export("--class", "Product", "-o", "out.json.gz")
    packed = gzip.decompress((project.folder / "out.json.gz").read_bytes())
    assert json.loads(packed) == found
    export("--class", "Product", "-o", "out.csv")
    names = {each["name"]: each for each in rows(project, "out.csv")}
    assert names["saw, small"]["price"] == "9.5"
    export("--class", "Product", "--format", "json", "-o", "parts/", "--shards", "2")
    parts = sorted((project.folder / "parts").glob("*.json"))
    manifest, *some = [json.loads(each.read_bytes()) for each in parts]
    assert (manifest["items"], sum(map(len, some))) == (3, 3)
    assert "no item of this class" in export("-o", "none.json", "--class", "Event")
    assert json.loads((project.folder / "none.json").read_bytes()) == []


def test_export_nests_nodes_of_other_documents(
    shop: tuple[Project, str, CrawlResult],
) -> None:
    """If items go across documents, then nodes that have documents are nested."""
    project, site, _ = shop
    done = project.run("export", "--class=Product", "--across=1", "-oone.jl")
    assert done.code == 0, done.stderr
    (maker,) = [each["manufacturer"] for each in project.feed("one.jl") if "l" in each]
    assert maker == {
        "@id": f"{site}/maker#it",
        "@type": "Organization",
        "@source": f"{site}/maker",
        "name": "Maker",
        "owns": f"{site}/owner#it",
        "url": f"{site}/maker",
    }
    done = project.run("export", "--class=Product", "--across=5", "-ofive.jl")
    assert done.code == 0, done.stderr
    (maker,) = [each["manufacturer"] for each in project.feed("five.jl") if "l" in each]
    assert maker["owns"]["owns"] == {"@id": f"{site}/maker#it"}
    assert maker["owns"]["likes"] == f"{site}/none"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("export", "--class=Product", "-oa.nq"), "name a file in .jl, .json or .csv"),
        (("export", "--lists", "-oa.nq"), "name a file in .jl, .json or .csv"),
        (("export", "--across=99", "-oa.jl"), "--across 99: must be 0 to 32"),
        (("export", "--class=x:P", "-oa.jl"), "class 'x:P': must be a name of schema"),
        (("crawl", "linkeddata", "-aitems=x:P"), "argument items=x:P: class 'x:P'"),
    ],
)
def test_wrong_options_are_refused(
    shop: tuple[Project, str, CrawlResult], words: tuple[str, ...], line: str
) -> None:
    """If an option about items is wrong, then one line says how to write it."""
    done = shop[0].run(*words)
    assert (done.code, line in done.stderr) == (2, True), done.stderr
    assert done.stderr.count("\n") == 1


SITE = "https://shop.example"


@pytest.fixture(scope="module")
def page_project(start_project: StartProject) -> Iterator[tuple[Project, list[str]]]:
    """Yield a project in which the commands of the page were typed, and its feed."""
    with Loopback() as loopback:
        site = loopback({})
        texts = {"/lamp": MICRODATA, "/nail": NAIL}
        texts["/"] = "".join(f"<a href={name}>{name}</a>" for name in texts)
        for name, text in texts.items():
            body = PAGE.format(text).encode()
            site.pages[name] = loopback.response(body, "text/html; charset=utf-8")
        project = start_project("plain")
        (project.folder / "products").mkdir()
        crawl, *exports = commands_in(read_page("items.md"))
        done = project.run(*[each.replace(SITE, site.url("")) for each in crawl[1:]])
        assert done.code == 0, done.stderr
        feed = (project.folder / "products.jl").read_text(encoding="utf-8")
        for words in exports:
            done = project.run(*words[1:])
            assert done.code == 0, done.stderr
        exported = (project.folder / "products.jl").read_text(encoding="utf-8")
        assert sorted(exported.splitlines()) == sorted(feed.splitlines())
        assert (project.folder / "products.csv").stat().st_size
        assert {each.suffix for each in (project.folder / "products").iterdir()} == {
            ".json"
        }
        yield project, feed.replace(site.url(""), SITE).splitlines()


def test_commands_of_the_page_write_the_items_on_it(
    page_project: tuple[Project, list[str]],
) -> None:
    """If the commands of the page run, then they write the shown item."""
    lines = page_project[1]
    assert len(lines) == 2
    (shown,) = blocks(read_page("items.md"), "json")
    assert shown.strip() in lines


def test_examples_of_the_page_run(page_project: tuple[Project, list[str]]) -> None:
    """If the examples of the page on items run, then they find the shown data."""
    folder = page_project[0].folder
    path = folder / "crawl" / "linkeddata" / "oxigraph"
    store = ox.Store(str(path))
    store.load(b'<urn:a> <http://xmlns.com/foaf/0.1/name> "Ann" .', ox.RdfFormat.TURTLE)
    store.flush()
    del store
    printed = []
    for example in blocks(read_page("items.md"), "python"):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", example],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), example
        printed.append(done.stdout)
    spider, other, pandas, duckdb, lists, uniform, dataset = printed
    assert (spider, other, uniform, dataset) == ("", "", "", "Ann\n")
    rows = [line.split() for line in pandas.splitlines()]
    assert rows == [["name", "price"], ["Lamp", "éclair", "0.05"],
                    ["Lamp", "éclair", "19.50"]]  # fmt: skip
    for table in (duckdb, lists):
        assert table.index("0.05") < table.index("19.50")
        assert table.count("Lamp éclair") == 2

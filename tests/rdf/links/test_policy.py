"""Tests of `rdfcrawl.rdf.links`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.formats import Link, Relation
from rdfcrawl.core.namespaces import RDF_TYPE
from rdfcrawl.rdf.links.policy import MAX_NESTED_TERMS, LinkPolicy, LinkPosition
from rdfcrawl.sources.harvest.discovery import DocumentScan
from rdfcrawl.uri.link_filter import CrawlExtent, CrawlScope, LinkFilter, load_patterns
from tests.support.frontier_state import scope_of

if TYPE_CHECKING:
    from pathlib import Path

TURTLE = """
    PREFIX : <http://a.example/>
    PREFIX owl: <http://www.w3.org/2002/07/owl#>
    :s :p :o, _:b, "l", "x"@en, "5"^^:datatype ; a :Class ; owl:imports :vocabulary .
    _:b :q <https://b.example/o#frag>, <urn:x>, <mailto:a@b>, <ftp://c/d>, <sftp://c> .
    <urn:s> <urn:p> <HTTP://d.example/> .
"""


def canonical(turtle: str) -> bytes:
    """Return the N-Quads of a Turtle document, in its own graph."""
    quads = (
        ox.Quad(
            quad.subject,
            quad.predicate,
            quad.object,
            ox.NamedNode("http://graph.example/"),
        )
        for quad in ox.parse(turtle, ox.RdfFormat.TURTLE)
    )
    text = ox.serialize(quads, format=ox.RdfFormat.N_QUADS)
    assert text is not None
    return text


def links(follow: str, turtle: str = TURTLE) -> set[str]:
    """Return the followed links of a document, short for a.example."""
    found = LinkPolicy.parse(follow).scan(canonical(turtle))
    return {iri.decode().removeprefix("http://a.example/") for iri in found}


OBJECTS = {"o", "vocabulary", "https://b.example/o", "HTTP://d.example/", "ftp://c/d"}
QS = {"https://b.example/o", "ftp://c/d"}
DCAT = "http://www.w3.org/ns/dcat#"
OWL_IMPORTS = "http://www.w3.org/2002/07/owl"
A = "http://a.example/"


@pytest.mark.parametrize(
    ("follow", "expected"),
    [
        pytest.param("subject", {"s"}, id="subject"),
        pytest.param("object", OBJECTS, id="object"),
        pytest.param("type", {"Class"}, id="type"),
        pytest.param(
            "predicate",
            {"p", "q", OWL_IMPORTS, RDF_TYPE.partition("#")[0]},
            id="predicate",
        ),
        pytest.param("abox", {"s"} | OBJECTS, id="abox"),
        pytest.param("subject, object", {"s"} | OBJECTS, id="list"),
        pytest.param("object,type", {"Class"} | OBJECTS, id="object-and-type"),
        pytest.param("none", set(), id="none"),
        pytest.param(f"+{A}p", {"s", "o"}, id="only-with-default"),
        pytest.param(f"object,+{A}p", {"o"}, id="only"),
        pytest.param(f"object,+{A}", set(), id="only-is-no-prefix"),
        pytest.param(f"object,+{A}*", {"o", *QS}, id="only-prefix"),
        pytest.param(f"object,+{A}*,-{A}q", {"o"}, id="skip-wins"),
        pytest.param(f"object,+{A}p,+{A}q", {"o", *QS}, id="two"),
        pytest.param(f"object,type,+{A}p", {"o", "Class"}, id="only-and-type"),
        pytest.param(f"type,-{A}p", {"Class"}, id="type-and-skip"),
        pytest.param(
            f"object,-{OWL_IMPORTS}#imports", OBJECTS - {"vocabulary"}, id="skip"
        ),
        pytest.param(
            f"-{OWL_IMPORTS}#*,object", OBJECTS - {"vocabulary"}, id="skip-prefix"
        ),
        pytest.param(f"object,-{OWL_IMPORTS}", OBJECTS, id="skip-is-no-prefix"),
    ],
)
def test_follow(follow: str, expected: set[str]) -> None:
    """If a policy is given, then IRIs at its positions and no others are links."""
    assert links(follow) == expected


def test_follow_all() -> None:
    """If all is followed, then these are the links of each position."""
    assert links("all") == links("abox") | links("tbox")
    assert links("tbox") == links("predicate") | links("type")
    assert LinkPolicy.parse("abox") == LinkPolicy()


@pytest.mark.parametrize(
    "follow",
    [
        "",
        "objects",
        "object,",
        "object;type",
        "+",
        "-",
        "-imports",
        "+a b:c",
        "+http://a*b",
    ],
)
def test_bad_follow(follow: str) -> None:
    """If the argument has another word, then it is refused with the allowed words."""
    with pytest.raises(ConfigError, match=r"^argument follow=.*abox, tbox.*\+IRI"):
        LinkPolicy.parse(follow)


@given(
    st.lists(
        st.sampled_from([*' \n\r\t"\\<>()_:.^@#ä', "> <http://x/> .", "<<( "]),
        max_size=9,
    ).map("".join),
    st.sampled_from(["", "@en", "@en--ltr", "^^<http://dt.example/>"]),
)
def test_literals_are_never_links(text: str, suffix: str) -> None:
    """If a literal looks like a statement, then it is still no link."""
    escaped = text.translate(
        {10: "\\n", 13: "\\r", 9: "\\t", ord('"'): '\\"', ord("\\"): "\\\\"}
    )
    turtle = f'<urn:s> <urn:p> "{escaped}"{suffix}, <{A}o> .'
    assert links("all", turtle) == {"o"}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["http://s/1", "http://s/2#x", "http:s/3", "urn:s", "_:b"]),
            st.sampled_from(["http://p/1", "urn:p", RDF_TYPE, f"{DCAT}theme"]),
            st.sampled_from(
                [
                    *("http://o/1", "https://o/2#y", "HTTP://o/3", "_:c", f"{DCAT}x"),
                    *('"http://l/"', f'"> <{DCAT}x> <http://l/> ."'),
                    *("ftp://o/4#z", "httpx://o/5", "urn:x:http://o/6", "ftps:o/7"),
                ]
            ),
        ),
        max_size=8,
    ),
    st.sets(st.sampled_from([*LinkPosition])),
)
def test_scan_agrees_with_a_parser(
    triples: list[tuple[str, str, str]], positions: set[LinkPosition]
) -> None:
    """If a parser reads the same statements, then it finds the same links."""
    chunk = "".join(
        " ".join(term if term[0] in '_"' else f"<{term}>" for term in triple) + " .\n"
        for triple in triples
    ).encode()
    expected: set[str] = set()
    is_web = re.compile(r"(?:https?|ftps?)://", re.IGNORECASE).match
    for quad in ox.parse(chunk, ox.RdfFormat.N_QUADS):
        is_type = quad.predicate.value == RDF_TYPE
        at = {
            LinkPosition.SUBJECT: quad.subject,
            LinkPosition.PREDICATE: quad.predicate,
            (LinkPosition.TYPE if is_type else LinkPosition.OBJECT): quad.object,
        }
        for position in positions & at.keys():
            term = at[position]
            if isinstance(term, ox.NamedNode) and is_web(term.value):
                expected.add(term.value.partition("#")[0])
    policy = LinkPolicy(frozenset(positions))
    found = policy.scan(chunk)
    assert {iri.decode() for iri in found} == expected
    assert policy.scan_bulk(chunk)[0] == found


@pytest.mark.parametrize("follow", ["abox", "all", "type", f"+{A}p", f"-{DCAT}*"])
@pytest.mark.parametrize(
    "statement",
    [
        "<urn:s> <http://rdfs.org/ns/void#dataDump> <http://d.example/x.nt>",
        '<urn:s> <http://rdfs.org/ns/void#uriSpace> "http://d.example/"',
        f"<urn:s> <{DCAT}distribution> _:b",
        "_:b <http://schema.org/contentUrl> <http://d.example/x.nt>",
        "_:b <https://schema.org/contentUrl> <http://d.example/x.nt>",
        "<urn:s> <http://www.w3.org/ns/sparql-service-description#endpoint> <urn:o>",
        f"_:b <{RDF_TYPE}> <http://www.w3.org/ns/sparql-service-description#Service>",
        f"<urn:s> <{RDF_TYPE}> <{DCAT}Dataset>",
        "<urn:s> <http://www.w3.org/ns/hydra/core#next> <http://d.example/2>",
        "<urn:s> <https://w3id.org/tree#node> <http://d.example/2>",
        '<urn:s> <https://w3id.org/ldes#immutable> "true"',
        f"<urn:s> <{RDF_TYPE}> <https://w3id.org/tree#Node>",
        f'_:b <http://purl.org/dc/terms/format> "{DCAT}"',
        f"_:b <http://purl.org/dc/terms/conformsTo> <{DCAT}>",
    ],
)
def test_bulk_tells_of_data_elsewhere(follow: str, statement: str) -> None:
    """If one of many statements describes data elsewhere, then the scan reports it."""
    others = b"".join(b"<http://s/%d> <urn:p> <http://o/> .\n" % n for n in range(99))
    same = b"<urn:s> <urn:p> <http://o/> .\n"
    chunk = (
        others
        + same
        + statement.encode()
        + b" <http://graph.example/> .\n"
        + same
        + others
    )
    policy = LinkPolicy.parse(follow)
    seen_by_one = DocumentScan(LinkPolicy())
    seen_by_one.links(chunk)
    assert seen_by_one.has_any
    assert policy.scan_bulk(chunk) == (policy.scan(chunk), True)


def test_bulk_that_names_vocabularies_tells_of_nothing() -> None:
    """If only a literal or a datatype names a vocabulary, then nothing is reported."""
    chunk = (
        f'<urn:s> <urn:p> " <{DCAT}x> <{DCAT}y> " .\n'
        f'<urn:s> <urn:p> "1"^^<{DCAT}z> .\n'
        f"<{DCAT}> <{RDF_TYPE}> <http://www.w3.org/2002/07/owl#Ontology> .\n"
    ).encode()
    assert LinkPolicy().scan_bulk(chunk) == (LinkPolicy().scan(chunk), False)


TERMS = f"""
    PREFIX : <{A}>
    :s :p <<( :s1 :p1 <<( :s2 :p2 <<( :s3 a :C3 )>> )>> )>>, <<( :s4 :p4 :o4 )>> .
    :t :says " <<( <{A}x> <{A}y> <{A}z> )>> " .
"""


@pytest.mark.parametrize(
    ("follow", "expected"),
    [
        ("subject", {"s", "t", "s1", "s2", "s3", "s4"}),
        ("object", {"o4"}),
        ("type", {"C3"}),
        (f"object,-{A}p4", set()),
        (f"object,-{A}p", {"o4"}),
    ],
)
def test_triple_terms(follow: str, expected: set[str]) -> None:
    """If an object is a triple term, then its terms count at their own positions."""
    assert links(follow, TERMS) == expected


def test_triple_terms_are_read_to_a_bound() -> None:
    """If triple terms are nested without end, then the scan still ends."""
    levels = range(20_000)
    chunk = b"".join(b"<http://s/%d> <urn:p> <<( " % level for level in levels)
    found = LinkPolicy.parse("all").scan(chunk)
    assert found == {b"http://s/%d" % level for level in range(1 + MAX_NESTED_TERMS)}


def test_escapes_are_decoded() -> None:
    r"""If an IRI has `\u` escapes, then the link has the characters."""
    chunk = (
        rb"<http://a/\u00E9\u0023f> <urn:p> <http://b/\U0001F600\uD800> ." + b"\n"
        rb"<urn:s> <urn:p> <http://c/\U00110000\u12> ." + b"\n"
    )
    assert LinkPolicy().scan(chunk) == {
        "http://a/é".encode(),
        "http://b/😀\ud800".encode(errors="surrogatepass"),
        rb"http://c/\U00110000\u12",
    }


@pytest.mark.parametrize(
    ("follow", "expected"),
    [
        ("abox", {"alternate", "describedby", "linkset", "next", "dataset"}),
        ("hyperlink,-dataset", {"alternate", "describedby", "linkset", "next",
                                "hyperlink"}),
        ("none,hyperlink,canonical", {"hyperlink", "canonical", "dataset"}),
        ("object,-alternate,-linkset", {"describedby", "next", "dataset"}),
        ("none", {"dataset"}),
        ("none,-dataset", set()),
    ],
)  # fmt: skip
def test_relations_are_followed_as_asked(follow: str, expected: set[str]) -> None:
    """If links state relations, then those that `follow` names are chosen."""
    policy = LinkPolicy.parse(follow)
    links = [Link(f"http://{relation}/é#x", relation) for relation in Relation]
    chosen = {url.decode() for url in policy.choose(links)}
    assert chosen == {f"http://{relation}/é" for relation in expected}
    assert policy.wants_hyperlinks is ("hyperlink" in expected)


def test_relations_leave_positions_alone() -> None:
    """If only a relation is named, then statements are links as by default."""
    assert LinkPolicy.parse("hyperlink").positions == LinkPolicy().positions
    assert not LinkPolicy.parse("none,hyperlink").positions


def test_empty_chunk() -> None:
    """If there are no statements, then there are no links."""
    assert LinkPolicy().scan(b"") == set()


SEED = "https://www.example.org/data/me.ttl?x=/a/b"


@pytest.mark.parametrize(
    ("extent", "entry", "covered", "left_out"),
    [
        pytest.param(
            CrawlExtent.ANY, "", ["http://b/", "https://www.example.org/"], [], id="any"
        ),
        pytest.param(
            CrawlExtent.DOMAIN,
            "example.org",
            ["http://a.example.org:81/", "https://example.org/x"],
            ["http://notexample.org/", "http://org/", "http://example.org.uk/"],
            id="domain",
        ),
        pytest.param(
            CrawlExtent.HOST,
            "www.example.org",
            ["http://www.example.org:81/", "https://www.example.org/x"],
            ["http://example.org/", "http://a.www.example.org/"],
            id="host",
        ),
        pytest.param(
            CrawlExtent.PREFIX,
            "www.example.org/data/",
            ["http://www.example.org/data/", "https://www.example.org/data/a/b?c/d"],
            [
                *["http://www.example.org/", "http://www.example.org/data"],
                *["http://www.example.org/database/", "http://b/www.example.org/data/"],
                *["http://www.example.org:81/data/", "http://a.org/?www.example.org/"],
            ],
            id="prefix",
        ),
    ],
)
def test_scope(
    extent: CrawlExtent, entry: str, covered: list[str], left_out: list[str]
) -> None:
    """If a scope is built from a seed, then it covers URLs with the same part."""
    scope = scope_of(extent, [SEED, "http://other.example/"])
    assert scope.entry(SEED) == entry
    assert scope == CrawlScope(extent, scope.entries)
    for url in [SEED, "http://other.example/x", *covered]:
        assert scope.covers(url), url
    for url in left_out:
        assert not scope.covers(url), url


def test_scope_without_seeds() -> None:
    """If a scope has no seeds, then it covers nothing, unless it is `any`."""
    assert CrawlScope().covers(SEED)
    for extent in (CrawlExtent.DOMAIN, CrawlExtent.HOST, CrawlExtent.PREFIX):
        assert not CrawlScope(extent).covers(SEED)


def test_deny_wins_over_allow(tmp_path: Path) -> None:
    """If a URL is allowed and denied, then it is denied; allow is optional."""
    allow, deny = tmp_path / "allow", tmp_path / "deny"
    allow.write_text("﻿# what we want\n\n  /data/ \n^https:\n", encoding="utf-8")
    deny.write_text(r"\.jpe?g$" + "\r\n#/data/\r\n")
    both = LinkFilter(allow=load_patterns(allow), deny=load_patterns(deny))
    assert both.admits("http://a/data/x")
    assert both.admits("https://a/x")
    assert not both.admits("http://a/x")
    assert not both.admits("https://a/data/x.jpg")
    only_deny = LinkFilter(deny=load_patterns(deny))
    assert only_deny.admits("http://a/x")
    assert not only_deny.admits("http://a/x.jpeg")
    scoped = LinkFilter(scope_of(CrawlExtent.HOST, ["http://a/"]), both.allow)
    assert scoped.admits("http://a/data/x")
    assert not scoped.admits("http://b/data/x")


@pytest.mark.parametrize("line", ["(", "a{9999999999999}", "*", "(?P<a", "[z-a]"])
def test_bad_pattern_names_file_and_line(line: str, tmp_path: Path) -> None:
    """If a line is not an expression, then the message says which."""
    path = tmp_path / "allow.txt"
    path.write_text(f"# first\n\n{line}\n")
    with pytest.raises(ConfigError, match=r"allow\.txt:3: .* not a regular expression"):
        load_patterns(path)


def test_unreadable_pattern_file(tmp_path: Path) -> None:
    """If the file is missing or no text, then it is a wrong setting."""
    with pytest.raises(ConfigError, match="cannot be read"):
        load_patterns(tmp_path / "missing")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_patterns(tmp_path / "binary")

"""The log of links has the links of a document and their relations, within a bound."""

from __future__ import annotations

import pytest

from rdfcrawl.core.formats import Link, Relation
from rdfcrawl.rdf.fingerprints import normal_statements
from rdfcrawl.rdf.links.outlinks import (
    OutlinkOptions,
    Outlinks,
    lines_of_links,
)
from rdfcrawl.rdf.links.policy import LinkPolicy
from rdfcrawl.rdf.output import without_labels

OWN = "http://e/d"
RC = "urn:rdfcrawl:vocab#"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
STATEMENTS = (
    b"<http://e/d> <http://p/knows> <http://e/bob#me> <http://e/d> .\n"
    b"<http://e/d> <http://p/knows> <http://e/bob> <http://e/d> .\n"
    b"<http://e/d> <http://p/likes> <http://e/bob> <http://e/d> .\n"
    b"<http://e/d> <http://p/mbox> <mailto:a@b.c> <http://e/d> .\n"
    b'<http://e/s> <http://p/name> "<http://e/no>" <http://e/d> .\n'
    b"_:b <http://p/see> <HTTPS://e/\\u00FC> <http://e/d> .\n"
    b"<http://e/d> <http://p/self> <http://e/d#x> <http://e/d> .\n"
    b"<http://e/d> <%b> <http://e/Class> <http://e/d> .\n"
    b"<http://e/d> <http://p/said> <<( <http://e/t> <http://p/in> <http://e/u> )>>"
    b" <http://e/d> .\n" % TYPE.encode()
)


def logged(follow: str, most: int = 100) -> list[tuple[str, str]]:
    """Return targets and relations that are logged of the statements."""
    found = Outlinks(OutlinkOptions(LinkPolicy.parse(follow), most), OWN)
    for line in STATEMENTS.splitlines(keepends=True):
        found.add(line)
    lines, targets = found.end()
    pairs = [line[1:-1].split("> <") for line in lines.decode().splitlines()]
    if len(pairs) < most:
        assert targets is not None
        assert {url for _, url in pairs} == {url.decode() for url in targets} - {OWN}
    return [(url, relation) for relation, url in pairs]


OBJECTS = {
    ("http://e/bob", "http://p/knows"),
    ("http://e/bob", "http://p/likes"),
    ("HTTPS://e/ü", "http://p/see"),
    ("http://e/u", "http://p/in"),
}


@pytest.mark.parametrize(
    ("follow", "wanted"),
    [
        ("object", OBJECTS),
        ("abox", OBJECTS | {(f"http://e/{x}", f"{RC}subject") for x in "st"}),
        ("type", {("http://e/Class", TYPE)}),
        ("object,-http://p/l*", OBJECTS - {("http://e/bob", "http://p/likes")}),
        ("+http://p/likes,object", {("http://e/bob", "http://p/likes")}),
        ("none", set()),
    ],
)
def test_links_of_statements_have_their_predicates(
    follow: str, wanted: set[tuple[str, str]]
) -> None:
    """If statements link to something, then each target has each relation once."""
    found = logged(follow)
    assert set(found) == wanted
    assert len(found) == len(wanted)


def test_targets_are_those_that_are_followed() -> None:
    """If a policy finds IRIs, then the log has the same ones, but for the document."""
    for follow in ("abox", "tbox", "all", "predicate", "object,type"):
        policy = LinkPolicy.parse(follow)
        targets = {target.encode() for target, _ in logged(follow)}
        assert targets == policy.scan(STATEMENTS) - {OWN.encode()}, follow


PLAIN = b"<http://e/d> <http://p/knows#x> <http://e/bob> .\n"
LIKES = b"<http://e/d> <http://p/likes> "


def add_normal(outlinks: Outlinks, lines: bytes) -> bool:
    """Add the links of N-Triples without labels; return whether that was possible."""
    text, sorted_lines, _, n_own = normal_statements(without_labels(lines), OWN)
    return outlinks.add_normal(text, sorted_lines, n_own=n_own, graph=OWN)


@pytest.mark.parametrize(
    "follow",
    ["abox", "object", "type,object", "type", "object,-http://p/l*", "+http://p/likes"],
)
@pytest.mark.parametrize(
    ("more", "is_possible"),
    [
        (b"", True),
        (LIKES + b"<https://e/d2> .\n", True),
        (LIKES + b'"<http://e/no>"^^<http://e/t> .\n', True),
        (LIKES + b'"> <http://e/no>" .\n', True),
        (LIKES + b"<http://e/bob#me> .\n", True),
        (LIKES + b"<http://e/bob#me> .\n" + LIKES + b"<http://e/bob> .\n", True),
        (LIKES + b"<ftp://e/f> .\n", True),
        (LIKES + b"<http://e/\\u00FC> .\n", True),
        (LIKES + b"<http://e/\\u00FC#x> .\n", True),
        (LIKES + b"<mailto:a@b.c> .\n", True),
        (b"<http://e/d> <%b> <http://e/Class> .\n" % TYPE.encode(), True),
        (b"_:a <http://p/likes> <http://e/bob> .\n", True),
        (b"<http://e/a> <http://p/likes> <http://e/b> .\n", True),
        (
            b"<urn:x:a> <http://p/likes> _:b .\n<http://e/d#1> <http://p/l> _:b .\n",
            True,
        ),
        (b"<http://e/d> <http://p/likes> <http://e/d#x> .\n", True),
        (b"<http://e/a> <http://e/d#p> <http://e/b> .\n", False),
        (b"<http://e/a> <http://e/d> <http://e/b> .\n", False),
        (LIKES + b"<<( <http://e/t> <http://p/i> <a:b> )>> .\n", False),
    ],
)
@pytest.mark.parametrize("begin", [PLAIN, b""])
def test_links_of_normal_statements_are_those_of_all(
    follow: str, more: bytes, begin: bytes, *, is_possible: bool
) -> None:
    """If links are found in normalized statements, then they are the same ones."""
    options = OutlinkOptions(LinkPolicy.parse(follow), 100)
    lines = begin + more
    quick, outlinks = Outlinks(options, OWN), Outlinks(options, OWN)
    is_found = add_normal(quick, lines)
    outlinks.add(lines)
    is_usual = follow == "abox" and begin and is_possible
    assert is_found or not is_usual
    if is_found:
        found, wanted = quick.end(), outlinks.end()
        assert found[1] == wanted[1]
        assert sorted(found[0].splitlines()) == sorted(wanted[0].splitlines())


def test_too_many_links_of_normal_statements_are_left_to_the_log() -> None:
    """If a document has more links than are logged, then none is added."""
    outlinks = Outlinks(OutlinkOptions(LinkPolicy(), 0), OWN)
    assert not add_normal(outlinks, PLAIN)
    other = Outlinks(OutlinkOptions(LinkPolicy(), 9), "http://e/other")
    assert not add_normal(other, PLAIN)
    assert other.end() == (b"", set())


def test_log_of_a_document_is_bounded() -> None:
    """If a document has more links than are wanted, then the first ones are logged."""
    assert logged("object", 2) == [
        ("http://e/bob", "http://p/knows"),
        ("http://e/bob", "http://p/likes"),
    ]


def test_links_of_pages_have_registered_relations() -> None:
    """If a page links to something, then the relation is IANA's, or one of ours."""
    links = {
        Link("http://e/b", Relation.ALTERNATE, "text/turtle"),
        Link("http://e/b", Relation.ALTERNATE, "application/n-triples"),
        Link("http://e/a#x", Relation.HYPERLINK),
        Link("http://e/a", Relation.NOFOLLOW),
        Link("http://e/a b", Relation.NEXT),
    }
    assert lines_of_links(links).decode() == (
        f"<{RC}hyperlink> <http://e/a>\n"
        f"<{RC}nofollow> <http://e/a>\n"
        "<http://www.iana.org/assignments/relation/alternate> <http://e/b>\n"
    )

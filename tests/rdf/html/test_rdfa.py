"""RDFa: the rules that the public suite does not judge, and hostile pages."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.html.host import HostLanguage, sniff_host
from rdfcrawl.rdf.html.page import ParsedPage, walk
from rdfcrawl.rdf.html.rdfa import extract_rdfa, extracting
from rdfcrawl.rdf.html.rdfa.events import read_xml
from rdfcrawl.rdf.iris import resolve
from tests.support.examples import examples

URL = "http://e.org/dir/page"
XHTML_1_0 = """<?xml version="1.0"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML+RDFa 1.0//EN"
 "http://www.w3.org/MarkUp/DTD/xhtml-rdfa-1.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:e="http://e.org/v#"
 version="XHTML+RDFa 1.0"><head><title>T</title></head><body>{}</body></html>"""
NAMESPACE = 'xmlns="http://www.w3.org/1999/xhtml"'
XHTML = """<?xml version="1.0"?><!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" prefix="e: http://e.org/v#">
<body>{}</body></html>"""
PREFIX = '<html prefix="e: http://e.org/v#"><body>'


def lines(
    text: str, log: FaultLog | None = None, *, version: str = "", media_type: str = ""
) -> list[str]:
    """The statements of a page, checked; IRIs of e.org/v# as e:name."""
    log = FaultLog() if log is None else log
    page = ParsedPage(text.encode(), url=URL, charset="utf-8", media_type=media_type)
    found = extract_rdfa(page, log, version=version)
    checked = b"".join(iter_checked(found, log)).decode().splitlines()
    return [
        re.sub(r"<http://e\.org/v#(\w+)>", r"e:\1", line)
        .replace("<http://www.w3.org/1999/02/22-rdf-syntax-ns#", "<rdf:")
        .removesuffix(" .")
        for line in checked
    ]


def objects(text: str, predicate: str = "e:p", *, media_type: str = "") -> list[str]:
    """The objects of a predicate."""
    found = [one.split(" ", 2) for one in lines(text, media_type=media_type)]
    return [parts[2] for parts in found if parts[1] == predicate]


def test_page_about_itself() -> None:
    """If a property stands alone, then it is of the page."""
    assert lines(PREFIX + '<b property="e:p">x</b>') == [f'<{URL}> e:p "x"']


@pytest.mark.parametrize(
    ("text", "media_type", "language", "is_xml", "version"),
    [
        ("<!DOCTYPE html><p>", "text/html", HostLanguage.HTML5, False, "1.1"),
        (XHTML_1_0, "text/html", HostLanguage.XHTML1, True, "1.0"),
        (XHTML, "text/html", HostLanguage.XHTML5, True, "1.1"),
        (
            '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN"><html>',
            "text/html",
            HostLanguage.HTML4,
            False,
            "1.1",
        ),
        ("<svg xmlns='x'/>", "image/svg+xml", HostLanguage.SVG, True, "1.1"),
        ("<a/>", "application/xml", HostLanguage.XML, True, "1.1"),
        ("<a/>", "application/xhtml+xml", HostLanguage.XHTML5, True, "1.1"),
        ("", "", HostLanguage.HTML5, False, "1.1"),
    ],
)
def test_host_language_is_sniffed(
    text: str, media_type: str, language: HostLanguage, is_xml: bool, version: str
) -> None:
    """If a page declares its type, then that counts over its server's declaration."""
    host = sniff_host(text, media_type=media_type)
    assert (host.language, host.is_xml, host.rdfa_version) == (
        language,
        is_xml,
        version,
    )


def test_version_is_known_from_elsewhere() -> None:
    """If the version is given, then it counts: RDFa 1.0 has no `prefix`."""
    text = PREFIX + '<b property="e:p">x</b>'
    assert lines(text, version="1.0") == []


# "RDFa in XHTML: Syntax and Processing" (1.0), by section.
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('<p property="e:p">x</p>', [f'<{URL}> e:p "x"']),
        ('<p about="[e:a]" property="e:p" content="c">x</p>', ['e:a e:p "c"']),
        ('<img src="a.png" property="e:p" content="c"/>', ["<http://e.org/dir/a.png>"]),
        (
            '<p property="e:p">a <b>c</b></p>',
            ['"a <b xmlns=\\"http://www.w3.org/1999/xhtml\\"'],
        ),
        ('<p property="e:p" datatype="">a <b>c</b></p>', ['e:p "a c"']),
        ('<p property="e:p">a <b property="e:q">c</b></p>', ["XMLLiteral>"]),
        ('<a rel="next" href="n">x</a>', ["vocab#next> <http://e.org/dir/n>"]),
        ('<a rev="e:p" href="n">x</a>', [f"<http://e.org/dir/n> e:p <{URL}>"]),
        ('<p typeof="e:T" property="e:p">x</p>', ["<rdf:type> e:T", '_:rdfa1 e:p "x"']),
        (
            '<p rel="e:p"><a href="n" property="e:q">x</a></p>',
            [f"<{URL}> e:p <http://e.org/dir/n>"],
        ),
        ('<p property="name">x</p>', []),
        ('<p vocab="http://e.org/v#" property="p">x</p>', []),
        ('<p property="e:p" inlist="">x</p>', [f'<{URL}> e:p "x"']),
    ],
)
def test_rdfa_1_0_has_its_own_rules(body: str, expected: list[str]) -> None:
    """If a page is of RDFa 1.0, then it is read by the rules of 1.0."""
    found = lines(XHTML_1_0.format(body))
    if not expected:
        assert found == []
    for part in expected:
        assert any(part in line for line in found), found
    if "XMLLiteral>" in expected:  # its content is not processed
        assert len(found) == 1


def test_broken_xhtml_is_read_as_html() -> None:
    """If a page of XHTML is not well-formed, then it is read as browsers read it."""
    text = XHTML.format('<p property="e:p">a<br>b & c</p>')
    assert objects(text, media_type="application/xhtml+xml") == ['"ab & c"']


def test_entities_of_html_are_known_in_xhtml() -> None:
    """If a page of XHTML uses named entities, then nothing is fetched to read them."""
    text = XHTML_1_0.format('<p property="e:p" content="&eacute;">&nbsp;</p>')
    assert objects(text) == ['"\u00e9"']
    assert objects(XHTML.format('<p property="e:p">&eacute;&lt;</p>')) == ['"\u00e9<"']


@pytest.mark.parametrize(
    ("text", "base"),
    [
        ("{}", "http://e.org/dir/"),
        ('<base href="http://o.org/b/">{}', "http://o.org/b/"),
        ('<base href="sub/">{}', "http://e.org/dir/sub/"),
        (f'<html {NAMESPACE}><base href="http://o.org/b/"/>{{}}</html>', "http://o.org/b/"),
        (f"<html {NAMESPACE}><base/>{{}}</html>", "http://e.org/dir/"),
    ],
)  # fmt: skip
def test_base_element_counts(text: str, base: str) -> None:
    """If a page has a base, then its IRIs are resolved against it."""
    html = text.format('<a prefix="e: http://e.org/v#" property="e:p" href="x">x</a>')
    assert objects(html) == [f"<{base}x>"]


def test_xml_base_counts_in_xml() -> None:
    """If XML that is not XHTML has `xml:base`, then it applies to its content."""
    text = '<b xml:base="http://o.org/" xmlns:e="http://e.org/v#" rel="e:p" href="x"/>'
    assert objects(text, media_type="application/xml") == ["<http://o.org/x>"]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ('lang="en"', '"x"@en'),
        ('lang="en_US"', '"x"@en-us'),
        ('lang="en" xml:lang="de"', '"x"@de'),
        ('lang="english (us)"', '"x"'),
        ('lang=""', '"x"'),
        ("lang", '"x"'),
    ],
)
def test_language_tags_are_cleaned(attributes: str, expected: str) -> None:
    """If a language tag is none by its form, then the text has no language."""
    assert objects(f'{PREFIX}<b property="e:p" {attributes}>x</b>') == [expected]


def test_bad_predicates_are_left_out() -> None:
    """If a predicate is a blank node or unknown, then it is none."""
    html = '<a property="_:x nonsense unknown" rel="_:y" href="a">x</a>'
    assert lines(html) == []


def test_html_literal_is_the_markup() -> None:
    """If a property is of type rdf:HTML, then its value is the markup of HTML."""
    html = PREFIX + '<p property="e:p" datatype="rdf:HTML">a &amp; <br><i id=1>b</i>'
    assert objects(html) == ['"a &amp; <br><i id=\\"1\\">b</i>"^^<rdf:HTML>']


def test_xml_literal_is_well_formed_xml() -> None:
    """If a property of HTML is an XML literal, then it is written as XML."""
    html = PREFIX + (
        '<p property="e:p" datatype="rdf:XMLLiteral">a<br><!-- c --><svg><path/></svg>'
        "<a.b/>&lt;"
    )
    (found,) = objects(html)
    text = found.partition('"^^')[0].removeprefix('"').replace('\\"', '"')
    assert read_xml(f"<x>{text}</x>")


def test_literals_in_literals_are_whole() -> None:
    """If properties are nested, then each has all of its own text."""
    html = (
        PREFIX + '<p property="e:q">a <b property="e:p">b <i property="e:p">c</i></b>'
    )
    assert objects(html) == ['"c"', '"b c"']
    assert objects(html, "e:q") == ['"a b c"']


def test_lists_of_an_object_are_its_own() -> None:
    """If a list stands within an object, then it is of that object."""
    html = PREFIX + (
        '<div about="#s" rel="e:r" resource="#o"><i property="e:p" inlist>1</i>'
        '<i property="e:p" inlist>2</i></div>'
    )
    found = lines(html)
    assert "<http://e.org/dir/page#o> e:p _:rdfa1" in found
    assert [line for line in found if "first" in line] == [
        '_:rdfa1 <rdf:first> "1"',
        '_:rdfa2 <rdf:first> "2"',
    ]


def test_pattern_is_copied_even_in_a_loop() -> None:
    """If patterns copy one another, then who copies one has the properties of all."""
    html = PREFIX + (
        '<p resource="#x"><link property="rdfa:copy" href="#a"></p>'
        '<p resource="#a" typeof="rdfa:Pattern"><b property="e:p">1</b>'
        '<link property="rdfa:copy" href="#b"></p>'
        '<p resource="#b" typeof="rdfa:Pattern"><b property="e:p">2</b>'
        '<link property="rdfa:copy" href="#a"></p>'
    )
    assert lines(html) == [
        '<http://e.org/dir/page#x> e:p "1"',
        '<http://e.org/dir/page#x> e:p "2"',
    ]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("", "http://e.org/a/b?q"),
        ("#f", "http://e.org/a/b?q#f"),
        ("?x", "http://e.org/a/b?x"),
        ("../../c", "http://e.org/c"),
        ("./", "http://e.org/a/"),
        ("//o.org/./x", "http://o.org/x"),
        ("/x/../y", "http://e.org/y"),
        ("urn:x", "urn:x"),
        ("g/.", "http://e.org/a/g/"),
        ("..", "http://e.org/"),
        ("c/..", "http://e.org/a/"),
    ],
)
def test_iris_are_resolved_by_rfc_3986(reference: str, expected: str) -> None:
    """If a reference is resolved, then it is by RFC 3986 section 5.2."""
    assert resolve(reference, "http://e.org/a/b?q#old") == expected


def test_iris_without_base_stay() -> None:
    """If there is no base, then a relative reference stays relative."""
    assert resolve("a", "") == "a"
    assert resolve("a", "http://e.org") == "http://e.org/a"


HOSTILE = {
    "nested-text": PREFIX + '<b property="e:p">text ' * 4000 + "x" * 50_000,
    "nested-markup": PREFIX
    + '<b property="e:p" datatype="rdf:XMLLiteral">text ' * 2500,
    "nested-elements": PREFIX + '<b property="e:p">' * 4000 + "<i></i>" * 9000,
    "hanging": PREFIX
    + f'<p rel="{" ".join(f"e:p{n}" for n in range(9000))}">'
    + '<a href="x"></a>' * 9000,
    "long-prefix": f'<p prefix="e: http://e.org/{"v" * 90_000}" property="'
    + " ".join(f"e:{n}" for n in range(9000))
    + '" content="">',
    "long-vocab": f'<p vocab="http://e.org/{"v" * 90_000}" property="'
    + " ".join(f"p{n}" for n in range(9000))
    + '" content="">',
    "long-subject": PREFIX
    + f'<p about="http://e.org/{"v" * 90_000}">'
    + '<b property="e:p">x</b>' * 9000,
    "patterns": PREFIX
    + '<p resource="#p" typeof="rdfa:Pattern">'
    + "".join(f'<b property="e:p" content="{n}"></b>' for n in range(6000))
    + "</p>"
    + "".join(
        f'<p resource="#s{n}"><link property="rdfa:copy" href="#p"></p>'
        for n in range(6000)
    ),
}


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
def test_page_that_multiplies_is_bounded(html: str) -> None:
    """If a page would multiply its statements, then reading ends with a fault."""
    log = FaultLog()
    page = ParsedPage(html.encode(), url=URL, charset="utf-8")
    page.__dict__["is_heavy"] = False
    n_chars = sum(map(len, extract_rdfa(page, log)))
    assert log.count(Reason.TOO_LARGE) == 1
    assert n_chars < 100 * max(len(html), 2**20)


def test_deep_xml_is_read() -> None:
    """If XML is nested 20,000 deep, then its depth costs no stack."""
    n_deep = 20_000
    text = XHTML.format(
        '<p rel="e:r">' * n_deep + '<b property="e:p">x</b>' + "</p>" * n_deep
    )
    assert objects(text)[-1:] == ['"x"']


def test_many_prefixes_are_forgotten_again() -> None:
    """If each of many elements declares prefixes, then none outlives its element."""
    n_deep = 3000
    html = "".join(
        f'<div xmlns:a{n}="http://e.org/v#" prefix="e: http://e.org/v{n}#">'
        for n in range(n_deep)
    )
    html += '<b property="a7:p e:x">x</b>' + "</div>" * n_deep
    assert lines(html + '<b property="a7:p">y</b>') == [
        f'<{URL}> e:p "x"',
        f'<{URL}> <http://e.org/v2999#x> "x"',
        f'<{URL}> <a7:p> "y"',  # an IRI of the scheme "a7"
    ]


@pytest.mark.parametrize(
    "doctype",
    [
        "<!DOCTYPE html [{}]>".format(
            '<!ENTITY a "aaaaaaaaaa">'
            + "".join(
                f'<!ENTITY {y} "{f"&{x};" * 10}">'
                for x, y in zip("abcdefgh", "bcdefghi", strict=True)
            )
        ),
        '<!DOCTYPE html [<!ENTITY i SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE html [<!ENTITY % p SYSTEM "http://o.org/">%p;%p;<!ENTITY i "">]>',
    ],
    ids=["bomb", "external", "parameter"],
)
def test_entities_do_no_harm(doctype: str) -> None:
    """If a page declares entities to do harm, then none is done."""
    body = '<p property="e:p">&i;&nbsp;</p>'
    found = objects(doctype + XHTML.partition("<!DOCTYPE html>")[2].format(body))
    assert len("".join(found)) < 100


TEXTS = st.one_of(
    st.sampled_from(
        [
            *("e:a", "_:b", "[e:c]", "[]", ":", "rdf:XMLLiteral", "rdf:HTML", "#x"),
            *("rdfa:Pattern", "rdfa:copy", "", "next", "e: http://e.org/", "P1D"),
        ]
    ),
    st.text(max_size=8),
)
NAMES = ["about", "property", "rel", "rev", "resource", "typeof", "href", "src"]
NAMES += ["vocab", "prefix", "lang", "xml:lang", "inlist", "datatype", "content"]
NAMES += ["datetime", "xmlns:e", "xmlns", "xml:base", "class"]
ELEMENTS = st.tuples(
    st.sampled_from(["p", "time", "head", "body", "base", "svg", "br", "html", "pre"]),
    st.dictionaries(st.sampled_from(NAMES), TEXTS, max_size=5),
    TEXTS,
    st.booleans(),
)


@settings(max_examples=examples(400), deadline=None)
@given(
    st.sampled_from(["", "<?xml version='1.0'?>", XHTML_1_0[:200]]),
    st.lists(ELEMENTS, max_size=12),
    st.sampled_from(["", "1.0"]),
)
def test_any_markup_gives_statements(
    head: str, elements: list[tuple[str, dict[str, str], str, bool]], version: str
) -> None:
    """If any markup is read, then all that comes out is well-formed."""
    text = head
    for name, attributes, content, is_closed in elements:
        written = "".join(f' {key}="{value}"' for key, value in attributes.items())
        text += f"<{name}{written}>{content}" + (f"</{name}>" if is_closed else "")
    page = ParsedPage(text.encode("utf-8", "replace"), url=URL, charset="utf-8")
    for lines in extract_rdfa(page, FaultLog(), version=version):
        assert lines.endswith("\n")
        assert all(line.endswith(" .") for line in lines[:-1].split("\n"))


@settings(max_examples=examples(600), deadline=None)
@given(st.lists(ELEMENTS, max_size=16))
def test_passing_by_elements_changes_nothing(
    elements: list[tuple[str, dict[str, str], str, bool]],
) -> None:
    """If elements that state nothing are passed by, then all statements stay."""
    text = PREFIX
    for name, attributes, content, is_closed in elements:
        written = "".join(f' {key}="{value}"' for key, value in attributes.items())
        text += f"<{name}{written}>{content}" + (f"</{name}>" if is_closed else "")
    page = ParsedPage(text.encode("utf-8", "replace"), url=URL, charset="utf-8")
    found = list(extract_rdfa(page, FaultLog()))
    with patch.object(extracting, "walk_marked", walk):
        assert list(extract_rdfa(page, FaultLog())) == found


# Elements as in most pages with RDFa: a property, and little else.
STATING = st.tuples(
    st.sampled_from(["p", "span", "a", "time", "meta"]),
    st.dictionaries(
        st.sampled_from(NAMES), st.sampled_from(["e:a", "2026-01-01", ""]), max_size=2
    ),
    st.sampled_from(["", "x", "x<!-- y -->", "2026-01-01", "<b>x</b>"]),
    st.booleans(),
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(STATING, min_size=1, max_size=6))
def test_taking_elements_at_once_changes_nothing(
    elements: list[tuple[str, dict[str, str], str, bool]],
) -> None:
    """If plain elements take the fast path, then all statements stay the same."""
    text = PREFIX + '<div about="#a" lang="en">'
    for name, attributes, content, is_closed in elements:
        written = "".join(f' {key}="{value}"' for key, value in attributes.items())
        stating = "" if "property" in attributes else ' property="e:p"'
        text += f"<{name}{stating}{written}>{content}"
        text += f"</{name}>" if is_closed else ""
    page = ParsedPage(text.encode(), url=URL)
    found = list(extract_rdfa(page, FaultLog()))
    with patch.object(extracting, "walk_marked", walk):
        assert list(extract_rdfa(page, FaultLog())) == found

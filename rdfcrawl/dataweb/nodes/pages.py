"""Pages with RDFa 1.1 for nodes without the test suite, each with its triples.

Each page shows one way to write RDFa (RDFa Core 1.1; HTML+RDFa 1.1). `$origin` is
the URL of the node; all terms are in its own vocabulary, so no link leads out.
"""

from __future__ import annotations

from string import Template

from rdfcrawl.dataweb.nodes.rdfa import RdfaPage

_HTML = """<!DOCTYPE html>
<html lang="en" prefix="v: $origin/vocab#"><head><meta charset="utf-8">
<title>Page</title></head><body>
{content}
</body></html>
"""
_XHTML = """<?xml version="1.0" encoding="UTF-8"?>
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" prefix="v: $origin/vocab#">
<head><title>Page</title></head><body>
{content}
</body></html>
"""
_PREFIXES = """@prefix v: <$origin/vocab#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfa: <http://www.w3.org/ns/rdfa#> .
"""

# Name, body, and the triples in Turtle.
_CASES: tuple[tuple[str, str, str], ...] = (
    (
        "property-content",
        (
            '<p>A note by <b property="v:author">Ada</b>, '
            '<span property="v:pages" content="12" lang="">a dozen pages</span>.</p>'
        ),
        '<> v:author "Ada"@en ; v:pages "12" .',
    ),
    (
        "about-nested",
        (
            '<div about="#shelf"><p property="v:label">Shelf</p>'
            '<div about="#book"><p property="v:label">Book</p></div></div>'
        ),
        '<#shelf> v:label "Shelf"@en . <#book> v:label "Book"@en .',
    ),
    (
        "typeof-resource",
        (
            '<div resource="#station" typeof="v:Station v:Place">'
            '<span property="v:name">Main Station</span></div>'
        ),
        '<#station> a v:Station, v:Place ; v:name "Main Station"@en .',
    ),
    (
        "vocab-terms",
        (
            '<div vocab="$origin/vocab#" typeof="Person" resource="#me">'
            '<span property="name">Grace</span> <a property="site" href="/dataset-0/'
            'resource-0">site</a></div>'
        ),
        (
            "<#me> a v:Person ; v:site </dataset-0/resource-0> ; "
            'v:name "Grace"@en . <> rdfa:usesVocabulary v: .'
        ),
    ),
    (
        "datatypes",
        (
            '<p about="#m"><span property="v:count" datatype="xsd:integer">42</span>'
            '<span property="v:mass" datatype="xsd:decimal" content="1.50">1,5</span>'
            '<span property="v:plain" datatype="">as it is</span></p>'
        ),
        '<#m> v:count 42 ; v:mass 1.50 ; v:plain "as it is"@en .',
    ),
    (
        "languages",
        (
            '<div about="#city" lang="de"><b property="v:name">Wien</b>'
            '<i lang="fr" property="v:name">Vienne</i>'
            '<i lang="" property="v:name">Vindobona</i></div>'
        ),
        '<#city> v:name "Wien"@de, "Vienne"@fr, "Vindobona" .',
    ),
    (
        "rel-chaining",
        (
            '<div about="#a" rel="v:part"><div typeof="v:Wheel">'
            '<span property="v:label">front</span></div></div>'
        ),
        '<#a> v:part [ a v:Wheel ; v:label "front"@en ] .',
    ),
    (
        "rel-hanging",
        (
            '<ul about="#a" rel="v:knows"><li about="#b" property="v:name">B</li>'
            '<li about="#c" property="v:name">C</li></ul>'
        ),
        '<#a> v:knows <#b>, <#c> . <#b> v:name "B"@en . <#c> v:name "C"@en .',
    ),
    (
        "rev",
        '<p about="#child"><a rev="v:parentOf" href="#parent">parent</a></p>',
        "<#parent> v:parentOf <#child> .",
    ),
    (
        "list",
        (
            '<ol about="#poem"><li property="v:verses" inlist="" lang="">one</li>'
            '<li property="v:verses" inlist="" lang="">two</li></ol>'
        ),
        '<#poem> v:verses ("one" "two") .',
    ),
    (
        "empty-list",
        '<p about="#poem"><span rel="v:verses" inlist=""></span></p>',
        "<#poem> v:verses () .",
    ),
    (
        "blank-nodes",
        (
            '<p about="_:x" property="v:name">X</p>'
            '<p about="_:x"><a rel="v:knows" resource="[_:y]">y</a></p>'
            '<p resource="_:y" typeof="v:Person"></p>'
        ),
        '_:x v:name "X"@en ; v:knows _:y . _:y a v:Person .',
    ),
    (
        "href-src",
        (
            '<p about="#page"><a property="v:next" href="n.html?x=1&amp;y=2">next</a>'
            '<img property="v:image" src="../images/a.png" alt="a"/></p>'
        ),
        "<#page> v:next <n.html?x=1&y=2> ; v:image <../images/a.png> .",
    ),
    (
        "two-prefixes",
        (
            '<p prefix="w: $origin/vocab#w- o: $origin/other#" about="o:thing" '
            'property="w:name o:name" lang="">T</p>'
        ),
        '<$origin/other#thing> <$origin/vocab#w-name> "T" ; <$origin/other#name> "T" .',
    ),
    (
        "safe-curie",
        (
            '<p about="[v:term]"><span property="$origin/vocab#note" lang="">N</span>'
            '<a rel="v:see" resource="[v:other]">o</a></p>'
        ),
        'v:term v:note "N" ; v:see v:other .',
    ),
    (
        "property-typeof",
        (
            '<p about="#doc" ><span property="v:maker" typeof="v:Agent">'
            '<span property="v:name">M</span></span></p>'
        ),
        '<#doc> v:maker [ a v:Agent ; v:name "M"@en ] .',
    ),
    (
        "unicode",
        (
            '<p about="#caf\u00e9" property="v:name" lang="">caf\u00e9 \U0001f600 '
            "&lt;3</p>"
        ),
        '<#caf\u00e9> v:name "caf\u00e9 \U0001f600 <3" .',
    ),
)
# HTML+RDFa 1.1, 3.1: only in HTML5.
_HTML_ONLY: tuple[tuple[str, str, str], ...] = (
    (
        "time",
        (
            '<p about="#event"><time property="v:on" datetime="2024-05-01">1 May</time>'
            '<time property="v:lasts" datetime="P2D">two days</time>'
            '<time property="v:at" datetime="10:30:00">half past ten</time></p>'
        ),
        (
            '<#event> v:on "2024-05-01"^^xsd:date ; v:lasts "P2D"^^xsd:duration ; '
            'v:at "10:30:00"^^xsd:time .'
        ),
    ),
    (
        "markup",
        (
            '<p about="#n" property="v:text" lang="">with <em>marks</em> &amp;'
            " <br>breaks</p>"
        ),
        '<#n> v:text "with marks & breaks" .',
    ),
)


def make_pages(origin: str) -> list[RdfaPage]:
    """Return the pages of the node at `origin` (no slash at the end)."""
    pages = [
        _page(case, origin, wrapper=_HTML, extension="html", media_type="text/html")
        for case in (*_CASES, *_HTML_ONLY)
    ]
    pages += [
        _page(
            _as_xml(case),
            origin,
            wrapper=_XHTML,
            extension="xhtml",
            media_type="application/xhtml+xml",
        )
        for case in _CASES
    ]
    return pages


def _as_xml(case: tuple[str, str, str]) -> tuple[str, str, str]:
    name, content, turtle = case
    return name, content.replace(" lang=", " xml:lang="), turtle


def _page(
    case: tuple[str, str, str],
    origin: str,
    *,
    wrapper: str,
    extension: str,
    media_type: str,
) -> RdfaPage:
    name, content, turtle = case
    body = Template(wrapper.format(content=content)).substitute(origin=origin)
    return RdfaPage(
        path=f"/pages/{name}.{extension}",
        content_type=f"{media_type}; charset=utf-8",
        body=body.encode(),
        turtle=Template(_PREFIXES + turtle).substitute(origin=origin).encode(),
    )

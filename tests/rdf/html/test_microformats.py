"""Microformats as RDF."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.rdf.html.microformats.gathering import BOUNDED, item_types
from rdfcrawl.rdf.html.microformats.writing import time_term
from tests.support.microformat_lines import URL, lines, short, values
from tests.support.pages import read_page

XFN = "http://gmpg.org/xfn/11#"


def test_card_is_vcard() -> None:
    """If a page has an h-card, then its properties are vCard's."""
    html = """<div class="h-card" lang="en"><a class="p-name u-url" href="../ada">A</a>
    <a class="u-email" href="mailto:a@e.org">m</a> <b class="p-tel">+44 20/7946</b>
    <time class="dt-bday" datetime="1815-12-10">1815</time>
    <img class="u-photo" src="ada.jpg" alt="Portrait"></div>"""
    assert lines(html) == [
        "_:mf1 a vcard:Kind",
        '_:mf1 vcard:bday "1815-12-10"^^xsd:date',
        "_:mf1 vcard:hasEmail <mailto:a@e.org>",
        '_:mf1 vcard:fn "A"@en',
        "_:mf1 vcard:hasPhoto <http://e.org/dir/ada.jpg>",
        "_:mf1 vcard:hasTelephone <tel:+44-20-7946>",
        "_:mf1 vcard:hasURL :ada",
    ]


def test_classic_card_with_address_keeps_all() -> None:
    """If a classic vcard has an address and a place, then their parts are kept."""
    html = """<div class="vcard"><span class="fn">Bob</span> <span class="adr">
    <span class="locality">Ulm</span>, <span class="country-name">DE</span></span>
    <span class="geo"><span class="latitude">48.4</span>
    <span class="longitude">10</span></span></div>"""
    assert lines(html) == [
        "_:mf1 a vcard:Kind",
        "_:mf1 vcard:hasAddress _:mf2",
        "_:mf1 schema:geo _:mf3",
        '_:mf1 vcard:fn "Bob"',
        "_:mf2 a vcard:Address",
        '_:mf2 vcard:country-name "DE"',
        '_:mf2 vcard:locality "Ulm"',
        "_:mf3 a schema:GeoCoordinates",
        '_:mf3 schema:latitude "48.4"^^xsd:decimal',
        '_:mf3 schema:longitude "10"^^xsd:integer',
    ]


def test_event_is_icalendar() -> None:
    """If a page has an event, then it is a Vevent with typed times."""
    html = """<div class="vevent"><span class="summary">Fair</span>
    <abbr class="dtstart" title="2024-05-01T09:30-07:00">1 May</abbr>
    <span class="location">Hall</span> <a class="url" href="/fair">.</a></div>"""
    assert lines(html) == [
        "_:mf1 a ical:Vevent",
        '_:mf1 ical:location "Hall"',
        '_:mf1 ical:summary "Fair"',
        '_:mf1 ical:dtstart "2024-05-01T09:30:00-07:00"^^xsd:dateTime',
        "_:mf1 ical:url :fair",
    ]


def test_feed_has_entries_with_authors_and_markup() -> None:
    """If a feed has entries, then they are its elements, with their content."""
    html = """<html lang="fr"><div class="h-feed"><article class="h-entry" id="e1">
    <h2 class="p-name">T</h2><a class="p-author u-author h-card" href="/me">Me</a>
    <div class="e-content" lang="en">Hi <b>you</b></div>
    <a class="u-like-of" href="/x">x</a></article></div>"""
    assert lines(html) == [
        "_:mf1 a schema:DataFeed",
        "_:mf1 schema:dataFeedElement <http://e.org/dir/page#e1>",
        "<http://e.org/dir/page#e1> a schema:CreativeWork",
        "<http://e.org/dir/page#e1> schema:author _:mf2",
        '<http://e.org/dir/page#e1> schema:text "Hi <b>you</b>"^^rdf:HTML',
        "<http://e.org/dir/page#e1> mf:like-of :x",
        '<http://e.org/dir/page#e1> schema:name "T"@fr',
        "_:mf2 a vcard:Kind",
        '_:mf2 vcard:fn "Me"@fr',
        "_:mf2 vcard:hasURL :me",
    ]


def test_classic_review_rates_its_item() -> None:
    """If a classic review names an item, then it is rated through a rating."""
    html = """<div class="hreview" lang="en"><span class="item"><b class="fn">Pan</b>
    </span> <i class="rating">4.5</i> by <span class="reviewer vcard">
    <span class="fn">Zoe</span>, critic</span></div>"""
    assert lines(html) == [
        "_:mf1 a schema:Review",
        "_:mf1 schema:author _:mf2",
        "_:mf1 schema:itemReviewed _:mf3",
        '_:mf1 schema:name "Pan"@en',
        "_:mf1 schema:reviewRating _:mf4",
        "_:mf4 a schema:Rating",
        '_:mf4 schema:ratingValue "4.5"^^xsd:decimal',
        "_:mf2 a vcard:Kind",
        '_:mf2 vcard:fn "Zoe"@en',
        "_:mf3 a schema:Thing",
        '_:mf3 schema:name "Pan"@en',
    ]


def test_classic_listing_is_an_offer() -> None:
    """If a page has a classic listing, then it is that of microformats 2."""
    html = """<div class="hlisting" lang="en"><b class="fn">Bike</b> for
    <span class="price">90.50</span>, <abbr class="dtlisted" title="2024-05-01">May
    </abbr>, <div class="lister vcard"><a class="fn url" href="/bob">Bob</a></div>
    <p class="description">Red.</p></div>"""
    assert lines(html) == [
        "_:mf1 a schema:Offer",
        '_:mf1 schema:description "Red."@en',
        '_:mf1 schema:validFrom "2024-05-01"^^xsd:date',
        "_:mf1 schema:offeredBy _:mf2",
        '_:mf1 schema:name "Bike"@en',
        '_:mf1 schema:price "90.50"^^xsd:decimal',
        "_:mf2 a vcard:Kind",
        '_:mf2 vcard:fn "Bob"@en',
        "_:mf2 vcard:hasURL :bob",
    ]


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ('<a rel="friend met" href="/a">', ["friend", "met"]),
        ("<a rel='nofollow ME me' href='/a'>", ["me"]),
        ("<area rel=co-worker href=/a>", ["co-worker"]),
        ("<link rel='me contact' href=/a>", ["me"]),
        ("<a rel=friend>", []),
        ("<a rel=friends href=/a>", []),
        ("<form rel=me href=/a>", []),
        ("<a rel=me href='http://['>", []),
    ],
)
def test_relationships_of_links_are_those_of_xfn(link: str, words: list[str]) -> None:
    """If a link states relationships, then the page has them to its target."""
    assert lines(link) == [f"<{URL}> <{XFN}{word}> :a" for word in words]


def test_very_many_relationships_are_bounded() -> None:
    """If a page has very many relationships, then those beyond a limit are named."""
    log = FaultLog()
    assert len(lines("<a rel=met href=/a></a>" * 10_001, log)) == 10_000
    assert log.count(Reason.TOO_LARGE)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<p class="h-adr"><b class="p-locality">X</b>', '_:mf1 vcard:locality "X"'),
        ('<p class="h-geo"><b class="p-latitude">1</b>', "_:mf1 schema:latitude"),
        ('<p class="h-product"><b class="p-price">9.90</b>', "_:mf2 schema:price"),
        ('<p class="h-recipe"><b class="p-ingredient">I', "schema:recipeIngredient"),
        ('<p class="h-resume"><b class="p-skill">Go</b>', "schema:knowsAbout"),
        ('<p class="h-item">Thing', '_:mf1 schema:name "Thing"'),
        ('<p class="h-cite"><a class="u-url" href="/c">', "_:mf1 schema:url :c"),
        ('<p class="h-review-aggregate"><b class="p-count">7</b>', "reviewCount"),
        ('<p class="hproduct"><b class="fn">P</b>', '_:mf1 schema:name "P"'),
        ('<p class="hrecipe"><b class="fn">P</b>', '_:mf1 schema:name "P"'),
    ],
)
def test_each_type_is_mapped(html: str, expected: str) -> None:
    """If a type is in the table, then an item of it is written with its terms."""
    assert any(expected in line for line in lines(html))


def test_uid_names_the_item() -> None:
    """If an item has an http IRI as its uid, then that is its subject."""
    html = '<p class="h-card"><a class="u-uid p-name" href="/me#i">A</a></p>'
    assert "<http://e.org/me#i> a vcard:Kind" in lines(html)


@pytest.mark.parametrize("uid", ["urn:x:1", "http://e.org/a b"])
def test_other_uids_do_not_name_it(uid: str) -> None:
    """If a uid is no http IRI, then the item stays a blank node."""
    html = f'<p class="h-card"><data class="u-uid" value="{uid}">A</data></p>'
    assert "_:mf1 a vcard:Kind" in lines(html)


def test_base_of_the_page_counts() -> None:
    """If a page has a base, then URLs are resolved against it, in items too."""
    html = (
        '<base href="http://o.org/x/"><p class="h-card"><base href="http://evil.org/">'
        '<a class="u-url" href="y">y</a>'
    )
    assert values(html, "vcard:hasURL") == ["<http://o.org/x/y>"]


def test_inner_item_inherits_language_unless_it_is_unknown() -> None:
    """If an item within another says no language, then it has the outer one's."""
    html = """<div class="h-entry" lang="de"><b class="p-author h-card">A</b>
    <b class="p-comment h-cite" lang="">B</b><b class="p-comment h-cite" lang="en_GB">C
    </b></div>"""
    assert values(html, "vcard:fn") == ['"A"@de']
    assert values(html, "schema:name") == ['"B"', '"C"@en-gb']


def test_style_classes_are_no_microformats() -> None:
    """If classes only look like roots, then nothing is found and nothing is lost."""
    assert (
        lines('<div class="h-full h-screen p-lg"><p class="p-name">x</p></div>') == []
    )
    html = '<div class="h-card"><div class="h-full"><p class="p-name">x</p></div></div>'
    assert values(html, "vcard:fn") == ['"x"']


MARKUP = (
    '<p class="h-full intro note published fn p-name"> a <a rel="tag" class="u-url" '
    'href="http://e.org/x?a=1&amp;b=2">y</a><!-- c --><br><img alt="" '
    'src="http://e.org/i.png"></p><i class="h-card" title="é"><b>x</b></i>&nbsp;'
    '<base target="_top"><svg viewBox="0 0 1 1"><clipPath id="c"></clipPath></svg>'
    '<script>a<b && "c"</script><span class="h-tm" lang="de">O</span>'
)


@pytest.mark.parametrize(
    ("page", "predicate"),
    [
        ('<div class="h-entry"><div class="e-content">{}</div></div>', "schema:text"),
        (
            '<div class="hentry"><div class="entry-content">{}</div></div>',
            "schema:text",
        ),
        (
            '<div class="hrecipe"><div class="instructions">{}</div></div>',
            "schema:recipeInstructions",
        ),
        (
            (
                '<div class="h-feed"><div class="hentry" lang="fr"><i></i>'
                '<div class="entry-content x-y">{}</div></div></div>'
            ),
            "schema:text",
        ),
    ],
)
def test_markup_is_what_the_page_has(page: str, predicate: str) -> None:
    """If a property is markup, then the page's own comes out, byte by byte."""
    lines_of_page = [
        line
        for line in lines(page.format(MARKUP))
        if f" {predicate} " in line and "rdf:HTML" in line
    ]
    assert len(lines_of_page) == 1
    lexical = lines_of_page[0].split(" ", 2)[2].removesuffix("^^rdf:HTML")[1:-1]
    assert lexical.replace('\\"', '"') == MARKUP


def test_markup_has_absolute_urls() -> None:
    """If markup has relative URLs, then they are absolute: a literal has no base."""
    html = '<p class="h-entry"><span class="e-content"><img src="../a.png"></span></p>'
    found = values(html, "schema:text")
    assert found == ['"<img src=\\"http://e.org/a.png\\">"^^rdf:HTML']


def test_markup_within_markup_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """If markup repeats itself in itself, then the excess is named, not kept."""
    few = replace(BOUNDED, chars=3000)
    monkeypatch.setattr("rdfcrawl.rdf.html.microformats.writing.BOUNDED", few)
    log = FaultLog()
    html = '<div class="h-entry">' + '<div class="e-content">' * 20 + "x" * 200
    found = [line for line in lines(html, log) if "schema:text" in line]
    assert 0 < len(found) < 20
    assert log.count(Reason.TOO_LARGE)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (
            (
                '<div class="h-card"><b class="p-name">Bob</b><div class="p-org h-tm">'
                '<b class="p-name">ACME</b><a class="u-url" href="http://acme/">u</a>'
                "</div></div>"
            ),
            ['vcard:fn "Bob"', 'vcard:organization-name "ACME"'],
        ),
        (
            (
                '<div class="vcard"><b class="fn">Bob</b><div class="org h-tm">'
                '<b class="fn p-name">ACME</b></div></div>'
            ),
            ['vcard:fn "Bob"', 'vcard:organization-name "ACME"'],
        ),
        (
            (
                '<div class="h-card"><b class="p-name">Bob</b><div class="h-x-pet">'
                '<b class="p-name">Rex</b></div></div>'
            ),
            ['vcard:fn "Bob"'],
        ),
        (
            (
                '<div class="hproduct"><b class="fn">P</b><div class="hmedia">'
                '<b class="fn">M</b><img class="photo" src="p"></div></div>'
            ),
            ['schema:name "P"'],
        ),
        (
            (
                '<div class="h-card"><b class="p-name">Bob</b><div class="vevent">'
                '<b class="summary p-name">Fair</b></div></div>'
            ),
            ['vcard:fn "Bob"', "schema:hasPart _:mf2", 'ical:summary "Fair"'],
        ),
        (
            (
                '<div class="vcard"><b class="fn">Bob</b><div class="vevent">'
                '<b class="fn summary">Fair</b></div></div>'
            ),
            ['vcard:fn "Bob"', "schema:hasPart _:mf2", 'ical:summary "Fair"'],
        ),
        (
            (
                '<div class="h-card"><b class="p-name">A</b><b class="p-tel"><i '
                'class="h-foo"><u class="value">1</u></i>2</b></div>'
            ),
            ['vcard:fn "A"', "vcard:hasTelephone <tel:12>"],
        ),
        (
            (
                '<div class="hentry"><b class="entry-title">T</b><div class="vcard">'
                '<b class="fn">B</b><a rel="tag" href="/t/x">x</a></div></div>'
            ),
            ['schema:name "T"', "schema:hasPart _:mf2", 'vcard:fn "B"'],
        ),
    ],
    ids=["own", "classic", "bare", "draft", "modern", "both", "value-class", "rel"],
)
def test_items_within_items_keep_what_is_theirs(html: str, expected: list[str]) -> None:
    """If an item, known or not, is within another, then its properties stay with it."""
    found = [line.split(" ", 1)[1] for line in lines(html)]
    assert [line for line in found if not line.startswith("a ")] == expected


def test_known_item_within_an_unknown_one_is_read() -> None:
    """If an item is within one of an unknown type, then it stands for itself."""
    html = """<div class="h-card"><b class="p-name">Bob</b><div class="p-org h-tm">
    <b class="p-name">ACME</b><i class="p-boss h-card">Eve</i></div></div>"""
    assert values(html, "vcard:fn") == ['"Bob"', '"Eve"']
    assert values(html, "schema:hasPart") == []


@pytest.mark.parametrize("root", ["h-event", "vevent"])
def test_title_of_a_value_is_its_time(root: str) -> None:
    """If a time stands in the title of a value, then it is the item's."""
    name = "dt-start" if root == "h-event" else "dtstart"
    html = (
        f'<p class="{root}"><b class="{name}"><i class="value-title" '
        'title="2024-05-01"> </i>in May</b></p>'
    )
    assert values(html, "ical:dtstart") == ['"2024-05-01"^^xsd:date']


def test_template_content_is_not_read() -> None:
    """If a microformat is in a template, then it is not part of the page."""
    assert lines('<template><p class="h-card">x</p></template>') == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-01", "2024-05-01 date"),
        ("20240501", "2024-05-01 date"),
        ("0800-05-01", "0800-05-01 date"),
        ("0800-05-01 9:05", "0800-05-01T09:05:00 dateTime"),
        ("2024-122", "2024-05-01 date"),
        ("2023-366", ""),
        ("2024-13-01", ""),
        ("2024-05", "2024-05 gYearMonth"),
        ("2024", "2024 gYear"),
        ("2024-05-01 9:05", "2024-05-01T09:05:00 dateTime"),
        ("2024-05-01T09", "2024-05-01T09:00:00 dateTime"),
        ("20240501T093000Z", "2024-05-01T09:30:00Z dateTime"),
        ("2024-05-01T09:30:01.5+01", "2024-05-01T09:30:01.5+01:00 dateTime"),
        ("2024-05-01T25:00", ""),
        ("2024-05-01T10:00:61", ""),
        ("0000-01-01", ""),
        ("9999-366", ""),
        ("P1DT2H", "P1DT2H duration"),
        ("10:30:00", "10:30:00 time"),
        ("tomorrow", ""),
    ],
)
def test_times_have_the_datatype_of_their_form(text: str, expected: str) -> None:
    """If a text is a date, time or duration, then it is one of XML Schema."""
    term = time_term(text)
    lexical, _, datatype = term.partition('"^^')
    short = f"{lexical[1:]} {datatype[1:-1].rpartition('#')[2]}" if term else ""
    assert short == expected


@pytest.mark.parametrize(
    ("html", "predicate", "expected"),
    [
        ('<b class="p-tel">call me</b>', "vcard:hasTelephone", '"call me"'),
        ('<b class="p-email">a@e.org</b>', "vcard:hasEmail", "<mailto:a@e.org>"),
        ('<b class="p-geo">1.5;-2</b>', "vcard:hasGeo", "<geo:1.5,-2>"),
        ('<b class="p-category">x</b>', "vcard:category", '"x"'),
        ('<a class="u-category" href="/t">x</a>', "vcard:category", ":t"),
        ('<b class="dt-bday">in May</b>', "vcard:bday", '"in May"'),
        (
            '<a class="u-url" href="a b">x</a>',
            "vcard:hasURL",
            "<http://e.org/dir/a%20b>",
        ),
        ('<b class="p-org h-card">O</b>', "vcard:hasOrganizationName", "_:mf2"),
        ('<b class="e-note">plain &amp; simple</b>', "vcard:note", '"plain & simple"'),
    ],
)
def test_values_have_the_form_of_their_kind(
    html: str, predicate: str, expected: str
) -> None:
    """If a value has the form of its kind, then it is that; else it is text."""
    assert values(f'<div class="h-card">{html}</div>', predicate) == [expected]


def test_table_of_the_documentation_is_the_table() -> None:
    """If a type or property is mapped, then the documentation has the mapping."""
    text = read_page("microformats.md")
    flags = re.MULTILINE | re.DOTALL
    sections = dict(re.findall(r"^## (h-\S+)\n(.*?)(?=^## |\Z)", text, flags))
    row = re.compile(
        r"^\| ([a-z-]+) \| (\S+:\S+) \| [^;|]*"
        r"(?:; item (\S+))?(?:; through (\S+ \S+))? \|$",
        re.MULTILINE,
    )
    parts = re.compile(r"are `(\S+)`\.").findall
    assert set(sections) == set(item_types())
    for name, kind in item_types().items():
        documented = {key: rest for key, *rest in row.findall(sections[name])}
        assert set(documented) == set(kind.properties)
        for key, spec in kind.properties.items():
            term, item, via = documented[key]
            assert [term, item or term] == [short(spec.term), short(spec.item)]
            assert via == " ".join(map(short, spec.via or ()))
        assert f"Class `{short(kind.kind)}`" in sections[name]
        default = parts(sections[name]) or ["schema:hasPart"]
        assert default == [short(kind.children)]

"""Scraping rules applied to pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.formats import Link, Relation
from rdfcrawl.rdf.html.page import ParsedPage
from rdfcrawl.rdf.html.rules import load_rules, scraping, selectors
from tests.support.scraped_pages import EX, ScrapedPage

if TYPE_CHECKING:
    from pathlib import Path


Scrape = Callable[..., ScrapedPage]


@pytest.fixture
def apply(tmp_path: Path) -> Scrape:
    """Return a function that applies a rule, without its `match`, to a page."""

    def run(
        rule: str, html: str | bytes, *, url: str = EX, media_type: str = "text/html"
    ) -> ScrapedPage:
        indented = "".join(f"    {line}\n" for line in rule.strip("\n").split("\n"))
        path = tmp_path / "rules.yaml"
        path.write_text(
            f"prefixes: {{ex: '{EX}'}}\n"
            "rules:\n  it:\n"
            "    match: [{regex: '.*/set/(?P<id>[^/]+)'}, e.example]\n" + indented,
            encoding="utf-8",
        )
        data = html.encode() if isinstance(html, str) else html
        return ScrapedPage(
            load_rules(path), ParsedPage(data, url=url, media_type=media_type)
        )

    return run


def objects(apply: Scrape, value: str, html: str, **page: str) -> list[str]:
    """Return the result of a value for a page."""
    rule = f"subject: ex:s\nproperties:\n  ex:p: {value}"
    lines = apply(rule, html, **page).lines
    return [line.removeprefix("<s> <p> ") for line in lines]


# -- selectors ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "html", "wanted"),
    [
        ("h1", "<h1> a <b>b</b>\n c</h1>", ['"a b c"']),
        ("li", "<li>a<li>b", ['"a"', '"b"']),
        ("h1::text", "<h1>a<b>b</b></h1>", ['"a"']),
        ("img::attr(alt)", "<img alt=x>", ['"x"']),
        ("{css: i, attribute: Title}", "<i title=x>y</i>", ['"x"']),
        ("{xpath: //b}", "<b>x</b>", ['"x"']),
        ("{xpath: count(//b)}", "<b>x</b><b>y</b>", ['"2"']),
        ("{xpath: 1 div 3}", "<b>", ['"0.333333333333333"']),
        ("{xpath: number('x')}", "<b>", []),
        ("{xpath: boolean(//b)}", "<b>x</b>", ['"true"']),
        ("{xpath: 'string(//b)'}", "<b>x</b>", ['"x"']),
        ("{xpath: //@id}", "<b id=x>", ['"x"']),
        ("{xpath: //comment()}", "<p>a<!-- x --></p>", ['"x"']),
        ("{xpath: //namespace::*}", "<b>x</b>", []),
        ("{xpath: '//p[has-class(\"a\")]'}", "<p class='b a'>x</p>", ['"x"']),
        ("time", "<time datetime=2020>x</time>", ['"2020"']),
        ("time", "<time>x</time>", ['"x"']),
        ("meta", "<meta content=x>", ['"x"']),
        ("div", "<div>a<script>b</script><p>c</p>d<br>e</div>", ['"a c d e"']),
        ("pre", "<pre> a\n  b</pre>", ['"a b"']),
        ("{css: pre, whitespace: keep}", "<pre> a\n  b</pre>", ['" a\\n  b"']),
        ("{css: p, split: ','}", "<p>a, b,,c</p>", ['"a"', '"b"', '"c"']),
        ("{css: p, first: true}", "<p> </p><p>a</p><p>b</p>", ['"a"']),
        ("h1", "<p>x</p>", []),
        ("h1", "", []),
        ("h1", "<!-- -->", []),
    ],
)
def test_selected_texts(
    apply: Scrape, value: str, html: str, wanted: list[str]
) -> None:
    """If a selector finds something, its text is as the page shows it."""
    assert objects(apply, value, html) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("{css: p, pattern: '[0-9]+'}", ['"12"']),
        ("{css: p, pattern: 'a(.)'}", ['"1"']),
        ("{css: p, pattern: 'x'}", []),
        ("{css: p, pattern: '(x)?a'}", []),
        ("{css: p, template: '{value}!'}", ['"a12 b!"']),
        ("{css: p, pattern: '(?P<x>1)(?P<y>2)', template: '{y}{x}'}", ['"21"']),
        ("{css: p, map: {a12 b: z}}", ['"z"']),
        ("{css: p, map: {b: z}}", []),
        ("{css: p, pattern: 'a', map: {a: b}, template: '{value}{{c}}'}", ['"b{c}"']),
        ("{css: p, datatype: xsd:token}", ['"a12 b"^^<http://www.w3.org/2001/XMLSchema#token>']),
        ("{css: p, language: no}", ['"a12 b"@no']),
        ("{css: p, as: iri, template: 'ex:{value}'}", ["<a12%20b>"]),
        ("{css: p, as: iri, map: {a12 b: 'ex:z'}}", ["<z>"]),
        ("{css: p, as: iri}", []),
    ],
)  # fmt: skip
def test_steps_of_a_value(apply: Scrape, value: str, wanted: list[str]) -> None:
    """If a value has steps, they are taken one after the other."""
    assert objects(apply, value, "<p>a12  b</p>") == wanted


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        ("<a href='b c#d'>x</a>", [f"<{EX}x/b%20c#d>"]),
        ("<base href=/y/><a href=b>x</a>", [f"<{EX}y/b>"]),
        ("<a href='mailto:a@b.example'>x</a>", ["<mailto:a@b.example>"]),
        ("<a href='JavaScript:f()'>x</a>", []),
        ("<a href=''>x</a>", []),
        ("<a>no link</a>", []),
        ("<a>word</a>", []),
        ("<a> https://a.example/ </a>", ["<https://a.example/>"]),
        ("<a href='http://[x'>x</a>", []),
        (
            "<a href='//a.example/\u00e9\u3042'>x</a>",
            ["<https://a.example/\u00e9\u3042>"],
        ),
    ],
)
def test_links_become_iris(apply: Scrape, html: str, wanted: list[str]) -> None:
    """If an IRI is wanted, the link of the element is resolved against the page."""
    found = objects(apply, "{css: a, as: iri}", html, url=f"{EX}x/")
    assert [x.replace("<", f"<{EX}", 1) if ":" not in x else x for x in found] == wanted


@pytest.mark.parametrize(
    ("html", "wanted"),
    [
        ("<html lang=de><p>x", '"x"@de'),
        ("<html lang=de><div xml:lang=fr-CA><p>x", '"x"@fr-ca'),
        ("<html lang=de><p lang=''>x", '"x"'),
        ("<html lang='a b'><p>x", '"x"'),
        ("<p>x", '"x"'),
    ],
)
def test_language_of_the_page(apply: Scrape, html: str, wanted: str) -> None:
    """If the language is `auto`, the nearest `lang` counts."""
    for selector in ("css: p", "xpath: //p/text()"):
        found = objects(apply, f"{{{selector}, language: auto}}", html)
        assert [x.lower() for x in found] == [wanted]


# -- JSON -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("{json: a}", ['"1"^^<http://www.w3.org/2001/XMLSchema#integer>']),
        ("{json: b}", ['"1.5E0"^^<http://www.w3.org/2001/XMLSchema#double>']),
        ("{json: c}", ['"true"^^<http://www.w3.org/2001/XMLSchema#boolean>']),
        ("{json: d}", []),
        ("{json: e}", ['"x"', '"y"']),
        ("{json: 'e[2]', language: en}", ['"y"@en']),
        ("{json: f}", ['"{\\"g\\": [\\"\u00e9\\"]}"']),
        ("{json: a, template: '{value}'}", ['"1"']),
        ("{json: h, as: iri}", ["<x>"]),
        ("{json: nothing.at.all}", []),
        ("h1", []),
    ],
)
def test_json_pages(apply: Scrape, value: str, wanted: list[str]) -> None:
    """If the page is JSON, JMESPath finds values with their datatypes."""
    page = (
        '{"a": 1, "b": 1.5, "c": true, "d": null, "e": ["x", null, "y"],'
        ' "f": {"g": ["\u00e9"]}, "h": "/x"}'
    )
    found = objects(apply, value, page, media_type="application/json")
    assert [x.replace('"1.5"', '"1.5E0"') for x in found] == wanted


def test_items_of_json_in_a_script(apply: Scrape) -> None:
    """If items are in the JSON of a script, each one is a resource."""
    scraped = apply(
        """
items: {css: script#x, json: "sets[?open]"}
subject: {json: id, as: iri, template: "ex:{value}"}
properties:
  ex:name: {json: name, required: true}
  ex:file: {items: {json: files}, subject: {json: "@", as: iri}, type: ex:File}
""",
        '<script id=x>{"sets": [{"open": true, "id": 1, "name": "a", "files": ["f"]},'
        '{"open": true, "id": 2}, {"open": false, "id": 3, "name": "c"}]}</script>',
    )
    assert scraped.lines == [
        '<1> <name> "a"',
        "<1> <file> <f>",
        "<f> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <File>",
    ]
    assert scraped.reasons == {Reason.RULE_REQUIRED: 1}


@pytest.mark.parametrize(
    "content",
    ["", "{", "NaN", '{"a": Infinity}', "[" * 100_000, "9" * 100_000, '"\\ud800"'],
    ids=["empty", "cut", "nan", "infinity", "deep", "long", "surrogate"],
)
def test_bad_json_is_a_fault(apply: Scrape, content: str) -> None:
    """If JSON is invalid, it is a fault and other values are found."""
    rule = "subject: ex:s\nproperties:\n  ex:p: {css: script, json: a}\n  ex:q: h1"
    scraped = apply(rule, f"<script>{content}</script><h1>x</h1>")
    assert scraped.lines == ['<s> <q> "x"']
    assert scraped.reasons in ({Reason.SYNTAX: 1}, {})
    scraped = apply(
        "subject: ex:s\nproperties: {ex:p: {json: a}, ex:q: {json: b}}",
        content,
        media_type="application/json",
    )
    assert not scraped.lines


@pytest.mark.parametrize(
    "value",
    ["{json: abs(a)}", "{json: 'sum(a)'}", "{json: 'sort_by(a, &b)'}"],
)
def test_failing_expressions_are_faults(apply: Scrape, value: str) -> None:
    """If a function does not fit the page, it is a fault."""
    rule = f"subject: ex:s\nproperties: {{ex:p: {value}}}"
    scraped = apply(rule, '{"a": ["x", 1]}', media_type="application/json")
    assert scraped.reasons == {Reason.SYNTAX: 1}


# -- resources ------------------------------------------------------------------------


def test_items_are_scopes(apply: Scrape) -> None:
    """If there are items, selectors look into one at a time; `//` at the page."""
    scraped = apply(
        """
items: li
subject: "ex:{n}"
properties:
  ex:b: b
  ex:self: {css: "::attr(id)"}
  ex:all: {xpath: count(//b)}
  ex:own: {xpath: count(.//b)}
""",
        "<ul><li id=x><b>a</b><li><b>b</b><b>c</b></ul>",
    )
    assert scraped.lines == [
        '<1> <b> "a"', '<1> <self> "x"', '<1> <all> "3"', '<1> <own> "1"',
        '<2> <b> "b"', '<2> <b> "c"', '<2> <all> "3"', '<2> <own> "2"',
    ]  # fmt: skip


def test_missing_required_drops_the_resource_with_what_is_nested(
    apply: Scrape,
) -> None:
    """If a required value is missing, all of the resource is left out and counted."""
    scraped = apply(
        """
items: li
subject: "ex:{n}"
properties:
  ex:sub: {subject: "{parent}/x", properties: {ex:b: b}}
  ex:a: {css: a, required: true}
""",
        "<ul><li><b>1</b><li><b>2</b><a>y</a></ul>",
    )
    assert scraped.lines == ["<2> <sub> <2/x>", '<2/x> <b> "2"', '<2> <a> "y"']
    assert scraped.reasons == {Reason.RULE_REQUIRED: 1}


def test_required_nested_resource(apply: Scrape) -> None:
    """If a required nested resource is incomplete, the one around it is dropped."""
    rule = """
items: li
subject: "ex:{n}"
properties:
  ex:sub: {required: true, properties: {ex:b: {css: b, required: true}}}
"""
    scraped = apply(rule, "<ul><li>1<li><b>2</b></ul>")
    assert [x.split()[0] for x in scraped.lines if "sub" in x] == ["<2>"]
    assert scraped.reasons == {Reason.RULE_REQUIRED: 2}


def test_first_item_that_is_whole(apply: Scrape) -> None:
    """If only the first item is taken, an incomplete one is skipped."""
    rule = """
subject: ex:s
properties:
  ex:sub:
    items: li
    first: true
    subject: "ex:{n}"
    properties: {ex:b: {css: b, required: true}}
"""
    scraped = apply(rule, "<ul><li>1<li><b>2</b><li><b>3</b></ul>")
    assert scraped.lines == ["<s> <sub> <2>", '<2> <b> "2"']


def test_inverse_predicates(apply: Scrape) -> None:
    """If a predicate begins with `^`, the match is the subject."""
    scraped = apply(
        'subject: ex:s\nproperties: {"^ex:p": [{css: a, as: iri}, {type: ex:T}]}',
        "<a href=/x></a>",
    )
    assert scraped.lines[0] == "<x> <p> <s>"
    assert scraped.lines[1].endswith("<p> <s>")
    assert scraped.lines[2].endswith("<T>")


def test_blank_nodes_of_resources_differ(apply: Scrape) -> None:
    """If resources have no subject, each has its own blank node."""
    scraped = apply("items: li\nproperties: {ex:p: b}", "<li><b>1</b><li><b>2</b>")
    assert len({line.split()[0] for line in scraped.lines}) == 2


def test_templates_know_the_page(apply: Scrape) -> None:
    """If a template names parts of the page, they are escaped as required."""
    scraped = apply(
        """
subject: "{url}#it"
fields:
  q: {css: q, required: true}
  r: {text: "{q}/r"}
  none: i
properties:
  ex:label: {text: "{label}"}
  ex:id: {iri: "ex:{id}"}
  ex:path: {iri: "//h.example{path}"}
  ex:query: {text: "{host} {query}"}
  ex:simple: {iri: "ex:{r}"}
  ex:reserved: {iri: "ex:{+r}"}
  ex:none: {text: "a{none}"}
  ex:base: {iri: "{base}"}
  ex:relative: {iri: "#x"}
""",
        "<q>a b?/é</q>",
        url="https://e.example/set/caf%C3%A9?x=y",
    )
    page = "set/caf%C3%A9?x=y"
    assert scraped.lines == [
        f'<{page}#it> <label> "café?x=y"'.replace('?x=y"', '"'),
        f"<{page}#it> <id> <caf%C3%A9?x=y>",
        f"<{page}#it> <path> <https://h.example/set/caf%C3%A9>",
        f'<{page}#it> <query> "e.example x=y"',
        f"<{page}#it> <simple> <a%20b%3F%2F%C3%A9%2Fr>",
        f"<{page}#it> <reserved> <a%20b?/%C3%A9/r>",
        f"<{page}#it> <base> <{page}>",
        f"<{page}#it> <relative> <{page}#x>",
    ]


def test_links_by_relation(apply: Scrape) -> None:
    """If a rule has links, they are those of the page, absolute, without fragment."""
    scraped = apply(
        """
links:
  next: a.next
  describedby: [{xpath: //link/@href}, {iri: "{url}.ttl"}]
""",
        "<link href=m.rdf><a class=next href='?p=2#top'>n</a><a class=next>x</a>",
        url=f"{EX}x",
    )
    assert scraped.page.links == {
        Link(f"{EX}x?p=2", Relation.NEXT),
        Link(f"{EX}m.rdf", Relation.DESCRIBEDBY),
        Link(f"{EX}x.ttl", Relation.DESCRIBEDBY),
    }
    assert not scraped.n_quads


# -- bounds ---------------------------------------------------------------------------


def test_matches_are_bounded(apply: Scrape, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a selector finds too much, the rest is left out and counted."""
    monkeypatch.setattr(scraping, "MAX_MATCHES", 10)
    scraped = apply("subject: ex:s\nproperties: {ex:p: b}", "<b>x</b>" * 11)
    assert scraped.n_quads.count(b"\n") == 10
    assert scraped.reasons == {Reason.TOO_LARGE: 1}


def test_output_is_bounded(apply: Scrape, monkeypatch: pytest.MonkeyPatch) -> None:
    """If nested items multiply, it ends as a fault before memory does."""
    monkeypatch.setattr(scraping, "MAX_CHARS", 2**20)
    rule = "items: b\nproperties: {ex:p: {items: {xpath: //b}, properties: {ex:q: b}}}"
    with pytest.raises(SourceFault) as caught:
        apply(rule, "<b>" + "x" * 1_000 + "</b>" + "<b>x</b>" * 500)
    assert caught.value.fault.reason is Reason.TOO_LARGE


def test_deep_pages_are_cut(apply: Scrape) -> None:
    """If elements are nested 100,000 deep, those above the limit are found."""
    scraped = apply(
        "subject: ex:s\nproperties: {ex:p: h1, ex:q: {xpath: count(//div)}}",
        "<h1>x</h1>" + "<div>" * 100_000,
    )
    assert scraped.lines[0] == '<s> <p> "x"'


def test_what_a_pattern_looks_at_is_bounded(apply: Scrape) -> None:
    """If a text is long, an expression that goes back and forth sees its begin."""
    assert not objects(
        apply, "{css: p, pattern: 'a+b', first: true}", "<p>" + "a" * 30_000 + "b</p>"
    )


@pytest.mark.parametrize(
    "expression",
    [
        "document('/etc/passwd')", "unparsed-text('/etc/passwd')",
        "doc('http://127.0.0.1/')", "re:test('a', //p)", "str:padding(10, 'x')",
        "$x", "id(", "x:y",
    ],
)  # fmt: skip
def test_unknown_functions_are_refused(expression: str) -> None:
    """If XPath names an unknown function, the rule is refused at start."""
    with pytest.raises(ValueError, match="not an XPath expression"):
        selectors.xpath(expression)

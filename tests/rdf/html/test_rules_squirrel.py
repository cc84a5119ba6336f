"""Rule files of Squirrel."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import ConfigError, FaultLog, Reason
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.html.page import ParsedPage
from rdfcrawl.rdf.html.rules import RuleSet, load_rules, scrape
from tests.support.pages import read_page

if TYPE_CHECKING:
    from pathlib import Path

URL = "https://www.portal.example/Details/roads/?session=1"

Load = Callable[[str], RuleSet]


@pytest.fixture
def read(tmp_path: Path) -> Load:
    """Return a function that reads the blocks of a file for `portal.example`."""

    def run(blocks: str) -> RuleSet:
        path = tmp_path / "squirrel.yaml"
        head = "file_descriptor:\n  check: {domain: portal.example}\n"
        indented = "".join(f"  {line}\n" for line in blocks.strip("\n").split("\n"))
        path.write_text(head + indented, encoding="utf-8")
        return load_rules(path)

    return run


def resources(text: str, regex: str = "/") -> str:
    """Return a block with resources."""
    lines = "".join(f"    {line}\n" for line in text.strip("\n").split("\n"))
    return f"page:\n  regex: {regex}\n  resources:\n{lines}"


def scraped(
    rules: RuleSet, html: str, *, url: str = URL, log: FaultLog | None = None
) -> list[str]:
    """Return statements with short IRIs, without the dots."""
    log = FaultLog() if log is None else log
    lines = scrape(ParsedPage(html.encode(), url=url), rules.matching(url), log)
    text = b"".join(iter_checked(lines, log)).decode()
    text = text.replace("<https://portal.example/", "<").replace(f"<{URL}>", "<>")
    return [line.removesuffix(" .") for line in text.splitlines()]


def test_the_example_of_the_docs(tmp_path: Path) -> None:
    """If the documented file meets a page, all of its notation is understood."""
    docs = read_page("scraping.md")
    text = re.findall(r"^```yaml\n(.*?)^```$", docs, re.MULTILINE | re.DOTALL)[1]
    path = tmp_path / "portal.yaml"
    path.write_text(text, encoding="utf-8")
    rules = load_rules(path)
    assert not rules.refused
    html = """
<h1>Roads</h1><table><tr><td>Published  by<td>City</table>
<div class=files><a href=/f/1 data-format=csv>one</a><a href="f?2">two</a></div>
"""
    page = "<https://www.portal.example/Details/roads/>"
    lines = scraped(rules, html)
    lines = [re.sub(r"<http[^ ]*[/#]([A-Za-z]+)>", r"<\1>", x) for x in lines]
    page = "<https://www.portal.example/Details/roads/>"
    assert lines == [
        f'{page} <title> "Roads"',
        f"{page} <publisher> <agent/roads>",
        f"{page} <distribution> <file/roads_0>",
        f"{page} <distribution> <file/roads_1>",
        '<agent/roads> <name> "City"',
        "<file/roads_0> <downloadURL> <https://www.portal.example/f/1>",
        '<file/roads_0> <format> "csv"',
        '<file/roads_0> <identifier> "file: one"',
        f"<file/roads_1> <downloadURL> {page[:-1]}f?2>",
        '<file/roads_1> <identifier> "file: two"',
    ]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("b", ['"x y"', '"z"']),
        ("i", ["<http://a.example/>"]),
        ("a", ["<x>", '"no link"']),
        ("l(word)", ['"word"']),
        ("l(http://a.example/$label)", ["<http://a.example/roads>"]),
        ("l($uri#it)", [f"<{URL}#it>"]),
        ("l(a )+b", ['"a x y"', '"a z"']),
        ("l(http://a.example/)+em", ["<http://a.example/1>"]),
        ("'attr(title:b)'", ['"t"']),
        ("'attr(href:a)'", ["<x>"]),
        ("append(em)", [f"<{URL}1>"]),
        ("[em, b:eq(0)]", ['"1"', '"x y"']),
        ("b:contains(X  Y)", []),
        ("b:contains(X y)", ['"x y"']),
        ("'b:contains(\"x\")'", ['"x y"']),
        ("p:containsOwn(own)", ['"own sub"']),
        ("p:containsOwn(sub)", []),
        ("p:contains(sub):not(:contains(nothing))", ['"own sub"']),
        ("b:lt(1)", ['"x y"']),
        ("b:gt(0)", ['"z"']),
        ("'[title=a t]'", []),
        ("'b[title^=t]'", ['"x y"']),
    ],
)
def test_sources(read: Load, source: str, wanted: list[str]) -> None:
    """If an object is written in Squirrel's notation, it has the same meaning."""
    rules = read(resources(f'"$uri": {{"http://p.example/": {source}}}'))
    assert not rules.refused
    html = """
<div><b title=t>x y</b><b>z</b></div><i>http://a.example/</i><p>own <u>sub</u></p>
<a href=https://portal.example/x>l</a><a>no link</a><em>1</em>
"""
    assert [line.split("<http://p.example/> ")[1] for line in scraped(rules, html)] == (
        wanted
    )


def test_oldest_files_have_no_subjects(read: Load) -> None:
    """If predicates stand without subject, they are the page's."""
    rules = read(
        resources('"http://p.example/": b\n"s($uri)": {"http://q.example/": b}')
    )
    assert scraped(rules, "<b>x</b>") == [
        '<> <http://p.example/> "x"',
        '<> <http://q.example/> "x"',
    ]


def test_nested_subjects(read: Load) -> None:
    """If a subject stands in another, it is one more subject."""
    rules = read(
        resources(
            '"$uri":\n  "http://p.example/": b\n'
            '  "https://portal.example/$label":\n    "http://q.example/": b'
        )
    )
    assert scraped(rules, "<b>x</b>") == [
        '<> <http://p.example/> "x"',
        '<roads> <http://q.example/> "x"',
    ]


def test_predicates_with_a_star_number_their_subject(read: Load) -> None:
    """If a predicate ends with a star, its n-th match is said of the n-th subject."""
    rules = read(
        resources(
            '"$uri":\n  "http://p.example/": l(https://portal.example/$label*)\n'
            '"https://portal.example/$label":\n  "http://url.example/*": b\n'
            '  "http://name.example/*": i\n  "http://type.example/": l(T)\n'
            '  "http://tag.example/": em'
        )
    )
    assert not rules.refused
    assert scraped(rules, "<b>x</b><i>1</i><em>s</em><b>y</b><em>t</em>") == [
        "<> <http://p.example/> <roads_0>",
        "<> <http://p.example/> <roads_1>",
        '<roads_0> <http://url.example/> "x"',
        '<roads_0> <http://name.example/> "1"',
        '<roads_0> <http://type.example/> "T"',
        '<roads_0> <http://tag.example/> "s"',
        '<roads_0> <http://tag.example/> "t"',
        '<roads_1> <http://url.example/> "y"',
        '<roads_1> <http://type.example/> "T"',
        '<roads_1> <http://tag.example/> "s"',
        '<roads_1> <http://tag.example/> "t"',
    ]


@pytest.mark.parametrize(
    ("regex", "url", "matches"),
    [
        ("details", URL, True),
        ("Details", URL, True),
        ("/Details/Roads", URL, True),
        ("[none, details]", URL, True),
        ("[none, Details]", URL, True),
        ("[Details]", URL, True),
        ("none", URL, False),
        ("roads/?session", URL, True),
        ("'\\D/roads'", URL, True),
        ("'(roads'", URL, False),
        ("'(roads'", "http://portal.example/(Roads)", True),
        ("session", URL, True),
        ("details", "http://portal.example:8080/details", True),
        ("details", "http://a.portal.example/details", False),
        ("details", "http://other.example/details", False),
    ],
)
def test_pages_of_a_block(read: Load, regex: str, url: str, *, matches: bool) -> None:
    """If a text or an expression is found in the URL, in any case, it is for it."""
    rules = read(resources('"$uri": {"http://p.example/": b}', regex=regex))
    assert bool(rules.matching(url)) is matches


def one(source: str) -> str:
    """Return a block with one object, on its fourth line."""
    return resources(f"'$uri': {{'http://p.example/': {source}}}")


@pytest.mark.parametrize(
    ("block", "line", "reason"),
    [
        (resources("javascript: {id: x}"), 6, "`javascript` needs a browser"),
        (one("'a[b~=c.]'"), 6, "~= takes a regular expression"),
        (one("'a:matchesOwn(b)'"), 6, ":matchesOwn takes a regular expression"),
        (one("'a:eq(b)'"), 6, "one number"),
        (one("'a:unknown(b)'"), 6, "unknown"),
        (one("'l(x'"), 6, "is not closed"),
        (one("'l(x)b'"), 6, "is not understood"),
        (one("'attr(x)'"), 6, "attr(name:selector)"),
        (one("'append(x)y'"), 6, "is not understood"),
        (one("'l(http://a.example/*)'"), 5, "no subject http://a.example/*"),
        (one("['']"), 6, "selector or a list"),
        (resources("'$uri': {'title': h1}"), 6, "predicate 'title' is not an IRI"),
        (resources("'dist_$label': {'http://p.example/': h1}"), 6, "is not an IRI"),
        (resources("x: y", regex="a" * 2_001), 4, "longer than 2000 characters"),
        ("page: {resources: {}}", 3, "`regex` is missing"),
        ("page: {regex: a}", 3, "`resources` is missing"),
        ("page: {regex: a, resources: {}, other: b}", 3, "'other' has no counterpart"),
        ("page: a", 3, "`regex` is missing"),
    ],
)
def test_blocks_are_refused_one_by_one(
    read: Load, block: str, line: int, reason: str
) -> None:
    """If a block has no counterpart, it is left out with the reason; others are not."""
    good = resources('"$uri": {"http://p.example/": b}').replace("page:", "good:")
    rules = read(f"{block.rstrip()}\n{good}")
    assert [rule.name for rule in rules.rules] == ["good"]
    (refusal,) = rules.refused
    assert refusal.rule == "page"
    assert refusal.place.line == line
    assert reason in refusal.reason
    assert str(refusal).endswith(f"squirrel.yaml:{line}: rule page: {refusal.reason}")


@pytest.mark.parametrize(
    "text",
    ["file_descriptor: []", "file_descriptor: {}", "file_descriptor: {check: {}}"],
)
def test_files_without_domain(tmp_path: Path, text: str) -> None:
    """If a file does not name its host, it is refused completely."""
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"x\.yaml:1: "):
        load_rules(path)


def test_matches_are_bounded(read: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a selector finds too much, the rest is left out and counted."""
    monkeypatch.setattr("rdfcrawl.rdf.html.rules.squirrel.MAX_MATCHES", 10)
    rules = read(resources('"$uri": {"http://p.example/": b}'))
    log = FaultLog()
    assert len(scraped(rules, "<b>x</b>" * 11, log=log)) == 10
    assert log.count(Reason.TOO_LARGE) == 1

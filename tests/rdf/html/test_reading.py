"""Complete pages: every extractor by itself."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.errors import FaultLog, NeedsSandbox, Reason
from rdfcrawl.core.formats import Link, Relation
from rdfcrawl.rdf.environment import DEFAULT_LIMITS, INLINE, ParseLimits, ReaderContext
from rdfcrawl.rdf.html import meta
from rdfcrawl.rdf.html.extractors import SLOW, Extractor
from rdfcrawl.rdf.html.microformats import gathering
from rdfcrawl.rdf.html.page import ParsedPage
from rdfcrawl.rdf.html.reading import OutOfTime, PageReading, TimeShares
from rdfcrawl.rdf.output import QuadOutput

if TYPE_CHECKING:
    from collections.abc import Iterator

URL = "http://a.example/dir/page"
BOUNDED = ReaderContext(is_bounded=True)
PAGE = """<!DOCTYPE html><html lang=en><head>
<link rel=alternate type=text/turtle href=x.ttl>
<meta property="og:title" content="a"><meta name="DC.title" content="b">
<script type="application/ld+json">{"@id": "#j", "http://v/p": "c",}</script>
</head><body>
<p itemscope itemid="#m"><b itemprop="http://v/p">d</b></p>
<p about="#r" property="http://v/p">e</p>
<p class="h-card"><a class="u-url p-name" href="/f">f</a></p>
</body></html>"""
FAST = {
    Extractor.JSON_LD: 1,
    Extractor.MICRODATA: 1,
    Extractor.OPEN_GRAPH: 1,
    Extractor.DUBLIN_CORE: 1,
    Extractor.RDFA: 2,
}

LEFT = frozenset({Extractor.MICROFORMATS})  # where they may take long


@pytest.fixture
def has_slow_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have any microformats exceed the limit of a process without bounds."""
    few = replace(gathering.INLINE, work=0)
    monkeypatch.setattr("rdfcrawl.rdf.html.microformats.writing.INLINE", few)


class Read:
    """A page that was read to its end."""

    def __init__(
        self,
        html: str | bytes,
        *,
        environment: ReaderContext = BOUNDED,
        extractors: frozenset[Extractor] | None = None,
        limits: ParseLimits = DEFAULT_LIMITS,
        media_type: str = "text/html",
    ) -> None:
        self.log = FaultLog()
        data = html if isinstance(html, bytes) else html.encode()
        self.page = ParsedPage(data, url=URL, media_type=media_type)
        self.reading = PageReading(
            self.page,
            extractors=extractors,
            excluded=frozenset() if environment.is_bounded else SLOW,
            rules=(),
            wants_hyperlinks=False,
            environment=environment,
            limits=limits,
            log=self.log,
            output=QuadOutput(url=URL, graph=None, limits=limits, log=self.log),
        )
        self.text = b"".join(self.reading).decode()

    @property
    def faults(self) -> list[tuple[str, str]]:
        """Reason, and who it is of."""
        return [
            (str(fault.reason), fault.detail.partition(":")[0])
            for fault in self.log.all()
        ]


@pytest.mark.usefixtures("has_slow_items")
def test_inline_a_page_gives_all_that_is_quick() -> None:
    """If there are no bounds, then slow extractors are left, and named."""
    read = Read(PAGE, environment=INLINE)
    assert read.reading.extracted == FAST
    assert read.reading.left == LEFT
    assert read.text.count("\n") == 6
    assert read.page.links == {
        Link("http://a.example/dir/x.ttl", Relation.ALTERNATE, "text/turtle")
    }


@pytest.mark.parametrize(
    "page",
    [
        '<?xml?><!DOCTYPE html [<!ENTITY a "b">]><p property="dc:title">&a;</p>',
        f"<base href='http://a.example/{'a' * 4000}'>"
        + "<link property='dc:relation' href=b>" * 2000,
        "<p typeof=rdfa:Pattern resource=#a>"
        + "".join(f"<b property=dc:title>{n}</b>" for n in range(1000))
        + "</p>"
        + "".join(
            f"<p resource=#b{n}><link property=rdfa:copy href=#a></p>"
            for n in range(100)
        ),
    ],
    ids=["entities", "long terms", "patterns"],
)
def test_rdfa_that_may_take_long_is_left(page: str) -> None:
    """If RDFa may take long, then nothing of it is read or noted without bounds."""
    inline = Read(page, environment=INLINE)
    assert inline.reading.left == {Extractor.RDFA}
    assert (inline.text, inline.faults) == ("", [])
    assert Read(page).reading.extracted[Extractor.RDFA] > 0


@pytest.mark.parametrize("scripts", ["ld+json", "trig"])
def test_an_extractor_that_needs_bounds_leaves_nothing_here(scripts: str) -> None:
    """If one of a page's scripts needs bounds, then none is read, nothing is noted."""
    far = '{"@context": "http://far.example/c", "@id": "a:b", "c:d": "x"}'
    many = "<a:s> <a:p> " + ",".join(f'"{n:09000}"' for n in range(2000)) + "."
    first, last = {
        "ld+json": ('{"@id": "q", "a:p": "x",}', far),
        "trig": ("<a:s> <a:p> <a:o>, <broken .", many),
    }[scripts]
    tag = f"<script type='application/{scripts}'>"
    page = f"{tag}{first}</script>{tag}{last}</script>"
    inline = Read(page, environment=INLINE)
    (name,) = inline.reading.left
    assert (inline.text, inline.faults, inline.reading.extracted) == ("", [], {})
    bounded = Read(page, extractors=frozenset({Extractor(name)}))
    assert bounded.reading.left == set()
    assert bounded.faults


def test_what_was_left_is_read_in_bounds() -> None:
    """If a bounded process reads the rest of a page, then it reads only that."""
    read = Read(PAGE, extractors=LEFT)
    assert set(read.reading.extracted) == LEFT
    assert read.reading.left == set()


def test_in_bounds_a_page_gives_all() -> None:
    """If there are bounds, then all extractors run, and none is left."""
    read = Read(PAGE)
    assert read.reading.extracted.keys() == FAST.keys() | LEFT
    assert read.reading.left == set()
    assert not read.reading.is_partial
    assert read.faults == [("repaired", "JSON-LD")]


def test_blank_nodes_of_extractors_are_apart() -> None:
    """If extractors have nodes without name, then these are different nodes."""
    html = (
        '<script type="application/ld+json">{"@id": "_:b0", "http://v/p": "a"}</script>'
        "<p itemscope><b itemprop='http://v/p'>b</b></p>"
        "<p itemscope><b itemprop='http://v/p'>b</b></p>"
        "<p typeof=''><b property='http://v/p'>c</b></p><p class=h-card>d</p>"
    )
    subjects = {line.split()[0] for line in Read(html).text.splitlines()}
    extracted = Read(html).reading.extracted
    assert sum(map(bool, extracted.values())) == 4
    assert len([each for each in subjects if each.startswith("_:")]) >= 5


def test_a_page_of_nothing_gives_nothing() -> None:
    """If a page has no annotation, then no extractor runs and nothing is parsed."""
    read = Read("<html><head><title>a</title></head><body><p>b</p></body></html>")
    assert (read.text, read.reading.extracted, read.faults) == ("", {}, [])
    assert "tree" not in vars(read.page)


def test_json_ld_in_the_head_needs_no_more_of_the_page() -> None:
    """If all JSON-LD is in the head, then only that is parsed; else the full page."""
    script = '<script type="application/ld+json">{"@id": "#a", "a:b": "%s"}</script>'
    head = "<head><title>a</title>" + script % "</head><body>" + "</head><body><p>"
    read = Read(head)
    assert read.text == f'<{URL}#a> <a:b> "</head><body>" .\n'
    assert "tree" not in vars(read.page)
    read = Read(head + script % "c")
    assert read.text.count("\n") == 2
    assert "tree" in vars(read.page)


def test_json_is_not_searched_for_markup() -> None:
    """If a document is JSON, then markup in its strings is not read."""
    html = '{"a": "<p itemscope itemid=a:b><b itemprop=http://v/p>c</b></p>"}'
    assert Read(html, media_type="application/json").text == ""
    assert Read(html, media_type="").text == ""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError("x"), Reason.PARSE_CRASH),
        (RecursionError(), Reason.TOO_DEEP),
        (MemoryError(), Reason.TOO_LARGE),
        (OutOfTime("x"), Reason.PARSE_SECS),
    ],
    ids=repr,
)
def test_one_that_fails_takes_nothing_from_the_others(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, reason: Reason
) -> None:
    """If an extractor fails in any way, then it is named and all else is there."""

    def fail(*_: object) -> Iterator[str]:
        raise error
        yield ""

    monkeypatch.setattr(meta, "extract_open_graph", fail)
    read = Read(PAGE)
    others = FAST.keys() | LEFT
    assert {name for name, n in read.reading.extracted.items() if n} == others - {
        Extractor.OPEN_GRAPH
    }
    assert read.reading.is_partial
    assert (reason, "opengraph") in read.faults


def test_a_page_that_is_too_deep_keeps_its_json_ld() -> None:
    """If a page is nested 100,000 deep, then extractors without a tree read it."""
    html = PAGE + "<div itemscope property=a class=h-card>" * 100_000
    with pytest.raises(NeedsSandbox):
        Read(html, environment=INLINE)
    read = Read(html)
    assert read.reading.extracted.get(Extractor.JSON_LD) == 1
    assert ("too_deep", "microdata") in read.faults
    assert read.reading.is_partial


def test_a_page_of_16_mb_is_read() -> None:
    """If a page is as long as pages may be, then all of it is read."""
    item = "<p itemscope itemid=a:b><b itemprop=c:d>" + "x " * 50_000 + "</b></p>"
    html = item * (16 * 2**20 // len(item))
    assert Read(html).reading.extracted == {Extractor.MICRODATA: html.count("<p ")}


def test_bytes_that_are_no_text_lose_only_their_statements() -> None:
    """If a value has invalid bytes, then it is left out, and that is a fault."""
    html = b"<meta charset=utf-8><p itemscope itemid=a:b><b itemprop=c:d>\xff</b>"
    read = Read(html + b"<b itemprop=c:d>x</b>")
    assert read.text == '<a:b> <c:d> "x" .\n'
    assert [reason for reason, _ in read.faults] == ["bad_charset"]
    assert "from byte" in read.faults[0][1]


def test_a_full_output_ends_the_page() -> None:
    """If the limit on statements is reached, then the rest is not extracted."""
    read = Read(PAGE, limits=ParseLimits(n_quads=2))
    assert read.text.count("\n") == 2
    assert ("too_large", "more statements than are read") in read.faults


# -- time ----------------------------------------------------------------------------


def spin(swallow: type[BaseException]) -> None:
    """Take seconds of CPU, and swallow exceptions in between."""
    end = time.process_time() + 5
    while time.process_time() < end:
        with suppress(swallow):
            sum(range(1000))


def test_time_is_shared() -> None:
    """If one extractor takes all its time, then the next gets half of the rest."""
    timebox = TimeShares(0.4)
    for name in ("a", "b"):
        with pytest.raises(OutOfTime):
            timebox.run(name, lambda: spin(ValueError))
    with pytest.raises(OutOfTime, match=r"more than 0\.1 s"):
        timebox.run("b", lambda: None)
    assert timebox.run("c", lambda: 1) == 1


def test_what_swallows_exceptions_ends_too() -> None:
    """If a library catches every exception, then it ends all the same."""
    with pytest.raises(OutOfTime):
        TimeShares(0.2).run("a", lambda: spin(Exception))

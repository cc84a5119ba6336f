"""The files of a report: HTML that is well-formed, safe and readable, JSON and CSV."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree

from rdfcrawl.analysis.measures.domain_clusters import MissedClass
from rdfcrawl.analysis.measures.first_seen import ALL_TIMES
from rdfcrawl.analysis.report.activities import ActivityCounts
from rdfcrawl.analysis.report.charts import ChartScale, draw_chart
from rdfcrawl.analysis.report.content import (
    AxisScale,
    ChartAxis,
    ChartKind,
    ChartPoint,
    ChartSeries,
    ReportFigure,
    number,
    shown,
)
from rdfcrawl.analysis.report.domains import DomainFacts, SiteFigures, gather
from rdfcrawl.analysis.report.making import make_report
from rdfcrawl.analysis.report.writing import write_report
from tests.support.report_facts import (
    HOSTILE,
    SITE_B,
    activity,
    both_sites,
)

if TYPE_CHECKING:
    from pathlib import Path

    from rdfcrawl.analysis.report.content import CrawlReport

_N_FIGURES = 9


def example() -> CrawlReport:
    """Return the report of a dozen URLs, and of activities with hostile texts."""
    counts = ActivityCounts()
    detail, formula, image = HOSTILE
    refreshed = activity("http://a.example/1", n_statements=5, day=3, task="refreshed")
    hostile = activity(
        "http://b.example/<script>alert(1)</script>".replace(">", ""),
        read_as=image,
        faults=(("syntax", detail), ("http_status", formula), (image, image)),
    )
    for each in (refreshed, hostile):
        counts.count(each)
    sites = [*both_sites(), *(DomainFacts(name, SITE_B) for name in HOSTILE)]
    title = f"Report of {HOSTILE[2]}"
    return make_report(gather(sites, ALL_TIMES), counts, title=title, scope=HOSTILE[0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a report."""
    path = tmp_path_factory.mktemp("report")
    write_report(example(), path)
    return path


@pytest.fixture(scope="module")
def page(folder: Path) -> etree._Element:
    """Return the report as a tree; HTML that is no XML, too, is refused."""
    return etree.fromstring((folder / "report.html").read_bytes())


@pytest.fixture(scope="module")
def values(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the figures and tables of the JSON by their keys."""
    sections = json.loads((folder / "report.json").read_bytes())["sections"]
    return {item["key"]: item for section in sections for item in section["items"]}


def text_of(element: etree._Element) -> str:
    """Return the text in an element."""
    return "".join(element.itertext())


def told(cell: object) -> str:
    """Return the text that stands for a value of JSON."""
    if isinstance(cell, dict) and cell["value"] is None:
        return "-"
    if isinstance(cell, dict):
        value, over, under = (number(cell[name]) for name in cell)
        return f"{value} {over} / {under}"
    return cell if isinstance(cell, str) else number(cell)  # type: ignore[arg-type]


def test_page_needs_nothing_and_runs_nothing(page: etree._Element) -> None:
    """If names and literals are hostile, then the page has only elements of ours."""
    used = {str(element.tag) for element in page.iter()}
    assert not used & {"script", "img", "iframe", "object", "link", "image", "use"}
    for element in page.iter():
        for name, value in element.attrib.items():
            assert not str(name).startswith("on")
            assert name not in ("src", "style", "xlink:href")
            assert name != "href" or str(value).startswith("#")
    style = text_of(page.find(".//style"))
    assert not re.search(r"url\(|@import|http", style)


def test_page_shows_hostile_texts_as_they_are(page: etree._Element) -> None:
    """If names and literals are hostile, then they stand there as text."""
    cells = {text_of(cell) for cell in page.iter("th", "td")}
    assert set(map(shown, HOSTILE)) <= cells
    assert text_of(page.find(".//title")) == f"Report of {shown(HOSTILE[2])}"


def test_all_classes_of_table_2_have_shares(page: etree._Element) -> None:
    """If sitemaps miss content, then each class of it has a number, none of them."""
    (section,) = page.xpath("//section[@id='table-of-table-2']")
    cells = list(section.iter("td"))
    assert len(cells) == len(MissedClass)
    assert all(text_of(x)[0].isdigit() for x in cells)
    assert {x.get("class") for x in cells} == {"number"}


def test_figures_tell_who_cannot_see(page: etree._Element) -> None:
    """If a figure is drawn, then it has a title, a description and labelled axes."""
    figures = list(page.iter("figure"))
    assert len(figures) == _N_FIGURES
    for figure in figures:
        (svg,) = figure.findall("svg")
        title, description = svg.find("title"), svg.find("desc")
        assert svg.get("role") == "img"
        assert svg.get("aria-labelledby") == title.get("id")
        assert svg.get("aria-describedby") == description.get("id")
        assert text_of(title) == text_of(figure.find("h3"))
        assert len(text_of(description)) > 30
        assert text_of(figure.find("figcaption")) == text_of(description)
        assert len([x for x in svg.iter("text") if x.get("class") == "label"]) == 2


def test_names_of_elements_are_unique(page: etree._Element) -> None:
    """If an element has a name, then no other has, and links lead to one."""
    names = [x.get("id") for x in page.iter() if x.get("id")]
    assert len(names) == len(set(names))
    assert {x.get("href")[1:] for x in page.iter("a")} <= set(names)


def test_json_says_what_the_page_says(
    page: etree._Element, values: dict[str, dict[str, Any]]
) -> None:
    """If the page shows a value, then JSON has the same."""
    n_tables = 0
    for section in page.iter("section"):
        if section.get("class") != "table":
            continue
        n_tables += 1
        found = values[section.get("id").removeprefix("table-of-")]
        if not found["rows"]:
            continue
        head, *rows = section.iter("tr")
        assert [text_of(cell) for cell in head] == found["columns"]
        assert [[text_of(cell) for cell in row] for row in rows] == [
            [told(cell) for cell in row] for row in found["rows"]
        ]
    assert n_tables + _N_FIGURES == len(values)


def test_json_has_the_points_of_figures(
    page: etree._Element, values: dict[str, dict[str, Any]]
) -> None:
    """If a mark is drawn, then JSON has its point."""
    for figure in page.iter("figure"):
        found = values[figure.get("id").removeprefix("figure-of-")]
        marks = [
            x for x in figure.iter("circle", "rect") if x.find("title") is not None
        ]
        assert len(marks) == sum(len(each["points"]) for each in found["series"])
    dots = values["figure-4"]["series"][0]["points"]
    shown_dots = page.xpath("//figure[@id='figure-of-figure-4']//circle/title")
    assert {text_of(each) for each in shown_dots} == {
        f"{shown(x['name'])}: {number(x['x'])}, {number(x['y'])},"
        f" {number(x['weight'])} URLs seen"
        for x in dots
    }


def test_csv_has_numerators_and_no_formulas(folder: Path) -> None:
    """If a spreadsheet reads a table, then ratios are numbers and texts are text."""
    with (folder / "coverage.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    first = next(row for row in rows if row["site"] == "a.example")
    assert first["unique coverage (2) numerator"] == "4"
    assert first["unique coverage (2) denominator"] == "6"
    assert float(first["unique coverage (2)"]) == 4 / 6
    second = next(row for row in rows if row["site"] == "b.example")
    assert second["PageRank coverage (4)"] == "-"
    for path in folder.glob("*.csv"):
        with path.open(newline="") as file:
            for row in csv.reader(file):
                assert not [x for x in row if x.startswith(("=", "@", "+"))]


def test_report_is_the_same_twice(folder: Path, tmp_path: Path) -> None:
    """If nothing was crawled in between, then a report has the same bytes."""
    for path in write_report(example(), tmp_path):
        assert path.read_bytes() == (folder / path.name).read_bytes()


def test_report_of_nothing_is_whole(tmp_path: Path) -> None:
    """If nothing was crawled yet, then the report says so."""
    empty = make_report(SiteFigures(), ActivityCounts(), title="t", scope="s")
    write_report(empty, tmp_path)
    tree = etree.fromstring((tmp_path / "report.html").read_bytes())
    assert len(list(tree.iter("figure"))) == _N_FIGURES
    assert text_of(tree).count("nothing to show yet") >= _N_FIGURES
    told = json.loads((tmp_path / "report.json").read_bytes())
    items = [item for section in told["sections"] for item in section["items"]]
    figures = [item for item in items if item["type"] != "table"]
    assert all(item["why_empty"] in text_of(tree) for item in figures)
    assert all(item["why_empty"] for item in figures)
    assert "1970" not in text_of(tree)  # nor is there an axis of days


@pytest.mark.parametrize(
    ("scale", "some", "labels"),
    [
        (AxisScale.LINEAR, [0, 73], ["0", "20", "40", "60", "80"]),
        (AxisScale.LINEAR, [], ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (AxisScale.SHARE, [0.3], ["0", "0.25", "0.5", "0.75", "1"]),
        (AxisScale.LOG, [3, 2000], ["1", "10", "100", "1,000", "10,000"]),
        (AxisScale.LOG, [1], ["1", "10"]),
        (AxisScale.DAY, [20_454], ["2026-01-01", "2026-01-02"]),
        (AxisScale.DAY, [20_454, 20_458], [f"2026-01-0{n}" for n in range(1, 6)]),
    ],
)
def test_ticks_are_round(
    scale: AxisScale, some: list[float], labels: list[str]
) -> None:
    """If values lie on an axis, then its ticks are round numbers that hold them."""
    found = ChartScale.of(ChartAxis("", scale), some)
    assert [tick.label for tick in found.ticks()] == labels
    assert all(0 <= found.place(value) <= 1 for value in some)


def test_marks_lie_within_the_chart() -> None:
    """If points are drawn, then they lie within the axes, at any scale."""
    points = tuple(ChartPoint(10.0**n, n / 9, 10**n) for n in range(10))
    figure = ReportFigure(
        key="k",
        title="t",
        sentence="s",
        kind=ChartKind.DOTS,
        x=ChartAxis("x", AxisScale.LOG),
        y=ChartAxis("y", AxisScale.SHARE),
        weight_label="w",
        series=(ChartSeries("", points),),
    )
    svg = etree.fromstring(draw_chart(figure))
    circles = list(svg.iter("circle"))
    assert len(circles) == 10
    assert all(100 <= float(x.get("cx")) <= 440 for x in circles)
    assert all(28 <= float(x.get("cy")) <= 266 for x in circles)

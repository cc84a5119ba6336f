"""Write a report to a folder: as HTML, as JSON, and each figure and table as CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.analysis.report.charts import draw_chart
from rdfcrawl.analysis.report.content import (
    UNDEFINED,
    ChartAxis,
    CrawlReport,
    ReportCell,
    ReportFigure,
    ReportRow,
    ReportTable,
    axis_value,
    shown,
)
from rdfcrawl.analysis.report.page import iter_page
from rdfcrawl.stores.files import replacing_file

_encode: Final = json.JSONEncoder(allow_nan=False).encode
PAGE_NAME: Final = "report.html"
JSON_NAME: Final = "report.json"
CONTENTS_NAME: Final = "contents.json"
_FIRST_ROWS: Final = 10  # of each table, in the contents
# Characters that start a formula in spreadsheets.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def write_report(report: CrawlReport, folder: Path) -> list[Path]:
    """Write `report.html`, `report.json`, and a CSV file for each figure and table.

    `contents.json` has charts and the first rows of tables, so it is small even if
    lists are long. Each file replaces that of an earlier report atomically.

    Raises:
        OSError: the disk is full, or refuses the file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = PAGE_NAME, JSON_NAME, CONTENTS_NAME
    page, data, contents = (folder / name for name in names)
    charts = {x.key: draw_chart(x) for x in report.items if isinstance(x, ReportFigure)}
    with replacing_file(page) as file:
        file.writelines(iter_page(report, charts))
    with replacing_file(data) as file:
        file.writelines(iter_json(report))
    with replacing_file(contents) as file:
        file.write(_encode(_contents_of(report, charts)))
    written = [page, data, contents]
    for item in report.items:
        path = folder / f"{item.key}.csv"
        with replacing_file(path) as file:
            csv.writer(file, lineterminator="\n").writerows(iter_csv(item))
        written.append(path)
    return written


def _contents_of(report: CrawlReport, charts: Mapping[str, str]) -> dict[str, Any]:
    """Return a report as JSON values: charts as SVG, and the first rows of tables."""
    sections = [
        {
            "key": section.key,
            "title": section.title,
            "sentence": section.sentence,
            "items": [_first_of(x, charts.get(x.key, "")) for x in section.items],
        }
        for section in report.sections
    ]
    return {"title": report.title, "scope": report.scope, "sections": sections}


def _first_of(item: ReportFigure | ReportTable, chart: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "key": item.key,
        "title": item.title,
        "sentence": item.sentence,
        "why_empty": item.why_empty if item.is_empty else "",
    }
    if isinstance(item, ReportFigure):
        shown = "" if item.is_empty else chart
        return found | {"chart": shown, "columns": [], "rows": [], "n_rows": 0}
    rows = [[_json_cell(cell) for cell in row] for row in item.rows[:_FIRST_ROWS]]
    n_rows = len(item.rows) + item.n_left_out
    return found | {
        "chart": "",
        "columns": list(item.columns),
        "rows": rows,
        "n_rows": n_rows,
    }


def iter_json(report: CrawlReport) -> Iterator[str]:
    """Yield a report as JSON, piece by piece; undefined values are null."""
    sections = (
        _iter_object(
            {"key": each.key, "title": each.title, "sentence": each.sentence},
            "items",
            map(_iter_item, each.items),
        )
        for each in report.sections
    )
    fields = {"title": report.title, "scope": report.scope}
    yield from _iter_object(fields, "sections", sections)
    yield "\n"


def _iter_object(
    fields: dict[str, Any], name: str, members: Iterable[Iterable[str]]
) -> Iterator[str]:
    """Yield an object whose last field is a list, with a line for each member."""
    yield f'{_encode(fields)[:-1]}, "{name}": ['
    for place, member in enumerate(members):
        yield ",\n" if place else "\n"
        yield from member
    yield "\n]}"


def _iter_item(item: ReportFigure | ReportTable) -> Iterator[str]:
    found: dict[str, Any] = {
        "key": item.key,
        "title": item.title,
        "sentence": item.sentence,
    }
    if item.is_empty:
        found["why_empty"] = item.why_empty
    if isinstance(item, ReportFigure):
        found |= {
            "type": item.kind.value,
            "x": _axis(item.x),
            "y": _axis(item.y),
            "weight": item.weight_label,
            "series": [
                {"name": each.name, "points": [x._asdict() for x in each.points]}
                for each in item.series
            ],
        }
        yield _encode(found)
        return
    found |= {
        "type": "table",
        "columns": list(item.columns),
        "left_out": 0 if item.iter_all else item.n_left_out,
    }
    lines = ([_encode([_json_cell(cell) for cell in row])] for row in item.all_rows)
    yield from _iter_object(found, "rows", lines)


def _axis(axis: ChartAxis) -> dict[str, Any]:
    found: dict[str, Any] = {"label": axis.label, "scale": axis.scale.value}
    if axis.names:
        found["names"] = list(axis.names)
    return found


def _json_cell(cell: ReportCell) -> object:
    if isinstance(cell, MeasuredRatio):
        return {
            "value": cell.value,
            "numerator": cell.numerator,
            "denominator": cell.denominator,
        }
    return shown(cell) if isinstance(cell, str) else cell


def iter_csv(item: ReportFigure | ReportTable) -> Iterator[list[object]]:
    """Yield the rows of a figure or table, after a row of column names.

    A column of ratios becomes three: value, numerator and denominator.
    """
    if isinstance(item, ReportFigure):
        labels = item.x.label, item.y.label, item.weight_label
        yield ["series", *labels, "number", "name"]
        for series in item.series:
            for point in series.points:
                place = axis_value(item.x, point.x), axis_value(item.y, point.y)
                row: ReportRow = (series.name, *place, *point[2:])
                yield list(_csv_row(row, [False] * len(row)))
        return
    are_ratios = [
        any(isinstance(row[place], MeasuredRatio) for row in item.rows)
        for place in range(len(item.columns))
    ]
    heads: list[object] = []
    for name, is_ratio in zip(item.columns, are_ratios, strict=True):
        heads += [name]
        heads += [f"{name} numerator", f"{name} denominator"] if is_ratio else []
    yield heads
    for row in item.all_rows:
        yield list(_csv_row(row, are_ratios))


def _csv_row(row: ReportRow, are_ratios: list[bool]) -> Iterator[object]:
    for cell, is_ratio in zip(row, are_ratios, strict=True):
        if isinstance(cell, MeasuredRatio):
            yield UNDEFINED if cell.value is None else cell.value
            yield cell.numerator
            yield cell.denominator
            continue
        if isinstance(cell, str):
            text = shown(cell)
            yield f"'{text}" if text.startswith(_FORMULA) else text
        else:
            yield UNDEFINED if cell is None else cell
        if is_ratio:
            yield from ("", "")

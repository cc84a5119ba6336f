"""Write a report to a folder: as HTML, as JSON, and each figure and table as CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.analysis.report.content import (
    UNDEFINED,
    ChartAxis,
    CrawlReport,
    ReportCell,
    ReportFigure,
    ReportRow,
    ReportTable,
    shown,
)
from rdfcrawl.analysis.report.page import iter_page
from rdfcrawl.stores.drafts import replacing_file

PAGE_NAME: Final = "report.html"
JSON_NAME: Final = "report.json"
# Characters that start a formula in spreadsheets.
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def write_report(report: CrawlReport, folder: Path) -> list[Path]:
    """Write `report.html`, `report.json`, and a CSV file for each figure and table.

    Each file replaces that of an earlier report atomically.

    Raises:
        OSError: the disk is full, or refuses the file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page, data = folder / PAGE_NAME, folder / JSON_NAME
    with replacing_file(page) as file:
        file.writelines(iter_page(report))
    with replacing_file(data) as file:
        json.dump(to_json(report), file, indent=1, allow_nan=False)
        file.write("\n")
    written = [page, data]
    for item in report.items:
        path = folder / f"{item.key}.csv"
        with replacing_file(path) as file:
            csv.writer(file, lineterminator="\n").writerows(iter_csv(item))
        written.append(path)
    return written


def to_json(report: CrawlReport) -> dict[str, Any]:
    """Return a report as JSON values; undefined values are null."""
    return {
        "title": report.title,
        "scope": report.scope,
        "sections": [
            {
                "key": section.key,
                "title": section.title,
                "sentence": section.sentence,
                "items": [_item(item) for item in section.items],
            }
            for section in report.sections
        ],
    }


def _item(item: ReportFigure | ReportTable) -> dict[str, Any]:
    found: dict[str, Any] = {
        "key": item.key,
        "title": item.title,
        "sentence": item.sentence,
    }
    if item.is_empty:
        found["why_empty"] = item.why_empty
    if isinstance(item, ReportTable):
        found["type"] = "table"
        found["columns"] = list(item.columns)
        found["rows"] = [[_json_cell(cell) for cell in row] for row in item.rows]
        found["left_out"] = item.n_left_out
        return found
    found["type"] = item.kind.value
    found["x"], found["y"] = _axis(item.x), _axis(item.y)
    found["weight"] = item.weight_label
    found["series"] = [
        {"name": each.name, "points": [point._asdict() for point in each.points]}
        for each in item.series
    ]
    return found


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
        yield ["series", item.x.label, item.y.label, item.weight_label, "number"]
        for series in item.series:
            for point in series.points:
                yield [series.name, *point]
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
    for row in item.rows:
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

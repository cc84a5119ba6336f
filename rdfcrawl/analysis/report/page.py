"""The report as one HTML file without scripts, links or further resources.

Data from the web is only text in elements or attributes; it never becomes a name, a
link or a style.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.analysis.report.charts import draw_chart
from rdfcrawl.analysis.report.content import ReportFigure, ReportTable
from rdfcrawl.analysis.report.style import STYLE
from rdfcrawl.analysis.report.text import escape, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.analysis.report.content import (
        CrawlReport,
        ReportCell,
        ReportRow,
        ReportSection,
    )

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def iter_page(report: CrawlReport) -> Iterator[str]:
    """Yield a report as HTML, piece by piece."""
    title = escape(report.title)
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"/>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>\n'
        '<meta name="color-scheme" content="light dark"/>\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{title}</h1>\n<p>{escape(report.scope)}</p>\n"
    )
    yield from _contents(report)
    yield "</header>\n<main>\n"
    for section in report.sections:
        yield from _section(section)
    yield "</main>\n</body>\n</html>\n"


def _contents(report: CrawlReport) -> Iterator[str]:
    yield '<nav aria-label="Contents"><ul>'
    for section in report.sections:
        yield f'<li><a href="#{escape(section.key)}">{escape(section.title)}</a></li>'
    yield "</ul></nav>\n"


def _section(section: ReportSection) -> Iterator[str]:
    key = escape(section.key)
    yield f'<section id="{key}" aria-labelledby="{key}-heading">\n'
    yield f'<h2 id="{key}-heading">{escape(section.title)}</h2>\n'
    yield f"<p>{escape(section.sentence)}</p>\n"
    is_open = False
    for item in section.items:
        is_figure = isinstance(item, ReportFigure)
        if is_figure != is_open:  # figures stand side by side
            yield '<div class="figures">\n' if is_figure else "</div>\n"
            is_open = is_figure
        if isinstance(item, ReportFigure):
            yield from _figure(item)
        else:
            yield from _table(item)
    yield "</div>\n</section>\n" if is_open else "</section>\n"


def _figure(figure: ReportFigure) -> Iterator[str]:
    yield f'<figure id="figure-of-{escape(figure.key)}">\n'
    yield f"<h3>{escape(figure.title)}</h3>\n"
    yield draw_chart(figure)
    why = f"{figure.why_empty} " if figure.is_empty else ""
    yield f"\n<figcaption>{escape(why + figure.sentence)}</figcaption>\n</figure>\n"


def _table(table: ReportTable) -> Iterator[str]:
    key, title = escape(table.key), escape(table.title)
    yield f'<section class="table" id="table-of-{key}">\n<h3>{title}</h3>\n'
    yield f"<p>{escape(table.sentence)}</p>\n"
    if table.is_empty:
        why = f"There is nothing to show yet. {table.why_empty}"
        yield f"<p>{escape(why.strip())}</p>\n"
    else:
        yield from _cells(table, title)
    if table.n_left_out:
        yield f"<p>{table.n_left_out:,} more are left out.</p>\n"
    yield "</section>\n"


def _cells(table: ReportTable, title: str) -> Iterator[str]:
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{title}">\n'
    yield "<table>\n<thead><tr>"
    for place, column in enumerate(table.columns):
        is_text = all(isinstance(row[place], str) for row in table.rows)
        kind = "" if is_text else ' class="number"'
        yield f'<th scope="col"{kind}>{escape(column)}</th>'
    yield "</tr></thead>\n<tbody>\n"
    for row in table.rows:
        yield from _row(row)
    yield "</tbody>\n</table>\n</div>\n"


def _row(row: ReportRow) -> Iterator[str]:
    yield f'<tr><th scope="row">{_cell(row[0])}</th>'
    for cell in row[1:]:
        kind = "" if isinstance(cell, str) else ' class="number"'
        yield f"<td{kind}>{_cell(cell)}</td>"
    yield "</tr>\n"


def _cell(cell: ReportCell) -> str:
    if isinstance(cell, MeasuredRatio):
        if cell.value is None:  # 0 of 0
            return number(cell.value)
        value, over = number(cell.value), number(cell.numerator)
        return f"{value} <small>{over} / {number(cell.denominator)}</small>"
    return escape(cell) if isinstance(cell, str) else number(cell)

"""The report as one HTML file without scripts, links or further resources.

Data from the web is only text in elements or attributes; it never becomes a name, a
link or a style.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from rdfcrawl.analysis.measures.ratio import MeasuredRatio
from rdfcrawl.analysis.report.content import (
    CrawlReport,
    ReportCell,
    ReportFigure,
    ReportRow,
    ReportSection,
    ReportTable,
    escape,
    number,
    shorten,
)

STYLE: Final = """
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1d2329; --soft: #5b6670; --line: #d9dee3;
  --panel: #f6f8fa; --s0: #1f6fa8; --s1: #c2571a; --link: #1f6fa8;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #14181c; --text: #e4e8eb; --soft: #9aa6b1; --line: #333c45;
    --panel: #1b2127; --s0: #6db3e4; --s1: #f0995c; --link: #6db3e4;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 88rem;
  background: var(--page); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere;
}
h1 { font-size: 1.7rem; margin: 0; line-height: 1.25; }
h2 { font-size: 1.35rem; margin: 2.5rem 0 0; border-top: 1px solid var(--line);
  padding-top: 1.2rem; }
h3 { font-size: 1rem; margin: 0 0 .4rem; }
p { margin: .4rem 0 .8rem; max-width: 48rem; }
header p, section > p, figcaption { color: var(--soft); }
a { color: var(--link); }
nav ul { list-style: none; padding: 0; margin: 1rem 0 0; display: flex;
  flex-wrap: wrap; gap: .3rem 1.2rem; }
.figures { display: grid; gap: 1rem; margin: 1rem 0; max-width: 68rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); }
figure { margin: 0; padding: 1rem; background: var(--panel);
  border: 1px solid var(--line); border-radius: .4rem; }
figcaption { font-size: .875rem; }
svg { display: block; width: 100%; max-width: 40rem; height: auto; margin: 0 auto;
  overflow: visible; }
svg text { font: 13px system-ui, sans-serif; fill: var(--soft); }
svg text.label { fill: var(--text); }
svg text.name { font-size: 12px; fill: var(--text); stroke: var(--panel);
  stroke-width: 3px; paint-order: stroke; }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .axis { stroke: var(--soft); stroke-width: 1; }
svg .leader { stroke: var(--soft); stroke-width: .6; }
svg .diagonal { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 4 4; }
svg .s0 { fill: var(--s0); }
svg .s1 { fill: var(--s1); }
svg circle { stroke: var(--panel); stroke-width: .7; }
section.table { margin: 1.6rem 0; }
.scroll { overflow-x: auto; max-height: 38rem; overflow-y: auto;
  border: 1px solid var(--line); border-radius: .4rem; width: fit-content;
  max-width: 100%; }
table { border-collapse: collapse; font-size: .875rem;
  font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: .3rem .55rem; text-align: left; vertical-align: top; }
thead th { position: sticky; top: 0; background: var(--panel); min-width: 5.5rem; }
thead th:first-child { left: 0; z-index: 2; }
tbody th { position: sticky; left: 0; background: var(--page); }
tbody tr { border-top: 1px solid var(--line); }
tbody th { font-weight: normal; min-width: 9rem; max-width: 24rem;
  overflow-wrap: anywhere; }
td { min-width: 4rem; max-width: 28rem; overflow-wrap: anywhere; }
th.number, td.number { text-align: right; }
td.number, td.time { white-space: nowrap; overflow-wrap: normal; }
small { color: var(--soft); display: block; font-size: .75rem; }
@media screen and (max-width: 30rem) {
  figure { padding: .6rem; }
  svg text { font-size: 17px; }
  svg text.y { font-size: 14px; } /* days are next to the label of the axis */
  svg text.name { font-size: 14px; }
  tbody th { min-width: 6.5rem; max-width: 10.5rem; overflow-wrap: break-word; }
  td:not(.number, .time) { min-width: 11rem; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  .scroll { overflow: visible; max-height: none; border: 0; width: auto; }
  table { font-size: 7pt; width: auto; min-width: 50%; }
  th, td { padding: .1rem .25rem; }
  th, td, thead th { min-width: 0; }
  tbody th { min-width: 5.5rem; }
  thead th, tbody th { position: static; }
  td.number small, td.time { white-space: normal; font-size: 6pt; }
  .figures { grid-template-columns: 1fr 1fr; }
  figcaption { font-size: 8pt; }
  svg text { font-size: 16px; }
  svg text.y { font-size: 14px; }
  svg text.name { font-size: 14px; }
  figure, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
"""


_is_time: Final = re.compile(r"\d{4}-\d\d-\d\d(T[\d:]+Z)?").fullmatch
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def iter_page(report: CrawlReport, charts: Mapping[str, str]) -> Iterator[str]:
    """Yield a report as HTML, piece by piece.

    Args:
        report: to be shown.
        charts: the drawn figures by key.
    """
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
        yield from _section(section, charts)
    yield "</main>\n</body>\n</html>\n"


def _contents(report: CrawlReport) -> Iterator[str]:
    yield '<nav aria-label="Contents"><ul>'
    for section in report.sections:
        yield f'<li><a href="#{escape(section.key)}">{escape(section.title)}</a></li>'
    yield "</ul></nav>\n"


def _section(section: ReportSection, charts: Mapping[str, str]) -> Iterator[str]:
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
            yield from _figure(item, charts[item.key])
        else:
            yield from _table(item)
    yield "</div>\n</section>\n" if is_open else "</section>\n"


def _figure(figure: ReportFigure, chart: str) -> Iterator[str]:
    yield f'<figure id="figure-of-{escape(figure.key)}">\n'
    yield f"<h3>{escape(figure.title)}</h3>\n"
    yield chart
    why = f"{figure.why_empty} " if figure.is_empty else ""
    yield f"\n<figcaption>{escape(why + figure.sentence)}</figcaption>\n</figure>\n"


def _table(table: ReportTable) -> Iterator[str]:
    key, title = escape(table.key), escape(table.title)
    yield f'<section class="table" id="table-of-{key}">\n<h3>{title}</h3>\n'
    yield f"<p>{escape(table.sentence)}</p>\n"
    if table.is_empty:
        why = "" if table.iter_all else "There is nothing to show yet. "
        yield f"<p>{escape((why + table.why_empty).strip())}</p>\n"
    else:
        yield from _cells(table, title)
    if table.n_left_out:
        place = "left out" if table.iter_all is None else f"in {key}.csv"
        yield f"<p>{table.n_left_out:,} more are {place}.</p>\n"
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
        kind = ' class="number"'
        if isinstance(cell, str):
            kind = ' class="time"' if _is_time(cell) else ""
        yield f"<td{kind}>{_cell(cell)}</td>"
    yield "</tr>\n"


def _cell(cell: ReportCell) -> str:
    if isinstance(cell, MeasuredRatio):
        if cell.value is None:  # 0 of 0
            return number(cell.value)
        value, over = number(cell.value), number(cell.numerator)
        return f"{value} <small>{over} / {number(cell.denominator)}</small>"
    return escape(shorten(cell)) if isinstance(cell, str) else number(cell)

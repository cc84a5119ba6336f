"""Style of the report: a light palette, a dark one, and print."""

from __future__ import annotations

from typing import Final

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
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .axis { stroke: var(--soft); stroke-width: 1; }
svg .diagonal { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 4 4; }
svg .s0 { fill: var(--s0); }
svg .s1 { fill: var(--s1); }
svg circle { stroke: var(--panel); stroke-width: .7; }
section.table { margin: 1.6rem 0; }
.scroll { overflow-x: auto; max-height: 32rem; overflow-y: auto;
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
td.number { white-space: nowrap; overflow-wrap: normal; }
small { color: var(--soft); display: block; font-size: .75rem; }
@media screen and (max-width: 30rem) {
  figure { padding: .6rem; }
  svg text { font-size: 17px; }
  svg text.y { font-size: 14px; } /* days stand beside the label of the axis */
  tbody th { min-width: 6.5rem; max-width: 10.5rem; overflow-wrap: break-word; }
  td:not(.number) { min-width: 11rem; }
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
  td.number small { white-space: normal; font-size: 6pt; }
  .figures { grid-template-columns: 1fr 1fr; }
  figcaption { font-size: 8pt; }
  svg text { font-size: 16px; }
  svg text.y { font-size: 14px; }
  figure, tr { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
"""

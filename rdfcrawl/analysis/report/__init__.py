"""The report of a crawl: figures, tables and measures, as HTML, JSON and CSV.

`domains` takes the facts of URLs one domain at a time, and `activities` the provenance;
`figures`, `site_tables` and `log_tables` make `content` of both, which `page` writes as
one HTML file, with drawings by `charts`, and `writing` as JSON and CSV, too.
"""

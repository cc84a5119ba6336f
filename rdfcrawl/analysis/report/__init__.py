"""The report of a crawl: figures, tables and measures, as HTML, JSON and CSV.

`domains` aggregates the facts of URLs, one domain at a time; `activities` aggregates
the provenance. `figures` and the `*_tables` modules turn both into `content`. `page`
writes it as one HTML file, with drawings by `charts`; `writing` adds JSON and CSV.
"""

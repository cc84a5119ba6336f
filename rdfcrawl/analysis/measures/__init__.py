"""How well a crawl and the sitemaps of a site do: coverage, freshness and usage.

Pure functions over `UriFacts` and `SitemapFacts`, which come sorted by domain: one
domain at a time is in memory, and of it only what a measure's docstring says. They
follow U. Schonfeld and N. Shivakumar, "Sitemaps: Above and Beyond the Crawl of Duty"
(WWW 2009); numbers of sections, formulas, tables and figures are those of that paper.
"""

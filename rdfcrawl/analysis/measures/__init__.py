"""Measures of a crawl and of the sitemaps of a site: coverage, freshness and usage.

Pure functions over `UriFacts` and `SitemapFacts`, sorted by domain. Only one domain at
a time is in memory, and only the data that a docstring names. They follow U. Schonfeld
and N. Shivakumar, "Sitemaps: Above and Beyond the Crawl of Duty" (WWW 2009), including
the numbers of sections, formulas, tables and figures.
"""

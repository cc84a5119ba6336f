"""Offline analysis of a crawl: URL database, measures, ranks, report and refresh.

The logs have three projections, one for each kind of reader: `urldb` has a record of
each URI, sorted by host, for report and refresh; `crawl_index` has positions and sums
in SQLite, for the live page and for explanations; `description` counts statements, for
VoID and DCAT. `urldb.facts` reads records as the facts of `measures`, which are pure.
`refresh`, `ranking` and `duplicates` work on the same records and facts, `report` shows
them, and `spark` calls the same functions on many machines.
"""

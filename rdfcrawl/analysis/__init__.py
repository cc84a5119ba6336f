"""Offline analysis of a crawl: URL database, measures, ranks, report and refresh."""

"""Views of a crawl that is kept: URL database, measures, ranking, report, refresh."""

"""Watch and operate a crawl: live page, metrics, explanations, frontier operations."""

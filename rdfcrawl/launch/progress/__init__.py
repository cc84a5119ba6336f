"""Show an operator a crawl while it runs, and at its end."""

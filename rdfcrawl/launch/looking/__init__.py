"""A look at a site: its sources and a few pages, by a small crawl of its own.

`spider` chooses the requests, and runs the crawl in a temporary folder; `findings`
reads its logs.
"""

"""Pings of sites whose sitemaps have changed, taken for a crawl.

`judging` decides by the URL alone, `intake` by the crawl, `server` talks HTTP.
"""

"""Accept pings of sites whose sitemaps have changed.

`judging` decides by the URL alone, `intake` by the crawl, `server` speaks HTTP.
"""

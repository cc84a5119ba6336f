"""Accept pings of sites whose sitemaps have changed.

`judging` decides by the URL alone; `server` by the crawl, and speaks HTTP.
"""

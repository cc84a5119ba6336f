"""Compare the stored documents of sites with the sites.

The sources of the sites are read again, by a crawl in a temporary folder with a Redis
of its own and the arguments of the crawl. `comparison.SiteComparison` then judges each
document by both logs. Of the crawl, only the last result is written.
"""

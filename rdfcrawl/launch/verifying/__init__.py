"""Compare the stored documents of a site with the site.

The sources of the site are read again, by a crawl in a temporary folder with a Redis of
its own and the arguments of the crawl. `comparison.compare` then judges each document
by both logs. The crawl is only read.
"""

"""A look at a site: its sources and a few pages, by a small crawl of its own.

* `spider.py` chooses the requests;
* `running.py` runs the crawl in a temporary folder;
* `findings.py` reads its logs.
"""

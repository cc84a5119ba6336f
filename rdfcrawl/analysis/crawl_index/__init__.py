"""What stands where in the logs of a crawl, and sums over them, in one SQLite file.

A projection of the logs, built by one process while the crawl goes on: `building`
reads what is new, each tally keeps tables of its own, and readers ask those. The file
can be deleted at any time, and is made anew from the logs.
"""

"""The URL database: the data of a crawl about each URI, from its logs.

`scan` reads the logs into observations, `joining` joins those of one URI, `segment` has
the files, sorted and partitioned by host, `building` merges new observations into them,
and `database` reads them as values of `record`.
"""

"""The crawl's memory of URIs: what is known of each, from the logs of the crawl.

`scan` reads the logs into observations, `joining` joins those of one URI, `segment`
has the files, sorted and partitioned by host, `building` merges new observations into
them, and `database` reads them back as values of `record`.
"""

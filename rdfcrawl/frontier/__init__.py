"""Which URI next: the crawl's queue and seen-set in Redis, shared by all its workers.

Redis scripts with a client, leases per host, a Scrapy scheduler in front of them, and
an embedded Redis server for crawls on one machine.
"""

"""The frontier: queue and seen set of a crawl in Redis, shared by all its workers.

Redis scripts with a client, leases of hosts, a Scrapy scheduler, and an embedded Redis
server for crawls on one machine.
"""

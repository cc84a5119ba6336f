"""The guard: the addresses and ports that URLs of strangers may lead to.

`policy` decides which addresses and ports may be connected to, without network access.
`gate` applies it at each connection: of our own client for pages (`resolver` filters
the addresses of names), of `ftplib` for FTP, and of Twisted for requests through
Scrapy's downloader (`twisted_names`). Redis, stores and proxies belong to the operator
and are not judged.
"""

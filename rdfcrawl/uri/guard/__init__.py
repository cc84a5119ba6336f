"""The guard: which addresses and ports URLs of strangers may lead to.

`policy` says which addresses and ports may be connected to, and knows no network.
`gate` asks it, at the moment of each connection, whatever makes that: aiohttp for pages
(`resolver` filters what names resolve to), `ftplib` for FTP, Twisted for requests that
go through Scrapy's downloader (`twisted_names`). Redis, stores and proxies are the
operator's own, and not judged.
"""

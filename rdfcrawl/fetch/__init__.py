"""The visit: one host is asked for a batch of its URIs, one after another.

`exchange` does one GET over a kept-alive connection, `content_encoding` undoes what
the server did to the body, `spool` keeps large bodies out of memory, `redirects` says
where a redirect leads, and `visit` strings them together with the host's delay,
retries and back-off. Nothing here raises for what the web does: a failed URI is a
`Document` with faults. Uses asyncio and aiohttp, and neither Scrapy nor Redis.
"""

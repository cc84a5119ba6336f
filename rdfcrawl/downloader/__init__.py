"""The visit: request the URIs of one host, one after another.

`visit` combines requests, delays, retries and redirects; `http`, `ftp` and
`fetcher_exchange` make the requests, `contexts` those for JSON-LD contexts; `spool`
keeps large bodies out of memory; `services` holds the shared objects of one crawler.
Failures on the web never raise: a failed URI is a `Document` with faults.
"""

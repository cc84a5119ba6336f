"""The log of a crawl, read by all who want to know what the crawl has stored.

`crawl_log` reads documents and provenance from a checkpoint on, while they are written;
`documents` has the values that are read, `latest` chooses the last version of each.
"""

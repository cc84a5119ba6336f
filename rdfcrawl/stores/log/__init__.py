"""The log of a crawl: reads the statements that the crawl has stored.

`crawl_log` reads documents and provenance from a checkpoint on, while they are written;
`documents` defines the values it yields; `compaction` drops replaced versions.
"""

"""The visit: the URIs of one host are requested one after another.

`visit` strings requests, delays, retries and redirects together; `http`, `ftp` and
`schemes` make the requests, `contexts` those of JSON-LD; `spool` keeps large bodies out
of memory; `services` holds what one crawler needs of all this. Nothing here raises for
what the web does: a failed URI is a `Document` with faults.
"""

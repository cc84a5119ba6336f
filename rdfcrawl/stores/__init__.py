"""Stores of quads.

`protocol` specifies what every store guarantees; `nquads` is the default store, files
of gzip-compressed N-Quads that survive `kill -9` and power loss; `segments` writes
those files for it and for the provenance, `members` is their byte format,
`recovery` repairs them after a crash and `reading` reads them back.
"""

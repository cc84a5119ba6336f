"""Stores of quads.

`protocol` specifies the guarantees of every store. `nquads` is the default store: files
of gzip-compressed N-Quads that survive `kill -9` and power loss. `segments` writes
these files, for statements and provenance; `members` is their byte format;
`recovery` repairs them after a crash, and `reading` reads them.
"""

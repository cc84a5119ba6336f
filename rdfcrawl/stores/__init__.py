"""Stores of quads.

`protocol` specifies the guarantees of every store. `nquads` is the default store: files
of gzip-compressed N-Quads that survive `kill -9` and power loss. `segments` writes
these files, for statements and provenance; `segment_file` is one of them, with its byte
format; `reading` reads them. `crawl_folder` is the folder that they are in.
"""

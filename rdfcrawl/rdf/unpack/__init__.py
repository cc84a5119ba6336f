"""Unpack compressed files and archives into streams of documents, within limits.

Nested packings are unpacked up to a depth limit. An exceeded limit, a broken stream and
an encrypted member are named faults; other documents are still read.
"""

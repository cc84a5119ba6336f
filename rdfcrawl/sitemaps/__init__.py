"""Sitemaps and what grew out of them: bytes in, records out.

The sitemap protocol in all its formats, Semantic Sitemaps with the choice of the way
to a dataset, and ResourceSync. All are read as streams by one tolerant tokenizer
(`markup`), in bounded memory; nothing here opens the network, a clock or a store.
"""

"""Parse sitemaps and their extensions: bytes in, records out.

The sitemap protocol in all its formats, Semantic Sitemaps with the choice of an access
method to a dataset, and ResourceSync. One tolerant tokenizer (`markup`) streams all of
them in bounded memory, without access to the network, a clock or a store.
"""

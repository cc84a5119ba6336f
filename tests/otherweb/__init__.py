"""A data web made from the specifications alone, to judge the crawler from outside.

Nothing here imports the crawler: how a site behaves is taken from RFC 9110, the
SPARQL 1.1 recommendations, sitemaps.org, the Semantic Sitemap drafts, CKAN's API guide
and the documentation of ckanext-dcat.
"""

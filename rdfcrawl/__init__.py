"""rdfcrawl, the crawler for the Web of Data.

A Scrapy project: `scrapy crawl linkeddata -a seeds=…` follows RDF links from
document to document and leaves N-Quads with provenance. The rooms of the house,
from the roof to the ground, are listed in `docs/architecture.md`.
"""

__version__ = "0.1.0"

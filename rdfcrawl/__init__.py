"""rdfcrawl, the crawler for the Web of Data.

`scrapy crawl linkeddata -a seeds=…` follows RDF links from document to document and
leaves N-Quads with provenance; the command `rdfcrawl` does the same without a Scrapy
project. The names in `__all__` are the public API (`docs/reference/api.md`); each is
imported at its first use, so that `import rdfcrawl` costs nothing. The packages and
their order are listed in `docs/explanation/architecture.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.core import __version__

if TYPE_CHECKING:
    from rdfcrawl.addon import Addon as Addon
    from rdfcrawl.core.content import QuadChunk as QuadChunk
    from rdfcrawl.core.errors import ConfigError as ConfigError
    from rdfcrawl.core.errors import Fault as Fault
    from rdfcrawl.core.errors import Reason as Reason
    from rdfcrawl.core.errors import SourceFault as SourceFault
    from rdfcrawl.core.errors import StoreFault as StoreFault
    from rdfcrawl.core.records import Document as Document
    from rdfcrawl.core.records import FollowUp as FollowUp
    from rdfcrawl.downloader.scheme_fetcher import SchemeFetcher as SchemeFetcher
    from rdfcrawl.downloader.scheme_fetcher import SchemeRequest as SchemeRequest
    from rdfcrawl.downloader.scheme_fetcher import SchemeResponse as SchemeResponse
    from rdfcrawl.frontier.arguments.crawl import CrawlArguments as CrawlArguments
    from rdfcrawl.middlewares.normalization import UriFingerprinter as UriFingerprinter
    from rdfcrawl.middlewares.normalization import (
        UriNormalizationMiddleware as UriNormalizationMiddleware,
    )
    from rdfcrawl.middlewares.robots import RobotsMiddleware as RobotsMiddleware
    from rdfcrawl.pipelines.callbacks.extract_response import (
        ExtractedRdf as ExtractedRdf,
    )
    from rdfcrawl.pipelines.callbacks.extract_response import extract as extract
    from rdfcrawl.pipelines.callbacks.parsed_document import (
        ParsedDocument as ParsedDocument,
    )
    from rdfcrawl.rdf.extraction.custom_extractors import (
        DocumentContent as DocumentContent,
    )
    from rdfcrawl.rdf.html.page import ParsedPage as ParsedPage
    from rdfcrawl.rdf.rdflib_graphs import open_dataset as open_dataset
    from rdfcrawl.rdf.terms import iri as iri
    from rdfcrawl.rdf.terms import literal as literal
    from rdfcrawl.rdf.terms import statement as statement
    from rdfcrawl.sources.harvest.custom import CustomHarvester as CustomHarvester
    from rdfcrawl.spiders.base import RdfSpider as RdfSpider
    from rdfcrawl.spiders.ckan import CkanSpider as CkanSpider
    from rdfcrawl.spiders.frontier import FrontierSpider as FrontierSpider
    from rdfcrawl.spiders.linkeddata import LinkedDataSpider as LinkedDataSpider
    from rdfcrawl.spiders.resourcesync import ResourceSyncSpider as ResourceSyncSpider
    from rdfcrawl.spiders.sitemap import SitemapSpider as SitemapSpider
    from rdfcrawl.spiders.sparql import SparqlSpider as SparqlSpider
    from rdfcrawl.stores.followers.protocol import Follower as Follower
    from rdfcrawl.stores.protocol import DocumentWriter as DocumentWriter
    from rdfcrawl.stores.protocol import Store as Store

# Public name -> the module that defines it.
_HOMES = {
    "Addon": "addon",
    "CkanSpider": "spiders.ckan",
    "ConfigError": "core.errors",
    "CrawlArguments": "frontier.arguments.crawl",
    "CustomHarvester": "sources.harvest.custom",
    "Document": "core.records",
    "DocumentContent": "rdf.extraction.custom_extractors",
    "DocumentWriter": "stores.protocol",
    "ExtractedRdf": "pipelines.callbacks.extract_response",
    "Fault": "core.errors",
    "FollowUp": "core.records",
    "Follower": "stores.followers.protocol",
    "FrontierSpider": "spiders.frontier",
    "LinkedDataSpider": "spiders.linkeddata",
    "ParsedDocument": "pipelines.callbacks.parsed_document",
    "ParsedPage": "rdf.html.page",
    "QuadChunk": "core.content",
    "RdfSpider": "spiders.base",
    "Reason": "core.errors",
    "ResourceSyncSpider": "spiders.resourcesync",
    "RobotsMiddleware": "middlewares.robots",
    "SchemeFetcher": "downloader.scheme_fetcher",
    "SchemeRequest": "downloader.scheme_fetcher",
    "SchemeResponse": "downloader.scheme_fetcher",
    "SitemapSpider": "spiders.sitemap",
    "SourceFault": "core.errors",
    "SparqlSpider": "spiders.sparql",
    "Store": "stores.protocol",
    "StoreFault": "core.errors",
    "UriFingerprinter": "middlewares.normalization",
    "UriNormalizationMiddleware": "middlewares.normalization",
    "extract": "pipelines.callbacks.extract_response",
    "iri": "rdf.terms",
    "literal": "rdf.terms",
    "open_dataset": "rdf.rdflib_graphs",
    "statement": "rdf.terms",
}

__all__ = ["__version__", *_HOMES]  # noqa: PLE0604 (names, all of them)

if not TYPE_CHECKING:  # or any name would be one of the package to a type checker

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used (PEP 562)."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 (not for `import rdfcrawl`)

        value = getattr(import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

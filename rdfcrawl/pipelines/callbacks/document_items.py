"""Items of the documents of a crawl, for the argument `items`."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.errors import SourceFault
from rdfcrawl.pipelines.callbacks.document_callbacks import iterate_output
from rdfcrawl.rdf.items.building import DocumentItems, ItemRule
from rdfcrawl.rdf.items.description import Descriptions

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from rdfcrawl.pipelines.callbacks.parsed_document import ParsedDocument

logger = logging.getLogger(__name__)


class ItemsOfDocuments:
    """Yields the items of documents, then the output of the spider's method.

    Args:
        classes: IRIs of their classes; None for any.
        parse: the method `parse_document` of the spider, if it has one.
        stats: `items/...` of the crawl.
    """

    def __init__(
        self,
        classes: frozenset[str] | None,
        parse: Callable[[ParsedDocument], Any] | None,
        stats: StatsCollector,
    ) -> None:
        self._rule = ItemRule(classes=classes)
        self._parse, self._stats = parse, stats

    async def parse(self, document: ParsedDocument) -> AsyncIterator[Any]:
        """Yield the items of a document."""
        try:
            known = Descriptions(document.quads(), document.url)
        except SourceFault as fault:
            self._stats.inc_value("items/too_large")
            logger.warning("%s: %s", document.url, fault)
        else:
            items = DocumentItems(known, self._rule)
            for item in items:
                self._stats.inc_value("items/built")
                yield item
            for reason, number in items.cut.items():
                self._stats.inc_value(f"items/cut/{reason}", number)
        if self._parse is not None:
            async for each in iterate_output(self._parse(document)):
                yield each

"""Feeds of the argument `items`: without rows for documents, and CSV as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any, Final

from itemadapter import ItemAdapter
from scrapy.exporters import BaseItemExporter
from scrapy.extensions.feedexport import ItemFilter
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from rdfcrawl.core.records import Document
from rdfcrawl.pipelines.quad_feeds import NQuadsExporter
from rdfcrawl.rdf.items.table import ItemTable

_FILTER: Final = "item_filter"
_PRIORITY: Final = 0
_CSV: Final = "csv"


def want_items(settings: BaseSettings) -> None:
    """Leave the rows for documents out of feeds, and write CSV as a table of items.

    Feeds with a filter of their own, and another exporter of CSV, stay as they are.
    Feeds are in UTF-8 unless an encoding is set, as files of `export` are.
    """
    exporters = settings.getdict("FEED_EXPORTERS")
    priority = settings.getpriority("FEED_EXPORTERS") or _PRIORITY
    settings.set("FEED_EXPORTERS", {_CSV: ItemCsvExporter, **exporters}, priority)
    feeds = settings.getdict("FEEDS")
    if not feeds:
        return
    usual = {"encoding": settings["FEED_EXPORT_ENCODING"] or "utf-8"}
    filtered = {
        uri: options
        if _is_of_quads(options, exporters)
        else usual | ({} if _has_filter(options) else {_FILTER: ItemsAlone}) | options
        for uri, options in feeds.items()
    }
    settings.set("FEEDS", filtered, settings.getpriority("FEEDS") or _PRIORITY)


def _has_filter(options: Mapping[str, Any]) -> bool:
    """Return whether the options of a feed choose its items."""
    return bool(options.get("item_classes") or options.get(_FILTER))


def _is_of_quads(options: Mapping[str, Any], exporters: Mapping[str, Any]) -> bool:
    """Return whether a feed has the statements of documents."""
    exporter = exporters.get(options["format"])
    return exporter is not None and issubclass(load_object(exporter), NQuadsExporter)


class ItemsAlone(ItemFilter):
    """Filter of a feed without rows for documents."""

    def accepts(self, item: Any) -> bool:
        """Return whether an item is not a document."""
        return not isinstance(item, Document)


class ItemCsvExporter(BaseItemExporter):
    """Writes the table of items when the feed ends, as only then its columns are known.

    `fields` of the feed are its only columns, as `["@id", "name", "offers.price"]`.
    """

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(**options)
        fields = self.fields_to_export
        if fields is not None and not isinstance(fields, Mapping):
            fields = {name: name for name in fields}
        self._file = file
        self._table = ItemTable(columns=fields)

    def export_item(self, item: Any) -> None:
        """Keep the row of an item."""
        self._table.add(ItemAdapter(item).asdict())

    def finish_exporting(self) -> None:
        """Write the table."""
        for line in self._table.pieces():
            self._file.write(line)

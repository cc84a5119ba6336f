"""Call item pipelines as Scrapy does, with less overhead per document."""

from __future__ import annotations

from functools import cached_property
from types import CoroutineType
from typing import Any

from scrapy.pipelines import ItemPipelineManager
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.deprecate import argument_is_required
from scrapy.utils.python import global_object_name

from rdfcrawl.core.records import Document


class DocumentPipelines(ItemPipelineManager):
    """Manager that calls the pipelines one after the other, as Scrapy does.

    Scrapy formats the name of each method for a rare warning, and checks each time
    whether the method takes the spider: a tenth of the cost of all pipelines for a
    small document.
    """

    @cached_property
    def _has_old_style(self) -> bool:
        """Whether a pipeline needs the spider as an argument."""
        methods: Any = self.methods["process_item"]
        return any(argument_is_required(method, "spider") for method in methods)

    async def process_item_async(self, item: Any) -> Any:
        """See `ItemProcessorProtocol`."""
        if self._has_old_style:
            return await super().process_item_async(item)
        for process in self.methods["process_item"]:
            given, item = item, process(item)  # type: ignore[misc]
            if item is given:  # the usual case
                continue
            if isinstance(item, CoroutineType):
                item = await item
            elif not isinstance(item, Document):  # a Deferred, or a user's object
                item = await ensure_awaitable(item, _warn=global_object_name(process))
        return item

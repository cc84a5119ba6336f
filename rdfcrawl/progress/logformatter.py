"""Log lines for documents: none, as their facts are in the provenance."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from scrapy.logformatter import LogFormatter, LogFormatterResult

from rdfcrawl.records import Document

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.http import Response

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def safe_text(text: object) -> str:
    r"""Return text of the web for a terminal: control characters are escaped.

    >>> safe_text("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], str(text))


def has_log_file() -> bool:
    """Tell whether log lines go into a file, which may be all that is ever read."""
    handlers = logging.getLogger().handlers
    return any(isinstance(one, logging.FileHandler) for one in handlers)


class QuietLogFormatter(LogFormatter):
    """Says nothing of documents and visits, and everything of ordinary requests."""

    def crawled(  # type: ignore[override] # Scrapy skips None, but does not say so
        self, request: Request, response: Response, spider: Spider
    ) -> LogFormatterResult | None:
        """Return a line for an ordinary request."""
        if "visit" in request.meta:
            return None
        return super().crawled(request, response, spider)

    def scraped(self, item: Any, response: Any, spider: Spider) -> Any:
        """Return a line for an ordinary item."""
        if isinstance(item, Document):
            return None
        return super().scraped(item, response, spider)

    def item_error(
        self, item: Any, exception: BaseException, response: Any, spider: Spider
    ) -> LogFormatterResult:
        """Return a line that names the document, not its whole body."""
        return super().item_error(_named(item), exception, response, spider)

    def dropped(
        self, item: Any, exception: BaseException, response: Any, spider: Spider
    ) -> LogFormatterResult:
        """Return one line that names the document, not its body."""
        line = super().dropped(item, exception, response, spider)
        if isinstance(item, Document):
            line["msg"] = "Dropped: %(exception)s: %(item)s"
            line["args"] = {"exception": safe_text(exception), "item": _named(item)}
        return line


def _named(item: Any) -> Any:
    return safe_text(item.url) if isinstance(item, Document) else item

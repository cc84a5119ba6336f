"""Log lines as JSON objects, if `LOG_FORMAT` is `json`.

The handlers of Scrapy use `%`-formats. Here a handler of the same kind replaces that of
Scrapy, before Scrapy has logged anything.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

JSON: Final = "json"
_MAX_TEXT: Final = 20_000  # characters of a message, and of a traceback
_MAX_URL: Final = 2_000
_JOB: Final = "_job="
_is_url = re.compile(r"(?:https?|ftps?)://\S+").fullmatch


class JsonLines(logging.Formatter):
    """Formatter of one JSON object per line, in ASCII.

    Attributes:
        worker, crawl: names for each line, when they are known.
    """

    def __init__(self) -> None:
        super().__init__()
        self.worker = self.crawl = ""
        self._job = _job_in(sys.argv)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        at = datetime.fromtimestamp(record.created, UTC)
        url = next(_urls(record.args), "")[:_MAX_URL]
        error = self.formatException(record.exc_info) if record.exc_info else ""
        members = {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "event": record.getMessage()[:_MAX_TEXT],
            "url": url,
            "host": _host(url),
            "job": self._job,
            "crawl": self.crawl,
            "worker": self.worker,
            "exception": error[-_MAX_TEXT:],
        }
        return json.dumps({name: value for name, value in members.items() if value})


def _urls(args: object) -> Iterator[str]:
    """Yield the URLs among the arguments of a log line, also of requests."""
    if isinstance(args, Mapping):
        values = list(args.values())
    else:
        values = list(args) if isinstance(args, tuple) else []
    for value in values:
        text = value if isinstance(value, str) else getattr(value, "url", None)
        if isinstance(text, str) and _is_url(text):
            yield text


def _job_in(words: Sequence[str]) -> str:
    """Return the job of scrapyd, from the arguments of its spider.

    >>> _job_in(["runner", "crawl", "linkeddata", "-a", "_job=6487ec"])
    '6487ec'
    """
    found = (word for word in words if word.startswith(_JOB))
    return next(found, "").removeprefix(_JOB)


def _host(url: str) -> str:
    """Return the host of a URL.

    >>> _host("http://user@a.example:80/")
    'a.example'
    """
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def install_json_logs(settings: BaseSettings) -> None:
    """Log JSON in this process, if the settings select it.

    Scrapy then finds its own format in the settings, and creates no handler.
    """
    if settings.get("LOG_FORMAT") != JSON:
        return
    from scrapy.settings.default_settings import LOG_FORMAT  # noqa: PLC0415

    settings.set("LOG_FORMAT", LOG_FORMAT, "cmdline")
    settings.set("LOG_INSTALL_ROOT_HANDLER", False, "cmdline")
    logging.root.handlers = [
        x for x in logging.root.handlers if not isinstance(x.formatter, JsonLines)
    ]
    handler = _handler(settings)
    handler.setFormatter(JsonLines())
    handler.setLevel(settings.get("LOG_LEVEL"))
    logging.root.setLevel(logging.NOTSET)
    logging.root.addHandler(handler)


def _handler(settings: BaseSettings) -> logging.Handler:
    """Return a handler according to `LOG_FILE` and related settings."""
    filename = settings.get("LOG_FILE")
    if not filename:
        is_on = settings.getbool("LOG_ENABLED")
        return logging.StreamHandler() if is_on else logging.NullHandler()
    encoding = settings.get("LOG_ENCODING")
    if not settings.getbool("LOG_FILE_APPEND"):
        Path(filename).write_bytes(b"")
    # Appending: `logging.config` closes handlers, and reopened ones must not truncate.
    return logging.FileHandler(filename, mode="a", encoding=encoding)


def json_lines() -> list[JsonLines]:
    """Return the formatters of this process that write JSON."""
    formatters = (handler.formatter for handler in logging.root.handlers)
    return [each for each in formatters if isinstance(each, JsonLines)]


def name_worker(crawl_id: str, worker: str) -> None:
    """Add the crawl and the worker to all following lines."""
    for each in json_lines():
        each.crawl, each.worker = crawl_id, worker


def log_to(filename: str | None, *, is_json: bool) -> None:
    """Log to a file, or to standard error, in a process without Scrapy."""
    handler = logging.FileHandler(filename) if filename else logging.StreamHandler()
    text = "%(asctime)s [%(name)s] %(levelname)s: %(message)s"
    handler.setFormatter(JsonLines() if is_json else logging.Formatter(text))
    logging.basicConfig(handlers=[handler], level=logging.INFO)

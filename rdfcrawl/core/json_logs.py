"""Log lines as JSON, one object a line, where `LOG_FORMAT` is `json`.

Scrapy makes handlers whose lines are `%`-formats. Here a handler of the same kind takes
the place of Scrapy's, before Scrapy has logged anything.
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
_MAX_TEXT: Final = 20_000  # characters of what happened, and of a traceback
_MAX_URL: Final = 2_000
_JOB: Final = "_job="
_is_url = re.compile(r"(?:https?|ftps?)://\S+").fullmatch


class JsonLines(logging.Formatter):
    """Formatter of one JSON object a line, in ASCII.

    Attributes:
        worker, crawl: names that each line has, once they are known.
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
        told = {
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
        return json.dumps({name: value for name, value in told.items() if value})


def _urls(args: object) -> Iterator[str]:
    """Yield the URLs among the arguments of a log line, also those of requests."""
    if isinstance(args, Mapping):
        values = list(args.values())
    else:
        values = list(args) if isinstance(args, tuple) else []
    for value in values:
        text = value if isinstance(value, str) else getattr(value, "url", None)
        if isinstance(text, str) and _is_url(text):
            yield text


def _job_in(words: Sequence[str]) -> str:
    """Return the job of scrapyd, which is among the arguments of its spider.

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
    """Have this process log JSON, if the settings say so.

    Scrapy then finds its own format in the settings, and makes no handler.
    """
    if settings.get("LOG_FORMAT") != JSON:
        return
    from scrapy.settings.default_settings import LOG_FORMAT  # noqa: PLC0415

    settings.set("LOG_FORMAT", LOG_FORMAT, "cmdline")
    settings.set("LOG_INSTALL_ROOT_HANDLER", False, "cmdline")
    logging.root.handlers = [x for x in logging.root.handlers if not _is_ours(x)]
    handler = _handler(settings)
    handler.setFormatter(JsonLines())
    handler.setLevel(settings.get("LOG_LEVEL"))
    logging.root.setLevel(logging.NOTSET)
    logging.root.addHandler(handler)


def _handler(settings: BaseSettings) -> logging.Handler:
    """Return a handler for what `LOG_FILE` and the like say."""
    filename = settings.get("LOG_FILE")
    if not filename:
        is_on = settings.getbool("LOG_ENABLED")
        return logging.StreamHandler() if is_on else logging.NullHandler()
    encoding = settings.get("LOG_ENCODING")
    if not settings.getbool("LOG_FILE_APPEND"):
        Path(filename).write_bytes(b"")
    # To append: `logging.config` closes handlers, and those that write do not go on.
    return logging.FileHandler(filename, mode="a", encoding=encoding)


def json_lines() -> list[JsonLines]:
    """Return the formatters of this process that write JSON."""
    formatters = (handler.formatter for handler in logging.root.handlers)
    return [each for each in formatters if isinstance(each, JsonLines)]


def name_worker(crawl_id: str, worker: str) -> None:
    """Have each line from now on say of which crawl and worker it is."""
    for each in json_lines():
        each.crawl, each.worker = crawl_id, worker


def log_to(filename: str | None, *, is_json: bool) -> None:
    """Log into a file, or to standard error, where Scrapy does not run."""
    handler = logging.FileHandler(filename) if filename else logging.StreamHandler()
    text = "%(asctime)s [%(name)s] %(levelname)s: %(message)s"
    handler.setFormatter(JsonLines() if is_json else logging.Formatter(text))
    logging.basicConfig(handlers=[handler], level=logging.INFO)


def _is_ours(handler: logging.Handler) -> bool:
    return isinstance(handler.formatter, JsonLines)

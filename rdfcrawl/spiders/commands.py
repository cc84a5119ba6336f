"""Recognize Scrapy's commands that run a spider without a crawl, and their errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rdfcrawl.core.console import fail
from rdfcrawl.core.errors import ConfigError


@contextmanager
def exits_on_config_error(is_command: bool) -> Iterator[None]:
    """Exit with code 2 and one line if a command raises `ConfigError`.

    A script gets the error.
    """
    try:
        yield
    except ConfigError as error:
        if is_command:
            fail(str(error))
        raise


def is_of_command(start: object) -> bool:
    """Return whether `fetch`, `view`, `parse` or `check` has replaced `start`.

    `shell` does not; it creates a spider without a crawl.
    """
    return str(getattr(start, "__module__", "")).startswith("scrapy.commands.")

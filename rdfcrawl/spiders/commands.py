"""Recognize Scrapy's commands that run a spider without a crawl, and their errors."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import MethodType
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.console import fail
from rdfcrawl.core.errors import ConfigError

if TYPE_CHECKING:
    from scrapy.http import Response

    from rdfcrawl.pipelines.callbacks.extract_response import OrdinaryReader


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


def is_checked() -> bool:
    """Return whether `scrapy check` runs; Scrapy's contracts document the variable."""
    return os.environ.get("SCRAPY_CHECK") == "true"


def of_responses(
    parse: Callable[..., Any], reader: Callable[[], OrdinaryReader]
) -> MethodType:
    """Return a method for documents that accepts responses, as contracts give it.

    Args:
        parse: method of a spider.
        reader: of responses.
    """

    @wraps(parse)
    async def parse_document(_: object, response: Response) -> AsyncIterator[Any]:
        async for each in reader().output(response, parse):
            yield each

    return MethodType(parse_document, getattr(parse, "__self__", None))

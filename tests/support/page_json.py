"""Interfaces of the page for programs: JSON, and a stream of events."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import Request

from tests.support.exporting import open_directly

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def read_page_json(url: str) -> Any:
    """Return the JSON at a URL; None while there is no response."""
    asked = Request(url, headers={"Accept": "application/json"})
    try:
        with open_directly(asked) as answer:
            return json.load(answer)
    except HTTPError as error:
        error.close()
        raise
    except OSError:
        return None


def moment(url: str) -> Any:
    """Return the moment that a page shows; None while there is no response."""
    found = read_page_json(f"{url}/")
    return found and found["moment"]


@contextmanager
def events(url: str) -> Iterator[Iterator[Any]]:
    """Yield the moments that a page sends, for as long as one looks at them."""
    with open_directly(f"{url}/events") as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        yield iter_moments(answer)


def iter_moments(lines: Iterable[bytes]) -> Iterator[Any]:
    """Yield the data of events without a name."""
    name = b""
    for line in lines:
        if line.startswith(b"event: "):
            name = line.removeprefix(b"event: ").strip()
        elif line.startswith(b"data: ") and not name:
            yield json.loads(line.removeprefix(b"data: "))
        elif not line.strip():
            name = b""

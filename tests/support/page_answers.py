"""Answers of a page, without a browser."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from rdfcrawl.monitor.page.guarding import HEADER

if TYPE_CHECKING:
    from collections.abc import Mapping


class PageAnswer(NamedTuple):
    """Responses of a page."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        """The value, if it is JSON."""
        return json.loads(self.text)


def get(
    url: str, query: Mapping[str, str], headers: Mapping[str, str] | None = None
) -> PageAnswer:
    """Return the answer to one request.

    Args:
        url: of the page, with a path.
        query: parameters of the URL.
        headers: of the request.
    """
    return _ask("GET", f"{url}?{urlencode(query)}", None, headers or {})


def post(url: str, fields: Mapping[str, str]) -> PageAnswer:
    """Return the answer to a form that a program sends.

    Args:
        url: of the page, with a path.
        fields: of the form.
    """
    headers = {
        "Accept": "application/json",
        "Content-Type": "application/x-www-form-urlencoded",
        HEADER: "yes",
    }
    return _ask("POST", url, urlencode(fields), headers)


def _ask(
    method: str, url: str, body: str | None, headers: Mapping[str, str]
) -> PageAnswer:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=100)
    try:
        path = f"{parts.path}?{parts.query}"
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    return PageAnswer(answer.status, dict(answer.getheaders()), text)

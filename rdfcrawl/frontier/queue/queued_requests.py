"""Ordinary Scrapy requests as records of the frontier, and back."""

from __future__ import annotations

import json
import math
import secrets
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from scrapy import Request, Spider
from scrapy.http.request import NO_CALLBACK

from rdfcrawl.core.errors import SourceFault
from rdfcrawl.core.records import Kind, Record
from rdfcrawl.core.tasks import RequestTask
from rdfcrawl.uri import requestable

MAX_DEPTH = 255


class UnqueueableError(Exception):
    """Error: a request contains a value that the frontier cannot store."""


def record_of(request: Request, spider: Spider) -> Record:
    """Return the record of a request.

    Its callback and errback are methods of the spider.

    Raises:
        UnqueueableError: a value of it cannot be passed to other processes.
    """
    try:
        depth = request.meta.get("depth", 0)
        record = Record(
            requestable(request.url),
            Kind.REQUEST,
            min(MAX_DEPTH, depth) if isinstance(depth, int) else 0,
            task=RequestTask(
                callback=_name_of(request.callback, "callback", spider),
                errback=_name_of(request.errback, "errback", spider),
                method=request.method,
                body=b64encode(request.body).decode(),
                nonce=secrets.token_hex(8) if request.dont_filter else "",
                headers=tuple(
                    (name.decode("latin-1"), value.decode("latin-1"))
                    for name, values in request.headers.items()
                    for value in values
                ),
                details=_details(request),
            ),
        )
        record.task_text()
    except SourceFault as error:
        fault = error.fault
        raise UnqueueableError(f"{fault.reason}: {fault.detail[:100]}") from error
    return record


def request_of(url: str, task: RequestTask, spider: Spider | None) -> Request:
    """Return the request of a record.

    Without a spider, the request has no callbacks.

    Raises:
        UnqueueableError: the spider has no such method.
    """
    details = json.loads(task.details) if task.details else {}
    headers: dict[str, list[str]] = {}
    for name, value in task.headers:
        headers.setdefault(name, []).append(value)
    return Request(
        url,
        callback=_method(task.callback, spider) if spider else NO_CALLBACK,
        errback=_method(task.errback, spider) if spider else None,
        method=task.method,
        headers={
            name: [value.encode("latin-1") for value in values]
            for name, values in headers.items()
        },
        body=b64decode(task.body),
        dont_filter=True,
        **details,
    )


def meta_of(task: RequestTask) -> dict[str, Any]:
    """Return the `meta` of a request."""
    if not task.details:
        return {}
    meta: dict[str, Any] = json.loads(task.details).get("meta", {})
    return meta


def _details(request: Request) -> str:
    found = {
        "meta": request.meta,
        "cb_kwargs": request.cb_kwargs,
        "cookies": request.cookies,
        "flags": request.flags,
    }
    details = {name: _json(value, name) for name, value in found.items() if value}
    if request.encoding != "utf-8":
        details["encoding"] = request.encoding
    return json.dumps(details, sort_keys=True) if details else ""


def _json(value: Any, place: str) -> Any:
    """Return a value that JSON leaves unchanged, or raise `UnqueueableError`."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return [_json(each, f"{place}[{n}]") for n, each in enumerate(value)]
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: _json(x, f"{place}[{name!r}]") for name, x in value.items()}
    what = "has keys that are no str" if isinstance(value, Mapping) else "is not JSON"
    raise UnqueueableError(f"{place} {what}: {type(value).__name__}")


def _name_of(function: Any, what: str, spider: Spider) -> str:
    if function is None:
        return ""
    name = getattr(getattr(function, "__func__", None), "__name__", "")
    if getattr(function, "__self__", None) is spider and hasattr(spider, name):
        return str(name)
    raise UnqueueableError(f"{what} {function!r} is not a method of the spider")


def _method(name: str, spider: Spider) -> Any:
    if not name:
        return None
    method = getattr(spider, name, None)
    if not callable(method):
        raise UnqueueableError(f"spider {spider.name} has no method {name}")
    return method

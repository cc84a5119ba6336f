"""Requests of Scrapy as records of the frontier, and what redirects make of them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from scrapy import FormRequest, Request, Spider
from scrapy.http import JsonRequest
from scrapy.http.request import NO_CALLBACK

from rdfcrawl.core.records import Kind, Record
from rdfcrawl.core.tasks import RequestTask
from rdfcrawl.downloader.redirects import request_after
from rdfcrawl.frontier.queue.candidate import pack, unpack
from rdfcrawl.frontier.queue.queued_records import (
    UnqueueableError,
    record_of,
    request_of,
)

URL = "http://a.example/x?y=1"


class OwnSpider(Spider):
    """Has methods."""

    name = "own"

    def parse_it(self, response: Any) -> None:
        """Do nothing."""

    def failed(self, failure: Any) -> None:
        """Do nothing."""


SPIDER = OwnSpider()


def through_frontier(request: Request) -> Request:
    """Return a request after its way through a record."""
    record = record_of(request, SPIDER)
    found = unpack(pack(record, "a.example"), "a.example")
    assert found == record
    assert isinstance(found.task, RequestTask)
    return request_of(found.url, found.task, SPIDER)


def test_request_comes_back_as_it_was() -> None:
    """If a request has all that one may have, then all of it is there again."""
    request = Request(
        URL,
        SPIDER.parse_it,
        method="PUT",
        headers={"X-A": ["1", b"\xe9"], "Accept": "text/html"},
        body=bytes(range(256)),
        cookies=[{"name": "a", "value": "b", "path": "/"}],
        meta={"depth": 3, "n": None, "list": (1, 2.5, True), "d": {"e": "\u20ac\n"}},
        errback=SPIDER.failed,
        cb_kwargs={"k": [{"x": 1}]},
        flags=["one"],
        encoding="latin-1",
        priority=3,
    )
    found = through_frontier(request)
    for name in ("url", "method", "headers", "body", "cookies", "cb_kwargs", "flags"):
        assert getattr(found, name) == getattr(request, name), name
    assert (found.callback, found.errback) == (SPIDER.parse_it, SPIDER.failed)
    assert found.meta == {**request.meta, "list": [1, 2.5, True]}
    assert found.encoding == "latin-1"
    assert record_of(request, SPIDER).depth == 3


@pytest.mark.parametrize(
    "request_", [FormRequest(URL, formdata={"a": "b"}), JsonRequest(URL, data={"a": 1})]
)
def test_request_of_a_special_class_is_what_it_sends(request_: Request) -> None:
    """If a request was made from a form or from data, then it sends the same."""
    found = through_frontier(request_)
    assert (found.method, found.body) == (request_.method, request_.body)
    assert found.headers == request_.headers


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"callback": print}, "callback .*print.* is not a method of the spider"),
        ({"callback": OwnSpider().parse_it}, "is not a method of the spider"),
        ({"callback": NO_CALLBACK}, "callback .* is not a method"),
        ({"callback": SPIDER.parse_it, "errback": print}, "errback .* is not a method"),
        ({"meta": {"a": [object()]}}, r"meta\['a'\]\[0\] is not JSON: object"),
        ({"meta": {"a": b"x"}}, r"meta\['a'\] is not JSON: bytes"),
        ({"meta": {"a": math.inf}}, r"meta\['a'\] is not JSON: float"),
        ({"cb_kwargs": {"k": {1: 2}}}, r"cb_kwargs\['k'\] has keys that are no str"),
        ({"body": b"x" * 9000}, "too_large"),
    ],
)
def test_what_cannot_be_queued_is_named(given: dict[str, Any], words: str) -> None:
    """If something of a request cannot be kept, then it is refused by its name."""
    with pytest.raises(UnqueueableError, match=words):
        record_of(Request(URL, **given), SPIDER)


def test_bad_url_is_refused() -> None:
    """If a request leads to no host that is crawled, then it is refused."""
    with pytest.raises(UnqueueableError, match="bad_uri"):
        record_of(Request("http://a b/"), SPIDER)


def test_method_that_is_gone_is_named() -> None:
    """If a spider has lost a method since, then the error has its name."""
    task = RequestTask(callback="parse_that")
    with pytest.raises(UnqueueableError, match="own has no method parse_that"):
        request_of(URL, task, SPIDER)


def test_identity_is_that_of_method_and_body() -> None:
    """If method and body are those of another request, then it is the same one."""

    def identity(**given: Any) -> str:
        task = record_of(Request(URL, **given), SPIDER).task
        assert isinstance(task, RequestTask)
        return task.identity

    assert identity() == identity(meta={"a": 1}, headers={"A": "b"})
    assert identity() != identity(method="POST")
    assert identity(method="POST", body="a") != identity(method="POST", body="b")
    assert identity(dont_filter=True) != identity(dont_filter=True)


POST = RequestTask(
    method="POST",
    body="eA==",
    headers=(("Content-Type", "text/plain"), ("Authorization", "Basic x"), ("A", "b")),
    details='{"cookies": {"a": "b"}, "meta": {"n": 1}}',
)


def test_redirect_makes_a_get_of_a_post() -> None:
    """If a POST is answered by 303, then its target is asked for by GET (RFC 9110)."""
    found = request_after(POST, 303, URL, "http://a.example/z")
    headers = (("Authorization", "Basic x"), ("A", "b"))
    assert found == replace(POST, method="GET", body="", headers=headers)
    assert request_after(POST, 307, URL, "http://a.example/z") == POST


def test_redirect_takes_no_secret_to_another_server() -> None:
    """If a request is redirected to another server, then that gets no credentials."""
    found = request_after(POST, 307, URL, "http://b.example/")
    headers = (("Content-Type", "text/plain"), ("A", "b"))
    assert found == replace(POST, headers=headers, details='{"meta": {"n": 1}}')


def test_request_is_a_kind_of_its_own() -> None:
    """If a record is a request, then it is neither a page nor a source."""
    record = record_of(Request(URL), SPIDER)
    assert (record.kind, record.kind.is_source) == (Kind.REQUEST, False)
    assert isinstance(record, Record)

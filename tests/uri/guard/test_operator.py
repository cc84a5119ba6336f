"""Seeds of the operator, judged before a crawl begins."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.uri.guard import gate
from rdfcrawl.uri.guard.gate import looked_up_refusal, refusal_of
from rdfcrawl.uri.guard.policy import (
    Guard,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfcrawl.downloader.options import FetchOptions

    MakeOptions = Callable[..., FetchOptions]


@pytest.mark.parametrize(
    ("url", "detail"),
    [
        ("http://example.org/", ""),
        ("http://example.org:8080/", ""),
        ("http://example.org:22/", "port 22"),
        ("http://example.org:22?a", "port 22"),
        ("http://example.org:22#a", "port 22"),
        ("http://example.org:22", "port 22"),
        ("ftp://example.org:22/", "port 22"),
        ("ftp://example.org:21/", ""),
        ("ftps://example.org:990/", ""),
        ("http://example.org:21/", "port 21"),
        ("http://10.0.0.1/", "private"),
        ("http://127.0.0.1", "loopback"),
        ("http://127.0.0.1?a", "loopback"),
        ("http://[::1]/", "loopback"),
        ("http://localhost/", "loopback"),
        ("http://a.localhost./x", "loopback"),
        ("http://localhost", "loopback"),
        ("http://a.example/127.0.0.1", ""),
        ("urn:x:127.0.0.1", ""),
        ("example://10.0.0.1/", ""),
    ],
)
def test_url_of_the_operator_is_refused_before_the_crawl(url: str, detail: str) -> None:
    """If a URL shows that it will be refused, then its operator knows at once."""
    found = refusal_of(url, Guard())
    assert bool(found) is bool(detail)
    assert detail in found
    refusal = looked_up_refusal([url], Guard(), looks_up=False)
    assert refusal == (f"{url}: {found}" if found else "")


def test_names_of_the_operator_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """If names are given, then the first are looked up, for some seconds at most."""
    asked: list[str] = []
    goes_on = threading.Event()

    def look_up(host: str, *_: object, **__: object) -> list[tuple[object, ...]]:
        asked.append(host)
        if host == "hangs.example":
            goes_on.wait(60)
        if host == "none.example":
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        address = "10.0.0.9" if host == "inside.example" else "1.1.1.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0))]

    assert gate.LOOKUP_SECS <= 3
    assert gate.EXIT_CODE == 3
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(gate, "LOOKUP_SECS", 0.2)
    names = [f"http://n{n}.example/" for n in range(20)]
    assert (
        looked_up_refusal(["http://1.1.1.1/", *names, "http://n.example/"], Guard())
        == ""
    )
    assert sorted(asked) == sorted(f"n{n}.example" for n in range(20))
    urls = ["http://none.example/", "http://hangs.example/", "http://inside.example/a"]
    refusal = looked_up_refusal(["urn:x:y", *urls], Guard())
    goes_on.set()
    assert refusal.startswith(
        "http://inside.example/a: inside.example (10.0.0.9) is in a pri"
    )
    asked.clear()
    assert looked_up_refusal(urls, Guard(), looks_up=False) == ""
    assert asked == []

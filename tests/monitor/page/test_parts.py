"""Each header, name, limit and pattern that keeps the page to its visitors."""

from __future__ import annotations

import asyncio
import errno
import logging
import re
import socket
from typing import TYPE_CHECKING

import aiohttp
import pytest
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.test_utils import make_mocked_request

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.monitor.page import guarding
from rdfcrawl.monitor.page.guarding import (
    FIELD,
    HEADER,
    REQUEST_LOG,
    FormToken,
    PageGuard,
    is_foreign,
    read_form,
)
from rdfcrawl.monitor.page.options import TOKEN, PageOptions, is_loopback, page_socket
from rdfcrawl.monitor.page.query_rules import MAX_QUERY_CHARS, check_query
from rdfcrawl.monitor.page.rendering import int_parameter, one_of, wants_json
from rdfcrawl.monitor.page.texts import shown_text, visible

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
FORM = FormToken()
CONTROL = PageOptions(has_control=True)
TYPE = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
async def visitors() -> AsyncIterator[aiohttp.ClientSession]:
    """Yield a client session of a server behind a guard."""

    async def form(request: web.Request) -> web.Response:
        return web.json_response(dict(await read_form(request)))

    async def moved(_: web.Request) -> web.Response:
        raise web.HTTPFound("/there")

    async def own(_: web.Request) -> web.Response:
        return web.Response(headers={"Cache-Control": "max-age=9"})

    middleware = PageGuard(CONTROL, FORM).middleware()
    application = web.Application(middlewares=[middleware], client_max_size=1000)
    application.router.add_route("*", "/form", form)
    application.router.add_get("/moved", moved)
    application.router.add_get("/own", own)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    async with aiohttp.ClientSession(url) as session:
        yield session
    await runner.cleanup()


@pytest.mark.parametrize("path", ["/form", "/moved", "/nowhere", "/own"])
async def test_answers_have_all_headers(
    visitors: aiohttp.ClientSession, path: str
) -> None:
    """If anything is answered, then each header keeps browsers to the page."""
    async with visitors.get(path, allow_redirects=False) as answer:
        found = {name: answer.headers.get(name) for name in HEADERS}
        own = {"Cache-Control": "max-age=9"} if path == "/own" else {}
        assert found == HEADERS | own
        assert answer.headers.get("Location") == (
            "/there" if path == "/moved" else None
        )


async def test_wrong_method_names_the_right_ones(
    visitors: aiohttp.ClientSession,
) -> None:
    """If a method is not allowed, then the answer names those that are (RFC 9110)."""
    async with visitors.post("/moved", headers={HEADER: "yes"}) as answer:
        assert answer.status == 405
        assert answer.headers["Allow"] == "GET,HEAD"


@pytest.mark.parametrize(
    ("n_fields", "size", "kind", "status"),
    [
        (16, 1, TYPE, 200),
        (17, 1, TYPE, 400),
        (1, 2000, TYPE, 413),
        (1, 1, {"Content-Type": "text/plain"}, 415),
    ],
)
async def test_forms_are_small(
    visitors: aiohttp.ClientSession,
    n_fields: int,
    size: int,
    kind: Mapping[str, str],
    status: int,
) -> None:
    """If a form is large, of many fields or of another type, then it is refused."""
    fields = {f"f{n}": "x" * size for n in range(n_fields)}
    body = "&".join(f"{name}={value}" for name, value in fields.items())
    headers = {HEADER: "yes", **kind}
    async with visitors.post("/form", data=body, headers=headers) as answer:
        assert answer.status == status
        if status == 200:
            assert await answer.json() == fields


async def test_half_sent_form_ends(
    visitors: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a form is sent in part and then no further, then the request ends."""
    monkeypatch.setattr(guarding, "_BODY_SECS", guarding._BODY_SECS / 100)
    goes_on = asyncio.Event()

    async def body() -> AsyncIterator[bytes]:
        yield b"a="
        await goes_on.wait()

    async with (
        asyncio.timeout(10),
        visitors.post("/form", data=body(), headers=TYPE | {HEADER: "yes"}) as answer,
    ):
        assert answer.status == 408
        goes_on.set()


async def test_fields_stay_as_they_are(visitors: aiohttp.ClientSession) -> None:
    """If a field is blank, or no UTF-8, then the form is read all the same."""
    headers = TYPE | {HEADER: "yes"}
    async with visitors.post(
        "/form", data=b"a=&b=\xff&c=%ff&a=2", headers=headers
    ) as got:
        assert await got.json() == {"a": "2", "b": "\ufffd", "c": "\ufffd"}
    async with visitors.post("/form", data=b"a=", headers=headers) as got:
        assert await got.json() == {"a": ""}


async def test_head_changes_nothing_and_needs_no_token(
    visitors: aiohttp.ClientSession,
) -> None:
    """If a request only reads, then it needs not say where it is from; else it does."""
    for method, status in [("HEAD", 415), ("GET", 415), ("PUT", 403), ("POST", 403)]:
        fields = None if method in ("HEAD", "GET") else {FIELD: "wrong"}
        async with visitors.request(method, "/form", data=fields) as answer:
            assert answer.status == status, method


@pytest.mark.parametrize(
    ("site", "is_of_another"),
    [
        ("same-origin", False),
        ("none", False),
        ("cross-site", True),
        ("same-site", True),
    ],
)
def test_site_of_a_request(site: str, is_of_another: int) -> None:
    """If another site has led to a request, then slow work is not begun."""
    request = make_mocked_request("GET", "/", {"Sec-Fetch-Site": site})
    assert is_foreign(request) == is_of_another
    assert not is_foreign(make_mocked_request("GET", "/"))


def test_form_tokens_differ() -> None:
    """If two processes make forms, then neither takes those of the other."""
    assert FORM.is_in(FORM.text)
    for value in (FormToken().text, "", None, 5, FORM.text + "x", "\udcff"):
        assert not FORM.is_in(value)


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("a.localhost", True),
        ("127.0.0.1", True),
        ("127.255.255.255", True),
        ("[::1]", True),
        ("localhost.example", False),
        ("mylocalhost", False),
        ("128.0.0.1", False),
        ("0.0.0.0", False),
        ("::2", False),
        ("", False),
    ],
)
def test_names_of_this_machine(host: str, *, is_ours: bool) -> None:
    """If a host is this machine alone, then the page needs no token there."""
    assert is_loopback(host) is is_ours


@pytest.mark.parametrize(
    ("prefix", "path"),
    [
        ("", ""),
        ("/", ""),
        ("/a", "/a"),
        ("/a/", "/a"),
        ("/Crawl-1._~/b", "/Crawl-1._~/b"),
        ("a", None),
        ("//a", None),
        ("/a//b", None),
        ("/a b", None),
        ("/a?b", None),
        ("/é", None),
    ],
)
def test_prefix_is_a_path(prefix: str, path: str | None) -> None:
    """If a prefix is no path, then the page is not visitors."""
    if path is None:
        with pytest.raises(ConfigError, match="--prefix"):
            PageOptions.checked(prefix=prefix, environment={})
    else:
        assert PageOptions.checked(prefix=prefix, environment={}).prefix == path


def test_token_is_long_enough() -> None:
    """If a token is short, or not of ASCII, then the page is not visitors."""
    for token in ("x" * 15, "é" * 30):
        with pytest.raises(ConfigError, match="must have 16 characters of ASCII"):
            PageOptions.checked(environment={TOKEN: token})
    assert PageOptions.checked(environment={TOKEN: "x" * 16}).token == "x" * 16


SERVICE = "{ SERVICE <http://a.example/> {} }"
HARMLESS = [
    "{ ?s ?SERVICE ?o }",
    "{ ?s $service ?o }",
    "{ ?s a:SERVICE ?o }",
    "{ ?s SERVICE:a ?o }",
    "{ ?s <http://a/;SERVICE;> ?o }",
    '{ ?s ?p " SERVICE " }',
    "{ ?s ?p ' SERVICE ' }",
    '{ ?s ?p """ " SERVICE "" """ }',
    "{ ?s ?p ''' ' SERVICE '' ''' }",
    '{ ?s ?p "\\" SERVICE " }',
    "{ ?s ?p '\\' SERVICE ' }",
    '{ ?s ?p """\\""" SERVICE """ }',
    "{ ?s ?p '''\\''' SERVICE ''' }",
    '{ ?s ?p """a\nSERVICE\n""" }',
    "{ ?s ?p ?o } # SERVICE \n",
    '{ ?s ?p "a"@SERVICE }',
    "{ ?s ?p-SERVICE ?o }",
    "{ ?s ?p SERVICE-a }",
]
FORBIDDEN = [
    SERVICE,
    SERVICE.lower(),
    SERVICE.replace(" <", "<"),
    f"{{ ?s ?p 'a' . {SERVICE} . ?s ?p 'b' }}",
    f'{{ ?s ?p "a" . {SERVICE} . ?s ?p "b" }}',
    f'{{ ?s ?p "\\"" . {SERVICE} . ?s ?p "b" }}',
    f'{{ ?s ?p """a""" . {SERVICE} . ?s ?p """b""" }}',
    f"{{ ?s ?p '''a''' . {SERVICE} . ?s ?p '''b''' }}",
    f"{{ ?s ?p ?o }} # a\n{SERVICE}",
    f"{{ FILTER(?a < 5) {SERVICE} FILTER(?b > 5) }}",
    f"{{ ?s <http://a#> ?o . {SERVICE} }}",
    f"{{ ?s ?p 'a\n{SERVICE}\n' }}",
]


def test_words_that_ask_no_endpoint() -> None:
    """If SERVICE stands in a name, literal or comment, then the query is answered."""
    for query in HARMLESS:
        check_query(f"SELECT * {query}", is_confined=True)
        with pytest.raises(ConfigError, match="not even the word"):
            check_query(f"SELECT * {query}", is_confined=False)
    for query in ("{ ?s ?p '\\u0053' }", "{ ?s ?\\U00000053ERVICE ?o }"):
        check_query(query, is_confined=True)
        with pytest.raises(ConfigError, match="not even the word"):
            check_query(query, is_confined=False)


def test_words_that_ask_an_endpoint() -> None:
    """If a query reaches an endpoint in any place, then it is refused."""
    for query in FORBIDDEN:
        with pytest.raises(ConfigError, match="SERVICE is refused"):
            check_query(f"SELECT * {query}", is_confined=True)


def test_queries_are_short() -> None:
    """If a query is longer than 8,000 characters, then it is refused."""
    assert MAX_QUERY_CHARS == 8000
    check_query("x" * 8000, is_confined=False)
    with pytest.raises(ConfigError, match="longer than 8,000"):
        check_query("x" * 8001, is_confined=False)


@pytest.mark.parametrize(
    ("path", "accept", "is_json"),
    [
        ("/", "", False),
        ("/", "text/html", False),
        ("/", "application/json", True),
        ("/", "text/html, application/json", False),
        ("/?format=json", "text/html", True),
        ("/?format=html", "application/json", False),
    ],
)
def test_json_is_requested(path: str, accept: str, *, is_json: bool) -> None:
    """If a visitor wants JSON and no page, then it is JSON."""
    request = make_mocked_request("GET", path, {"Accept": accept})
    assert wants_json(request) is is_json


def test_numbers_of_queries_are_bounded() -> None:
    """If a number of a query string is none, or large, then it is refused or cut."""
    for text, found in [("", 7), ("5", 5), ("0", 2), ("999", 50), ("9" * 15, 50)]:
        assert int_parameter({"n": text}, "n", 7, least=2, most=50) == found
    for text in ("-1", "1.5", "x", "\u0665", "\xb2", "9" * 16, " 1"):
        with pytest.raises(web.HTTPBadRequest, match="an integer"):
            int_parameter({"n": text}, "n", 7, most=50)


def test_words_of_queries_are_those_of_a_list() -> None:
    """If a word of a query string is none of those that are possible, it is refused."""
    words = ("up", "down")
    for text, default, found in [
        ("down", "up", "down"),
        ("up", "", "up"),
        ("", "up", "up"),
        ("", "", ""),
    ]:
        assert one_of({"n": text}, "n", words, default) == found
    assert one_of({}, "n", words, "up") == "up"
    with pytest.raises(web.HTTPBadRequest, match="n: must be one of up, down"):
        one_of({"n": "left"}, "n", words, "up")


HIDDEN = [
    *range(9),
    *range(0xB, 0x20),
    *range(0x7F, 0xA0),
    *(0xAD, 0x61C, 0x180E, 0x200B, 0x200E, 0x200F),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *(0xFEFF, 0xFFF9, 0xFFFA, 0xFFFB),
]


def test_hidden_characters_are_shown() -> None:
    """If a character hides, or moves other text, then its escape is shown."""
    for code in HIDDEN:
        assert visible(f"a{chr(code)}b") == f"a\\u{code:04X}b"
    for sign in "\t\n ~é\xa0\u200c\u200d\u2027\u202f\u205f\u2070\ufff8\ufffc":
        assert visible(sign) == sign
    assert re.fullmatch(r"a{300}\.\.\. \(1,000 characters\)", shown_text("a" * 1000))


def test_port_is_one_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """If ports are taken, then the next twenty are tried; other errors are reported."""
    asked: list[tuple[str, int]] = []
    number = errno.EADDRINUSE

    def open_port(address: tuple[str, int], *, family: int, backlog: int) -> None:
        assert family == socket.AF_INET
        assert backlog == 128
        asked.append(address)
        raise OSError(number, "no")

    monkeypatch.setattr(socket, "create_server", open_port)
    with pytest.raises(ConfigError, match="--port 6824 to 6843: no"):
        page_socket(PageOptions())
    assert asked == [("127.0.0.1", port) for port in range(6824, 6844)]
    asked.clear()
    with pytest.raises(ConfigError, match="--port 7000: no"):
        page_socket(PageOptions(port=7000))
    number = errno.EACCES
    with pytest.raises(ConfigError, match="--port 6824"):
        page_socket(PageOptions())
    assert [port for _, port in asked] == [7000, 6824]


@pytest.mark.parametrize(
    ("error", "is_logged"),
    [
        (HttpProcessingError(), False),
        (web.RequestPayloadError(), False),
        (ValueError(), True),
        (None, True),
    ],
)
def test_errors_of_visitors_are_not_logged(
    error: Exception | None, *, is_logged: bool
) -> None:
    """If a request is no HTTP, then that is no error of the page; others are."""
    failure = (type(error), error, None) if error else None
    record = logging.LogRecord("x", logging.ERROR, "x.py", 1, "failed", (), failure)
    assert bool(REQUEST_LOG.filter(record)) is is_logged

"""Who may read the page, and who may change anything by it."""

from __future__ import annotations

import base64
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiohttp
import pytest
from aiohttp import web

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.monitor.page.guarding import FIELD, HEADER, FormToken, PageGuard
from rdfcrawl.monitor.page.options import TOKEN, PageOptions
from rdfcrawl.monitor.page.rendering import PageRenderer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

SECRET = "correct-horse-battery"
CONTROL = PageOptions(has_control=True)
FORM = FormToken()


@asynccontextmanager
async def guarded(options: PageOptions) -> AsyncIterator[aiohttp.ClientSession]:
    """Serve something behind a guard; yield a client session."""

    async def answer(_request: web.Request) -> web.Response:
        return web.Response(text="done")

    middleware = PageGuard(options, FORM).middleware()
    application = web.Application(middlewares=[middleware])
    application.router.add_route("*", "/", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        async with aiohttp.ClientSession(url) as session:
            yield session
    finally:
        await runner.cleanup()


async def status_of(
    session: aiohttp.ClientSession,
    headers: Mapping[str, str],
    fields: Mapping[str, str] | None = None,
) -> int:
    """Return the status of an answer; with fields, of a form that is sent."""
    method = "GET" if fields is None else "POST"
    async with session.request(method, "/", headers=headers, data=fields) as answer:
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        return answer.status


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:6824", 200),
        ("127.0.0.2", 200),
        ("[::1]:6824", 200),
        ("crawl.localhost", 200),
        ("attacker.example", 421),
        ("localhost.attacker.example:6824", 421),
        ("192.168.1.7:6824", 421),
        ("[::ffff:10.0.0.1]", 421),
        ("", 421),
    ],
)
async def test_other_names_are_not_answered_to(host: str, status: int) -> None:
    """If a name is not of this machine alone, then its requests are refused."""
    async with guarded(PageOptions()) as session:
        assert await status_of(session, {"Host": host}) == status


def _basic(word: str) -> str:
    return "Basic " + base64.b64encode(f"anybody:{word}".encode()).decode()


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (f"Bearer {SECRET}", 200),
        (_basic(SECRET), 200),
        ("", 401),
        ("Bearer", 401),
        (f"Bearer {SECRET}x", 401),
        (_basic(""), 401),
        ("Basic \u00e4", 401),
        ("Basic ////", 401),
        (_basic(SECRET).replace("Basic ", "Basic !"), 401),
        (_basic(SECRET).replace("Basic", "bAsIc"), 200),
        ("Bearer \udcff", 401),
        (f"Digest {SECRET}", 401),
    ],
)
async def test_token_is_required(said: str, status: int) -> None:
    """If the page has a token, then only those who say it are answered."""
    async with guarded(PageOptions(token=SECRET)) as session:
        headers = {"Authorization": said, "Host": "crawl.example"}
        assert await status_of(session, headers) == status


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.7", "crawl.example"])
def test_open_address_needs_a_token(address: str) -> None:
    """If others can reach the page, then it is not served without a token."""
    with pytest.raises(ConfigError, match=TOKEN):
        PageOptions.checked(address=address, environment={})
    with pytest.raises(ConfigError, match=TOKEN):
        PageOptions.checked(address=address, environment={TOKEN: "short"})
    found = PageOptions.checked(address=address, environment={TOKEN: SECRET})
    assert found.token == SECRET


OWN = {FIELD: FORM.text}


@pytest.mark.parametrize(
    ("headers", "fields", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, {}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, OWN, 403),
        ({"Sec-Fetch-Site": "same-site"}, OWN, 403),
        ({"Sec-Fetch-Site": "none"}, OWN, 403),
        ({"Origin": "http://localhost:6824"}, {}, 200),
        ({"Origin": "http://attacker.example"}, OWN, 403),
        ({"Origin": "http://localhost:8000"}, OWN, 403),
        ({"Origin": "null"}, OWN, 403),
        ({}, OWN, 200),
        ({}, {FIELD: FormToken().text}, 403),
        ({}, {FIELD: ""}, 403),
        ({}, {"action": "stop"}, 403),
        ({HEADER: "yes"}, {}, 200),
        ({HEADER: "yes", "Origin": "http://attacker.example"}, {}, 403),
    ],
)
async def test_changes_come_from_own_forms(
    headers: Mapping[str, str], fields: Mapping[str, str], status: int
) -> None:
    """If a change may come from another site, then it is refused.

    Old browsers say nothing of the site: then the form has to have the token.
    """
    async with guarded(CONTROL) as session:
        known = {"Host": "localhost:6824", **headers}
        assert await status_of(session, known, fields) == status


async def test_nothing_is_changed_without_control() -> None:
    """If the operator has not said `--control`, then no change is taken."""
    async with guarded(PageOptions()) as session:
        headers = {"Host": "localhost", "Sec-Fetch-Site": "same-origin"}
        assert await status_of(session, headers, OWN) == 403
        assert await status_of(session, headers) == 200


async def test_no_script_of_others_runs() -> None:
    """If an answer is shown, then browsers run scripts of the page's files alone."""
    async with guarded(PageOptions()) as session, session.get("/") as answer:
        directives = answer.headers["Content-Security-Policy"].split("; ")
        policy = dict(each.split(" ", 1) for each in directives)
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_markup_in_values_is_text() -> None:
    """If a value has markup, then a template shows its characters."""
    renderer = PageRenderer(PageOptions(), "<i>crawl</i>", FORM, top="")
    values = {"error": "<script>alert(1)</script>\"'", "back": "/hosts"}
    text = renderer.text("control.html", values, path="/control")
    assert "<script>alert" not in text
    assert "<i>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;" in text

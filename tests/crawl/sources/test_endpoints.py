"""SPARQL endpoints that a Linked Data crawl comes upon: recognized by their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from tests.support.endpoint_answers import (
    DESCRIPTIONS,
    ERRORS,
    OTHERS,
    PAGES,
    SD,
    TABLES,
    Scripted,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

KINDS = {
    "descriptions": DESCRIPTIONS,
    "tables": TABLES,
    "pages": PAGES,
    "errors": ERRORS,
    "others": OTHERS,
}
_PHRASES = {400: "Bad Request", 403: "Forbidden", 404: "Not Found", 200: "OK"}


def _queried(targets: Iterable[str]) -> set[str]:
    """Return the targets, without a query, that got queries of a harvest."""
    found = set()
    for target in targets:
        before, mark, query = target.partition("query=")
        # `ASK {}` and queries with that end may be those of a link.
        if mark and "SELECT" in (text := unquote(query)) and "LIMIT" in text:
            found.add(before.rstrip("?&"))
    return found


@pytest.mark.in_turn(2, rooms=("sources",))
@pytest.mark.parametrize("kind", KINDS)
def test_endpoints_are_recognized_by_their_answers(
    commands: Commands, loopback: Loopback, kind: str
) -> None:
    """If links lead to endpoints, then these are harvested, and nothing else is."""
    server = loopback(host="127.94.7.1")
    other = loopback(host="127.94.7.2")

    def reply(answer: Scripted) -> bytes:
        body = answer.body.replace("{url}", server.url(answer.path.partition("?")[0]))
        body = body.replace("{other}", other.url("/sparql"))
        status = f"{answer.status} {_PHRASES.get(answer.status, 'Other')}"
        return loopback.response(body.encode(), answer.media_type, status=status)

    answers = KINDS[kind]
    links = [f"<> <urn:x:see> <{server.url(x.path)}> ." for x in answers]
    server.pages["/"] = loopback.response("\n".join(links).encode())
    server.pages |= {x.path: reply(x) for x in answers}
    result = commands.crawl([server.url("/")], arguments={"scope": "host"})
    assert result.code == 0, result.stderr
    wanted = set() if kind == "others" else {x.endpoint or x.path for x in answers}
    assert _queried(server.targets) == wanted
    assert _queried(other.targets) == set()


def test_document_that_is_taken_for_an_endpoint_is_soon_left(
    commands: Commands, loopback: Loopback
) -> None:
    """If all queries give the same description, then few queries are sent."""
    description = f"[] a <{SD}Service> ; <{SD}supportedLanguage> <urn:x:q> ."
    server = loopback({"*": loopback.response(description.encode())}, host="127.94.7.3")
    server.pages["/robots.txt"] = loopback.response(b"", "text/plain")
    result = commands.crawl([server.url("/q")], arguments={"scope": "host"})
    assert result.code == 0, result.stderr
    n_queries = sum("query=" in target for target in server.targets)
    assert 0 < n_queries < 10
    assert result.statistics["fault/incomplete"] > 0

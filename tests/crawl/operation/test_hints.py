"""The hint at the end of a crawl that has found nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

_NOTHING = b"<html><title>Nothing</title>"
_HINT = re.compile(r"^hint +(.*)$", re.MULTILINE)


def test_hint_of_hyperlinks_leads_to_the_statements(
    commands: Commands, loopback: Loopback
) -> None:
    """If only hyperlinks lead to data, then the arguments of the hint find it."""
    links = b'<html><A class=x HREF="/d.ttl">d</A> <a href=/e>e</a> <a name=f>'
    server = loopback(
        {
            "/": loopback.response(links, "text/html"),
            "/d.ttl": loopback.response(b"<urn:x:s> <urn:x:p> <urn:x:o> ."),
            "/e": loopback.response(_NOTHING, "text/html"),
        }
    )
    folder = commands.folder()
    arguments = {"seeds": server.url("/")}
    result = commands.crawl(folder=folder, arguments=arguments)
    hint = _HINT.search(result.stderr)
    assert hint, result.stderr
    assert hint[1].startswith("2 hyperlinks of seeds")
    arguments |= dict(re.findall(r"-a (\w+)=(\S+)", hint[1]))
    found = commands.crawl(folder=folder, arguments=arguments)
    assert found.statistics["document/quads"] == 1
    assert not _HINT.search(found.stderr)


def test_crawl_without_statements_names_the_commands_that_show_why(
    commands: Commands, loopback: Loopback
) -> None:
    """If no document has statements and nothing failed, then the hint says so."""
    server = loopback({"/": loopback.response(_NOTHING, "text/html")})
    result = commands.crawl(arguments={"seeds": server.url("/")})
    hint = _HINT.search(result.stderr)
    assert hint, result.stderr
    assert "no statements were found: `look SITE`" in hint[1]

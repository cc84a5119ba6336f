"""robots.txt with odd octets and odd delays, through the crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

DOCUMENT = b"<urn:x:s> <urn:x:p> <urn:x:o> ."
RULES = "User-agent: *\nDisallow: /no\n"
# Each of them disallows /no, and nothing else.
ODD = [
    RULES.encode(),
    RULES.replace("Dis", "\0\0\0Dis").encode(),
    RULES.replace("*", "*\0").encode(),
    RULES.replace("/no", "/no\0").encode(),
    RULES.replace("\n", "\0").encode(),
    RULES.replace("Dis", "D\0is").encode(),
    b"\0" * 10_000 + RULES.encode(),
    RULES.encode("utf-16-le"),
    RULES.encode("utf-16-be"),
    RULES.replace("\n", "\r").encode("utf-8-sig"),
    RULES.replace(":", "\uff1a").encode(),
    RULES.replace(" ", "\xa0").encode(),
    b"#" * 100_000 + b"\n" + RULES.encode(),
]
TOO_LONG = ["1e9", "inf", "1e400", "9" * 400, "61", "2 min", "1h", "0xFFFF"]
NO_DELAY = ["-1", "nan", "soon", "0", ""]


def test_odd_robots_are_obeyed(commands: Commands, loopback: Loopback) -> None:
    """If rules stand among odd octets, or a delay is endless, then they hold."""
    response = loopback.response
    bodies = [
        *ODD,
        *(f"User-agent: *\nCrawl-delay: {x}\n".encode() for x in TOO_LONG),
        *(f"User-agent: *\nCrawl-delay: {x}\n".encode() for x in NO_DELAY),
    ]
    servers = []
    for n, body in enumerate(bodies, start=1):
        robots = response(body, "text/plain")
        pages = {"/robots.txt": robots, "*": response(DOCUMENT)}
        servers.append(loopback(pages, host=f"127.75.5.{n}"))
    seeds = [server.url(path) for server in servers for path in ("/no", "/yes")]
    result = commands.crawl(seeds)
    assert result.code == 0, result.stderr
    for server, body in zip(servers, bodies, strict=True):
        asked = set(server.targets) - {"/robots.txt"}
        no, yes = server.url("/no"), server.url("/yes")
        if body in ODD:
            assert asked == {"/yes"}, body
            assert result.faults(no) == ["robots_disallowed"], body
        elif asked:
            assert body.split(b": ")[-1].decode().strip() in NO_DELAY, body
            assert {no, yes} <= result.graphs, body
        else:
            assert body.split(b": ")[-1].decode().strip() in TOO_LONG, body
            assert result.faults(yes) == ["crawl_delay_too_long"], body


def test_robots_behind_a_dead_redirect_cost_one_host(
    commands: Commands, loopback: Loopback
) -> None:
    """If robots.txt redirects to a dead host, one host is lost, and its fault says so.

    RFC 9309, 2.3.1.4: rules that cannot be reached, wherever they are, forbid all.
    """
    targets = {
        "http://127.81.60.99:9/robots.txt": "Connect call failed ('127.81.60.99', 9)",
        "http://127.81.60.5:{port}/busy": "status 503",
        "http://127.81.60.5:{port}/none": "",  # like a file without rules
    }
    other = loopback(
        {
            "/busy": b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
            "/doc": loopback.response(DOCUMENT),
            "/robots.txt": loopback.response(RULES.encode(), "text/plain"),
        },
        host="127.81.60.5",
    )
    port = other.url("/").split(":")[2].strip("/")
    hosts = {}
    for n, target in enumerate(targets):
        to = target.format(port=port)
        pages = {"/robots.txt": loopback.redirect(to), "*": loopback.response(DOCUMENT)}
        hosts[to] = (loopback(pages, host=f"127.81.60.{n + 1}"), targets[target])
    result = commands.crawl(
        [x.url("/doc") for x in (other, *(host for host, _ in hosts.values()))],
        RETRY_TIMES=0,
    )
    assert other.url("/doc") in result.graphs
    for to, (host, said) in hosts.items():
        url = host.url("/doc")
        if not said:
            assert url in result.graphs
            continue
        assert "robots_unreachable" in result.faults(url)
        detail = f"{said} at {to}, where it redirects to"
        assert any(each.endswith(detail) for each in result.details(url))
        assert "/doc" not in host.targets
    assert "robots_unreachable 2" in result.stderr

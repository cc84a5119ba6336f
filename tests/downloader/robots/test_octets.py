"""The octets of robots.txt, its delays, and a comparison with `protego`.

`protego` is a second implementation, which should agree; its deviations from RFC 9309
are in a table.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from rdfcrawl.downloader.robots.parser import MAX_ROBOTS_BYTES
from rdfcrawl.downloader.robots.policy import ALLOW_ALL, parse_robots
from tests.support.examples import examples
from tests.support.robots_text import BASE, ONE_GROUP, allows

# -- octets ----------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_end_at_three_marks(end: str) -> None:
    """If lines end at CR, LF or CRLF, then each is a line (2.2, NL)."""
    text = end.join(["User-agent: *", "", "Disallow: /a", "Disallow: /b", ""])
    assert not allows(text, "/a")
    assert not allows(text, "/b")


@pytest.mark.parametrize(
    "mark", ["\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c", "\x1d", "\x1e"]
)
def test_lines_end_nowhere_else(mark: str) -> None:
    """If another separator stands in a line, then it ends no line."""
    text = f"User-agent: *\n# a{mark}Disallow: /\nDisallow: /a{mark}Disallow: /"
    assert allows(text, "/b")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks(encoding: str) -> None:
    """If a byte order mark says how the text is encoded, then it is read so."""
    body = "User-agent: *\nDisallow: /é".encode(encoding)
    assert not allows(body, "/%C3%A9")
    assert allows(body, "/e")


@pytest.mark.parametrize("mark", [b"\xfe\xff", b"\xff\xfe"])
def test_both_orders_of_utf_16(mark: bytes) -> None:
    """If UTF-16 has its octets in either order, then the mark decides."""
    encoding = "utf-16-be" if mark == b"\xfe\xff" else "utf-16-le"
    body = mark + "User-agent: *\r\nDisallow: /a".encode(encoding)
    assert not allows(body, "/a")
    assert allows(body, "/b")


@pytest.mark.parametrize("encoding", ["utf-16-be", "utf-16-le"])
def test_utf_16_without_a_mark(encoding: str) -> None:
    """If UTF-16 has no mark, then its first characters say so, if they are ASCII."""
    text = f"User-agent: *\n# {'x' * 40}\nDisallow: /é\u5b57"
    body = text.encode(encoding)
    assert not allows(body, "/%C3%A9%E5%AD%97")
    assert allows(body, "/%C3%A9W[")


def test_octets_that_are_no_utf_8() -> None:
    """If a path is no UTF-8, then its octets are compared as they are."""
    body = b"User-agent: *\nDisallow: /caf\xe9\nDisallow: /%ff"
    assert not allows(body, "/caf%E9")
    assert not allows(body, "/%FF/a")
    assert allows(body, "/caf%C3%A9")
    assert allows(body, "/caf%EF%BF%BD")
    assert allows(body, "/%FE")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("n_over", range(-4, 8))
def test_no_half_rule_at_the_limit(mark: bytes, n_over: int) -> None:
    """If the limit falls into a rule, then the rule is not read at all."""
    last = b"Disallow: /private"
    begin = mark + b"User-agent: *\n"
    n_filling = MAX_ROBOTS_BYTES + n_over - len(begin) - len(last) - 2
    body = begin + b"#" + b"x" * n_filling + b"\n" + last
    assert len(body) == MAX_ROBOTS_BYTES + n_over
    # Of a longer one, one octet more than is read is fetched.
    body = body[: MAX_ROBOTS_BYTES + 1]
    assert allows(body, "/data")
    assert allows(body, "/private/a") is (n_over > 0)


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html><html><body><p>Disallow: /</p></body></html>",
        b"\x1f\x8b\x08\x00\x00\x00" + bytes(range(256)),
        b"\x00" * 1000,
        b'{"User-agent": "*", "Disallow": "/"}',
        b"%PDF-1.7 Disallow: /",
    ],
)  # fmt: skip
def test_what_is_no_text_allows(body: bytes) -> None:
    """If robots.txt is a page or binary, then there are no rules in it."""
    assert parse_robots(body) is ALLOW_ALL


@pytest.mark.parametrize(
    "body",
    [
        b"User-agent: *\n\0\0\0Disallow: /a\n",
        b"User-agent: *\0\nDisallow: /a\n",
        b"User-agent: *\nDisallow: /a\0\n",
        b"User-agent: *\nDisallow: /a\0b\n",
        b"User-agent: *\0Disallow: /a\0",
        b"User-agent: *\nDisa\0llow: /a\n",
        b"\0" * 5000 + b"User-agent: *\nDisallow: /a\n",
        b"User-agent: *\n \0\t Disallow: /a\n",
        "User-agent: *\nDisallow: /a\n".encode("utf-16-le"),
        "User-agent: *\nDisallow: /a\n".encode("utf-16-be"),
        b"# one\n\xef\xbb\xbfUser-agent: *\nDisallow: /a\n",
        "User-agent\uff1a*\nDisallow\uff1a /a".encode(),
        "User-agent:\xa0*\nDisallow:\xa0/a\xa0".encode(),
        b"\fUser-agent:\v*\n\vDisallow: /a\f\n",
        b"User-agent: *\nDisallow: /" + b"z" * 100_000 + b"\nDisallow: /a\n",
    ],
)
def test_rules_hold_among_odd_octets(body: bytes) -> None:
    """If NULs and other odd octets stand around rules, then the rules hold."""
    assert not allows(body, "/a")
    assert allows(body, "/c")


# -- Crawl-delay -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "agent", "delay_secs"),
    [
        (ONE_GROUP, "a", 1.0),
        (ONE_GROUP, "b", 1.0),
        ("User-agent: *\nCrawl-delay: 9\n\nUser-agent: x\nCrawl-delay: 1", "x", 1.0),
        ("User-agent: x\nCrawl-delay: 86400\n\nUser-agent: *\nDisallow: /a", "y", 0.0),
        ("User-agent: *\nDisallow: /a\nCrawl-delay: 3", "x", 3.0),
        ("User-agent: *\nCrawl-delay: 2.5\n\nDisallow: /a", "x", 2.5),
        ("User-agent: *\nCrawl-delay: 2\nCrawl-delay: 5", "x", 5.0),
        ("User-agent: *\nCrawl-delay: 10 # s", "x", 10.0),
        ("User-agent: *\nCrawl-delay: 10s", "x", 10.0),
        ("User-agent: *\nCrawl-delay: .5", "x", 0.5),
        ("User-agent: *\nCrawl-delay: -1", "x", 0.0),
        ("User-agent: *\nCrawl-delay: nan", "x", 0.0),
        ("User-agent: *\nCrawl-delay: soon", "x", 0.0),
        ("User-agent: *\nCrawl-delay: 1e9", "x", 1e9),
        ("User-agent: *\nCrawl-delay: 1e400", "x", 1e9),
        ("User-agent: *\nCrawl-delay: inf", "x", 1e9),
        ("User-agent: *\nCrawl-delay: Infinity", "x", 1e9),
        ("User-agent: *\nCrawl-delay: " + "9" * 400, "x", 1e9),
        ("User-agent: *\nCrawl-delay: 1e1", "x", 10.0),
        ("User-agent: *\nCrawl-delay: 0x10", "x", 16.0),
        ("User-agent: *\nCrawl-delay: 0X1f", "x", 31.0),
        ("User-agent: *\nCrawl-delay: +2", "x", 2.0),
        ("User-agent: *\nCrawl-delay: 1,5", "x", 1.5),
        ("User-agent: *\nCrawl-delay: ,5 s", "x", 0.5),
        ("User-agent: *\nCrawl-delay: 10 milliseconds", "x", 10.0),
        ("User-agent: *\nCrawl-delay: 500 ms", "x", 0.5),
        ("User-agent: *\nCrawl-delay: 2 minutes", "x", 120.0),
        ("User-agent: *\nCrawl-delay: 1h", "x", 3600.0),
        ("User-agent: *\nCrawl-delay: 2 hours", "x", 7200.0),
        ("User-agent: *\nCrawl-delay: 1 hour", "x", 3600.0),
        ("User-agent: *\nCrawl-delay: 3m", "x", 180.0),
        ("User-agent: *\nCrawl-delay: 3\tMIN", "x", 180.0),
        ("User-agent: *\nCrawl-delay: 3 mins", "x", 180.0),
        ("User-agent: *\nCrawl-delay: 10 hosts", "x", 10.0),
        ("User-agent: *\nCrawl-delay: 5.", "x", 5.0),
        ("User-agent: *\nCrawl-delay: 2e-1", "x", 0.2),
        ("User-agent: *\nCrawl-delay: 1e+1", "x", 10.0),
        ("User-agent: *\nCrawl-delay: 1e400 ms", "x", 1e9),
        ("User-agent: *\nCrawl-delay: 3\0", "x", 3.0),
        ("User-agent: *\nCrawl-delay:", "x", 0.0),
        ("Crawl-delay: 10\nUser-agent: *\nDisallow: /a", "x", 0.0),
        ("User-agent: *\nCrawl-delay: 7\nUser-agent: x\nDisallow:", "x", 7.0),
    ],
)
def test_delay_of_a_group(text: str, agent: str, delay_secs: float) -> None:
    """If a group has a delay, then it holds for the agents that it is written for."""
    assert parse_robots(text.encode(), agent).delay_secs == delay_secs


# -- against another implementation ----------------------------------------------------

# Neither prefixes of `index.html`, for which protego has a special rule, nor reserved
# characters, which it decodes.
_PATTERNS = st.text("ab/*$", max_size=6).map(lambda x: "/" + x)
_PATHS = st.text("ab/", max_size=8).map(lambda x: "/" + x)
_RULES = st.lists(st.tuples(st.booleans(), _PATTERNS), max_size=6)


@settings(max_examples=examples(1000), deadline=None)
@given(_RULES, _PATHS)
def test_rules_against_protego(rules: list[tuple[bool, str]], path: str) -> None:
    """If paths have plain characters and wildcards, then both decide alike."""
    lines = [f"{'Allow' if allow else 'Disallow'}: {rule}" for allow, rule in rules]
    # protego takes a `$` for the end, and for itself, wherever it stands.
    lines = [x for x in lines if "$" not in x[:-1] and "**" not in x]
    text = "\n".join(["User-agent: *", *lines])
    expected = Protego.parse(text).can_fetch(BASE + path, "rdfcrawl")
    assert allows(text, path) is expected


@settings(max_examples=examples(500), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "User-agent: rdfcrawl", "User-agent: x", "User-agent: *", "",
                "Disallow: /a", "Allow: /a/b", "Disallow: /", "# a", "Sitemap: /s",
            ]
        ),
        max_size=9,
    ),
    st.sampled_from(["/a", "/a/b", "/c"]),
)  # fmt: skip
def test_groups_against_protego(lines: list[str], path: str) -> None:
    """If groups have agents and rules, then both find the same one."""
    text = "\n".join(lines)
    expected = Protego.parse(text).can_fetch(BASE + path, "rdfcrawl")
    assert allows(text, path) is expected


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("User-agent: rdfcrawl\nCrawl-delay: 1\nUser-agent: b\nDisallow: /p", "/p"),
        ("User-agent: rdf\nDisallow: /", "/a"),
        ("User-agent: *\nDisallow: /a?b", "/a%3Fb"),
        ("User-agent: *\nAllow: /index.html\nDisallow: /", "/"),
        ("User-agent: *\n# \u2028Disallow: /", "/a"),
    ],
)
def test_where_protego_is_another(text: str, path: str) -> None:
    """If protego decides as we do here one day, then it may do what `parser` does."""
    expected = Protego.parse(text).can_fetch(BASE + path, "rdfcrawl")
    assert allows(text, path) is not expected


def _matches(pattern: str, path: str) -> bool:
    """Return whether a pattern matches, by trying all there is: slow and plain."""
    if pattern in ("", "$"):
        return not pattern or not path
    if pattern[0] == "*":
        return any(_matches(pattern[1:], path[n:]) for n in range(len(path) + 1))
    return bool(path) and path[0] == pattern[0] and _matches(pattern[1:], path[1:])


@settings(max_examples=examples(1000), deadline=None)
@given(st.text("ab*", max_size=8), st.booleans(), st.text("ab", max_size=10))
def test_wildcards_against_a_plain_matcher(
    pattern: str,
    is_anchored: bool,
    path: str,
) -> None:
    """If a pattern has any wildcards, then it matches what trying all would find."""
    pattern = "/" + pattern + "$" * is_anchored
    text = f"User-agent: *\nDisallow: {pattern}"
    assert allows(text, "/" + path) is not _matches(pattern, "/" + path)


@pytest.mark.parametrize("n", [30, 5000])  # fewer and more than the path is long
def test_hostile_wildcards_are_read_once(n: int) -> None:
    """If a rule is all wildcards, then no piece of the path is tried again."""
    rule = "/" + "*a" * n + "b$"
    assert allows(f"User-agent: *\nDisallow: {rule}", "/" + "a" * 2000)


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=300), st.text(max_size=30))
def test_anything_is_read(body: bytes, path: str) -> None:
    """If robots.txt and path are garbage, then nothing is raised."""
    text = b"User-agent: *\nDisallow: /" + body
    parse_robots(text).allows(f"{BASE}/{path}")
    parse_robots(body, path).allows(path)

"""The rules of robots.txt: RFC 9309 sections 2.2 and 5, and what sites write.

The last table has the cases that the tests of google/robotstxt publish, in words of our
own, without those that are Google's alone: `index.html` for its directory, and escapes
of unreserved characters that are not decoded. `protego` is a second implementation
where the two should agree; where it differs from RFC 9309 is a table, too.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from rdfcrawl.robots.parser import MAX_ROBOTS_BYTES
from rdfcrawl.robots.policy import ALLOW_ALL, parse_robots
from tests.support.examples import examples

BASE = "http://h.example"
# RFC 9309 5.1.
SIMPLE = """\
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif

User-Agent: barbot
User-Agent: bazbot
Disallow: /example/page.html

User-Agent: quxbot

"""
LONGEST = """\
User-Agent: foobot
Allow: /example/page/
Disallow: /example/page/disallowed.gif
"""
ONE_GROUP = "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nDisallow: /p\n"
GROUPS = """\
allow: /foo/bar/

user-agent: FooBot
disallow: /
allow: /x/
user-agent: BarBot
disallow: /
allow: /y/


allow: /w/
user-agent: BazBot

user-agent: FooBot
allow: /z/
disallow: /
"""


def allows(text: str | bytes, path: str, agent: str = "rdfcrawl") -> bool:
    """Return what a robots.txt says of a path."""
    body = text.encode() if isinstance(text, str) else text
    return parse_robots(body, agent).allows(BASE + path)


@pytest.mark.parametrize(
    ("text", "agent", "path", "allowed"),
    [
        pytest.param(SIMPLE, "other", "/a/b.gif", False, id="5.1-any-gif"),
        pytest.param(SIMPLE, "other", "/a/b.gif?c", True, id="5.1-any-gif-end"),
        pytest.param(SIMPLE, "other", "/example/", False, id="5.1-any-example"),
        pytest.param(SIMPLE, "other", "/publications/a", True, id="5.1-any-allowed"),
        pytest.param(SIMPLE, "FooBot", "/", False, id="5.1-foobot"),
        pytest.param(SIMPLE, "foobot", "/example/page.html", True, id="5.1-foobot-1"),
        pytest.param(SIMPLE, "foobot", "/example/allowed.gif", True, id="5.1-foobot-2"),
        pytest.param(SIMPLE, "barbot", "/example/page.html", False, id="5.1-barbot"),
        pytest.param(SIMPLE, "bazbot", "/example/page.html", False, id="5.1-bazbot"),
        pytest.param(SIMPLE, "bazbot", "/example/b.gif", True, id="5.1-bazbot-else"),
        pytest.param(SIMPLE, "quxbot", "/example/b.gif", True, id="5.1-quxbot"),
        pytest.param(
            LONGEST, "foobot", "/example/page/disallowed.gif", False, id="5.2"
        ),
        pytest.param(LONGEST, "foobot", "/example/page/a.gif", True, id="5.2-else"),
        # 2.2.1: the user-agent line.
        pytest.param(
            "user-agent: rdfcrawl\ndisallow: /foo\nuser-agent: rdfcrawl\ndisallow: /b",
            "rdfcrawl",
            "/foo",
            False,
            id="2.2.1-merged-first",
        ),
        pytest.param(
            "user-agent: rdfcrawl\ndisallow: /foo\nuser-agent: RDFCRAWL\ndisallow: /b",
            "rdfcrawl",
            "/bar",
            False,
            id="2.2.1-merged-second",
        ),
        pytest.param(
            "user-agent: *\ndisallow: /foo\n\nuser-agent: *\ndisallow: /bar",
            "rdfcrawl",
            "/foo",
            False,
            id="2.2.1-merged-any",
        ),
        pytest.param(
            "user-agent: baz\ndisallow: /", "rdfcrawl", "/", True, id="2.2.1-no-group"
        ),
        pytest.param("disallow: /", "rdfcrawl", "/a", True, id="2.2.2-outside"),
        pytest.param(
            "User-agent: rdfcrawl\n\nUser-agent: x\n\n\nDisallow: /a",
            "rdfcrawl",
            "/a",
            False,
            id="2.2-empty-lines",
        ),
        pytest.param(
            "User-agent: *\nDisallow: /\nUser-agent: rdfcrawl\nDisallow:",
            "rdfcrawl",
            "/a",
            True,
            id="2.2-empty-pattern",
        ),
        # 2.2.4: other records do not end a group.
        pytest.param(ONE_GROUP, "a", "/p", False, id="2.2.4-delay-first-agent"),
        pytest.param(ONE_GROUP, "b", "/p", False, id="2.2.4-delay-second-agent"),
        *(
            pytest.param(
                f"User-agent: rdfcrawl\n{record}\nUser-agent: b\nDisallow: /p",
                "rdfcrawl",
                "/p",
                False,
                id=f"2.2.4-{record.partition(':')[0]}",
            )
            for record in (
                "Sitemap: http://h.example/s.xml", "Host: h.example", "Foo: bar",
                "Request-rate: 1/5", "Clean-param: a /b", "no record at all",
            )
        ),
        pytest.param(
            "User-agent: rdfcrawl\nDisallow: /a\nSitemap: /s\nDisallow: /b",
            "rdfcrawl",
            "/b",
            False,
            id="2.2.4-between-rules",
        ),
    ],
)  # fmt: skip
def test_rfc_groups(text: str, agent: str, path: str, *, allowed: bool) -> None:
    """If several groups stand in a file, then ours decides as RFC 9309 reads it."""
    assert allows(text, path, agent) is allowed


@pytest.mark.parametrize(
    ("line", "is_us"),
    [
        ("rdfcrawl", True),
        ("RDFcrawl", True),
        ("rdfcrawl/0.1 (+https://lab.example/)", True),
        ("rdfcrawl bot", True),
        ("rdfcrawl*", True),
        ("rdf", False),
        ("r", False),
        ("rdfcrawler", False),
        ("rdfcrawl-images", False),
        ("rdfcrawl2", False),
        ("my rdfcrawl", False),
        ("Mozilla/5.0 (compatible; rdfcrawl)", False),
        ("", False),
        ("*", True),
        ("* # anybody", True),
        ("*rdfcrawl", False),
        ("*bot", False),
    ],
)
def test_names_are_whole_tokens(line: str, *, is_us: bool) -> None:
    """If a name is our token as a whole, then the group is ours; a part is not."""
    assert allows(f"User-agent: {line}\nDisallow: /", "/a") is not is_us


@pytest.mark.parametrize(
    ("rule", "path", "matches"),
    [
        # 2.2.2: how paths are compared.
        pytest.param("/foo/bar?baz=quz", "/foo/bar?baz=quz", True, id="2.2.2-1"),
        pytest.param(
            "/foo/bar?baz=https://foo.bar",
            "/foo/bar?baz=https%3A%2F%2Ffoo.bar",
            True,
            id="2.2.2-2",
        ),
        pytest.param(
            "/foo/bar?baz=https%3a%2f%2Ffoo.bar",
            "/foo/bar?baz=https://foo.bar",
            True,
            id="2.2.2-2-turned-round",
        ),
        pytest.param("/*=https://", "/a?b=https://c", True, id="2.2.2-2-wild"),
        pytest.param("/foo/bar/ツ", "/foo/bar/%E3%83%84", True, id="2.2.2-3"),
        pytest.param("/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", True, id="2.2.2-4"),
        pytest.param("/foo/bar/%62%61%7A", "/foo/bar/baz", True, id="2.2.2-5"),
        pytest.param("/foo/bar/baz", "/foo/bar/%62%61%7a", True, id="2.2.2-5-url"),
        pytest.param("/a?b", "/a%3Fb", False, id="2.2.2-reserved-?"),
        pytest.param("/a%3Fb", "/a?b", False, id="2.2.2-reserved-%3F"),
        pytest.param("/a/b", "/a%2Fb", False, id="2.2.2-reserved-/"),
        pytest.param("/a%2fb", "/a%2Fb", True, id="2.2.2-case-of-escapes"),
        pytest.param("/a%25b", "/a%b", False, id="2.2.2-percent"),
        pytest.param("/a|b c", "/a%7Cb%20c", True, id="2.2.2-not-in-uris"),
        pytest.param("/A", "/a", False, id="2.2.2-case"),
        pytest.param("/é", "/%E9", False, id="2.2.2-latin-1-is-not-utf-8"),
        # 2.2.3: special characters.
        pytest.param("/a # b", "/a", True, id="2.2.3-comment"),
        pytest.param("/a#b", "/a/b", True, id="2.2.3-comment-at-once"),
        pytest.param("/this/*/exactly", "/this/a/b/exactly", True, id="2.2.3-*"),
        pytest.param("/this/*/exactly", "/this/exactly", False, id="2.2.3-*-no"),
        pytest.param("/this/path$", "/this/path", True, id="2.2.3-$"),
        pytest.param("/this/path$", "/this/path/", False, id="2.2.3-$-no"),
        pytest.param("/a$b", "/a$b", True, id="2.2.3-$-in-the-middle"),
        pytest.param("/a$b", "/a", False, id="2.2.3-$-in-the-middle-no"),
        pytest.param("/a$$", "/a$", True, id="2.2.3-$$"),
        pytest.param("/f-%2A.html", "/f-*.html", True, id="2.2.3-%2A"),
        pytest.param("/f-%2A.html", "/f-a.html", False, id="2.2.3-%2A-no"),
        pytest.param("/foo-%24", "/foo-$", True, id="2.2.3-%24"),
        pytest.param("/foo-%24", "/foo-", False, id="2.2.3-%24-no"),
        pytest.param("/*a*a$", "/a", False, id="2.2.3-end-is-not-used-twice"),
        pytest.param("/a*", "/a", True, id="2.2.3-*-at-the-end"),
        pytest.param("/**b", "/ab", True, id="2.2.3-**"),
        pytest.param("/*$", "/", True, id="2.2.3-*$"),
        pytest.param("*", "/", True, id="2.2.3-*-alone"),
        pytest.param("a", "/a", False, id="2.2-no-path"),
        pytest.param("http://h.example/a", "/a", False, id="2.2-no-path-but-a-url"),
        pytest.param("/?a", "?a", True, id="empty-path"),
        pytest.param("/", "/robots.txt", False, id="2.2.2-robots.txt"),
        pytest.param("/", "/robots.txt?a", True, id="2.2.2-another"),
    ],
)
def test_rfc_matching(rule: str, path: str, *, matches: bool) -> None:
    """If a rule forbids a path, then that is what it matches, octet by octet."""
    assert allows(f"User-agent: *\nDisallow: {rule}\n", path) is not matches


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("disallow: /x/page.html|allow: /x/", "/x/page.html", False),
        ("allow: /x/page.html|disallow: /x/", "/x/page.html", True),
        ("allow: /x/page.html|disallow: /x/", "/x/", False),
        ("disallow:|allow:", "/x", True),
        ("disallow: /|allow: /", "/x", True),
        ("allow: /|disallow: /", "/x", True),
        ("disallow: /x|allow: /x/", "/x", False),
        ("disallow: /x|allow: /x/", "/x/", True),
        ("allow: /page|disallow: /*.html", "/page.html", False),
        ("allow: /page|disallow: /*.html", "/page", True),
        ("allow: /x/page.|disallow: /*.html", "/x/page.html", True),
        ("allow: /x/page.|disallow: /*.html", "/x/y.html", False),
        ("disallow: /%61%61%61|allow: /aaa", "/aaa", True),
        ("allow: /index.html|disallow: /", "/", False),
        ("allow: /index.html|disallow: /", "/index.html", True),
        ("allow: /$|disallow: /", "/", True),
        ("allow: /$|disallow: /", "/page.html", False),
        ("allow: /folder|disallow: /folder", "/folder/page", True),
        ("allow: /page|disallow: /*.htm", "/page.htm", False),
        ("disallow: /foo/bar/quz|allow: /foo/*/qux", "/foo/bar/quz", False),
        ("disallow: /foo/bar/quz|allow: /foo/*/qux", "/foo/bar/quxx", True),
        ("disallow: /foo/bar$|allow: /foo/bar/qux", "/foo/bar/", True),
        ("allow: /a?u=http://x|disallow: /a", "/a?u=http%3A%2F%2Fx", True),
    ],
)
def test_longest_match(rules: str, path: str, *, allowed: bool) -> None:
    """If several rules match, then the longest decides, and of two the one to allow."""
    text = "user-agent: *\n" + rules.replace("|", "\n")
    assert allows(text, path) is allowed


FISH = "user-agent: FooBot\ndisallow: /\nallow: "
GOOGLE: list[tuple[str, str, str, bool]] = [
    ("user-agent: FooBot\ndisallow: /", "FooBot", "/x/y", False),
    ("foo: FooBot\nbar: /", "FooBot", "/x/y", True),
    ("user-agent FooBot\ndisallow /", "FooBot", "/x/y", False),
    (GROUPS, "FooBot", "/x/b", True),
    (GROUPS, "FooBot", "/z/d", True),
    (GROUPS, "FooBot", "/y/c", False),
    (GROUPS, "BarBot", "/y/c", True),
    (GROUPS, "BarBot", "/w/a", True),
    (GROUPS, "BarBot", "/z/d", False),
    (GROUPS, "BazBot", "/z/d", True),
    (GROUPS, "FooBot", "/foo/bar/", False),
    (GROUPS, "BarBot", "/foo/bar/", False),
    (GROUPS, "BazBot", "/foo/bar/", False),
    ("USER-AGENT: FooBot\nALLOW: /x/\nDISALLOW: /", "FooBot", "/x/y", True),
    ("uSeR-aGeNt: FooBot\nAlLoW: /x/\ndIsAlLoW: /", "FooBot", "/a/b", False),
    ("User-Agent: FOO BAR\nAllow: /x/\nDisallow: /", "foo", "/x/y", True),
    ("User-Agent: foo bar\nAllow: /x/\nDisallow: /", "Foo", "/a/b", False),
    ("user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /", "FooBot", "/x", False),
    ("user-agent: *\nallow: /\nuser-agent: FooBot\ndisallow: /", "BarBot", "/x", True),
    ("user-agent: FooBot\ndisallow: /x/", "FooBot", "/x/y", False),
    ("user-agent: FooBot\ndisallow: /X/", "FooBot", "/x/y", True),
    (
        "User-agent: *\nDisallow: /x/\nUser-agent: FooBot\nDisallow: /y/",
        "FooBot",
        "/x/page",
        True,
    ),
    ("User-agent: F\n# Disallow: /\nDisallow: /q#x\nAllow: /", "F", "/a", True),
    ("User-agent: F\n# Disallow: /\nDisallow: /q#x\nAllow: /", "F", "/q", False),
    *((FISH + "/fish", "FooBot", path, True) for path in (
        "/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fish.html?id=a")),
    *((FISH + "/fish", "FooBot", path, False) for path in (
        "/bar", "/Fish.asp", "/catfish", "/?id=fish")),
    *((FISH + "/fish*", "FooBot", path, True) for path in (
        "/fish", "/fish.html", "/fish/salmon.html", "/fishheads", "/fish.html?id=a")),
    *((FISH + "/fish*", "FooBot", path, False) for path in (
        "/bar", "/Fish.bar", "/catfish", "/?id=fish")),
    *((FISH + "/fish/", "FooBot", path, True) for path in (
        "/fish/", "/fish/salmon", "/fish/?salmon", "/fish/?id=anything")),
    *((FISH + "/fish/", "FooBot", path, False) for path in (
        "/fish", "/fish.html", "/Fish/Salmon.html")),
    *((FISH + "/*.php", "FooBot", path, True) for path in (
        "/filename.php", "/folder/filename.php?p", "//folder/any.php.file.html",
        "/filename.php/", "/index?f=filename.php/")),
    *((FISH + "/*.php", "FooBot", path, False) for path in (
        "/php/", "/index?php", "/windows.PHP")),
    *((FISH + "/*.php$", "FooBot", path, True) for path in (
        "/filename.php", "/folder/filename.php")),
    *((FISH + "/*.php$", "FooBot", path, False) for path in (
        "/filename.php?parameters", "/filename.php/", "/filename.php5", "/php/",
        "/filename?php", "/aaaphpaaa", "//windows.PHP")),
    *((FISH + "/fish*.php", "FooBot", path, True) for path in (
        "/fish.php", "/fishheads/catfish.php?parameters")),
    (FISH + "/fish*.php", "FooBot", "/Fish.PHP", False),
    (FISH + "/foo/bar?qux=taz&baz=http://foo.bar?tar&par", "FooBot",
     "/foo/bar?qux=taz&baz=http://foo.bar?tar&par", True),
]  # fmt: skip


@pytest.mark.parametrize(("text", "agent", "path", "allowed"), GOOGLE)
def test_published_cases(text: str, agent: str, path: str, *, allowed: bool) -> None:
    """If a case is published by another implementation, then we read it alike."""
    assert allows(text, path, agent) is allowed


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
        ("User-agent: *\nCrawl-delay:", "x", 0.0),
        ("Crawl-delay: 10\nUser-agent: *\nDisallow: /a", "x", 0.0),
        ("User-agent: *\nCrawl-delay: 7\nUser-agent: x\nDisallow:", "x", 7.0),
    ],
)
def test_delay_of_a_group(text: str, agent: str, delay_secs: float) -> None:
    """If a group has a delay, then it holds for the agents that it is written for."""
    assert parse_robots(text.encode(), agent).delay_secs == delay_secs


# -- against another implementation ----------------------------------------------------

# Neither letters that begin `index.html`, for which protego has a rule of its own, nor
# reserved characters, which it decodes.
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


def test_hostile_wildcards_are_read_once() -> None:
    """If a rule is all wildcards, then no piece of the path is tried again."""
    rule = "/" + "*a" * 5000 + "b$"
    assert allows(f"User-agent: *\nDisallow: {rule}", "/" + "a" * 2000)


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=300), st.text(max_size=30))
def test_anything_is_read(body: bytes, path: str) -> None:
    """If robots.txt and path are garbage, then nothing is raised."""
    text = b"User-agent: *\nDisallow: /" + body
    parse_robots(text).allows(f"{BASE}/{path}")
    parse_robots(body, path).allows(path)

"""The rules of robots.txt: RFC 9309 sections 2.2 and 5, and what sites write.

The last table has the cases that the tests of google/robotstxt publish, in words of our
own, without those that are Google's alone: `index.html` for its directory, and escapes
of unreserved characters that are not decoded.
"""

from __future__ import annotations

import pytest

from tests.support.robots_text import ONE_GROUP, allows

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
    """If a name equals our token, then the group is ours; a part is not."""
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
        pytest.param("*/a", "/a", True, id="2.2.3-*-of-nothing"),
        pytest.param("a", "/a", False, id="2.2-no-path"),
        pytest.param("http://h.example/a", "/a", False, id="2.2-no-path-but-a-url"),
        pytest.param("/?a", "?a", True, id="empty-path"),
        pytest.param("/", "/robots.txt", False, id="2.2.2-robots.txt"),
        pytest.param("/", "/robots.txt?a", True, id="2.2.2-another"),
    ],
)
def test_rfc_matching(rule: str, path: str, *, matches: bool) -> None:
    """If a rule forbids a path, then it matches octet by octet."""
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

"""Each word, limit and value of the files with the rules of publishers."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING

import pytest

from rdfcrawl.core.reservations import MAX_POLICY_CHARS
from rdfcrawl.downloader.robots.parser import (
    RobotsRecords,
    path_of,
    pattern_of,
    read_records,
    read_signals,
)
from rdfcrawl.downloader.robots.policy import MAX_ROBOTS_REDIRECTS, parse_robots
from rdfcrawl.downloader.robots.storage import (
    RobotsDeathStore,
    pack_rules,
    unpack_records,
    unpack_rules,
)
from rdfcrawl.downloader.robots.tdm import (
    MAX_RULES,
    pack_tdm,
    parse_tdm_file,
    unpack_tdm,
)
from tests.support.robots_text import BASE, allows

if TYPE_CHECKING:
    from redis.asyncio import Redis

ORIGIN = "http://a.example"


@pytest.mark.parametrize(
    "name", ["User-agent", "user agent", "UserAgent", "user\tagent", " user-agent"]
)
def test_names_of_agents(name: str) -> None:
    """If the line of an agent is written in a usual way, then it begins a group."""
    assert not allows(f"{name}: *\nDisallow: /a", "/a")


@pytest.mark.parametrize(
    "name",
    [
        "disallow",
        "dissallow",
        "disalow",
        "dissalow",
        "diasllow",
        "disallaw",
        "\tDisallow",
    ],
)
def test_names_of_rules(name: str) -> None:
    """If a rule is misspelt in a usual way, with a colon or without, then it holds."""
    for colon in (":", " :", "\t:", " ", "\t"):
        assert not allows(f"User-agent: *\n{name}{colon}/a", "/a")
        text = f"User-agent: *\nDisallow: /\nAllow{colon}/a"
        assert allows(text, "/a")


@pytest.mark.parametrize(
    "name", ["crawl-delay", "crawl delay", "crawl\tdelay", "crawldelay"]
)
@pytest.mark.parametrize(("text", "secs"), [("2", 2), ("2.5", 2.5), (".5", 0.5)])
def test_names_of_delays(name: str, text: str, secs: float) -> None:
    """If a delay is written in a usual way, then it is read."""
    rules = parse_robots(f"User-agent: *\n{name}: {text}".encode())
    assert rules.delay_secs == secs


@pytest.mark.parametrize("name", ["sitemap", "site-map", "sitemaps", "Site-Maps"])
def test_names_of_sitemaps(name: str) -> None:
    """If a sitemap is named in a usual way, then it is known; a blank name is none."""
    assert parse_robots(f"{name}: /s.xml\n{name}:".encode()).sitemaps == ("/s.xml",)
    assert parse_robots(f"{name} /s.xml".encode()).sitemaps == ("/s.xml",)
    assert parse_robots(f"{name} of our site".encode()).sitemaps == ()


@pytest.mark.parametrize("name", ["content-signal", "content-signals", "content-usage"])
@pytest.mark.parametrize(
    ("use", "known"),
    [
        ("search", "search"),
        ("ai-input", "ai-input"),
        ("ai-train", "ai-train"),
        ("train-ai", "ai-train"),
        ("train-genai", "ai-train"),
    ],
)
def test_names_of_signals(name: str, use: str, known: str) -> None:
    """If a use is allowed or not, by either vocabulary, then that is known."""
    for word, said in [("yes", "yes"), ("y", "yes"), ("no", "no"), ("n", "no")]:
        for blank in ("", " ", "\t"):
            text = f"User-agent: *\n{name}: /p/ {use}{blank}={blank}{word}"
            signals = parse_robots(text.encode()).signals
            assert signals is not None
            assert signals.of(f"{BASE}/p/a") == (f"{known}={said}",)
            assert signals.of(f"{BASE}/q") == ()


def test_signals_are_bounded() -> None:
    """If signals are many or long, then the first are read, up to a bound."""
    text = b"User-agent: *\n" + b"Content-Signal: search=no\n" * 150
    assert len(read_records(text, "rdfcrawl").signals) == 100
    assert read_signals(b" " * 2000 + b"search=no") is not None
    assert read_signals(b" " * 2044 + b"search=no") is None
    for value in (b"search", b"other=no", b"search=maybe", b"/a", b"*"):
        assert read_signals(value) is None


def test_sitemaps_are_bounded() -> None:
    """If a file names many sitemaps, then a thousand are known, and that more are."""
    text = b"".join(b"Sitemap: /%d\nSitemap: /%d\n" % (n, n) for n in range(1500))
    for n_lines, n_known, has_more in [(3000, 1000, True), (2000, 1000, False)]:
        lines = b"\n".join(text.splitlines()[:n_lines])
        records = read_records(lines, "rdfcrawl")
        assert (len(records.sitemaps), records.has_more_sitemaps) == (n_known, has_more)
    assert MAX_ROBOTS_REDIRECTS == 5  # RFC 9309 2.3.1.2


def test_plain_characters_are_spelt_in_one_way() -> None:
    """If a character has no other meaning, then its escape is the same path."""
    plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    for sign in plain:
        for escape in (f"%{ord(sign):02X}", f"%{ord(sign):02x}"):
            assert pattern_of(f"/{escape}".encode()) == pattern_of(f"/{sign}".encode())
            assert path_of(f"{ORIGIN}/{escape}") == path_of(f"{ORIGIN}/{sign}")
    for sign in ":/?[]@!&'()+,;=":
        assert pattern_of(f"/{sign}x".encode()) == path_of(f"{ORIGIN}/{sign}x")
        assert path_of(f"{ORIGIN}/%{ord(sign):02x}") != path_of(f"{ORIGIN}/{sign}")
    for sign in '"<>\\^`{|} é\x01\x7f':
        escape = "".join(f"%{octet:02X}" for octet in sign.encode())
        assert pattern_of(f"/{sign}".encode()) == f"/{escape}"
        assert path_of(f"{ORIGIN}/{sign}") == f"/{escape}"


@pytest.mark.parametrize("sign", ":/?#[]@")
def test_query_has_two_spellings(sign: str) -> None:
    """If a query has an escape that some write and some do not, then both match."""
    escape = f"%{ord(sign):02X}"
    for rule, path in [(sign, escape), (escape, sign)]:
        if "#" not in path:
            assert not allows(f"User-agent: *\nDisallow: /a?b={rule}c", f"/a?b={path}c")
            if "#" not in rule:
                assert allows(f"User-agent: *\nDisallow: /a{rule}", f"/a{path}")


def test_packed_rules_are_bounded() -> None:
    """If packed rules are a bomb or none at all, then nothing is taken from them."""
    bomb = zlib.compress(b"[" + b" " * (9 * 2**20) + b"]")
    fits = zlib.compress(b"[" + b" " * (7 * 2**20) + b"]")
    for unpack in (unpack_rules, unpack_records):
        assert unpack(bomb) is None
        assert unpack(fits) is not None
        rows = [[[], "x", [], 0, []]]
        for wrong in (b"", b"x", *map(packed, (5, [5], [[5]], rows, {"a": 1}))):
            assert unpack(wrong) is None
    deep = zlib.compress(b"[" * 100_000)
    assert unpack_rules(deep) is None
    assert unpack_records(deep) is None


def packed(found: object) -> bytes:
    """Return any JSON in the form of packed rules."""
    return zlib.compress(json.dumps(found).encode())


def test_both_files_are_packed() -> None:
    """If an origin has one file, both or none, then the same is unpacked."""
    records = read_records(b"User-agent: *\nDisallow: /no", "rdfcrawl")
    assert pack_rules(RobotsRecords()) == pack_rules(None)
    for file in (records, None):
        data = pack_rules(file)
        found, kept = unpack_rules(data), unpack_records(data)
        assert found is not None
        assert kept is not None
        assert found.allows(f"{ORIGIN}/no") is (file is None)
        assert kept.rules == (file.rules if file else {})
    for text, said in (
        (b'[{"location": "/", "tdm-reservation": 1}]', True),
        (b"[]", None),
    ):
        tdm = parse_tdm_file(text, ORIGIN)
        assert tdm is not None
        again = unpack_tdm(pack_tdm(tdm))
        assert again is not None
        assert again.of(f"{ORIGIN}/a").tdm is said
        assert again.n_bytes == tdm.n_bytes > 0
    rows = [[7, True, ""]]
    damaged = (5, [5], [[5], 1], [["x"], 1], [[], "x"], [rows, 1], {"a": 1})
    for wrong in (b"", b"x", *map(packed, damaged)):
        assert unpack_tdm(wrong) is None


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"location": "/", "tdm-reservation": 1}, True),
        ({"location": "/", "tdm-reservation": "1"}, True),
        ({"location": "*", "tdm-reservation": 1}, True),
        ({"location": "a", "tdm-reservation": 1}, True),
        ({"location": f"{ORIGIN}/a", "tdm-reservation": 1}, True),
        ({"location": "/", "tdm-reservation": 0}, False),
        ({"location": "/", "tdm-reservation": "0"}, False),
        ({"location": "/", "tdm-reservation": True}, None),
        ({"location": "/", "tdm-reservation": 1.0}, None),
        ({"location": "/", "tdm-reservation": 2}, None),
        ({"location": "/", "tdm-reservation": None}, None),
        ({"location": "/b", "tdm-reservation": 1}, None),
        ({"location": ["/"], "tdm-reservation": 1}, None),
        ({"location": f"/{'*' * 2047}", "tdm-reservation": 1}, True),
        ({"location": f"/{'*' * 2048}", "tdm-reservation": 1}, None),
        ({"tdm-reservation": 1}, None),
        ("location", None),
    ],
)
def test_values_of_a_tdm_file(rule: object, *, said: bool | None) -> None:
    """If a rule of a TDM file conforms to the report, then it is read, else not."""
    rules = parse_tdm_file(json.dumps([rule]).encode(), ORIGIN)
    assert rules is not None
    assert rules.of(f"{ORIGIN}/a").tdm is said


def test_tdm_files_are_bounded() -> None:
    """If a TDM file has many rules or a long policy, then a part is read."""
    assert MAX_RULES == 1000
    other = {"location": "/other", "tdm-reservation": 1}
    last = {"location": "/a", "tdm-reservation": 1, "tdm-policy": "x" * 99_999}
    for n, is_read in [(MAX_RULES - 1, True), (MAX_RULES, False)]:
        rules = parse_tdm_file(json.dumps([*[other] * n, last]).encode(), ORIGIN)
        assert rules is not None
        assert (rules.of(f"{ORIGIN}/a").tdm is True) is is_read
        assert len(rules.of(f"{ORIGIN}/a").tdm_policy) == MAX_POLICY_CHARS * is_read
    for text in (b"", b"{}", b"[" * 100_000, b"\xff"):
        assert parse_tdm_file(text, ORIGIN) is None
    none = {"location": "/a", "tdm-reservation": 0, "tdm-policy": "x"}
    rules = parse_tdm_file(json.dumps([none]).encode(), ORIGIN)
    assert rules is not None
    assert rules.of(f"{ORIGIN}/a").tdm_policy == ""


@pytest.mark.parametrize(
    ("agent", "own", "is_meant"),
    [
        ("my_other", "my_bot", False),
        ("my_bot", "my_bot", True),
        ("* all", "my_bot", True),
        ("*\tall", "my_bot", True),
        ("*x", "my_bot", False),
        ("!", "", False),
    ],
)
def test_agents_that_are_meant(agent: str, own: str, *, is_meant: bool) -> None:
    """If a group is for one name, then it is not for another with the same begin."""
    rules = parse_robots(f"User-agent: {agent}\nDisallow: /a".encode(), own)
    assert rules.allows(f"{BASE}/a") is not is_meant


def test_signals_are_read_in_any_case() -> None:
    """If a signal is in capitals, or for a path that begins with a star, it counts."""
    text = b"User-agent: *\nContent-Usage: */a SEARCH=No"
    signals = parse_robots(text).signals
    assert signals is not None
    assert signals.of(f"{BASE}/b/a") == ("search=no",)
    assert signals.of(f"{BASE}/b") == ()


async def test_robots_that_kills_is_left_alone(redis: Redis) -> None:
    """If a robots.txt has killed three workers, then no further one reads it."""
    other, key = "http://other.example", "deaths"

    async def worker(*, reads: bool, origin: str = ORIGIN) -> bool:
        """Die with a robots.txt; return whether it is left alone before."""
        store = RobotsDeathStore(redis, key)
        if await store.is_deadly(origin):
            return True
        await store.begin(origin)
        if reads:
            await store.read(origin)
        return False

    assert [await worker(reads=True) for _ in range(5)] == [*[False] * 3, True, True]
    assert 0 < await redis.ttl(key) <= 24 * 3600
    # Those that only requested it may have died of something else.
    asked = [await worker(reads=False, origin=other) for _ in range(26)]
    assert asked == [*[False] * 24, True, True]
    store = RobotsDeathStore(redis, key)
    await store.read("http://unasked.example")
    await store.begin(f"{ORIGIN}:81")
    await store.forget(f"{ORIGIN}:81")
    await store.read(f"{ORIGIN}:81")
    assert set(await redis.hkeys(key)) == {ORIGIN.encode(), other.encode()}
    await RobotsDeathStore(redis, key).begin(other)  # it has learnt of none yet
    # One that lives on knows it, too.
    third = "http://third.example"
    assert not await store.is_deadly(third)
    for _ in range(24):
        await store.begin(third)
    assert not await store.is_deadly(third)
    await store.begin(third)
    assert await store.is_deadly(third)

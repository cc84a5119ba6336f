"""Tests of `rdfcrawl.uri.parse`."""

from __future__ import annotations

import re
from hashlib import blake2b

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.uri import BadUri, NormalForm, fingerprint, parse_uri, requestable
from rdfcrawl.uri.parse import MAX_URL_CHARS

NORMAL_FORM = NormalForm()

HOSTS = [
    *["example.org", "EXAMPLE.org", "a", "a-b.c_d.net", "-a-.b", "a..b", "a.", ".a"],
    *["127.0.0.1", "255.255.255.255", "256.1.1.1", "1.2.3.256", "1.2.3.04", "01.2.3.4"],
    *["127.1", "1.2.3", "1.2.3.4.", "1.2.3.4.5", "0x7f.1", "0", "09", "999.0.0.0"],
    *["1a", "a.1", "a.01", "a.0x", "a.0xf", "a.0xg", "1.a", "a.1a", "0x", "é.1"],
    *[
        "[::1]",
        "[::0:1]",
        "xn--mnchen-3ya.de",
        "xn--",
        "a.xn--pokxncvks",
        "münchen.de",
    ],
    *["me:pw@a", "@a", "%41.org", "a%2eb", "ab--cd.e", "ﬀ.org", "a.b.c.d.e", "_", "-"],
]
PORTS = [
    *["", ":", ":80", ":443", ":8080", ":080", ":0", ":00", ":800", ":4430", ":44"],
    *[":59999", ":65535", ":65536", ":99999", ":123456", ":8x"],
]
_PIECES = st.sampled_from(
    [
        *[
            "/",
            "//",
            ".",
            "..",
            "%2e",
            "%2E",
            "a",
            "Z",
            "~",
            "%7e",
            "%7E",
            "%41",
            "%c3",
        ],
        *["%2f", "%2F", "%", "%4", "%%34%31", "?", "&", "&&", "=", "+", "%26", "%3D"],
        *[
            "'",
            "%27",
            '"',
            "|",
            "[",
            "]",
            "^",
            "{",
            "`",
            "\\",
            " ",
            "\t",
            "ä",
            "#",
            ";",
        ],
        *[
            ";jsessionid=1",
            ";JSessionID=x;a",
            "sid=1",
            "SID",
            "phpsessid=",
            "aspsessionidX",
        ],
        *[
            "b=1",
            "a=2",
            "a=1",
            ":",
            "@",
            "!",
            "$",
            "(",
            "*",
            ",",
            "/../",
            "/./",
            "/..;sid=",
        ],
    ]
)
_SCHEMES = st.sampled_from(["http://", "https://", "HTTP://", "ftp://", "http:/"])
URLS = st.builds(
    lambda *parts: "".join(parts),
    *[
        _SCHEMES,
        st.sampled_from(HOSTS),
        st.sampled_from(PORTS),
        st.sampled_from(["", "/"]),
    ],
    st.lists(_PIECES, max_size=10).map("".join),
)


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        pytest.param("http://a:80", "http://a/", id="default-port-http"),
        pytest.param("https://a:443/", "https://a/", id="default-port-https"),
        pytest.param("ftp://a:21/b", "ftp://a/b", id="default-port-ftp"),
        pytest.param("http://a:443/", "http://a:443/", id="port-of-the-other"),
        pytest.param("HTTP://A.ORG/B", "http://a.org/B", id="case-of-host"),
        pytest.param("http://me:pw@a/", "http://a/", id="userinfo"),
        pytest.param("http://bücher.de/", "http://xn--bcher-kva.de/", id="idn"),
        pytest.param("http://0177.1/", "http://127.0.0.1/", id="ipv4-octal"),
        pytest.param("http://a/b#c", "http://a/b", id="fragment"),
        pytest.param("http://a/%7Eb%2d", "http://a/~b-", id="unreserved-decoded"),
        pytest.param("http://a/?%7E=%41", "http://a/?~=A", id="unreserved-in-query"),
        pytest.param("http://a/%2f%c3%a4", "http://a/%2F%C3%A4", id="upper-case"),
        pytest.param("http://a/ä |[", "http://a/%C3%A4%20%7C%5B", id="encoded"),
        pytest.param("http://a/?q[]=ä", "http://a/?q%5B%5D=%C3%A4", id="query-encoded"),
        pytest.param("http://a/100%", "http://a/100%25", id="stray-percent"),
        pytest.param("http://a/%%34%31", "http://a/%2541", id="no-escape-is-made"),
        pytest.param("http://a/b/../c/./d", "http://a/c/d", id="dots"),
        pytest.param("http://a/b/%2e%2E/c", "http://a/c", id="escaped-dots"),
        pytest.param("http://a//b//c/", "http://a//b//c/", id="slashes-kept"),
        pytest.param("http://a/?", "http://a/", id="empty-query"),
        pytest.param("http://a/?&&", "http://a/", id="empty-parameters"),
        pytest.param("http://a/?b=1&a=2&a=1", "http://a/?a=1&a=2&b=1", id="sorted"),
        pytest.param("http://a/?a", "http://a/?a", id="no-value"),
        pytest.param("http://a/?a=", "http://a/?a=", id="empty-value"),
        pytest.param("http://a/?a=1%262", "http://a/?a=1%262", id="ampersand-escaped"),
        pytest.param("http://a/?a=b+c%2B", "http://a/?a=b+c%2B", id="plus"),
        pytest.param("http://a/?a%3D1=2", "http://a/?a%3D1=2", id="equals-escaped"),
        pytest.param("http://a/?b&PHPSESSID=1&a", "http://a/?a&b", id="session-php"),
        pytest.param("http://a/?sid", "http://a/", id="session-no-value"),
        pytest.param("http://a/?s%69d=1", "http://a/", id="session-escaped"),
        pytest.param("http://a/?ASPSESSIONIDQQ=1", "http://a/", id="session-pattern"),
        pytest.param("http://a/?side=1", "http://a/?side=1", id="session-longer-name"),
        pytest.param("http://a/?x=sid", "http://a/?x=sid", id="session-as-value"),
        pytest.param("http://a/b;jsessionid=1/c", "http://a/b/c", id="session-path"),
        pytest.param(
            "http://a/b;v=1;JSESSIONID=2.3?c", "http://a/b;v=1?c", id="session-path-end"
        ),
        pytest.param(
            "http://a/b/..;sid=1/c?d", "http://a/c?d", id="session-path-before-dots"
        ),
        pytest.param("http://a//b/..;sid=1", "http://a//", id="session-path-slashes"),
        pytest.param("http://a/..;sid=1", "http://a/", id="session-path-only-dots"),
        pytest.param("http://a/b;sidecar=1", "http://a/b;sidecar=1", id="path-kept"),
    ],
)
def test_normal_form(url: str, normal: str) -> None:
    """If a URL is normalized, then RFC 3986 6.2.2 and the session rules are applied."""
    assert NORMAL_FORM.normalize(url) == normal


@pytest.mark.parametrize("url", ["", "a/b", "mailto:a@b", "http://a b/", "data:,a"])
def test_no_normal_form(url: str) -> None:
    """If it is not a hierarchical URL, then it is refused."""
    with pytest.raises(BadUri):
        NORMAL_FORM.normalize(url)


@given(URLS)
def test_short_cut_is_the_long_way(url: str) -> None:
    """If a URL is taken for normal at a glance, then rewriting would not change it."""
    try:
        normal = NORMAL_FORM._rewrite(url)
    except BadUri:
        with pytest.raises(BadUri):
            NORMAL_FORM.normalize(url)
        return
    assert NORMAL_FORM.normalize(url) == normal
    assert NORMAL_FORM._rewrite(normal) == normal
    assert parse_uri(normal) == normal


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", HOSTS)
def test_short_cut_knows_hosts_and_ports(host: str, scheme: str) -> None:
    """If an authority is taken as it is, then the parser would not change it."""
    for port in PORTS:
        url = f"{scheme}://{host}{port}/a"
        try:
            normal = NORMAL_FORM._rewrite(url)
        except BadUri:
            normal = ""
        assert NORMAL_FORM._is_normal(url) is None or normal == url
        try:
            requested = requestable(url)
        except BadUri:
            requested = ""
        assert requested == normal


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8080/dataset-0/resource-17",
        "https://dbpedia.org/resource/Paris,_Texas",
        "https://a.example:59999/x?a=1&b=2;3",
        "http://localhost:7/",
    ],
)
def test_usual_links_take_the_short_cut(url: str) -> None:
    """If a link is written the usual way, then it is recognized without parsing."""
    assert NORMAL_FORM.is_plain(url)
    assert bool(NORMAL_FORM.is_simple(url)) == ("&" not in url)


@given(URLS)
def test_simple_urls_are_the_plain_ones_of_one_part(url: str) -> None:
    """If a link is known by one expression, then it is plain, and has no `&`."""
    is_simple = NORMAL_FORM.is_simple(url) is not None
    assert is_simple == (NORMAL_FORM.is_plain(url) and "&" not in url)


@given(URLS)
def test_plain_urls_stay_as_they_are(url: str) -> None:
    """If a link is taken for plain, then it is requested so, and is normal."""
    if NORMAL_FORM.is_plain(url):
        assert requestable(url) == NORMAL_FORM.normalize(url) == url


@pytest.mark.parametrize("n_chars", [MAX_URL_CHARS, MAX_URL_CHARS + 1])
def test_long_urls_are_not_plain(n_chars: int) -> None:
    """If a link is longer than the limit of URLs, then it is not plain."""
    url = "http://a/".ljust(n_chars, "b")
    assert NORMAL_FORM.is_plain(url) == (n_chars == MAX_URL_CHARS)
    assert bool(NORMAL_FORM.is_simple(url)) == (n_chars == MAX_URL_CHARS)


@given(URLS, st.randoms(use_true_random=False))
def test_equivalent_urls_are_equal(url: str, random: object) -> None:
    """If escapes change case, the port is named or the order changes, it is equal."""
    try:
        href = parse_uri(url).partition("#")[0]
    except BadUri:
        assume(False)
    normal = NORMAL_FORM.normalize(href)
    swapped = re.sub(r"%[0-9A-Fa-f]{2}", lambda match: match[0].swapcase(), href)
    assert NORMAL_FORM.normalize(swapped) == normal
    path, mark, query = href.partition("?")
    parts = query.split("&")
    random.shuffle(parts)  # type: ignore[attr-defined]
    assert NORMAL_FORM.normalize(path + mark + "&".join(parts)) == normal
    scheme, authority, rest = re.fullmatch(r"(\w+)(://[^/]*)(.*)", href).groups()  # type: ignore[union-attr]
    if not re.search(r":\d+\Z", authority):
        port = {"http": 80, "https": 443, "ftp": 21}[scheme]
        assert NORMAL_FORM.normalize(f"{scheme}{authority}:{port}{rest}") == normal


@given(st.text("abcXYZ019-._~", min_size=1, max_size=8))
def test_escaping_the_unreserved_changes_nothing(name: str) -> None:
    """If unreserved characters are escaped, then the URL is the same."""
    escaped = "".join(f"%{ord(char):02x}" for char in name)
    assert NORMAL_FORM.normalize(f"http://a/b{escaped}?{escaped}") == (
        NORMAL_FORM.normalize(f"http://a/b{name}?{name}")
    )


@given(st.text("!$&'()*+,;=:@/?#[]", min_size=1, max_size=4))
def test_escaping_the_reserved_is_kept(name: str) -> None:
    """If reserved characters are escaped, then they are not taken for delimiters."""
    escaped = "".join(f"%{ord(char):02X}" for char in name)
    url = f"http://a/b{escaped}?c={escaped}"
    assert NORMAL_FORM.normalize(url) == url


def test_session_parameters_are_configurable() -> None:
    """If names are given, then these and no others are dropped."""
    form = NormalForm(session_parameters=("token", "x-*"))
    assert form.normalize("http://a/b;x-1=2?Token=1&sid=2&x-y=3&x") == (
        "http://a/b?sid=2&x"
    )
    assert NormalForm(session_parameters=()).normalize("http://a/;sid=1?sid=2") == (
        "http://a/;sid=1?sid=2"
    )


@pytest.mark.parametrize("name", ["", "*", "**", "a=b", "a&b", "a b", "ä", "a;"])
def test_bad_session_parameter(name: str) -> None:
    """If a session parameter cannot be the name of one, then it is a wrong setting."""
    with pytest.raises(ConfigError, match="session parameter"):
        NormalForm(session_parameters=("sid", name))


def test_long_hostile_urls_take_no_time() -> None:
    """If a URL repeats the subject of a rule, then the time stays proportional."""
    for part in (
        "/..;sid=1",
        "/%2e%2e",
        ";sid=1",
        "&sid=1",
        "%",
        "a.",
        "/",
        "-",
        "xn-",
    ):
        url = "http://a/" + part * 7000
        assert len(NORMAL_FORM.normalize(url)) <= 3 * len(url)


@given(st.text())
def test_fingerprint_is_blake2b(text: str) -> None:
    """If a normal form is hashed, then it is the signed BLAKE2b-64 of its bytes."""
    text = text.encode(errors="replace").decode()
    digest = blake2b(text.encode(), digest_size=8).digest()
    assert fingerprint(text) % 2**64 == int.from_bytes(digest, "big")
    assert -(2**63) <= fingerprint(text) < 2**63


def test_fingerprint_is_stable() -> None:
    """If the same crawl goes on with another version, then it knows its URLs."""
    # printf http://example.org/ | b2sum -l 64
    assert fingerprint("http://example.org/") == 0x40996F077A4E5125

"""The bytes that stand for one URI in a queue."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rdfcrawl.core.errors import SourceFault
from rdfcrawl.core.records import Kind, Record
from rdfcrawl.frontier.queue.candidate import pack, pack_link, unpack
from rdfcrawl.uri import BadUri, HostGrouping, PolitenessKey, compact, requestable
from tests.support.task_values import tasks

_schemes = st.sampled_from(["http", "https", "ftp"])
_hosts = st.sampled_from(
    ["a.example", "www.a.example", "b.co.uk", "[2001:db8::1]", "192.0.2.7", "xn--e.de"]
)
_ports = st.sampled_from(["", ":80", ":443", ":8080", ":65535"])
_tails = st.text(max_size=400)
_raw_urls = st.builds("{}://{}{}/{}".format, _schemes, _hosts, _ports, _tails)


@st.composite
def urls(draw: st.DrawFn) -> str:
    """Return a URL as `requestable` gives it."""
    try:
        return requestable(draw(_raw_urls))
    except BadUri:
        assume(False)
        raise


def parents(url: str) -> st.SearchStrategy[str]:
    """Return URLs that share anything from nothing to all with another one."""
    cuts = st.integers(0, len(url)).map(lambda n: url[:n] + "x")
    return st.one_of(st.just(""), st.just(url), urls(), cuts, st.just(url + "/more"))


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Return a record with any value in every field."""
    url = draw(urls())
    return Record(
        url,
        draw(st.sampled_from(Kind)),
        draw(st.integers(0, 255)),
        draw(parents(url)),
        tuple(draw(st.lists(urls(), max_size=3))),
        draw(st.integers(0, 3)),
        draw(st.integers(0, 3)),
        draw(st.none() | tasks()),
        draw(st.text("0123456789abcdef-", max_size=17)),
        draw(st.integers(0, 1000)),
        refusal=draw(st.sampled_from(["", "host_busy: status 503"])),
    )


@given(record=records())
def test_links_are_packed_as_their_records_are(record: Record) -> None:
    """If a link is packed, then as the record that has nothing but what links have."""
    link = replace(
        record, chain=(), lost=0, retries=0, task=None, change="", refusal=""
    )
    link = replace(link, refusal="")
    kind, short = int(link.kind), compact(link.url, "a.example")
    packed = pack_link(
        link.url, kind, link.depth, link.parent, short=short, profile=link.profile
    )
    assert packed == pack(link, "a.example")


@given(
    record=records(), grouping=st.sampled_from([HostGrouping.HOST, HostGrouping.DOMAIN])
)
def test_what_is_packed_comes_back(record: Record, grouping: HostGrouping) -> None:
    """If a record is packed for its queue, then it is unpacked as it was."""
    key = PolitenessKey(grouping).of(record.url)
    back = unpack(pack(record, key), key)
    assert (back, back.refusal) == (record, record.refusal)


@given(record=records())
def test_a_payload_does_not_depend_on_the_key(record: Record) -> None:
    """If a URL is queued under an address, then it comes back too."""
    assert unpack(pack(record, "192.0.2.1"), "192.0.2.1") == record


@pytest.mark.parametrize(
    ("record", "payload"),
    [
        pytest.param(
            Record("https://a.example/r/1"), b"\x00\x00/r/1", id="seed: path only"
        ),
        pytest.param(
            Record("http://a.example/r/1", depth=7), b"\x00\x07!/r/1", id="http, depth"
        ),
        pytest.param(
            Record("https://a.example/r/1", parent="https://a.example/r/2"),
            b"\x00\x00/r/1\x00\x142",
            id="parent: the difference",
        ),
        pytest.param(
            Record("https://a.example/r/1", parent="https://a.example/r/1"),
            b"\x00\x00/r/1\x00\x15",
            id="parent: itself",
        ),
        pytest.param(
            Record("https://a.example/", chain=("http://b.example/",)),
            b"\x00\x00/\x00\x00\x00http://b.example/",
            id="chain without parent",
        ),
        pytest.param(
            Record("https://a.example/", Kind.DUMP, lost=2, retries=1),
            b"\x61\x00/",
            id="head: retries, lost, kind",
        ),
    ],
)
def test_the_bytes(record: Record, payload: bytes) -> None:
    """If a record is packed, then it has the bytes that the scripts read."""
    assert pack(record, "a.example") == payload


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\0",
        b"\x0f\0http://a.example/",
        b"\0\0mailto:x",
        b"\0\0http://a.example/ HTTP/1.1\r\nX-Forged: 1",
        b"\0\0http://a.example/\x1b[2J",
        b"\0\0http://a.example/\xff",
        b"\0\0http://a.example/\0\0\0\x01os.system",
        b"\x80\x04\x95",
        b"\0\0http://a.example/\0\0\0\x043\0\x040",
    ],
)
def test_what_others_wrote_is_no_record(payload: bytes) -> None:
    """If a queue has foreign entries, then unreadable ones are refused."""
    with pytest.raises((ValueError, LookupError, SourceFault)):
        unpack(payload, "b.example")


def test_what_does_not_fit_is_cut_to_the_most_that_does() -> None:
    """If a number is larger than its bits, then the largest one that fits is kept."""
    payload = pack(Record("https://a.example/", depth=999, lost=9, retries=9), "k")
    record = unpack(payload, "k")
    assert (record.depth, record.lost, record.retries) == (255, 3, 3)


@pytest.mark.parametrize("n", [200, 235, 236, 300, 2000])
def test_a_long_shared_prefix(n: int) -> None:
    """If a parent shares more than 255 characters, then it comes back all the same."""
    url = "https://a.example/" + "p" * n
    record = Record(url, parent=url + "/q")
    payload = pack(record, "a.example")
    assert unpack(payload, "a.example") == record
    assert len(payload) <= 2 + n + 1 + 2 + max(2, n + 20 - 255)


@pytest.mark.parametrize(
    ("path", "parent", "n_bytes"),
    [
        ("data/7/x", "https://a.example/data/81", 2),
        ("data/7/x", "https://a.example/other", 5),
        ("data/7/x", "https://a.example/data/7/x", 0),
        ("data/7/x", "https://a.example/", 0),
        ("data/7/x", "https://b.example/data/7/x", 26),
        ("data/7", "https://a.example/data/7/x", 2),
    ],
)
def test_a_parent_is_stored_from_where_it_differs(
    path: str, parent: str, n_bytes: int
) -> None:
    """If a parent is of the same origin, then only its different end is stored."""
    record = Record(f"https://a.example/{path}", parent=parent)
    payload = pack(record, "a.example")
    assert unpack(payload, "a.example") == record
    assert len(payload) == 2 + len(f"/{path}") + 2 + n_bytes

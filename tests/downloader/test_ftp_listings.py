"""Directories of FTP servers as containers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.records import Kind
from rdfcrawl.downloader.ftp.address import parse_address, quote_name
from rdfcrawl.downloader.ftp.connection import FtpLimits
from rdfcrawl.downloader.ftp.directories import (
    ContainerWriter,
    parse_facts,
    parse_list_line,
)
from rdfcrawl.uri import requestable
from tests.support.examples import examples
from tests.support.ftp_servers import OddFtp, RealFtp

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rdfcrawl.downloader.options import FetchOptions

    MakeOptions = Callable[..., FetchOptions]
from tests.support.ftp_requests import (
    LDP,
    TURTLE,
    contained,
    get,
    get_one,
    opened,
    triples,
)


async def test_directory_is_a_container(
    files: Path, fetch_options: MakeOptions
) -> None:
    """If a directory is requested, then its entries come, with size and time."""
    (files / "sub").mkdir()
    (files / "sub" / "a b;c%.nt").write_bytes(TURTLE)
    os.utime(files / "sub" / "a b;c%.nt", (1704164645, 1704164645))
    (files / "sub" / "deeper").mkdir()
    with RealFtp(files) as server:
        answer = await get_one(server.url("sub/"), fetch_options())
    own, entry = server.url("sub/"), server.url("sub/a%20b%3Bc%25.nt")
    rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    stat_size = "http://www.w3.org/ns/posix/stat#size"
    assert contained(answer) == {entry, server.url("sub/deeper/")}
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert triples(answer) >= {
        (own, rdf_type, f"<{LDP}BasicContainer>"),
        (entry, stat_size, f'"{len(TURTLE)}"^^<{xsd}integer>'),
        (
            entry,
            "http://purl.org/dc/terms/modified",
            f'"2024-01-02T03:04:05Z"^^<{xsd}dateTime>',
        ),
    }  # fmt: skip
    assert all(requestable(each) == each for each in contained(answer))


@pytest.mark.parametrize(
    "name",
    [
        b"plain", b"with blank", b" first", b"-dash", b"a;type=i", b"*", b"[x]",
        b"50%41",
        b"#a", b"?b=c", b"\xe9t\xe9", "été".encode(), b"back\\slash", b'"', b"%2e",
        b"a\xffb", b"~", b"'", b"<>",
    ],
    ids=repr,
)  # fmt: skip
async def test_any_name_leads_to_its_file(
    files: Path, fetch_options: MakeOptions, name: bytes
) -> None:
    """If a listing names a file, then its IRI is that file's, with any bytes."""
    (files / os.fsdecode(name)).write_bytes(TURTLE + name)
    with RealFtp(files) as server:
        async with opened(fetch_options()) as exchange:
            (url,) = contained(await get(exchange, server.url()))
            assert requestable(url) == url
            assert (await get(exchange, url)).body == TURTLE + name


async def test_directory_without_slash_redirects(
    files: Path, fetch_options: MakeOptions
) -> None:
    """If a path without slash is a directory, then it leads to the one with it."""
    (files / "a b").mkdir()
    with RealFtp(files) as server:
        answer = await get_one(server.url("a%20b"), fetch_options())
        assert (answer.status, answer.location) == (301, server.url("a%20b/"))
    with OddFtp(listings={"/d": b""}) as odd:
        answer = await get_one(odd.url("d"), fetch_options())
        assert (answer.status, answer.location) == (301, odd.url("d/"))


async def test_links_back_are_left_out(files: Path, fetch_options: MakeOptions) -> None:
    """If links lead to a directory above, then a listing does not contain them."""
    (files / "a" / "b").mkdir(parents=True)
    (files / "file").write_bytes(TURTLE)
    for name, target in {
        "self": ".",
        "up": "..",
        "top": "../..",
        "other": "../../file",
    }.items():
        (files / "a" / "b" / name).symlink_to(target)
    with RealFtp(files) as server:
        async with opened(fetch_options()) as exchange:
            answer = await get(exchange, server.url("a/b/"))
            assert contained(answer) == {server.url("a/b/other")}
    listing = b"".join(
        b"lrwxrwxrwx 1 a b 1 Jan  1 2020 %s\r\n" % each
        for each in (b"s -> .", b"u -> ..", b"t -> /", b"z -> /a/", b"o -> ../c")
    )
    with OddFtp(listings={"/a/b/": listing}) as odd:
        answer = await get_one(odd.url("a/b/"), fetch_options())
        assert contained(answer) == {odd.url("a/b/o")}


@pytest.mark.parametrize("path", ["a/a/a/", "x/a/b/a/b/a/b", "l/l/l/l"])
async def test_endless_path_is_not_followed(
    fetch_options: MakeOptions, path: str
) -> None:
    """If a path repeats a name three times at its end, then it is not requested."""
    with OddFtp() as server:
        answer = await get_one(server.url(path), fetch_options())
        assert answer.fault is not None
        assert answer.fault.reason is Reason.PAGING_LOOP
        assert not server.commands


UNIX = b"""total 12\r
drwxr-xr-x   2 ftp      ftp          4096 Jan  3  2024 dir\r
-rw-r--r--   1 ftp      Domain Users 1234 Jun 30 12:34  leading blank\r
-rw-r--r--+  1 ftp      ftp            42 2024-01-03 12:00 iso.nt\r
-rw-r--r--   1 1000     1000            7 30 Jun  2020 day first\r
lrwxrwxrwx   1 ftp      ftp            11 Jan  3  2024 link -> some/where\r
crw-rw-rw-   1 root     root       1,   3 Jan  3  2024 null\r
prw-rw-rw-   1 root     root            0 Jan  3  2024 pipe\r
drwxr-xr-x   2 ftp      ftp          4096 Jan  3  2024 .\r
drwxr-xr-x   2 ftp      ftp          4096 Jan  3  2024 ..\r
-rw-r--r-- ftp 99 Jan  3  2024 no group\r
garbage\r
"""
DOS = b"""01-25-24  03:15PM       <DIR>          a dir\r
01-25-2024  15:15                 1234 file.nt\r
2024.01.25  nonsense\r
01-25-24  03:15PM       <JUNCTION>     there [C:\\x]\r
"""
MLSD = b"""type=cdir;unique=1; .\r
type=pdir;unique=0; ..\r
Type=file;Size=5;Modify=20240102030405.25;UNIX.mode=0644; a; b\r
type=dir;modify=20241399000000;unique=1; looped\r
type=dir;unique=2; sub\r
type=OS.unix=slink:/x;unique=3; link\r
type=OS.unix=chr-1/3; null\r
no facts\r
type=file;size=9999999999999999999999; huge\r
"""


@pytest.mark.parametrize(
    ("text", "features", "names"),
    [
        pytest.param(
            UNIX,
            (),
            {"dir/", "%20leading%20blank", "iso.nt", "day%20first", "link",
             "no%20group"},
            id="unix",
        ),
        pytest.param(DOS, (), {"a%20dir/", "file.nt", "there/"}, id="dos"),
        pytest.param(
            MLSD,
            ("MLST type*;size*;",),
            {"a;%20b".replace(";", "%3B"), "looped/", "sub/", "link", "huge"},
            id="mlsd",
        ),
        pytest.param(b"a.nt\r\nb c\nd", (), {"a.nt", "b%20c", "d"}, id="nlst"),
        pytest.param(b"", (), set(), id="empty"),
        pytest.param(b"total 0\r\n", (), set(), id="total"),
    ],
)  # fmt: skip
async def test_listing_formats(
    fetch_options: MakeOptions, text: bytes, features: tuple[str, ...], names: set[str]
) -> None:
    """If a listing has any of the usual forms, then all its entries are found."""
    with OddFtp(listings={"/d/": text}, features=features) as server:
        answer = await get_one(server.url("d/"), fetch_options())
        assert (answer.status, answer.fault) == (200, None)
        assert contained(answer) == {server.url(f"d/{name}") for name in names}


async def test_bad_names_are_left_out(fetch_options: MakeOptions) -> None:
    """If names have control characters or slashes, then they are counted, not used."""
    listing = b"".join(
        b"type=file; %s\r\n" % name
        for name in (b"good", b"a\rDELE b", b"x/y", b"../up", b"e\x1b[2J", b"n" * 9000)
    )
    with OddFtp(listings={"/": listing}, features=("MLST type*;",)) as server:
        answer = await get_one(server.url(), fetch_options())
        assert contained(answer) == {server.url("good")}
        assert answer.fault is not None
        assert (answer.fault.reason, answer.fault.count) == (Reason.BAD_URI, 5)
        assert not answer.is_partial


async def test_too_many_entries_keep_what_was_read(fetch_options: MakeOptions) -> None:
    """If a directory has more entries than are taken, then the first ones are kept."""
    listing = b"".join(b"type=file; n%06d\r\n" % n for n in range(100_000))
    with OddFtp(listings={"/": listing}, features=("MLST type*;",)) as server:
        options = fetch_options(timeout_secs=20)
        limits = FtpLimits(n_entries=1000)
        answer = await get_one(server.url(), options, limits=limits)
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TOO_MANY_ENTRIES
        assert answer.is_partial
        assert len(contained(answer)) == 1000
        answer = await get_one(server.url(), options, {"max_bytes": 100_000})
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TOO_MANY_ENTRIES
        assert answer.body is not None
        assert 99_000 < len(answer.body) <= 100_000
        assert contained(answer) >= {server.url("n000000"), server.url("n000500")}


async def test_very_many_entries_are_streamed(fetch_options: MakeOptions) -> None:
    """If a directory has 200,000 entries, then they pass without being gathered."""
    listing = b"".join(b"type=file; n%06d\r\n" % n for n in range(200_000))
    with OddFtp(listings={"/": listing}, features=("MLST type*;",)) as server:
        options = fetch_options(timeout_secs=60, max_document_bytes=1 << 30)
        async with opened(options) as exchange:
            answer = await exchange.get(
                server.url(), options.request_options(Kind.PAGE)
            )
            assert answer.fault is None
            assert exchange.spool.memory_bytes == 0
            assert answer.path is not None
            with answer.path.open("rb") as file:
                assert sum(1 for _ in file) == 200_001


async def test_mlsd_that_is_promised_only(fetch_options: MakeOptions) -> None:
    """If MLSD is promised and refused, then LIST is taken from then on."""
    with OddFtp(
        listings={"/": UNIX, "/d/": b""},
        features=("MLST type*;",),
        odd={"MLSD": "502 No"},
    ) as server:
        async with opened(fetch_options()) as exchange:
            assert server.url("dir/") in contained(await get(exchange, server.url()))
            assert not contained(await get(exchange, server.url("d/")))
        assert server.count("MLSD") == 1


@pytest.mark.parametrize(
    ("odd", "status"),
    [
        ({"CWD": "550 No such directory"}, 404),
        ({"CWD": "550 Permission denied"}, 403),
        ({"LIST": "550 Not for you: access denied"}, 403),
        ({"NLST": "550 No files found"}, 200),
    ],
)
async def test_directory_that_is_refused(
    fetch_options: MakeOptions, odd: dict[str, Any], status: int
) -> None:
    """If a directory is refused, the status says why; the connection is kept."""
    listings = {"/d/": b"who knows\r\n", "/e/": b""}
    with OddFtp(listings=listings, odd=odd) as server:
        async with opened(fetch_options()) as exchange:
            answer = await get(exchange, server.url("d/"))
            assert answer.status == status
            del server.odd[next(iter(odd))]
            assert (await get(exchange, server.url("e/"))).status == 200
        assert server.count("USER") == 1


async def test_listing_that_breaks_off_is_a_part(fetch_options: MakeOptions) -> None:
    """If a listing breaks off, complete lines are kept, and no name is cut."""
    listing = b"type=file; first\r\ntype=file; second"
    with OddFtp(
        listings={"/": listing}, features=("MLST type*;",), is_silent_after_data=True
    ) as server:
        answer = await get_one(server.url(), fetch_options(connect_secs=1.0))
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TRUNCATED_BODY
        assert answer.is_partial
        assert contained(answer) == {server.url("first")}


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=300), st.sampled_from([UNIX, DOS, MLSD]), st.integers(0, 400))
def test_any_listing_makes_statements(noise: bytes, text: bytes, at: int) -> None:
    """If a listing is damaged, the result is N-Triples of the directory."""
    listing = text[:at] + noise + text[at:]
    for form in ("MLSD", "LIST", "NLST"):
        for n in (1, 7, 10_000):
            writer = ContainerWriter("ftp://h/d/", "/d", form, most_entries=50)
            blocks = [listing[i : i + n] for i in range(0, len(listing), n)]
            body = writer.head() + b"".join(map(writer.feed, blocks)) + writer.end()
            found = list(ox.parse(body, format=ox.RdfFormat.N_TRIPLES))
            entries = [o.object.value for o in found if "contains" in str(o.predicate)]
            assert all(each.startswith("ftp://h/d/") for each in entries)
            for each in entries:
                assert requestable(each) == each
                parse_address(each)
            if n == 1:
                first = body
            assert body == first


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(min_size=1, max_size=40))
def test_quoted_names_are_read_back(octets: bytes) -> None:
    """If a name is written as an IRI and read again, it is the same bytes."""
    name = octets.decode("latin-1")
    url = f"ftp://h/x/{quote_name(name)}"
    try:
        assert parse_address(url).path == f"x/{name}"
    except SourceFault:
        assert any(code < 32 or code == 127 for code in octets) or name == ".."
    assert parse_facts(f"type=file; {name}") is not None
    parse_list_line(name)

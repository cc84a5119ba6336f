"""FTP: what comes back, and what can go wrong with it."""

from __future__ import annotations

import asyncio
import os
import ssl
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.errors import ConfigError, Reason, SourceFault
from rdfcrawl.fetch.ftp.address import parse_address, quote_name
from rdfcrawl.fetch.ftp.container import ContainerWriter
from rdfcrawl.fetch.ftp.exchange import FtpExchange
from rdfcrawl.fetch.ftp.listing import parse_facts, parse_list_line
from rdfcrawl.fetch.ftp.logins import FtpLogins
from rdfcrawl.fetch.ftp.pool import FtpLimits
from rdfcrawl.fetch.ftp.replies import FtpRefused, status_of
from rdfcrawl.fetch.http.exchange import HttpExchange
from rdfcrawl.fetch.schemes.routing import SchemeExchange
from rdfcrawl.fetch.spool import Spool
from rdfcrawl.guard.policy import Guard
from rdfcrawl.records import Kind
from rdfcrawl.uri import requestable
from rdfcrawl.uri.origin import origin_of
from tests.support.examples import examples
from tests.support.ftp_servers import OddFtp, RealFtp, write_certificate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from rdfcrawl.fetch.answer import HttpResponse
    from rdfcrawl.fetch.options import FetchOptions

    MakeOptions = Callable[..., FetchOptions]

LDP = "http://www.w3.org/ns/ldp#"
TURTLE = b"<http://example.org/s> <http://example.org/p> 1 .\n"
MUST: Any = {"tls_control_required": True, "tls_data_required": True}
LARGE = bytes(range(256)) * 4096  # 1 MiB


@asynccontextmanager
async def opened(options: FetchOptions, **more: Any) -> AsyncIterator[FtpExchange]:
    """Open an exchange, and check at its end that no memory is left counted."""
    with Spool(
        options.spool_dir, memory_limit_bytes=options.visit_memory_bytes
    ) as spool:
        async with FtpExchange(options, spool, **more) as exchange:
            yield exchange


async def get(exchange: FtpExchange, url: str, **changes: Any) -> HttpResponse:
    """Fetch one URL; a spool file is read back into `body`."""
    from dataclasses import replace

    ask = replace(exchange.pool.options.ask(Kind.PAGE), **changes)
    answer = await exchange.get(url, ask)
    body = answer.path.read_bytes() if answer.path else answer.body
    exchange.spool.release(answer)
    assert exchange.spool.memory_bytes == 0
    answer.body = body
    return answer


async def get_one(
    url: str, options: FetchOptions, asks: dict[str, Any] | None = None, **more: Any
) -> HttpResponse:
    """Fetch one URL over an exchange of its own."""
    async with opened(options, **more) as exchange:
        return await get(exchange, url, **(asks or {}))


def triples(answer: HttpResponse) -> set[tuple[str, str, str]]:
    """Return the statements of a listing."""
    assert answer.media_type == "application/n-triples"
    assert answer.body is not None
    return {
        (str(each.subject)[1:-1], str(each.predicate)[1:-1], str(each.object))
        for each in ox.parse(answer.body, format=ox.RdfFormat.N_TRIPLES)
    }


def contained(answer: HttpResponse) -> set[str]:
    """Return what a listing contains."""
    return {o[1:-1] for _, p, o in triples(answer) if p == f"{LDP}contains"}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder to serve."""
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


async def test_file_comes_as_it_is(files: Path, fetch_options: MakeOptions) -> None:
    """If a file is asked for, then its bytes come, with validators of HTTP."""
    content = b"\r\n\n\xff" + LARGE
    (files / "a.nt").write_bytes(content)
    os.utime(files / "a.nt", (1704164645, 1704164645))
    with RealFtp(files) as server:
        answer = await get_one(server.url("a.nt"), fetch_options())
    assert (answer.status, answer.fault) == (200, None)
    assert answer.body == content
    assert answer.n_bytes == len(content)
    assert answer.last_modified == "Tue, 02 Jan 2024 03:04:05 GMT"
    assert answer.etag.startswith('W/"')


async def test_connection_is_kept(files: Path, fetch_options: MakeOptions) -> None:
    """If several things are asked for, then over one connection with one login."""
    (files / "a.nt").write_bytes(TURTLE)
    (files / "d").mkdir()
    with RealFtp(files) as server:
        async with opened(fetch_options()) as exchange:
            for path in ("a.nt", "none", "", "d", "d/", "a.nt"):
                await get(exchange, server.url(path))
        assert server.n_connections == 1
        assert server.count("USER") == 1


async def test_idle_connection_is_closed(
    files: Path, fetch_options: MakeOptions
) -> None:
    """If a connection is not used for a while, then it is closed with a farewell."""
    with RealFtp(files) as server:
        async with opened(fetch_options(keep_alive_secs=0.05)) as exchange:
            await get(exchange, server.url())
            for _ in range(100):
                await asyncio.sleep(0.02)
                if server.count("QUIT"):
                    break
            assert server.count("QUIT") == 1


async def test_closed_connection_is_made_anew(fetch_options: MakeOptions) -> None:
    """If the server closes an idle connection, then the next request makes one."""
    with OddFtp(files={"/a": TURTLE}) as server:
        async with opened(fetch_options()) as exchange:
            for _ in range(2):
                assert (await get(exchange, server.url("a"))).body == TURTLE
                server.hang_up()
                await asyncio.sleep(0.05)
        assert server.count("USER") == 2


async def test_unchanged_file_is_not_sent(
    files: Path, fetch_options: MakeOptions
) -> None:
    """If a file is asked for with its validators, then the answer is 304."""
    (files / "a.nt").write_bytes(TURTLE)
    with RealFtp(files) as server:
        async with opened(fetch_options()) as exchange:
            first = await get(exchange, server.url("a.nt"))
            for header in (
                ("If-None-Match", first.etag),
                ("If-Modified-Since", first.last_modified),
            ):
                again = await get(exchange, server.url("a.nt"), headers=(header,))
                assert (again.status, again.body) == (304, None)
        assert server.count("RETR") == 1


async def test_directory_is_a_container(
    files: Path, fetch_options: MakeOptions
) -> None:
    """If a directory is asked for, then its entries come, with size and time."""
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
    """If a listing names a file, then its IRI is that file's, whatever the bytes."""
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
    """If a path says the same three times at its end, then it is not asked for."""
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


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h/a%0D%0ADELE%20b", "ftp://h/a%0a", "ftp://h/%00", "ftp://h/%1bx",
        "ftp://h/a%2F..%2Fb", "ftp://h:99999/", "ftp://h/x%7F", "http://h/", "ftp://",
    ],
)  # fmt: skip
async def test_bad_urls_are_refused(fetch_options: MakeOptions, url: str) -> None:
    """If a path could say a command of its own, then no connection is made."""
    answer = await get_one(url, fetch_options())
    assert answer.fault is not None
    assert answer.fault.reason is Reason.BAD_URI


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
            answer = await exchange.get(server.url(), options.ask(Kind.PAGE))
            assert answer.fault is None
            assert exchange.spool.memory_bytes == 0
            assert answer.path is not None
            with answer.path.open("rb") as file:
                assert sum(1 for _ in file) == 200_001


async def test_login_is_anonymous(fetch_options: MakeOptions) -> None:
    """If no login is known, then the password says who the crawler is."""
    with OddFtp(files={"/a": TURTLE}) as server:
        assert (await get_one(server.url("a"), fetch_options())).body == TURTLE
        assert server.commands[:2] == ["USER anonymous", "PASS rdfcrawl-test@"]


async def test_login_of_the_operator(files: Path, fetch_options: MakeOptions) -> None:
    """If there is a login for a server, it is used there; a wrong one is 401."""
    (files / "a").write_bytes(TURTLE)
    with RealFtp(files, users={"me": "pass:wörd="}) as server:
        for password, status in (("pass:wörd=", 200), ("wrong", 401)):
            text = f"{server.host}:{server.port}=me:{password}"
            logins = FtpLogins.parse("FTP_CREDENTIALS", text)
            answer = await get_one(server.url("a"), fetch_options(), logins=logins)
            assert (answer.status, answer.fault) == (status, None)
        assert b"530" in answer.error_body
        assert (await get_one(server.url("a"), fetch_options())).status == 401


def test_logins_are_read() -> None:
    """If logins are given, they hold for their ports, and no text shows passwords."""
    logins = FtpLogins.parse("X", "A.example.=u:p:w= b.example:2121=v: [::1]:21=w:x")
    for host, port, user in (
        ("a.example", 21, "u"),
        ("a.example", 990, "u"),
        ("a.example", 2121, None),
        ("b.example", 2121, "v"),
        ("b.example", 21, None),
        ("::1", 21, "w"),
    ):
        login = logins.of(host, port)
        assert (login.user if login else None) == user
    login = logins.of("a.example", 21)
    assert login is not None
    assert login.password == "p:w="
    assert "p:w" not in repr(login) + repr(logins)


@pytest.mark.parametrize(
    "text",
    ["host", "=u:p", "h=u", "h=:p", "h:99999=u:p", "ok=u:p u:secret", "h=u:\x01"],
)
def test_bad_logins_name_the_variable(text: str) -> None:
    """If a login cannot be read, one line names the variable, not the password."""
    with pytest.raises(
        ConfigError, match=r"^FTP_CREDENTIALS: entry [12]: must be"
    ) as error:
        FtpLogins.parse("FTP_CREDENTIALS", text)
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("verb", "reply", "status"),
    [
        ("PASS", "530 Login incorrect", 401),
        ("PASS", "530 Too many users, the maximum is 10", 503),
        ("PASS", "421 Later", 503),
        ("RETR", "550 No such file", 404),
        ("RETR", "550 Permission denied", 403),
        ("RETR", "553 Name", 403),
        ("RETR", "450 Busy file", 500),
        ("RETR", "451 Error", 500),
        ("RETR", "425 No data", 502),
        ("RETR", "421 Down", 503),
        ("RETR", "501 Bad name", 400),
        ("RETR", "502 Never", 501),
        ("PASV", "421 Down", 503),
    ],
)
async def test_replies_are_statuses(
    fetch_options: MakeOptions, verb: str, reply: str, status: int
) -> None:
    """If a server refuses, the answer is the status of HTTP that says the same."""
    with OddFtp(files={"/a": TURTLE}, odd={verb: reply}) as server:
        answer = await get_one(server.url("a"), fetch_options())
        assert (answer.status, answer.fault, answer.body) == (status, None, None)
        assert answer.error_body == reply.encode()
        assert not answer.etag


@pytest.mark.parametrize(
    ("greeting", "status", "retry_after"),
    [
        ("120 Ready in 10 minutes", 503, "600"),
        ("421 Go away", 503, ""),
        ("530 Not you", 401, ""),
        ("220-Many\r\n220-lines\r\n of text\r\n220 end", 200, ""),
    ],
)
async def test_greetings(
    fetch_options: MakeOptions, greeting: str, status: int, retry_after: str
) -> None:
    """If a server does not greet, the answer says why and until when."""
    with OddFtp(files={"/a": TURTLE}, greeting=greeting) as server:
        answer = await get_one(server.url("a"), fetch_options())
        assert (answer.status, answer.retry_after) == (status, retry_after)


@pytest.mark.parametrize(
    ("greeting", "reason"),
    [
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", Reason.BAD_HTTP, id="http"),
        pytest.param(b"\xff\xfe\x00\r\n", Reason.BAD_HTTP, id="bytes"),
        pytest.param(b"2" * 100_000, Reason.BAD_HTTP, id="long-line"),
        pytest.param(b"220-x\r\n" * 50_000, Reason.BAD_HTTP, id="no-end"),
        pytest.param(None, Reason.UNREACHABLE, id="closed"),
        pytest.param(b"", Reason.TIMEOUT, id="silent"),
    ],
)
async def test_what_is_no_ftp_is_a_fault_of_the_host(
    fetch_options: MakeOptions, greeting: bytes | None, reason: Reason
) -> None:
    """If a server does not speak FTP, then that holds for all that is on it."""
    with OddFtp(greeting=greeting) as server:
        answer = await get_one(server.url("a"), fetch_options(connect_secs=1.0))
        assert answer.fault is not None
        assert (answer.fault.reason, answer.status) == (reason, 0)
        assert answer.is_host_fault


@pytest.mark.parametrize("verb", ["SIZE", "PASV", "RETR", "TYPE", "FEAT"])
@pytest.mark.parametrize(
    "said",
    [b"\xff\xff\r\n", b"9" * 9000 + b"\r\n", b"227 no numbers\r\n", None, b"150-x\r\n"],
    ids=["bytes", "long", "227", "closed", "open-end"],
)
async def test_garbage_replies_do_no_harm(
    fetch_options: MakeOptions, verb: str, said: bytes | None
) -> None:
    """If a reply makes no sense, the answer has a fault or a status, and no body."""
    with OddFtp(files={"/a": TURTLE}, odd={verb: said}) as server:
        options = fetch_options(connect_secs=0.2, retry_times=0)
        limits = FtpLimits(stall_secs=0.2)
        answer = await get_one(server.url("a"), options, limits=limits)
        assert answer.fault is not None or answer.status >= 200
        assert answer.body in (None, b"", TURTLE)


async def test_no_server_is_a_fault_of_the_host(fetch_options: MakeOptions) -> None:
    """If nobody listens, or there is no such name, then the host is at fault."""
    with OddFtp() as server:
        pass
    answer = await get_one(server.url("a"), fetch_options())
    assert answer.is_host_fault
    assert answer.fault is not None
    assert answer.fault.reason is Reason.UNREACHABLE
    answer = await get_one("ftp://nowhere.invalid/a", fetch_options())
    assert answer.is_host_fault
    assert answer.fault is not None
    assert answer.fault.reason is Reason.DNS


@pytest.mark.parametrize("resets", [False, True], ids=["ends", "resets"])
async def test_cut_transfer_goes_on(fetch_options: MakeOptions, resets: bool) -> None:
    """If the connection breaks twice, the file comes whole, and no byte twice."""
    cuts = [300_000, 500_000]
    with OddFtp(files={"/a": LARGE}, cuts=cuts, resets=resets) as server:
        answer = await get_one(server.url("a"), fetch_options(retry_times=2))
        assert (answer.status, answer.fault) == (200, None)
        assert answer.body == LARGE
        assert server.count("RETR") == 3
        assert server.count("REST") == 2


@pytest.mark.parametrize("cut", [1, 4095, 4096, 4097])
async def test_cut_near_the_begin_goes_on(fetch_options: MakeOptions, cut: int) -> None:
    """If little was read before a break, then too the rest is joined to it exactly."""
    with OddFtp(files={"/a": LARGE}, cuts=[cut, cut]) as server:
        answer = await get_one(server.url("a"), fetch_options())
        assert (answer.fault, answer.body == LARGE) == (None, True)


async def test_too_many_cuts_leave_a_part(fetch_options: MakeOptions) -> None:
    """If the connection breaks too often, what was read is kept as a part."""
    with OddFtp(files={"/a": LARGE}, cuts=[100_000] * 9) as server:
        answer = await get_one(server.url("a"), fetch_options(retry_times=2))
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TRUNCATED_BODY
        assert answer.is_partial
        assert answer.body is not None
        assert len(answer.body) > 200_000
        assert LARGE.startswith(answer.body)
        assert server.count("RETR") == 3


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        pytest.param({"odd": {"REST": "502 No"}}, "cannot go on", id="refused"),
        pytest.param({"odd": {"REST": "200 Sure"}}, "cannot go on", id="not-350"),
        pytest.param(
            {"odd": {"SIZE": "502 No", "MDTM": "502 No"}}, "end", id="no-facts"
        ),
    ],
)
async def test_where_it_cannot_go_on_a_part_is_kept(
    fetch_options: MakeOptions, changes: dict[str, Any], why: str
) -> None:
    """If the server cannot continue, what was read is kept as a part."""
    del why
    with OddFtp(files={"/a": LARGE}, cuts=[300_000], **changes) as server:
        answer = await get_one(server.url("a"), fetch_options())
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TRUNCATED_BODY
        assert answer.is_partial
        assert answer.body == LARGE[:300_000]


@pytest.mark.parametrize("changed", ["size", "time", "bytes"])
async def test_changed_file_is_not_joined(
    fetch_options: MakeOptions, changed: str
) -> None:
    """If the file changes between two connections, they are not joined."""
    n_asked = 0

    def size(_: str) -> str:
        nonlocal n_asked
        n_asked += 1
        if n_asked > 1:
            if changed == "time":
                server.modified = "20250102030405"
            elif changed == "bytes":
                server.files["/a"] = LARGE[::-1]
            else:
                return "213 7"
        return f"213 {len(LARGE)}"

    with OddFtp(files={"/a": LARGE}, cuts=[300_000], odd={"SIZE": size}) as server:
        answer = await get_one(server.url("a"), fetch_options())
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TRUNCATED_BODY
        assert answer.body == LARGE[:300_000]


async def test_lost_last_reply_is_no_fault(fetch_options: MakeOptions) -> None:
    """If the reply after the data is lost, then the size says that it is whole."""
    with OddFtp(files={"/a": LARGE}, is_silent_after_data=True) as server:
        answer = await get_one(server.url("a"), fetch_options(connect_secs=1.0))
        assert (answer.fault, answer.body == LARGE) == (None, True)


async def test_too_large_file_is_cut(fetch_options: MakeOptions) -> None:
    """If a file is longer than it may be, then it is kept up to there."""
    with OddFtp(files={"/a": LARGE}) as server:
        asks = {"max_bytes": 1000}
        answer = await get_one(server.url("a"), fetch_options(), asks)
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TOO_LARGE
        assert (answer.body, answer.is_partial) == (LARGE[:1000], True)


async def test_stopped_server_times_out(fetch_options: MakeOptions) -> None:
    """If a server stops in the middle, the time for all of it is kept."""
    with OddFtp(files={"/a": TURTLE}, odd={"RETR": b"150 Wait\r\n"}) as server:
        began = time.monotonic()
        options = fetch_options(timeout_secs=0.5, connect_secs=0.5)
        answer = await get_one(server.url("a"), options)
        assert time.monotonic() - began < 20
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TIMEOUT
        answer = await get_one(server.url("a"), options)


async def test_slow_server_is_given_up(fetch_options: MakeOptions) -> None:
    """If a transfer crawls, then it is given up, and what came is kept."""
    import socket
    import threading

    with OddFtp(files={"/a": LARGE}) as server:
        listener = socket.create_server((server.host, 0))
        port = listener.getsockname()[1]

        def drip() -> None:
            data, _ = listener.accept()
            with data:
                try:
                    while True:
                        data.sendall(b"x")
                        time.sleep(0.02)
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        server.odd |= {
            "PASV": f"227 (127,0,0,1,{port >> 8},{port & 255})",
            "RETR": b"150 Wait\r\n",
        }
        options = fetch_options(min_bytes_per_sec=10_000, min_rate_after_secs=0.3)
        answer = await get_one(server.url("a"), options)
        thread.join(120)
        listener.close()
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TIMEOUT
        assert "too slow" in answer.fault.detail
        assert answer.is_partial
        assert answer.body
        assert set(answer.body) == set(b"x")


async def test_cancelled_request_leaves_nothing(fetch_options: MakeOptions) -> None:
    """If a visit is cancelled in the middle, no body and no connection is left."""
    with OddFtp(files={"/a": TURTLE}, odd={"RETR": b"150 Wait\r\n"}) as server:
        async with opened(fetch_options()) as exchange:
            task = asyncio.ensure_future(get(exchange, server.url("a")))
            for _ in range(500):
                await asyncio.sleep(0.01)
                if server.count("RETR"):
                    break
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert exchange.spool.memory_bytes == 0
            assert not exchange.pool._used


async def test_other_hosts_are_not_connected_to(fetch_options: MakeOptions) -> None:
    """If PASV names another host, the data are still fetched from the server."""
    with OddFtp(files={"/a": TURTLE}, pasv_host="127,9,9,9") as server:
        assert (await get_one(server.url("a"), fetch_options())).body == TURTLE
        assert server.n_data == 1


async def test_extended_passive_mode_is_a_way(fetch_options: MakeOptions) -> None:
    """If PASV is not known, then the data come by EPSV."""
    odd: dict[str, Any] = {"PASV": "502 No"}
    with OddFtp(files={"/a": TURTLE, "/b": TURTLE}, odd=odd) as server:
        async with opened(fetch_options()) as exchange:
            for name in "ab":
                answer = await get(exchange, server.url(name))
                assert answer.body == TURTLE
        assert (server.count("PASV"), server.count("EPSV")) == (1, 2)


@pytest.mark.parametrize(
    "reply",
    ["229 (|||0|)", "229 (|||99999|)", "229 (||x|)", "229 x", "229 ()", "229 ("],
)
async def test_extended_passive_mode_without_port(
    fetch_options: MakeOptions, reply: str
) -> None:
    """If EPSV names no port, then there is a fault and nothing else."""
    odd: dict[str, Any] = {"PASV": "502 No", "EPSV": reply}
    with OddFtp(files={"/a": TURTLE}, odd=odd) as server:
        answer = await get_one(server.url("a"), fetch_options())
        assert answer.fault is not None
        assert answer.fault.reason in {Reason.BAD_HTTP, Reason.GUARD_BLOCKED}
        assert answer.status == 0


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
    """If a listing breaks off, whole lines are kept, and no name is cut."""
    listing = b"type=file; first\r\ntype=file; second"
    with OddFtp(
        listings={"/": listing}, features=("MLST type*;",), is_silent_after_data=True
    ) as server:
        answer = await get_one(server.url(), fetch_options(connect_secs=1.0))
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TRUNCATED_BODY
        assert answer.is_partial
        assert contained(answer) == {server.url("first")}


async def test_guard_is_asked(fetch_options: MakeOptions) -> None:
    """If a guard refuses the address, then no connection is made."""
    with OddFtp(files={"/a": TURTLE}) as server:
        answer = await get_one(server.url("a"), fetch_options(guard=Guard()))
        assert answer.fault is not None
        assert answer.fault.reason is Reason.GUARD_BLOCKED
        assert answer.is_host_fault
        assert not server.commands


@pytest.mark.parametrize(
    "odd",
    [
        {"PASV": "227 Here (127,0,0,1,0,22)"},
        {"PASV": "502 No", "EPSV": "229 Here (|||25|)"},
    ],
    ids=["PASV", "EPSV"],
)
async def test_data_do_not_come_from_another_service(
    fetch_options: MakeOptions, odd: dict[str, Any]
) -> None:
    """If a server names a port that is well known, then it is not connected to."""
    with OddFtp(files={"/a": TURTLE}, odd=odd) as server:
        answer = await get_one(server.url("a"), fetch_options())
        assert answer.fault is not None
        assert answer.fault.reason is Reason.GUARD_BLOCKED
        assert not answer.body
        assert not answer.is_host_fault


async def test_nothing_is_sent_to_a_server(fetch_options: MakeOptions) -> None:
    """If there is something to post, then FTP is not the way."""
    with OddFtp(files={"/a": TURTLE}) as server:
        asks = {"data": b"query=x"}
        answer = await get_one(server.url("a"), fetch_options(), asks)
        assert (answer.status, server.commands) == (405, [])


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate of 127.0.0.1."""
    return write_certificate(tmp_path_factory.mktemp("ftps"))


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the certificate, which is trusted during the test."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return certificate


async def test_ftps_asks_for_tls(
    files: Path, fetch_options: MakeOptions, trusted: Path
) -> None:
    """If an ftps server speaks first, then TLS is asked for, for all there is."""
    (files / "a").write_bytes(LARGE)
    with RealFtp(files, certificate=trusted, **MUST) as server:
        async with opened(fetch_options()) as exchange:
            answer = await get(exchange, server.url("a", "ftps"))
            assert (answer.fault, answer.body == LARGE) == (None, True)
            answer = await get(exchange, server.url("", "ftps"))
            assert contained(answer) == {server.url("a", "ftps")}
        assert server.commands.index("AUTH TLS") < server.commands.index(
            "USER anonymous"
        )


async def test_implicit_ftps(
    files: Path, fetch_options: MakeOptions, trusted: Path
) -> None:
    """If an ftps server waits for TLS, then TLS is there from the first byte."""
    (files / "a").write_bytes(LARGE)

    def handle(this: Any) -> None:
        this.secure_connection(this.ssl_context)
        super(type(this), this).handle()

    with RealFtp(files, certificate=trusted, handle=handle) as server:
        answer = await get_one(server.url("a", "ftps"), fetch_options())
        assert (answer.fault, answer.body == LARGE) == (None, True)
        assert "AUTH TLS" not in server.commands


async def test_ftp_turns_to_tls_where_it_must(
    files: Path, fetch_options: MakeOptions, trusted: Path
) -> None:
    """If a server lets nobody in without TLS, then ftp turns to TLS."""
    (files / "a").write_bytes(TURTLE)
    with RealFtp(files, certificate=trusted, **MUST) as server:
        answer = await get_one(server.url("a"), fetch_options())
        assert (answer.fault, answer.body) == (None, TURTLE)
        assert server.count("AUTH") == 1


async def test_passwords_go_over_tls(
    files: Path, fetch_options: MakeOptions, trusted: Path
) -> None:
    """If there is TLS, then a password is sent over it, even where it need not."""
    (files / "a").write_bytes(TURTLE)
    with RealFtp(files, certificate=trusted, users={"me": "pw"}) as server:
        logins = FtpLogins.parse("X", f"{server.host}:{server.port}=me:pw")
        answer = await get_one(server.url("a"), fetch_options(), logins=logins)
        assert answer.body == TURTLE
        assert server.commands.index("AUTH TLS") < server.commands.index("USER me")


async def test_unknown_certificate_is_refused(
    files: Path, fetch_options: MakeOptions, certificate: Path
) -> None:
    """If nobody vouches for a certificate, it is refused, unless by setting."""
    (files / "a").write_bytes(TURTLE)
    with RealFtp(files, certificate=certificate, users={"me": "pw"}) as server:
        logins = FtpLogins.parse("X", f"{server.host}:{server.port}=me:pw")
        for scheme in ("ftp", "ftps"):
            url = server.url("a", scheme)
            answer = await get_one(url, fetch_options(), logins=logins)
            assert answer.fault is not None
            assert (answer.fault.reason, answer.is_host_fault) == (Reason.TLS, True)
        assert "PASS" not in server.commands
        options = fetch_options(verify_certificates=False)
        answer = await get_one(server.url("a", "ftps"), options, logins=logins)
        assert answer.body == TURTLE


async def test_ftps_without_tls_is_a_fault(fetch_options: MakeOptions) -> None:
    """If an ftps server cannot do TLS, then nothing is asked of it in the clear."""
    with OddFtp(files={"/a": TURTLE}) as server:
        answer = await get_one(server.url("a", "ftps"), fetch_options())
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TLS
        assert not server.count("USER")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("FTP://Example.org:21/a%7e", "ftp://example.org/a%7e"),
        ("FTPS://Example.org:990/a", "ftps://example.org/a"),
        ("ftps://example.org:443", "ftps://example.org:443/"),
        ("ftps://example.org:80/x/../y#f", "ftps://example.org:80/y"),
        ("ftps://me:pw@b%C3%BCcher.example:21/", "ftps://xn--bcher-kva.example:21/"),
        ("ftps://[::1]/a b", "ftps://[::1]/a%20b"),
    ],
)
def test_urls_of_ftp_are_requestable(text: str, url: str) -> None:
    """If a link is one of FTP, then it is parsed as one of HTTP is."""
    assert requestable(text) == url
    assert requestable(url) == url


@pytest.mark.parametrize("scheme", ["http", "https", "ftp", "ftps"])
def test_origin_ends_before_the_path(scheme: str) -> None:
    """If a host has one letter, then too its origin has no path."""
    assert origin_of(f"{scheme}://a/b/c") == f"{scheme}://a"


def test_status_of_unknown_replies() -> None:
    """If a reply is of no known number, its first digit decides."""
    assert status_of(499, "499 x") == 500
    assert status_of(599, "599 x") == 501
    assert FtpRefused("garbage").status == 500


@settings(max_examples=examples(300), deadline=None)
@given(st.binary(max_size=300), st.sampled_from([UNIX, DOS, MLSD]), st.integers(0, 400))
def test_any_listing_makes_statements(noise: bytes, text: bytes, at: int) -> None:
    """If a listing is damaged, what comes of it is N-Triples of the directory."""
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


async def test_each_scheme_has_its_exchange(files: Path, fetch_options: Any) -> None:
    """If an exchange has ways for schemes, then each URL goes by its own."""
    (files / "a").write_bytes(TURTLE)
    options = fetch_options()
    with RealFtp(files) as server:
        async with opened(options) as ftp, HttpExchange(options, ftp.spool) as web:
            exchange = SchemeExchange(web, ftp)
            ask = options.ask(Kind.PAGE)
            answer = await exchange.get(server.url("a"), ask)
            assert answer.status == 200
            ftp.spool.release(answer)
            answer = await exchange.get("file:///etc/passwd", ask)
            assert answer.fault is not None
            assert answer.fault.reason is Reason.BAD_URI


def test_tls_is_checked_by_default() -> None:
    """If certificates are verified, then host names are as well."""
    from rdfcrawl.fetch.ftp.pool import _tls_context

    assert _tls_context(verifies=True).check_hostname
    assert _tls_context(verifies=False).verify_mode is ssl.CERT_NONE

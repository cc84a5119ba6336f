"""Dialogues with FTP servers: logins, replies, TLS, and what must not be dialled."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.core.errors import ConfigError, Reason
from rdfcrawl.downloader.ftp.address import FtpLogins
from rdfcrawl.downloader.ftp.connection import FtpLimits
from rdfcrawl.downloader.ftp.protocol import FtpRefused, status_of
from rdfcrawl.uri.guard.policy import Guard
from tests.support.ftp_servers import OddFtp, RealFtp, write_certificate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rdfcrawl.downloader.options import FetchOptions

    MakeOptions = Callable[..., FetchOptions]
from tests.support.ftp_requests import LARGE, TURTLE, contained, get, get_one, opened

MUST: Any = {"tls_control_required": True, "tls_data_required": True}


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
    """If a server refuses, the response is the equivalent status of HTTP."""
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
    """If a server does not greet, the response says why and until when."""
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
    """If a reply makes no sense, the response has a fault or a status, and no body."""
    with OddFtp(files={"/a": TURTLE}, odd={verb: said}) as server:
        options = fetch_options(connect_secs=0.2, retry_times=0)
        limits = FtpLimits(stall_secs=0.2)
        answer = await get_one(server.url("a"), options, limits=limits)
        assert answer.fault is not None or answer.status >= 200
        assert answer.body in (None, b"", TURTLE)


async def test_no_server_is_a_fault_of_the_host(fetch_options: MakeOptions) -> None:
    """If nothing listens, or there is no such name, then the host is at fault."""
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
    """If an ftps server speaks first, then the client requests TLS, for everything."""
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
    """If a server requires TLS, then ftp turns to TLS."""
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
    """If a certificate is not trusted, it is refused, unless by setting."""
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
    """If an ftps server cannot do TLS, then it gets no commands in the clear."""
    with OddFtp(files={"/a": TURTLE}) as server:
        answer = await get_one(server.url("a", "ftps"), fetch_options())
        assert answer.fault is not None
        assert answer.fault.reason is Reason.TLS
        assert not server.count("USER")


def test_status_of_unknown_replies() -> None:
    """If a reply is of no known number, its first digit decides."""
    assert status_of(499, "499 x") == 500
    assert status_of(599, "599 x") == 501
    assert FtpRefused("garbage").status == 500


def test_tls_is_checked_by_default() -> None:
    """If certificates are verified, then host names are as well."""
    from rdfcrawl.downloader.ftp.connection import _tls_context

    assert _tls_context(verifies=True).check_hostname
    assert _tls_context(verifies=False).verify_mode is ssl.CERT_NONE

"""An FTP server in the data web, as a plain client sees it."""

from __future__ import annotations

import ftplib
import ssl
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.local import LocalWeb
from rdfcrawl.dataweb.nodes.ftp import FtpNode, FtpOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("pyftpdlib", reason="the FTP server of the data web")


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    """Yield a function that starts nodes."""
    with LocalWeb(first_address="127.93.0.1", n_hosts=1) as served:
        yield served


def connect(node: FtpNode) -> ftplib.FTP:
    """A connection, not logged in."""
    parts = urlsplit(node.url)
    client = ftplib.FTP(timeout=60)
    client.connect(parts.hostname or "", parts.port or 21)
    return client


def fetch(client: ftplib.FTP, url: str, rest: int | None = None) -> bytes:
    """A file."""
    pieces: list[bytes] = []
    client.retrbinary(f"RETR {urlsplit(url).path}", pieces.append, rest=rest)
    return b"".join(pieces)


def test_dumps_are_found_by_walking_the_directories(web: LocalWeb) -> None:
    """If the directories are walked, all dumps are there, byte for byte."""
    node = web.start(FtpOptions(n_files=5, depth=2))
    with connect(node) as client:
        client.login()
        found, waiting = {}, ["/pub"]
        while waiting:
            folder = waiting.pop()
            for name, facts in client.mlsd(folder):
                path = f"{folder}/{name}"
                if facts["type"] == "dir":
                    waiting.append(path)
                elif name != "README":
                    found[node.url.removesuffix("/pub/") + path] = fetch(client, path)
    assert found == node.state()
    assert any(url.endswith("/level-0/level-1/dump-2.nt") for url in found)
    asked = [(one.method, one.target) for one in web.requests(node)]
    assert ("RETR", "/pub/dump-0.nt") in asked
    assert web.figures(node).n_connections == 1


def test_a_transfer_is_resumed_where_the_server_allows(web: LocalWeb) -> None:
    """If the server knows REST, the rest of a file comes."""
    node = web.start(FtpOptions())
    url = node.file_urls()[0]
    with connect(node) as client:
        client.login()
        assert fetch(client, url, rest=100) == node.state()[url][100:]


def test_old_servers_know_neither_rest_nor_mlsd(web: LocalWeb) -> None:
    """If a server is old, it refuses REST and MLSD, and LIST works."""
    node = web.start(FtpOptions(resumes=False, has_mlsd=False))
    with connect(node) as client:
        client.login()
        with pytest.raises(ftplib.error_perm, match="500"):
            fetch(client, node.file_urls()[0], rest=100)
        with pytest.raises(ftplib.error_perm, match="500"):
            list(client.mlsd("/pub"))
        lines: list[str] = []
        client.retrlines("LIST /pub", lines.append)
        assert any("dump-0.nt" in line for line in lines)


def test_a_password_is_wanted_and_not_logged(web: LocalWeb) -> None:
    """If there is a user, others are refused, and the log has no password."""
    node = web.start(FtpOptions(user="reader", password="secret"))
    with connect(node) as client:
        with pytest.raises(ftplib.error_perm, match="530"):
            client.login()
        client.login("reader", "secret")
        assert client.nlst("/pub")
    assert "secret" not in str(web.requests(node))


def test_a_directory_may_lead_back(web: LocalWeb) -> None:
    """If there is a loop, the directory in it is the first one again."""
    node = web.start(FtpOptions(has_loop=True))
    with connect(node) as client:
        client.login()
        assert client.nlst("/pub/again/again") == client.nlst("/pub")


def test_changed_dumps_are_served_changed(web: LocalWeb) -> None:
    """If dumps change while they are served, their new bytes come."""
    node = web.start(FtpOptions())
    with connect(node) as client:
        client.login()
        before = node.state()
        changed = node.revise(2)
        assert [url for url in before if fetch(client, url) != before[url]] == changed


def test_a_server_with_a_certificate_wants_tls(tmp_path: Path, web: LocalWeb) -> None:
    """If there is a certificate, a login in the clear is refused, one by TLS is not."""
    pytest.importorskip("OpenSSL", reason="TLS of pyftpdlib")
    path = tmp_path / "server.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-batch"]
    command += ["-keyout", str(path), "-out", str(tmp_path / "cert.pem"), "-days", "2"]
    subprocess.run(command, check=True, capture_output=True)
    with path.open("ab") as out:
        out.write((tmp_path / "cert.pem").read_bytes())
    node = web.start(FtpOptions(certificate=str(path)))
    with connect(node) as client, pytest.raises(ftplib.error_perm, match="SSL"):
        client.login()
    context = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
    context.check_hostname = False
    with ftplib.FTP_TLS(context=context, timeout=60) as secure:
        parts = urlsplit(node.url)
        secure.connect(parts.hostname or "", parts.port or 21)
        secure.login()
        secure.prot_p()
        url = node.file_urls()[0]
        assert fetch(secure, url) == node.state()[url]


def test_without_pyftpdlib_one_line_names_the_package(
    monkeypatch: pytest.MonkeyPatch, web: LocalWeb
) -> None:
    """If pyftpdlib is not installed, the message names the extra that has it."""
    gone: Any = None
    monkeypatch.setitem(sys.modules, "pyftpdlib.servers", gone)
    with pytest.raises(ConfigError, match=r"pip install 'rdfcrawl\[dataweb\]'"):
        web.start(FtpOptions())

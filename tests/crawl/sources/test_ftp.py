"""Crawls of FTP servers: directories are walked, files are read like any others."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.support.ftp_servers import RealFtp, write_certificate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

LDP = "http://www.w3.org/ns/ldp#"
N_FILES = 60


def line(name: str) -> bytes:
    """Return a statement that only the file of this name has."""
    return f'<urn:x:{name}> <urn:x:in> "{name}" .\n'.encode()


def fill(folder: Path) -> set[str]:
    """Write a tree of files; return the names of their statements."""
    names = set()
    for n in range(N_FILES):
        directory = folder / "pub" / f"set {n % 4}" / f"é{n % 3}"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"file-{n}.nt").write_bytes(line(f"f{n}"))
        names.add(f"f{n}")
    (folder / "pub" / "all.nt.gz").write_bytes(
        gzip.compress(b"".join(line(f"gz{n}") for n in range(1000)))
    )
    names |= {f"gz{n}" for n in range(1000)}
    with tarfile.open(folder / "pub" / "packed.tar", "w") as archive:
        for n in range(5):
            info = tarfile.TarInfo(f"inside/{n}.nt")
            info.size = len(line(f"tar{n}"))
            archive.addfile(info, io.BytesIO(line(f"tar{n}")))
            names.add(f"tar{n}")
    (folder / "pub" / os.fsdecode(b"\xff.nt")).write_bytes(line("bytes"))
    (folder / "pub" / "set 0" / "loop").symlink_to("..")
    (folder / "pub" / "nothing").mkdir()
    (folder / "private").mkdir()
    (folder / "private" / "secret.nt").write_bytes(line("secret"))
    (folder / "robots.txt").write_text("User-agent: *\nDisallow: /private/\n")
    return names | {"bytes"}


@dataclass(frozen=True)
class Walked:
    """One crawl of an FTP server.

    Attributes:
        server: that was crawled.
        names: of all statements that it has.
        result: of the crawl.
    """

    server: RealFtp
    names: set[str]
    result: CrawlResult

    def found(self) -> set[str]:
        """Return the names of the statements that were read."""
        return {
            s.removeprefix("urn:x:")
            for s, p, *_ in self.result.quads
            if p == "urn:x:in"
        }


@pytest.fixture(scope="module")
def walked(
    commands: Commands, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Walked]:
    """Yield a crawl of all of a server."""
    folder = tmp_path_factory.mktemp("ftp")
    names = fill(folder)
    with RealFtp(folder, host="127.0.40.1") as server:
        result = commands.start(
            "crawl", "linkeddata", f"-aseeds={server.url()}", "-ascope=host"
        ).wait()
        yield Walked(server, names, result)


def test_all_files_are_read(walked: Walked) -> None:
    """If a server is crawled from its root, then all statements of it are read."""
    assert walked.result.code == 0, walked.result.stderr[-3000:]
    assert walked.found() == walked.names


def test_nothing_is_fetched_twice(walked: Walked) -> None:
    """If directories link to one another, each thing is fetched once."""
    fetched = [each for each in walked.server.commands if each.startswith("RETR")]
    fetched.remove("RETR /robots.txt")  # once for its rules, once as a file
    assert len(fetched) == len(set(fetched)) == N_FILES + 4
    assert not any("loop" in each for each in walked.server.commands)


def test_robots_txt_is_obeyed(walked: Walked) -> None:
    """If robots.txt of the server disallows a directory, it is not entered."""
    assert not any("secret" in each for each in walked.server.commands)
    private = walked.server.url("private/")
    assert walked.result.faults(private) == ["robots_disallowed"]


def test_directories_are_documents(walked: Walked) -> None:
    """If a directory is crawled, then its listing is a document like others."""
    own = walked.server.url("pub/")
    contains = {
        o for s, p, o in walked.result.about(own) if (s, p) == (own, f"{LDP}contains")
    }
    assert contains == {
        walked.server.url(f"pub/{name}")
        for name in (
            *(f"set%20{n}/" for n in range(4)),
            "all.nt.gz", "packed.tar", "%FF.nt", "nothing/",
        )
    }  # fmt: skip
    assert walked.result.statuses(own) == ["SUCCESSFUL"]


def test_connections_are_few(walked: Walked) -> None:
    """If all of a server is crawled, then over a connection or two."""
    assert walked.server.n_connections <= 3


def test_redirects_and_links_lead_to_ftp(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If pages link and redirect to FTP, then that is crawled as another host."""
    for name in ("linked", "moved"):
        (tmp_path / f"{name}.nt").write_bytes(line(name))
    with RealFtp(tmp_path, host="127.0.40.2") as server:
        web = loopback(host="127.0.40.3")
        body = f"<> <urn:x:p> <{server.url('linked.nt')}>, <{web.url('/old')}> ."
        web.pages["/"] = loopback.response(body.encode())
        web.pages["/old"] = loopback.redirect(server.url("moved.nt"))
        result = commands.crawl([web.url("/")])
        assert {s for s, p, *_ in result.quads if p == "urn:x:in"} == {
            "urn:x:linked",
            "urn:x:moved",
        }
        assert result.chain(server.url("moved.nt")) == [
            web.url("/old"),
            server.url("moved.nt"),
        ]


def test_ftps_with_a_login(
    commands: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a login is in the environment, a server that wants one is crawled, by TLS."""
    folder = tmp_path / "files"
    (folder / "d").mkdir(parents=True)
    (folder / "d" / "a.nt").write_bytes(line("a"))
    certificate = write_certificate(tmp_path, "127.0.40.4")
    with RealFtp(
        folder,
        host="127.0.40.4",
        users={"me": "pass-word"},
        certificate=certificate,
        tls_control_required=True,
        tls_data_required=True,
    ) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        login = f"{server.host}:{server.port}=me:pass-word"
        monkeypatch.setenv("FTP_CREDENTIALS", login)
        result = commands.crawl([server.url(scheme="ftps")])
        assert ("urn:x:a", "urn:x:in", '"a"') in result.about(
            server.url("d/a.nt", "ftps")
        )
        assert "pass-word" not in result.stderr


def test_bad_logins_stop_the_crawl(
    commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the environment has a login that cannot be read, nothing is crawled."""
    monkeypatch.setenv("FTP_CREDENTIALS", "host=me")
    result = commands.crawl(["ftp://127.0.40.5/"])
    assert result.code != 0
    assert "FTP_CREDENTIALS: entry 1: must be HOST=user:password" in result.stderr

"""No crawl of the open web without a contact address."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from rdfcrawl.pipelines.contact import names_contact
from tests.support.command_forks import ROOT
from tests.support.web_archives import HOST, Archive

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

GOOD = b"<http://a.example/s> <http://a.example/p> <http://a.example/o> .\n"
CONTACT = "lab/1 (+https://lab.example.org/crawl)"
# A public address without a host: packets to it are dropped (RFC 7535).
PUBLIC = "http://192.31.196.1/x"
STRICT: dict[str, Any] = {"CONTACT_REQUIRED": True, "GUARD_ALLOW_NETS": ""}


@pytest.mark.parametrize(
    ("user_agent", "is_reachable"),
    [
        ("lab/1 (+https://lab.example.org/crawl)", True),
        ("lab/1 (crawl@lab.example.org)", True),
        ("Mozilla/5.0 (compatible; lab/1; +http://lab.example/)", True),
        ("lab/1", False),
        ("", False),
        ("lab@home", False),
        ("rdfcrawl/0.1 (+https://github.com/rdfcrawl/rdfcrawl)", False),
        ("Scrapy/2.13.0 (+https://scrapy.org)", False),
        ("a" * 100_000, False),
        ("rdfcrawl/0.1 (+https://github.com/rdfcrawl/rdfcrawl; me@a.example)", True),
    ],
)
def test_contact_is_a_page_or_an_address(user_agent: str, is_reachable: bool) -> None:
    """If a User-Agent has a URL or a mail address of one's own, it is a contact."""
    assert names_contact(user_agent) is is_reachable


@pytest.mark.parametrize(
    "words",
    [
        ("crawl", "linkeddata", f"-aseeds={PUBLIC}"),
        ("workers", "-n2", "linkeddata", f"-aseeds={PUBLIC}"),
        ("crawl", "sitemap", f"-asites={PUBLIC}"),
    ],
)
@pytest.mark.parametrize("user_agent", ["", "lab/1"])
def test_no_crawl_of_the_open_web_is_anonymous(
    commands: Commands, words: tuple[str, ...], user_agent: str
) -> None:
    """If USER_AGENT names no contact, then one line says so and nothing starts."""
    given: dict[str, Any] = {"USER_AGENT": user_agent} if user_agent else {}
    result = commands.start(*words, **STRICT, **given).wait()
    assert result.code == 2
    (line,) = result.stderr.splitlines()
    assert "USER_AGENT=" in line
    assert "CONTACT_REQUIRED=False" in line
    assert not (result.folder / "quads").exists()


@pytest.mark.parametrize(
    "settings", [{"USER_AGENT": CONTACT}, {"CONTACT_REQUIRED": False}]
)
def test_who_can_be_reached_may_crawl(
    commands: Commands, settings: dict[str, Any]
) -> None:
    """If there is a contact, or the operator does not want one, the crawl starts."""
    result = commands.crawl(
        [], arguments={"seeds": "http://nowhere.invalid/"}, **(STRICT | settings)
    )
    assert result.code == 0
    assert result.faults("http://nowhere.invalid/")[:1] == ["dns"]


@pytest.mark.parametrize("with_scrapy", [False, True])
def test_lab_needs_no_contact_and_is_not_left(
    commands: Commands, loopback: Loopback, with_scrapy: bool
) -> None:
    """If only GUARD_ALLOW_NETS are crawled, no contact is required, and links end."""
    server = loopback()
    server.pages |= {
        "/a": loopback.response(f"<> <urn:x:p> <{PUBLIC}> .".encode()),
        "/b": loopback.redirect(PUBLIC + "2"),
    }
    result = commands.crawl(
        [server.url("/a"), server.url("/b")],
        CONTACT_REQUIRED=True,
        FETCH_WITH_SCRAPY=with_scrapy,
    )
    assert result.code == 0
    assert server.url("/a") in result.graphs
    for url in (PUBLIC, PUBLIC + "2"):
        assert result.faults(url) == ["guard_blocked"]
        assert "USER_AGENT names no contact" in result.details(url)[0]
    assert result.statistics["guard/no_contact"] > 0


def test_seed_outside_of_the_lab_is_refused(commands: Commands) -> None:
    """If a seed lies outside of GUARD_ALLOW_NETS, a contact is required."""
    result = commands.crawl([], arguments={"seeds": PUBLIC}, CONTACT_REQUIRED=True)
    assert result.code == 2
    (line,) = result.stderr.splitlines()
    assert "USER_AGENT names no contact" in line


def test_local_archives_need_no_contact(commands: Commands, tmp_path: Path) -> None:
    """If a crawl reads WARC files of this machine alone, then it needs no contact."""
    archive = Archive()
    archive.add_statement("captured")
    path = tmp_path / "a.warc.gz"
    path.write_bytes(archive.content())
    files: dict[str, object] = {"files": path}
    result = commands.crawl(spider="warc", arguments=files, **STRICT)
    assert result.graphs == {f"{HOST}/captured"}
    files = {"files": "http://archive.invalid/a.warc.gz"}
    result = commands.crawl(spider="warc", arguments=files, **STRICT)
    assert result.code == 2


def test_kept_contact_is_sent(commands: Commands, loopback: Loopback) -> None:
    """If the folder keeps a contact, then it is in each USER_AGENT without one."""
    server = loopback({"/a": loopback.response(b"<> <urn:x:p> 1 .")})
    folder = commands.folder()
    (folder / "contact.txt").write_text("crawl@lab.example\n")
    seeds = {"seeds": server.url("/a")}
    given: dict[str, Any] = {"CONTACT_REQUIRED": True, "USER_AGENT": "lab/1"}
    result = commands.crawl(folder=folder, arguments=seeds, **given)
    assert result.code == 0
    agents = {request.headers["user-agent"] for request in server.requests}
    assert agents == {"lab/1 (+crawl@lab.example)"}
    (folder / "contact.txt").write_text("no address\n")
    result = commands.crawl(folder=folder, arguments=seeds, **given)
    assert result.code == 2
    assert "contact.txt: must be a mail address" in result.stderr


def test_commands_with_a_crawl_of_their_own_read_the_kept_contact(
    commands: Commands,
) -> None:
    """If a crawl is in a temporary folder, then the contact is that of CRAWL_DIR."""
    folder = commands.folder()
    (folder / "contact.txt").write_text("no address\n")
    for words in (("look", PUBLIC), ("query", "--fetch=0", f"ASK {{<{PUBLIC}> ?p 1}}")):
        result = commands.start(*words, folder=folder, **STRICT).wait()
        assert result.code == 2
        assert f"{folder}/contact.txt: must be a mail address" in result.stderr


def test_contact_is_asked_for_once(tmp_path: Path) -> None:
    """If there is a terminal, then the first crawl asks for a contact and keeps it."""
    words = ["crawl", "linkeddata", "-aseeds=http://nowhere.invalid/", "-sPROGRESS=log"]
    settings = [f"-s{name}={value}" for name, value in STRICT.items()]
    where = [f"-sCRAWL_DIR={tmp_path}", "-sHOST_PATIENCE_SECS=0", "-sDESCRIBE=off"]
    shown = _typed([*words, *settings, *where], "me\nme@lab.example\n")
    assert "'me' is neither" in shown
    assert f"Kept in {tmp_path}/contact.txt" in shown
    assert (tmp_path / "contact.txt").read_text() == "me@lab.example\n"
    shown = _typed([*words, *settings, *where], "")
    assert "Your mail address" not in shown
    assert "outcome" in shown


def _typed(words: list[str], answers: str) -> str:
    """Run `scrapy` in a terminal, with answers typed; return its output."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapy", *words],
        cwd=ROOT,
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    os.write(leader, answers.encode())
    shown = b""
    with suppress(OSError):  # Linux: the other end is closed
        while piece := os.read(leader, 65536):
            shown += piece
    os.close(leader)
    process.wait(600)
    return shown.decode(errors="replace")

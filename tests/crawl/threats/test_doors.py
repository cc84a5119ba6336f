"""Doors of the machine that neither pages nor strangers come through."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Reply
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

_LISTENS = "0A"  # of the states in /proc/net/tcp, linux/net/tcp_states.h


def listening_ports(pid: int) -> Iterator[int]:
    """Yield the ports of TCP at which a process listens."""
    folder = Path(f"/proc/{pid}")
    opened = {str(each.readlink()) for each in (folder / "fd").iterdir()}
    for table in ("tcp", "tcp6"):
        for line in (folder / "net" / table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == _LISTENS and f"socket:[{words[9]}]" in opened:
                yield int(words[1].rpartition(":")[2], 16)


def test_no_door_is_open(commands: Commands, loopback: Loopback) -> None:
    """If a crawl runs, then its worker listens at no port of the machine."""
    pages: dict[str, Reply] = {"/a": [3.0, loopback.response(b"")]}
    server = loopback(pages, host="127.0.90.1")
    running = commands.start_crawl([server.url("/a")], RETRY_TIMES=0)
    commands.wait_until(lambda: "/a" in server.targets)
    assert list(listening_ports(running.process.pid)) == []
    assert running.wait().code == 0


def test_files_of_the_machine_are_no_pages(commands: Commands) -> None:
    """If Scrapy should fetch a file of the machine, then there is no handler for it."""
    result = commands.start("fetch", "file:///etc/hostname").wait()
    assert "Unsupported URL scheme 'file'" in result.stderr
    assert "downloader/response_count" not in result.stderr

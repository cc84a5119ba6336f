"""The page behind nginx, configured as in the docs."""

from __future__ import annotations

import base64
import os
import re
import shutil
import subprocess
from html import unescape
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

import pytest

from rdfcrawl.monitor.page.options import PORT, TOKEN
from tests.support.page_answers import PageAnswer
from tests.support.page_browser import free_port, serve_page
from tests.support.page_json import iter_moments
from tests.support.processes import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

pytestmark = pytest.mark.service

GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "look-at-a-crawl.md"
SECRET = "correct-horse-battery"
LOGIN = "Basic " + base64.b64encode(f"anybody:{SECRET}".encode()).decode()
_FOLDERS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
_LOCATION = re.compile(r"(?ms)^```\n(location /crawl/ \{\n.*?^\})\n```$")


class ProxiedPage(NamedTuple):
    """A page, and the nginx before it.

    Attributes:
        key: of a host of the crawl.
        port: that nginx listens at.
    """

    key: str
    port: int

    @property
    def name(self) -> str:
        """Name and port by which visitors know it."""
        return f"crawls.example.org:{self.port}"

    def connect(
        self, method: str, path: str, headers: Mapping[str, str], body: str | None
    ) -> HTTPConnection:
        """Send a visitor's request; return the connection, which has a response."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=100)
        connection.request(method, path, body, {"Host": self.name, **headers})
        return connection

    def ask(
        self, path: str, fields: Mapping[str, str] | None = None, **headers: str
    ) -> PageAnswer:
        """Return the response to a visitor with the token.

        Args:
            path: of the request.
            fields: of a form to send; None: of none.
            headers: of the request.
        """
        sent = {"Authorization": LOGIN, **headers}
        body = None
        if fields is not None:
            sent["Content-Type"] = "application/x-www-form-urlencoded"
            body = urlencode(fields)
        connection = self.connect("POST" if body else "GET", path, sent, body)
        try:
            answer = connection.getresponse()
            return PageAnswer(
                answer.status, dict(answer.headers), answer.read().decode()
            )
        finally:
            connection.close()


def configuration(folder: Path, port: int, page_port: int) -> str:
    """Return a configuration of nginx with the location that the docs have."""
    found = _LOCATION.search(GUIDE.read_text(encoding="utf-8"))
    assert found, f"{GUIDE.name} has no location for nginx"
    location = found[1].replace(f"127.0.0.1:{PORT}", f"127.0.0.1:{page_port}")
    assert str(page_port) in location
    folders = "".join(f"{each}_temp_path {folder}/{each};\n" for each in _FOLDERS)
    return (
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{folders}"
        f"server {{\nlisten 127.0.0.1:{port};\n{location}\n}}\n}}\n"
    )


@pytest.fixture(scope="module")
def proxied(
    commands: Commands, loopback: Loopback, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ProxiedPage]:
    """Serve the page of a finished crawl with prefix, token and control."""
    places = f"{os.environ.get('PATH', '')}:/usr/sbin"
    program = shutil.which("nginx", path=places) or pytest.skip("no nginx here")
    server = loopback({"/a": loopback.response(b"<> <urn:x:p> <b> .")})
    result = commands.crawl([server.url("/a")])
    assert result.code == 0, result.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(TOKEN, SECRET)
        options = ("--prefix", "/crawl", "--control")
        url = serve_page(commands, result.folder.parent, *options)
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    path = folder / "nginx.conf"
    path.write_text(configuration(folder, port, int(url.rpartition(":")[2])))
    nginx = subprocess.Popen(
        [program, "-p", folder, "-e", "stderr", "-c", path],
        preexec_fn=end_with_parent,  # noqa: PLW1509  # no other thread forks
    )
    found = ProxiedPage(server.url("/a").split("/")[2].partition(":")[0], port)

    def answers() -> bool:
        assert nginx.poll() is None
        try:
            return found.ask("/crawl/").status == 200
        except OSError:
            return False

    try:
        commands.wait_until(answers)
        yield found
    finally:
        nginx.terminate()
        nginx.wait()


def test_all_that_a_view_names_is_below_the_prefix(proxied: ProxiedPage) -> None:
    """If a visitor comes by nginx, then each link, style and script is found there."""
    seen = set()
    for path in ("/crawl/", "/crawl/hosts", "/crawl/uri", "/crawl/query"):
        answer = proxied.ask(path)
        assert answer.status == 200
        named = re.findall(r'(?:href|src|action)="([^"#]+)', answer.text)
        assert named
        assert all(each.startswith("/crawl/") for each in named), named
        seen |= {*map(unescape, named)}
    seen.discard("/crawl/control")  # the changes to make
    for path in seen:
        assert proxied.ask(path).status == 200, path
    # nginx itself leads those who leave out the slash.
    assert proxied.ask("/crawl").status == 301


def test_token_is_required_behind_nginx(proxied: ProxiedPage) -> None:
    """If a visitor does not give the token, then the page is not shown."""
    for said in ("", "Basic " + base64.b64encode(b"anybody:wrong").decode()):
        answer = proxied.ask("/crawl/", Authorization=said)
        assert answer.status == 401
        assert "Basic" in answer.headers["WWW-Authenticate"]


def test_events_come_through_nginx(proxied: ProxiedPage) -> None:
    """If a visitor watches, then moments come one by one while the stream is open."""
    connection = proxied.connect("GET", "/crawl/events", {"Authorization": LOGIN}, None)
    try:
        answer = connection.getresponse()
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        moments = list(islice(iter_moments(answer), 3))
        assert not answer.isclosed()
    finally:
        connection.close()
    times = [each["taken_secs"] for each in moments]
    assert times == sorted({*times})


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_control_works_through_nginx(proxied: ProxiedPage, scheme: str) -> None:
    """If a form of the page is sent, then it is carried out, and others are refused.

    Browsers send the origin; without TLS, they send nothing else.
    """
    key = proxied.key
    page = proxied.ask(f"/crawl/control?{urlencode({'action': 'pause', 'key': key})}")
    assert page.status == 200
    fields = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.text))
    own, foreign = f"{scheme}://{proxied.name}", f"{scheme}://evil.example"
    refused = proxied.ask("/crawl/control", fields, Origin=foreign)
    assert refused.status == 403
    refused = proxied.ask("/crawl/control", fields | {"token": "0"})
    assert refused.status == 403
    for headers in ({"Origin": own}, {"Sec-Fetch-Site": "same-origin"}, {}):
        done = proxied.ask("/crawl/control", fields, **headers)
        assert done.status == 303
        assert done.headers["Location"].startswith("/crawl/host?key=")
        told = proxied.ask(done.headers["Location"])
        assert told.status == 200
        assert "paused" in told.text

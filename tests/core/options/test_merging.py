"""Scrapy's components and settings on visits, as in `docs/reference/scrapy.md`."""

from __future__ import annotations

import json
import re
import socketserver
import threading
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from scrapy.crawler import Crawler
from scrapy.settings import default_settings
from scrapy.utils.misc import load_object
from scrapy.utils.project import get_project_settings
from scrapy.utils.python import global_object_name

from rdfcrawl import settings as project_settings
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options.scrapy_settings import (
    _SWITCHED,
    ATTRIBUTES,
    ONLY_WITH_SCRAPY,
    WITHOUT_EFFECT,
    apply_defaults,
    check_components,
    iter_warnings,
)
from rdfcrawl.pipelines.store import StorePipeline
from rdfcrawl.spiders.linkeddata import LinkedDataSpider
from tests.support.pages import read_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy.settings import Settings

    from tests.conftest import RawRequest, RawServer
    from tests.support.crawl_fixtures import Commands
    from tests.support.crawl_webs import Loopback

# A value that is not the default, for each setting that has no effect.
OTHERS: dict[str, Any] = {
    "AUTOTHROTTLE_ENABLED": True,
    "CLOSESPIDER_PAGECOUNT": 1000,
    "CLOSESPIDER_PAGECOUNT_NO_ITEM": 1000,
    "COMPRESSION_ENABLED": False,
    "CONCURRENT_ITEMS": 5,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
    "COOKIES_ENABLED": True,
    "DEFAULT_REQUEST_HEADERS": '{"X-Own": "1"}',
    "DEPTH_PRIORITY": 1,
    "DEPTH_STATS_VERBOSE": True,
    "DNSCACHE_ENABLED": False,
    "TWISTED_DNS_RESOLVER": "scrapy.resolver.CachingHostnameResolver",
    "DNS_TIMEOUT": 7,
    "DOWNLOADER_CLIENTCONTEXTFACTORY": "x",
    "DOWNLOADER_CLIENT_TLS_CIPHERS": "x",
    "DOWNLOADER_CLIENT_TLS_METHOD": "TLSv1.2",
    "DOWNLOAD_BIND_ADDRESS": "127.0.0.1",
    "DOWNLOAD_DELAY_JITTER": 0.1,
    "DOWNLOAD_FAIL_ON_DATALOSS": False,
    "DOWNLOAD_TLS_MAX_VERSION": "TLSv1.3",
    "DOWNLOAD_TLS_MIN_VERSION": "TLSv1.2",
    "DOWNLOAD_WARNSIZE": 10,
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "FTP_PASSIVE_MODE": False,
    "FTP_PASSWORD": "x",
    "FTP_USER": "x",
    "HTTPAUTH_PASS": "x",
    "HTTPAUTH_USER": "x",
    "HTTPCACHE_ENABLED": True,
    "HTTPERROR_ALLOWED_CODES": "404",
    "HTTPERROR_ALLOW_ALL": True,
    "JOBDIR": "jobs",
    "LOGSTATS_INTERVAL": 5,
    "METAREFRESH_ENABLED": True,
    "RANDOMIZE_DOWNLOAD_DELAY": False,
    "REFERER_ENABLED": False,
    "REFERRER_POLICY": "origin",
    "RETRY_EXCEPTIONS": "builtins.OSError",
    "RETRY_HTTP_CODES": "404",
    "SCHEDULER_FLUSH_ON_START": True,
    "URLLENGTH_LIMIT": 100,
}
NO_STORE = {"rdfcrawl.pipelines.store.StorePipeline": None}
REFUSED: dict[str, Any] = {
    "SCHEDULER": "scrapy.core.scheduler.Scheduler",
    "TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor",
    "TWISTED_REACTOR_ENABLED": False,
    "DOWNLOAD_HANDLERS": {"visit": None},
    "DOWNLOADER_MIDDLEWARES": {"rdfcrawl.middlewares.robots.RobotsMiddleware": None},
    "ITEM_PIPELINES": {"rdfcrawl.pipelines.extract.ExtractPipeline": None},
    "HTTPAUTH_USER": "somebody",
}


class Mailbox(socketserver.StreamRequestHandler):
    """An SMTP server that takes everything."""

    mails: ClassVar[list[str]] = []

    def handle(self) -> None:
        """Talk to one client."""
        self.wfile.write(b"220 here\r\n")
        for line in self.rfile:
            word = line[:4].upper().strip()
            if word == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                lines = iter(self.rfile.readline, b".\r\n")
                self.mails.append(b"".join(lines).decode())
            self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 ok\r\n")


@pytest.fixture
def mail_port() -> Iterator[int]:
    """Yield the port of an SMTP server."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mailbox) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def chain(loopback: Loopback, n: int, *, host: str, secs: float = 0.0) -> RawServer:
    """Start a host whose documents link each to the next one: a visit for each."""
    server = loopback(host=host)
    for i in range(n):
        body = loopback.response(f"<> <urn:x:next> <{i + 1}> .".encode(), ETag="'1'")
        server.pages[f"/{i}"] = [secs, body]
    return server


def stored(server: RawServer, n: int) -> set[str]:
    """Return the URLs of the first documents of a chain."""
    return {server.url(f"/{i}") for i in range(n)}


def settings_with(**changes: Any) -> Settings:
    """Return the settings of the project as a command line changes them."""
    settings = get_project_settings()
    settings.setdict(changes, priority="cmdline")
    apply_defaults(settings)
    return settings


def warnings_of(settings: Settings, spider: type[LinkedDataSpider]) -> list[str]:
    """Return the warnings of a crawl with these settings."""
    with_scrapy = settings.getbool("FETCH_WITH_SCRAPY")
    return list(iter_warnings(settings, spider, with_scrapy=with_scrapy))


def test_values_are_at_hand_for_all_settings() -> None:
    """If a setting has no effect on visits, then these tests set it."""
    assert OTHERS.keys() == WITHOUT_EFFECT.keys() | set(ONLY_WITH_SCRAPY)


def test_page_names_all_of_them() -> None:
    """If a setting or an attribute has no effect on visits, then the page says so."""
    told = set(re.findall(r"`([A-Za-z_]+)`", read_page("scrapy.md")))
    assert OTHERS.keys() | ATTRIBUTES.keys() <= told


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_setting_without_effect_is_told_in_one_line(name: str) -> None:
    """If a setting has no effect on visits, then one line says so, and only then."""
    settings = settings_with(**{name: OTHERS[name]})
    told = [x for x in warnings_of(settings, LinkedDataSpider) if "proxy" not in x]
    assert len(told) == 1
    assert told[0].startswith(name)
    settings.set("FETCH_WITH_SCRAPY", True, priority="cmdline")
    still = [x for x in warnings_of(settings, LinkedDataSpider) if "proxy" not in x]
    assert len(still) == (name in WITHOUT_EFFECT)


def test_project_itself_is_not_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """If nothing is set, then nothing is said; a proxy is a setting, too."""
    monkeypatch.setattr("rdfcrawl.core.options.scrapy_settings.getproxies", dict)
    assert warnings_of(settings_with(), LinkedDataSpider) == []
    monkeypatch.setattr(
        "rdfcrawl.core.options.scrapy_settings.getproxies", lambda: {"http": "x"}
    )
    (line,) = warnings_of(settings_with(), LinkedDataSpider)
    assert "http_proxy" in line


def test_handler_without_the_guard_is_told() -> None:
    """If another handler makes the connections, then one line names the guard."""
    own = {"https": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"}
    settings = settings_with(DOWNLOAD_HANDLERS=own, FETCH_WITH_SCRAPY=True)
    told = [x for x in warnings_of(settings, LinkedDataSpider) if "guard" in x]
    assert len(told) == 1
    assert told[0].startswith("DOWNLOAD_HANDLERS: https=")


@pytest.mark.parametrize("name", sorted(ATTRIBUTES))
def test_attribute_without_effect_is_told(name: str) -> None:
    """If a spider has an attribute that visits do not know, then one line says so."""
    spider = type("Own", (LinkedDataSpider,), {"name": "own", name: "x"})
    told = [x for x in warnings_of(settings_with(), spider) if "proxy" not in x]
    assert len(told) == 1
    assert told[0].startswith(f"{name} of spider own")


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_setting_that_loses_documents_is_refused(name: str) -> None:
    """If visits could not be made or would be lost, then one line names the setting."""
    with pytest.raises(ConfigError, match=name):
        check_components(settings_with(**{name: REFUSED[name]}))


def test_crawl_without_a_store_is_warned_of() -> None:
    """If the store is left out on purpose, then that is said, and not refused."""
    settings = settings_with(ITEM_PIPELINES=NO_STORE)
    check_components(settings)
    told = warnings_of(settings, LinkedDataSpider)
    assert any("no quads are stored" in line for line in told)


_COOKIES = "scrapy.downloadermiddlewares.cookies.CookiesMiddleware"


def test_what_a_setting_switches_off_is_not_in_scrapys_list() -> None:
    """If cookies are off, then their middleware is loaded only if it is asked for."""
    wanted = settings_with(COOKIES_ENABLED=True)
    for settings, is_in in ((settings_with(), False), (wanted, True)):
        base = settings.getdict("DOWNLOADER_MIDDLEWARES_BASE")
        assert (_COOKIES in base) == is_in
        listed = settings.get_component_priority_dict_with_base(
            "DOWNLOADER_MIDDLEWARES"
        )
        assert (_COOKIES in listed) == is_in
    own = settings_with(DOWNLOADER_MIDDLEWARES={_COOKIES: 700})
    assert own.getdict("DOWNLOADER_MIDDLEWARES")[_COOKIES] == 700


def test_switch_that_is_neither_on_nor_off_is_refused() -> None:
    """If a setting that switches a component is no boolean, then one line names it."""
    with pytest.raises(ConfigError, match="COOKIES_ENABLED='maybe'"):
        settings_with(COOKIES_ENABLED="maybe")


@pytest.mark.parametrize(
    "name",
    [
        *("CONTACT_REQUIRED", "DOWNLOAD_VERIFY_CERTIFICATES", "FETCH_WITH_SCRAPY"),
        *("HTTPPROXY_ENABLED", "REDIRECT_ENABLED", "REFERER_ENABLED", "RETRY_ENABLED"),
        *("ROBOTSTXT_OBEY", "SCHEDULER_PERSIST", "TWISTED_REACTOR_ENABLED"),
        *("CONCURRENT_ITEMS", "CONCURRENT_REQUESTS", "REDIS_PORT", "SLOW_VISITS"),
    ],
)
def test_value_of_the_wrong_type_is_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a switch is no boolean, or a number is none, then one line names it."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:3128")
    given = {"USER_AGENT": "lab/1 (+mailto:me@lab.example)", "REDIS_HOST": "127.0.0.1"}
    settings = settings_with(**given, **{name: "maybe"})
    crawler = Crawler(LinkedDataSpider, settings)
    crawler.crawling = True
    with pytest.raises(ConfigError, match=f"{name}='maybe'"):
        LinkedDataSpider.from_crawler(crawler)


def test_component_named_by_its_class_is_ours() -> None:
    """If a component of ours is given as a class, then it stands there once."""
    settings = settings_with(ITEM_PIPELINES={StorePipeline: None})
    given = settings.getdict("ITEM_PIPELINES")
    assert given[StorePipeline] is None
    assert "rdfcrawl.pipelines.store.StorePipeline" not in given


@pytest.mark.parametrize("name", ["DOWNLOADER_MIDDLEWARES", "EXTENSIONS"])
def test_scrapys_list_has_what_is_left_out_of_it(name: str) -> None:
    """If a switch leaves a component out, then it is where Scrapy has it."""
    base = getattr(default_settings, f"{name}_BASE")
    assert set(_SWITCHED[f"{name}_BASE"].values()) <= base.keys()


@pytest.mark.parametrize(
    "name", ["DOWNLOADER_MIDDLEWARES", "EXTENSIONS", "ITEM_PIPELINES"]
)
def test_our_components_are_named_where_they_are_defined(name: str) -> None:
    """If a component is ours, then its path is no alias: paths are compared."""
    for path in getattr(project_settings, name):
        assert global_object_name(load_object(path)) == path


def test_components_stand_beside_those_of_the_project() -> None:
    """If a command line sets components, then ours stay, once each, as they are."""
    own = {"scrapy.pipelines.files.FilesPipeline": 950}
    settings = settings_with(ITEM_PIPELINES=json.dumps(own))
    assert settings.getdict("ITEM_PIPELINES") == project_settings.ITEM_PIPELINES | own
    from rdfcrawl.pipelines.store import StorePipeline

    by_class: dict[Any, int] = {StorePipeline: 600}
    merged = settings_with(ITEM_PIPELINES=by_class).getdict("ITEM_PIPELINES")
    assert len(merged) == len(project_settings.ITEM_PIPELINES)
    assert merged[StorePipeline] == 600
    check_components(settings_with(ITEM_PIPELINES=by_class))


def test_settings_without_effect_change_nothing(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If all that has no effect is set, the HTTP cache too, then nothing is lost."""
    server = chain(loopback, 4, host="127.93.1.1")
    odd = {
        "DOWNLOADER_CLIENTCONTEXTFACTORY",
        "TWISTED_DNS_RESOLVER",
        "RETRY_EXCEPTIONS",
    }
    given = {name: value for name, value in OTHERS.items() if name not in odd}
    given["JOBDIR"] = tmp_path / "jobs"
    result = commands.crawl(
        [server.url("/0")],
        HTTPAUTH_DOMAIN="127.93.1.1",
        HTTPCACHE_DIR=tmp_path / "cache",
        **given,
    )
    assert result.code == 0, result.stderr
    assert result.graphs == stored(server, 4)
    assert "Traceback" not in result.stderr
    for name in given:
        assert result.stderr.count(f"WARNING: {name} has no effect") == 1
    assert result.statistics["httpcache/hit"] == 0
    assert not any("authorization" in each.headers for each in server.requests)


def test_requests_of_uris_pass_the_middlewares(
    commands: Commands, loopback: Loopback, tmp_path: Path
) -> None:
    """If Scrapy does the requests, then cache, cookies, headers and login work."""
    server = chain(loopback, 3, host="127.93.2.1")
    server.pages["/0"] = loopback.response(
        b"<> <urn:x:next> <1> .", Set_Cookie="a=b; Path=/"
    )
    for _ in range(2):
        result = commands.crawl(
            [server.url("/0")],
            FETCH_WITH_SCRAPY=True,
            HTTPCACHE_ENABLED=True,
            HTTPCACHE_DIR=tmp_path / "cache",
            COOKIES_ENABLED=True,
            AUTOTHROTTLE_ENABLED=True,
            AUTOTHROTTLE_START_DELAY=0,
            DEFAULT_REQUEST_HEADERS='{"X-Own": "1"}',
            HTTPAUTH_USER="u",
            HTTPAUTH_PASS="p",
            HTTPAUTH_DOMAIN=f"127.93.2.1:{server.port}",
        )
        assert result.code == 0, result.stderr
        assert result.graphs == stored(server, 3)
    assert len(server.targets) == len(set(server.targets))
    asked = {request.target: request.headers for request in server.requests}
    assert asked["/1"]["cookie"] == "a=b"
    assert asked["/1"]["x-own"] == "1"
    assert asked["/1"]["authorization"] == "Basic dTpw"


def test_requests_of_uris_go_through_a_proxy(
    commands: Commands, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If Scrapy does the requests, then they go through the proxy that is set."""
    seen: list[str] = []

    def reply(request: RawRequest) -> bytes:
        seen.append(request.target)
        return loopback.response(b"<> <urn:x:p> 1 .")

    proxy = loopback({"*": reply}, host="127.93.3.1")
    monkeypatch.setenv("http_proxy", proxy.url("/"))
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    arguments = {"follow": "none"}
    url = "http://data.invalid/a"
    result = commands.crawl([url], arguments=arguments, FETCH_WITH_SCRAPY=True)
    assert result.graphs == {url}, result.stderr
    assert url in seen


def test_limits_and_reports_of_extensions_work(
    commands: Commands, loopback: Loopback, tmp_path: Path, mail_port: int
) -> None:
    """If limits of Scrapy are set, then visits keep them; reports work, too."""
    server = chain(loopback, 5, host="127.93.4.1")
    server.pages["/moved"] = loopback.redirect("/0")
    server.pages["/busy"] = loopback.response(b"", status="500 No")
    extensions = {
        "scrapy.extensions.statsmailer.StatsMailer": 500,
        "scrapy.extensions.periodic_log.PeriodicLog": 500,
    }
    result = commands.crawl(
        [server.url("/0"), server.url("/moved"), server.url("/busy")],
        DEPTH_LIMIT=2,
        REDIRECT_ENABLED=False,
        RETRY_ENABLED=False,
        USER_AGENT="somebody-else/1",
        MEMDEBUG_ENABLED=True,
        TELNETCONSOLE_ENABLED=True,
        FILES_STORE=tmp_path,
        ITEM_PIPELINES='{"scrapy.pipelines.files.FilesPipeline": 950}',
        EXTENSIONS=json.dumps(extensions),
        STATSMAILER_RCPTS="me@example.org",
        MAIL_HOST="127.0.0.1",
        MAIL_PORT=mail_port,
    )
    assert result.code == 0, result.stderr
    assert result.graphs == stored(server, 3)
    assert result.faults(server.url("/moved")) == ["redirect_limit"]
    assert server.targets.count("/busy") == 1
    agents = {request.headers["user-agent"] for request in server.requests}
    assert agents == {"somebody-else/1"}
    assert any("document/stored" in mail for mail in Mailbox.mails)
    assert "Telnet console listening" in result.stderr


@pytest.mark.parametrize(
    ("name", "value", "outcome"),
    [
        ("CLOSESPIDER_ITEMCOUNT", 3, "closespider_itemcount"),
        ("CLOSESPIDER_TIMEOUT", 1.5, "closespider_timeout"),
        ("MEMUSAGE_LIMIT_MB", 1, "memusage_exceeded"),
    ],
)
def test_crawl_that_an_extension_ends_goes_on_later(
    commands: Commands, loopback: Loopback, name: str, value: float, outcome: str
) -> None:
    """If an extension closes the spider, then nothing is lost, and the code is 1."""
    n = 12
    third = "567"[("ITEMCOUNT" in name) + 2 * ("USAGE" in name) - 1]
    server = chain(loopback, n, host=f"127.93.{third}.1", secs=0.2)
    folder = commands.folder()
    limits: dict[str, Any] = {
        name: value,
        "MEMUSAGE_ENABLED": True,
        "MEMUSAGE_CHECK_INTERVAL_SECONDS": 0.5,
    }
    first = commands.crawl([server.url("/0")], folder=folder, **limits)
    assert first.code == 1, first.stderr
    assert outcome in first.stderr
    assert len(first.graphs) < n
    again = commands.crawl(folder=folder)
    assert again.code == 0
    assert again.graphs == stored(server, n)
    assert again.counts().leased == 0

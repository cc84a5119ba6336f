"""Settings of Scrapy that visits cannot support: refused or reported.

A visit is one request of Scrapy for many URIs. Settings for the request of one URI have
no effect on it, unless `FETCH_WITH_SCRAPY` is on; `docs/reference/scrapy.md` has the
list.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final
from urllib.request import getproxies

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options import defaults
from rdfcrawl.core.options.values import as_number, boolean, dictionary, is_a, is_on

if TYPE_CHECKING:
    from scrapy import Spider

# Setting -> the reason, or its replacement.
WITHOUT_EFFECT: Final = {
    "CLOSESPIDER_PAGECOUNT": "it counts visits; CLOSESPIDER_ITEMCOUNT counts documents",
    "CLOSESPIDER_PAGECOUNT_NO_ITEM": "it counts visits, not documents",
    "CONCURRENT_ITEMS": "documents of a visit are processed one after another",
    "CONCURRENT_REQUESTS_PER_DOMAIN": "each host gets one request at a time",
    "DEPTH_PRIORITY": "the frontier has its own order",
    "DEPTH_STATS_VERBOSE": "the provenance has the depth of each document",
    "DUPEFILTER_CLASS": "the frontier knows which URIs were seen",
    "FTP_PASSIVE_MODE": "FTP is always passive",
    "FTP_PASSWORD": "the environment variable FTP_CREDENTIALS has logins",
    "FTP_USER": "the environment variable FTP_CREDENTIALS has logins",
    "HTTPERROR_ALLOWED_CODES": "a 4xx or 5xx response is a fault",
    "HTTPERROR_ALLOW_ALL": "a 4xx or 5xx response is a fault",
    "JOBDIR": "a crawl is kept in Redis and in CRAWL_DIR",
    "LOGSTATS_INTERVAL": "PROGRESS_LOG_SECS does that",
    "METAREFRESH_ENABLED": "HTML does not redirect data",
    "REFERER_ENABLED": "no referrer is sent",
    "REFERRER_POLICY": "no referrer is sent",
    "RETRY_EXCEPTIONS": "RETRY_TIMES limits the retries of a document",
    "RETRY_HTTP_CODES": "RETRY_TIMES limits the retries of a document",
    "SCHEDULER_FLUSH_ON_START": "-a fresh=1 does that",
    "URLLENGTH_LIMIT": "a URL of more than 2083 characters is a fault",
}
# Values that visits do support; `scrapy startproject` writes it.
_HOLDS: Final = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1}
# Settings for the request of one URI, used by middlewares or by Scrapy's downloader.
ONLY_WITH_SCRAPY: Final = (
    "AUTOTHROTTLE_ENABLED",
    "COMPRESSION_ENABLED",
    "COOKIES_ENABLED",
    "DEFAULT_REQUEST_HEADERS",
    "DNSCACHE_ENABLED",
    "DNS_TIMEOUT",
    "DOWNLOADER_CLIENTCONTEXTFACTORY",
    "DOWNLOADER_CLIENT_TLS_CIPHERS",
    "DOWNLOADER_CLIENT_TLS_METHOD",
    "DOWNLOAD_BIND_ADDRESS",
    "DOWNLOAD_DELAY_JITTER",
    "DOWNLOAD_FAIL_ON_DATALOSS",
    "DOWNLOAD_TLS_MAX_VERSION",
    "DOWNLOAD_TLS_MIN_VERSION",
    "DOWNLOAD_WARNSIZE",
    "HTTPAUTH_PASS",
    "HTTPAUTH_USER",
    "HTTPCACHE_ENABLED",
    "RANDOMIZE_DOWNLOAD_DELAY",
    "TWISTED_DNS_RESOLVER",
)
# Attributes of spiders, and the equivalent setting or argument for visits.
ATTRIBUTES: Final = {
    "download_delay": "DOWNLOAD_DELAY",
    "download_maxsize": "DOWNLOAD_MAXSIZE",
    "download_timeout": "DOWNLOAD_TIMEOUT",
    "handle_httpstatus_list": "nothing: a 4xx or 5xx response is a fault",
    "http_user": "HTTPAUTH_USER with FETCH_WITH_SCRAPY=True",
    "max_concurrent_requests": "CONCURRENT_REQUESTS",
    "rules": "the arguments follow, allow and deny",
    "start_requests": "the method start",
    "user_agent": "USER_AGENT",
}
# Settings and attributes that do affect spiders with callbacks (`FrontierSpider`).
_OF_REQUESTS: Final = frozenset(
    {
        *("CONCURRENT_ITEMS", "DEPTH_STATS_VERBOSE", "URLLENGTH_LIMIT"),
        *("HTTPERROR_ALLOWED_CODES", "HTTPERROR_ALLOW_ALL"),
        *("REFERER_ENABLED", "REFERRER_POLICY"),
        *(ATTRIBUTES.keys() - {"download_delay", "max_concurrent_requests"}),
    }
    - {"start_requests"}
)
_ADDON: Final = SETTINGS_PRIORITIES["addon"]
_PIPELINES: Final = "rdfcrawl.pipelines."
# Without these, a document is fetched and lost.
_NEEDED_PIPELINES: Final = (
    f"{_PIPELINES}extract.ExtractPipeline",
    f"{_PIPELINES}discover.DiscoverPipeline",
    f"{_PIPELINES}account.AccountPipeline",
)
_STORE: Final = f"{_PIPELINES}store.StorePipeline"
_ROBOTS: Final = "rdfcrawl.middlewares.robots.RobotsMiddleware"
_HANDLER: Final = "rdfcrawl.downloader.handler.VisitHandler"
_HTTP_HANDLER: Final = "rdfcrawl.downloader.handler.HttpHandler"
_SCHEDULER: Final = "rdfcrawl.frontier.scheduler.FrontierScheduler"
_REACTOR: Final = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


def check_components(settings: BaseSettings) -> None:
    """Check that all components that visits need are configured.

    Raises:
        ConfigError: one is missing or replaced.
    """
    _check_class(settings, "SCHEDULER", _SCHEDULER)
    _check_class(settings, "TWISTED_REACTOR", _REACTOR)
    if not is_on(settings, "TWISTED_REACTOR_ENABLED"):
        raise ConfigError("TWISTED_REACTOR_ENABLED=False: visits need the reactor")
    handler = settings.getdict("DOWNLOAD_HANDLERS").get("visit")
    if handler is None or not is_a(handler, _HANDLER):
        raise ConfigError(f"DOWNLOAD_HANDLERS: visit={handler}: must be {_HANDLER}")
    middlewares = _enabled(settings, "DOWNLOADER_MIDDLEWARES")
    if is_on(settings, "ROBOTSTXT_OBEY") and not _has(middlewares, _ROBOTS):
        raise ConfigError(
            f"DOWNLOADER_MIDDLEWARES: without {_ROBOTS} robots.txt is not obeyed"
        )
    pipelines = _enabled(settings, "ITEM_PIPELINES")
    for needed in _NEEDED_PIPELINES:
        if not _has(pipelines, needed):
            raise ConfigError(f"ITEM_PIPELINES: without {needed} documents are lost")
    if "RedisStatsCollector" in str(settings["STATS_CLASS"]):
        raise ConfigError("STATS_CLASS: RedisStatsCollector takes numbers alone")
    if settings.get("HTTPAUTH_USER") and not settings.getpriority("HTTPAUTH_DOMAIN"):
        raise ConfigError(
            "HTTPAUTH_USER: needs HTTPAUTH_DOMAIN, the domain that gets the password"
        )


_DIRECTLY: Final = "visits connect directly without FETCH_WITH_SCRAPY=True"
_BY_PROXY: Final = (
    "the guard cannot check addresses, since the proxy resolves names;"
    " configure the proxy to refuse your own networks"
)


def iter_warnings(
    settings: BaseSettings, spider: type[Spider], *, with_scrapy: bool
) -> Iterator[str]:
    """Yield a line for each setting and attribute that has no effect on visits."""
    has_requests = not getattr(spider, "makes_documents", True)
    with_scrapy = has_requests or with_scrapy
    effective = _OF_REQUESTS if has_requests else frozenset()
    for name in sorted(WITHOUT_EFFECT.keys() - effective):
        if _is_changed(settings, name):
            yield f"{name} has no effect on visits: {WITHOUT_EFFECT[name]}"
    for name in () if with_scrapy else ONLY_WITH_SCRAPY:
        if _is_changed(settings, name):
            yield f"{name} has no effect on visits without FETCH_WITH_SCRAPY=True"
    proxies = getproxies().keys() & {"http", "https", "all"}
    if proxies and is_on(settings, "HTTPPROXY_ENABLED"):
        names = ", ".join(f"{scheme}_proxy" for scheme in sorted(proxies))
        yield f"{names}: {_BY_PROXY if with_scrapy else _DIRECTLY}"
    if with_scrapy:
        yield from _iter_unguarded(settings)
    for name in sorted(ATTRIBUTES.keys() - effective):
        if getattr(spider, name, None) is not None:
            why = ATTRIBUTES[name]
            yield f"{name} of spider {spider.name} has no effect on visits: {why}"
    if not _has(_enabled(settings, "ITEM_PIPELINES"), _STORE):
        yield f"ITEM_PIPELINES: without {_STORE} no quads are stored"


def _iter_unguarded(settings: BaseSettings) -> Iterator[str]:
    """Yield a line for each handler that connects without the guard."""
    handlers = settings.getdict("DOWNLOAD_HANDLERS")
    for scheme in ("http", "https"):
        handler = handlers.get(scheme)
        if handler is not None and not is_a(handler, _HTTP_HANDLER):
            yield f"DOWNLOAD_HANDLERS: {scheme}={handler} connects without the guard"


def _is_changed(settings: BaseSettings, name: str) -> bool:
    if (settings.getpriority(name) or 0) <= _ADDON:
        return False
    if name in _HOLDS and settings.getint(name) == _HOLDS[name]:
        return False
    scrapys: object = vars(default_settings).get(name)  # getattr warns about old names
    default: object = getattr(defaults, name, scrapys)
    value = settings.get(name)
    if isinstance(default, bool):
        return boolean(name, value) != default
    if isinstance(default, int | float):
        return bool(as_number(name, value, -math.inf, math.inf) != default)
    if isinstance(default, dict):
        return dictionary(name, value) != default
    return str(value) != str(default)


def _check_class(settings: BaseSettings, name: str, wanted: str) -> None:
    value = settings.get(name)
    if value is not None and not is_a(value, wanted):
        raise ConfigError(f"{name}={value}: visits need {wanted}")


def _enabled(settings: BaseSettings, name: str) -> list[Any]:
    given = settings.getdict(name)
    return [key for key, order in given.items() if order is not None]


def _has(components: list[Any], wanted: str) -> bool:
    return wanted in components or any(is_a(each, wanted) for each in components)

"""Settings of Scrapy: our defaults, and those that are without effect, or unknown.

Our defaults are added below the values of the project. A visit is one request of Scrapy
for many URIs. Settings for the request of one URI have no effect on it, unless
`FETCH_WITH_SCRAPY` is on; `docs/reference/scrapy.md` has the list.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final
from urllib.request import getproxies
from weakref import WeakValueDictionary

from scrapy import Spider
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, default_settings
from scrapy.utils.project import ENVVAR

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import perhaps
from rdfcrawl.core.options import defaults
from rdfcrawl.core.options.table import OptionsTable, Setting, settings_of
from rdfcrawl.core.options.values import (
    as_number,
    boolean,
    dictionary,
    is_a,
    is_on,
    load_setting,
)

# Components of Scrapy, to which ours are added.
_MERGED: Final = (
    *("DOWNLOADER_MIDDLEWARES", "DOWNLOAD_HANDLERS", "DOWNLOAD_SLOTS", "EXTENSIONS"),
    *("FEED_EXPORTERS", "ITEM_PIPELINES"),
)
_PLAIN: Final = [
    name for name in vars(defaults) if name.isupper() and name not in _MERGED
]
_ADDON: Final = SETTINGS_PRIORITIES["addon"]
# Scrapy imports each of them at every start, even if its setting is off: setting ->
# path of the component.
_SWITCHED: Final = {
    "DOWNLOADER_MIDDLEWARES_BASE": {
        "COOKIES_ENABLED": "scrapy.downloadermiddlewares.cookies.CookiesMiddleware",
        "HTTPCACHE_ENABLED": (
            "scrapy.downloadermiddlewares.httpcache.HttpCacheMiddleware"
        ),
    },
    "EXTENSIONS_BASE": {
        "AUTOTHROTTLE_ENABLED": "scrapy.extensions.throttle.AutoThrottle",
        "MEMDEBUG_ENABLED": "scrapy.extensions.memdebug.MemoryDebugger",
        "REMOTE_CONTROL_ENABLED": "scrapy.extensions.remote_control.RemoteControl",
        "TELNETCONSOLE_ENABLED": "scrapy.extensions.telnet.TelnetConsole",
    },
}
# Their keys are names; those of other dictionaries are components.
_BY_NAME: Final = frozenset({"DOWNLOAD_HANDLERS", "DOWNLOAD_SLOTS", "FEED_EXPORTERS"})
_TUNNEL_ERROR: Final = "scrapy.core.downloader.handlers.http11.TunnelError"
_OUR_TUNNEL_ERROR: Final = "rdfcrawl.downloader.handler.TunnelError"
_SCHEDULER: Final = "rdfcrawl.frontier.scheduler.FrontierScheduler"

# Settings of crawlers and commands that have our defaults, by their `id`.
_applied: WeakValueDictionary[int, BaseSettings] = WeakValueDictionary()
_PUSHED: Final = "REDIS_START_URLS_KEY"
_SERIALIZER: Final = "REDIS_ITEMS_SERIALIZER"
_ROBOTS: Final = "rdfcrawl.middlewares.robots.RobotsMiddleware"
_HANDLER: Final = "rdfcrawl.downloader.handler.VisitHandler"
_HTTP_HANDLER: Final = "rdfcrawl.downloader.handler.HttpHandler"
_FEEDS: Final = "scrapy.extensions.feedexport.FeedExporter"
_OUR_FEEDS: Final = "rdfcrawl.pipelines.feeds.FeedsExtension"
_REACTOR: Final = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
_CMDLINE: Final = SETTINGS_PRIORITIES["cmdline"]
_OURS: Final = "rdfcrawl.settings"
_TABLE: Final = "(OptionsTable)"
# Without a table: those of scrapy-redis, and the number of a worker, and the log and
# socket of a page, which commands give to processes.
_OF_SCRAPY_REDIS: Final = (
    *("URL", "HOST", "PORT", "DB", "ENCODING", "PARAMS", "DECODE_RESPONSES"),
    *("ITEMS_KEY", "START_URLS_KEY", "START_URLS_AS_SET", "START_URLS_AS_ZSET"),
    "ITEMS_SERIALIZER",
)
_WITHOUT_TABLE: Final = frozenset(
    {
        *(f"REDIS_{name}" for name in _OF_SCRAPY_REDIS),
        *("MAX_IDLE_TIME_BEFORE_CLOSE", "STATS_KEY", "SCHEDULER_FLUSH_ON_START"),
        *("SCHEDULER_QUEUE_KEY", "SCHEDULER_QUEUE_CLASS", "SCHEDULER_SERIALIZER"),
        *("SCHEDULER_DUPEFILTER_KEY", "SCHEDULER_IDLE_BEFORE_CLOSE"),
        *("SCHEDULER_PERSIST", "CRAWL_WORKER", "CRAWL_PAGE_LOG", "CRAWL_PAGE_SOCKET"),
    }
)
_DIRECTLY: Final = "visits connect directly without FETCH_WITH_SCRAPY=True"


def apply_defaults(settings: BaseSettings, *, wants_pipelines: bool = True) -> None:
    """Add our defaults to the settings of one crawler, with the lowest priority.

    Our components are added to those of the project, the spider and the command line:
    Scrapy would replace the setting, and visits would lose their pipelines. Our
    components that are set to None stay off. Components of Scrapy that are switched off
    are not imported.

    Args:
        settings: of one of our spiders.
        wants_pipelines: False for commands of Scrapy that look at one page.

    Raises:
        ConfigError: a value has the wrong type.
    """
    _applied[id(settings)] = settings
    apply_values(settings)
    _set_scheduler(settings)
    _set_retry_exceptions(settings)
    for name, switched in _SWITCHED.items():
        _leave_out(settings, name, switched)
    for name in _MERGED:
        if wants_pipelines or name != "ITEM_PIPELINES":
            _merge(settings, name)


def has_defaults(settings: BaseSettings) -> bool:
    """Return whether settings have our defaults, which `Crawler.settings` may lose.

    `CrawlerProcess` overwrites the settings of a crawler that it did not create.
    """
    return _applied.get(id(settings)) is settings and all(
        getattr(defaults, name).keys() <= settings.getdict(name).keys()
        for name in _MERGED
    )


def is_of_shell(settings: BaseSettings) -> bool:
    """Return whether `scrapy shell` runs: only it sets a filter."""
    priority = SETTINGS_PRIORITIES["command"]
    return settings.getpriority("DUPEFILTER_CLASS") == priority


def apply_values(settings: BaseSettings) -> None:
    """Add our defaults of settings without components, with the lowest priority."""
    for name in _PLAIN:
        if (settings.getpriority(name) or 0) < _ADDON:
            settings.set(name, getattr(defaults, name), "addon")


def apply_feed_formats(settings: BaseSettings) -> None:
    """Add our formats of feeds, for `-o` and `-O`."""
    _merge(settings, "FEED_EXPORTERS")


def _set_scheduler(settings: BaseSettings) -> None:
    """Set the frontier's scheduler if the project sets another for its spiders.

    If one of our spiders or the command line sets another, it is refused later.
    """
    is_of_project = settings.getpriority("SCHEDULER") == SETTINGS_PRIORITIES["project"]
    if is_of_project and not is_a(settings["SCHEDULER"], _SCHEDULER):
        settings.set("SCHEDULER", _SCHEDULER, "project")


def _set_retry_exceptions(settings: BaseSettings) -> None:
    """Copy Scrapy's list without importing its HTTP handler."""
    name = "RETRY_EXCEPTIONS"
    if (settings.getpriority(name) or 0) < _ADDON:
        listed = settings.getlist(name)
        known = [_OUR_TUNNEL_ERROR if e == _TUNNEL_ERROR else e for e in listed]
        settings.set(name, known, "addon")


def _merge(settings: BaseSettings, name: str) -> None:
    ours: dict[str, Any] = getattr(defaults, name)
    theirs = dictionary(name, settings.get(name))
    missing = dict(ours)
    for key, order in theirs.items():
        for known in _replaced_by(name, key, ours, is_on=order is not None):
            missing.pop(known, None)
    if missing:
        priority = max(_ADDON, settings.getpriority(name) or 0)
        settings.set(name, {**missing, **theirs}, priority)


def _leave_out(settings: BaseSettings, name: str, switched: Mapping[str, str]) -> None:
    """Remove switched-off components from Scrapy's list.

    With None in our list, they would be imported: Scrapy resolves each key there.
    """
    base = settings.getdict(name)
    off = {path for switch, path in switched.items() if not is_on(settings, switch)}
    if off & base.keys():
        left = {path: order for path, order in base.items() if path not in off}
        settings.set(name, left, settings.getpriority(name) or 0)


def _replaced_by(
    setting: str, key: Any, ours: Mapping[str, Any], *, is_on: bool
) -> set[str]:
    """Return the components of ours that one of a project replaces.

    These are its own path, as it may be a class or an alias, and its bases.
    """
    if key in ours or setting in _BY_NAME:  # as usual, and needs no import
        paths = [str(key)]
    else:
        found = load_setting(setting, str(key), key)
        classes = getattr(found, "__mro__", (found,))
        paths = [f"{x.__module__}.{getattr(x, '__qualname__', '')}" for x in classes]
    if not is_on:
        return {paths[0]}
    bases = {path for path in paths if ours.get(path) is not None}
    return {paths[0], *bases, *([_OUR_FEEDS] if _FEEDS in paths else [])}


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
    "make_request_from_data": "method, meta and form fields of JSON entries",
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
    - {"make_request_from_data", "start_requests"}
)
_PIPELINES: Final = "rdfcrawl.pipelines."
# Without these, a document is fetched and lost.
_NEEDED_PIPELINES: Final = (
    f"{_PIPELINES}extract.ExtractPipeline",
    f"{_PIPELINES}discover.DiscoverPipeline",
    f"{_PIPELINES}account.AccountPipeline",
)
_STORE: Final = f"{_PIPELINES}store.StorePipeline"


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
    for path in _enabled(settings, "SPIDER_MIDDLEWARES"):
        load_setting("SPIDER_MIDDLEWARES", str(path), path)
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
    if serializer := settings.get(_SERIALIZER):
        load_setting(_SERIALIZER, str(serializer), serializer)
    if settings.get("HTTPAUTH_USER") and not settings.getpriority("HTTPAUTH_DOMAIN"):
        raise ConfigError(
            "HTTPAUTH_USER: needs HTTPAUTH_DOMAIN, the domain that gets the password"
        )


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
    yield from _iter_unread_keys(settings, spider)
    if not _has(_enabled(settings, "ITEM_PIPELINES"), _STORE):
        yield f"ITEM_PIPELINES: without {_STORE} no quads are stored"


def _iter_unread_keys(settings: BaseSettings, spider: type[Spider]) -> Iterator[str]:
    """Yield a line if the key of a spider has precedence over the command line."""
    key = getattr(spider, "redis_key", None)
    # In the settings of a project, it is for the spiders without a key of their own.
    is_given = settings.getpriority(_PUSHED) == SETTINGS_PRIORITIES["cmdline"]
    if key is not None and is_given:
        yield f"{_PUSHED} has no effect on spider {spider.name}: its redis_key is {key}"


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
    if value in (None, wanted):
        return
    if not is_a(load_setting(name, str(value), value), wanted):
        raise ConfigError(f"{name}={value}: visits need {wanted}")


def _enabled(settings: BaseSettings, name: str) -> list[Any]:
    given = settings.getdict(name)
    return [key for key, order in given.items() if order is not None]


def _has(components: list[Any], wanted: str) -> bool:
    return wanted in components or any(is_a(each, wanted) for each in components)


def declared_settings() -> dict[str, Setting]:
    """Return all declared settings by name; their modules are imported."""
    for module in _modules(files("rdfcrawl"), "rdfcrawl"):
        with suppress(ImportError):  # of an extra that is not installed
            import_module(module)
    return dict(_in_imported_tables())


def unknown_settings(settings: BaseSettings) -> Iterator[str]:
    """Yield a line for each name on a command line that no setting has.

    It is no error, as a component of a user may read it. In a project of a user, only
    names that are like one of a setting count. Modules are imported only for names that
    are in no imported table: call it when those of the command are.
    """
    own = {name for name, _ in _in_imported_tables()}
    known = {*vars(default_settings), *vars(defaults), *_WITHOUT_TABLE, *own}
    given = [x for x in settings if settings.getpriority(x) == _CMDLINE]
    if known.issuperset(given):
        return
    known |= declared_settings().keys()
    is_our_project = os.environ.get(ENVVAR) == _OURS
    for name in given:
        like = perhaps(name.upper(), known)
        if name not in known and (like or is_our_project):
            yield f"-s {name}: neither Scrapy nor rdfcrawl has this setting{like}"


def _in_imported_tables() -> Iterator[tuple[str, Setting]]:
    for table in _tables(OptionsTable):
        for _, setting in settings_of(table):
            yield setting.name, setting


def _modules(folder: Traversable, package: str) -> Iterator[str]:
    """Yield the modules of a package that declare settings, without importing any."""
    for each in folder.iterdir():
        name = f"{package}.{each.name.removesuffix('.py')}"
        if each.is_dir():
            yield from _modules(each, name)
        elif each.name.endswith(".py") and _TABLE in each.read_text("utf-8"):
            yield name


def _tables(base: type[OptionsTable]) -> Iterator[type[OptionsTable]]:
    for table in base.__subclasses__():
        yield table
        yield from _tables(table)

"""Add our defaults to the settings of any Scrapy project, below its own values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakValueDictionary

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from scrapy.utils.misc import load_object

from rdfcrawl.core.options import defaults
from rdfcrawl.core.options.values import is_a, is_on, mapping

# Components of Scrapy, to which ours are added.
_MERGED: Final = (
    *("DOWNLOADER_MIDDLEWARES", "DOWNLOAD_HANDLERS", "DOWNLOAD_SLOTS", "EXTENSIONS"),
    *("FEED_EXPORTERS", "ITEM_PIPELINES"),
)
_PLAIN: Final = tuple(
    name for name in vars(defaults) if name.isupper() and name not in _MERGED
)
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
    theirs = mapping(settings, name)
    missing = dict(ours)
    for key in theirs:
        # Most keys are ours, and need no import.
        known = key if key in ours else _path_of(name, key)
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


def _path_of(setting: str, key: Any) -> str:
    """Return the path of a key, which may be a class or an alias."""
    if setting in _BY_NAME:
        return str(key)
    found = load_object(key)
    return f"{found.__module__}.{getattr(found, '__qualname__', '')}"

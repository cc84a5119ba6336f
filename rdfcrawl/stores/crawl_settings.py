"""The settings with which a crawl was started, without secrets, in its folder.

So a page that is started from elsewhere knows them. The file `settings.json` has those
that differ from the defaults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, Final

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from rdfcrawl.core.errors import hide_logins
from rdfcrawl.core.options import defaults
from rdfcrawl.stores.files import replacing_file

HIDDEN: Final = "***"
"""In place of a secret."""
SETTINGS_NAME: Final = "settings.json"
_SOURCES: Final = {
    SETTINGS_PRIORITIES["project"]: "project",
    SETTINGS_PRIORITIES["spider"]: "spider",
    SETTINGS_PRIORITIES["cmdline"]: "command line",
}
_DEFAULT: Final = object()
# Of one process, or shown elsewhere.
_LEFT_OUT: Final = re.compile(
    r"STORES|PROGRESS|DESCRIBE|LOG_FILE(_APPEND)?|CRAWL_(DIR|ID|RUN|WORKER|PAGE_\w+)"
    r"|(SETTINGS|COMMANDS)_MODULE|TWISTED_REACTOR|ASYNCIO_EVENT_LOOP"
    r"|BOT_NAME|SPIDER_MODULES|NEWSPIDER_MODULE|ADDONS|FEEDS"
).fullmatch
_MAX_BYTES: Final = 1024 * 1024
_MAX_CHARS: Final = 2000  # of a text
_MAX_DEPTH: Final = 5
is_secret: Final = re.compile(
    r"PASS|SECRET|TOKEN|(ACCESS|API|PRIVATE)[_-]?KEY|AUTH|COOKIE|CREDENTIAL"
    r"|BEARER|SIGNATURE|SESSION[_-]?ID|LOGIN",
    re.IGNORECASE,
).search
"""Whether the name of a setting, or of a part of one, is that of a secret."""


@dataclass(frozen=True, slots=True)
class KeptSetting:
    """A setting of a crawl.

    Attributes:
        name: of the setting.
        value: as in JSON; `HIDDEN` in place of secrets.
        source: `project`, `spider` or `command line`.
    """

    name: str
    value: Any
    source: str


def settings_to_keep(settings: BaseSettings) -> list[KeptSetting]:
    """Return the settings of a crawl that differ from the defaults, without secrets."""
    found = []
    for name, attribute in sorted(settings.attributes.items()):
        source = _SOURCES.get(attribute.priority)
        value = _besides_defaults(name, attribute.value)
        if source and value is not _DEFAULT and not _LEFT_OUT(name):
            found.append(KeptSetting(name, _shown(name, value, _MAX_DEPTH), source))
    return found


def _besides_defaults(name: str, value: Any) -> Any:
    """Return a setting without our components; `_DEFAULT` if nothing is left."""
    ours = getattr(defaults, name, None)
    if isinstance(value, BaseSettings | Mapping) and isinstance(ours, dict):
        rest = {key: value[key] for key in value if ours.get(key, value) != value[key]}
        return rest or _DEFAULT
    return _DEFAULT if hasattr(defaults, name) and value == ours else value


def _shown(name: str, value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if is_secret(name) or not depth:
        return HIDDEN
    if isinstance(value, BaseSettings | Mapping):
        return {
            str(key): _shown(str(key), value[key], depth - 1)
            for key in sorted(value, key=str)
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_shown(name, each, depth - 1) for each in value]
    text = (
        value if isinstance(value, str | Path) else getattr(value, "__qualname__", "")
    )
    if isinstance(text, str) and text.lstrip()[:1] in ("{", "["):  # of `-s`
        with suppress(ValueError, RecursionError):
            return _shown(name, json.loads(text), depth - 1)
    return hide_logins(str(text) or type(value).__qualname__)[:_MAX_CHARS]


def keep_settings(root: Path, settings: BaseSettings) -> None:
    """Write the settings of a crawl to its folder, if that exists.

    Args:
        root: `CRAWL_DIR/<CRAWL_ID>`.
        settings: of the crawler.
    """
    rows = [astuple(each) for each in settings_to_keep(settings)]
    with suppress(OSError):  # a full disk is reported by the stores
        if root.is_dir():
            with replacing_file(root / SETTINGS_NAME, is_lasting=False) as file:
                file.write(json.dumps(rows) + "\n")


def read_settings(root: Path) -> list[KeptSetting] | None:
    """Return the settings of a crawl; None if they are not known."""
    try:
        with (root / SETTINGS_NAME).open("rb") as file:
            rows = json.loads(file.read(_MAX_BYTES))
        return [
            KeptSetting(str(name), value, str(source)) for name, value, source in rows
        ]
    except (OSError, ValueError, TypeError):
        return None

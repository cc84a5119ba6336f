"""Settings that say which URIs are one, and which share a queue: a crawl keeps them.

With others, what was seen would not be found again, and would be crawled once more.
"""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from scrapy.settings import SETTINGS_PRIORITIES

from rdfcrawl.errors import ConfigError
from rdfcrawl.uri import HostGrouping, NormalForm, PolitenessKey

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfcrawl.frontier.client import Frontier
    from rdfcrawl.frontier.options import CrawlOptions

logger = logging.getLogger(__name__)


async def keep_settings(
    frontier: Frontier, options: CrawlOptions, settings: BaseSettings
) -> CrawlOptions:
    """Return the options with the settings that the crawl was begun with.

    Raises:
        ConfigError: the command line gives one of them another value.
    """
    wanted = {
        "POLITENESS_KEY": str(options.keys.grouping),
        "SESSION_PARAMETERS": json.dumps(options.normal_form.session_parameters),
    }
    conf = frontier.key("conf")
    kept = {}
    for name, value in wanted.items():
        await frontier.redis.hsetnx(conf, name.lower(), value)
        stored = await frontier.redis.hget(conf, name.lower())
        kept[name] = cast("bytes", stored).decode()
        if kept[name] != value:
            _tell(name, kept[name], settings, frontier.crawl_id)
    parameters = tuple(json.loads(kept["SESSION_PARAMETERS"]))
    return replace(
        options,
        keys=PolitenessKey(HostGrouping(kept["POLITENESS_KEY"])),
        normal_form=NormalForm(parameters),
    )


def _tell(name: str, kept: str, settings: BaseSettings, crawl_id: str) -> None:
    message = (
        f"{name}={settings.get(name)}: crawl {crawl_id} was begun with {name}={kept},"
        " and keeps it; -a fresh=1 begins it anew"
    )
    if (settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES["cmdline"]:
        raise ConfigError(message)
    logger.warning("%s", message)

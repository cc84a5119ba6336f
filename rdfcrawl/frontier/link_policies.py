"""The class of the user's that chooses among the links of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rdfcrawl.core.options.values import build_setting, check_method, load_setting
from rdfcrawl.rdf.links.policy import EveryLink

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


def link_policy_class(settings: BaseSettings) -> type[EveryLink]:
    """Return the class that chooses among the links of documents.

    Raises:
        ConfigError: the setting names none, or one that is no policy.
    """
    path = settings.get("LINK_POLICY_CLASS")
    found = load_setting("LINK_POLICY_CLASS", "class", path)
    check_method(f"LINK_POLICY_CLASS={path}", found, "choose", 2)
    return cast("type[EveryLink]", found)


def link_policy_of(crawler: Crawler) -> EveryLink | None:
    """Return the policy of the user; None if every link is followed.

    Raises:
        ConfigError: as `link_policy_class`.
    """
    found = link_policy_class(crawler.settings)
    if found is EveryLink:
        return None
    return cast("EveryLink", build_setting("LINK_POLICY_CLASS", found, crawler))

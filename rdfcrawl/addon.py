"""The add-on for Scrapy projects: `ADDONS = {"rdfcrawl.Addon": 500}`."""

from __future__ import annotations

from typing import Final

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from rdfcrawl.core.json_logs import install_json_logs

SPIDERS: Final = "rdfcrawl.spiders"
PATH: Final = "rdfcrawl.Addon"


class Addon:
    """The add-on that brings our spiders into a Scrapy project.

    Nothing that the project sets is changed, and nothing is set for its other spiders:
    the defaults of our settings, our scheduler, pipelines and middlewares come with the
    spider class (`RdfSpider.update_settings`). Scrapy loads commands before add-ons, so
    a project names ours itself: `COMMANDS_MODULE = "rdfcrawl.commands"`.
    """

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:
        """Add our spiders to `SPIDER_MODULES`, before those of the project.

        So a spider of the project replaces the one of ours that has its name. Logs are
        JSON from now on, if the settings say so.
        """
        install_json_logs(settings)
        name = "SPIDER_MODULES"
        modules = settings.getlist(name)
        if SPIDERS not in modules:
            priority = settings.getpriority(name) or 0
            least = SETTINGS_PRIORITIES["addon"]
            settings.set(name, [SPIDERS, *modules], max(priority, least))

"""The settings of our own Scrapy project: the defaults, and what only a project has."""

from rdfcrawl.core.options.defaults import *  # noqa: F403 (the settings of a project are its names)

BOT_NAME = "rdfcrawl"
SPIDER_MODULES = ["rdfcrawl.spiders"]
NEWSPIDER_MODULE = "rdfcrawl.spiders"
COMMANDS_MODULE = "rdfcrawl.commands"

# Of the process, not of a spider; libuv's loop is the quicker one.
TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
ASYNCIO_EVENT_LOOP = "uvloop.Loop"

"""The settings of our own Scrapy project: the defaults, and what only a project has."""

from rdfcrawl.core.options.defaults import *  # noqa: F403 (the settings of a project are its names)

BOT_NAME = "rdfcrawl"
"""the name of the project"""
SPIDER_MODULES = ["rdfcrawl.spiders"]
"""where the spiders are"""
NEWSPIDER_MODULE = "rdfcrawl.spiders"
"""the same for `scrapy genspider`"""
COMMANDS_MODULE = "rdfcrawl.commands"
"""[our commands](commands.md)"""

# Of the process, not of a spider; libuv's loop is the quicker one.
TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
"""visits use asyncio"""
ASYNCIO_EVENT_LOOP = "uvloop.Loop"
"""it is faster"""

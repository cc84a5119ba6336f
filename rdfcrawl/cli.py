"""The command `rdfcrawl`: our commands and those of Scrapy, with or without a project.

In a Scrapy project, its settings count, and our add-on is one of its add-ons. In any
other folder, the settings are those of our own project.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from cProfile import Profile
from importlib import import_module
from typing import Any, Final, NoReturn

from scrapy.commands import ScrapyCommand, ScrapyHelpFormatter
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from scrapy.utils.project import ENVVAR, get_project_settings

from rdfcrawl.addon import PATH, SPIDERS
from rdfcrawl.core import __version__
from rdfcrawl.core.console import fail, report_interrupts
from rdfcrawl.core.messages import perhaps
from rdfcrawl.launch.crawls import check_name, load_addons, load_spiders

_PACKAGES: Final = {
    "rdfcrawl.commands": "changes crawl dataweb demo explain export frontier genspider"
    " keep list look page ping query rdf refresh report results runspider settings"
    " shell store urldb verify workers",
    "scrapy.commands": "check fetch parse view",
}
COMMANDS: Final = dict(
    sorted((name, home) for home, names in _PACKAGES.items() for name in names.split())
)
"""The commands by name, each with its package."""
_OURS: Final = "rdfcrawl.settings"
_REACTOR: Final = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


def main() -> NoReturn:
    """Run the command named on the command line."""
    execute(sys.argv)


def execute(argv: Sequence[str]) -> NoReturn:
    """Run a command, and exit with its code.

    The first word of `argv` behind the program that is no option is the command.
    """
    report_interrupts()
    words = list(argv[1:])
    name = next((word for word in words if not word.startswith("-")), "")
    if not name:
        is_asked = "--version" in words
        sys.stdout.write(f"rdfcrawl {__version__}\n" if is_asked else _overview())
        sys.exit(0)
    if name not in COMMANDS:
        like = perhaps(name, COMMANDS)
        fail(f"{name}: unknown command{like}; there are {', '.join(COMMANDS)}")
    words.remove(name)
    command = _load(name)
    _run(name, command, words)
    sys.exit(command.exitcode)


def settings_here() -> Settings:
    """Return the settings of the project with our add-on, or of our own project."""
    try:
        settings = get_project_settings()
        if ENVVAR not in os.environ:
            os.environ[ENVVAR] = _OURS  # for the processes that are started, too
            settings = get_project_settings()
            settings.set("NEWSPIDER_MODULE", None)  # `genspider` writes here, not there
    except ModuleNotFoundError as error:
        fail(f"{os.environ[ENVVAR]}: no settings of a project: {error}")
    addons = settings.getdict("ADDONS")
    if SPIDERS not in settings.getlist("SPIDER_MODULES") and PATH not in addons:
        priority = settings.getpriority("ADDONS") or 0
        settings.set("ADDONS", {**addons, PATH: 500}, priority)
    return settings


class _Parser(argparse.ArgumentParser):
    """Scrapy's parser, whose module imports all that a crawl needs."""

    def _parse_optional(self, arg_string: str) -> Any:
        """Return None for a value like `-:json` of `-o`: it is no option."""
        return None if arg_string[:2] == "-:" else super()._parse_optional(arg_string)


def _load(name: str) -> ScrapyCommand:
    command: ScrapyCommand = import_module(f"{COMMANDS[name]}.{name}").Command()
    return command


def _run(name: str, command: ScrapyCommand, words: list[str]) -> None:
    settings = command.settings = settings_here()
    settings.setdict(command.default_settings, priority="command")
    load_addons(settings.copy())  # before Scrapy does, with a traceback
    parser = _Parser(
        prog="rdfcrawl",
        usage=f"rdfcrawl {name} {command.syntax()}",
        formatter_class=ScrapyHelpFormatter,
        conflict_handler="resolve",
        description=command.long_desc(),
    )
    command.add_options(parser)
    options, rest = parser.parse_known_args(words)
    if spider := getattr(options, "spider", None):
        check_name(spider, load_spiders(settings))
    try:
        command.process_options(rest, options)
        if command.requires_crawler_process:
            from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess  # noqa: PLC0415  (few commands crawl)

            is_async = settings["TWISTED_REACTOR"] == _REACTOR
            kind: Any = AsyncCrawlerProcess if is_async else CrawlerProcess
            command.crawler_process = kind(settings)
        _call(command, rest, options)
    except UsageError as error:
        if error.args:
            parser.error(str(error))
        if error.print_help:
            parser.print_help()
        sys.exit(2)


def _call(command: ScrapyCommand, rest: list[str], options: argparse.Namespace) -> None:
    if not options.profile:
        command.run(rest, options)
        return
    profile = Profile()
    profile.runcall(command.run, rest, options)
    profile.dump_stats(options.profile)


def _overview() -> str:
    rows = [f"  {name:<10} {_load(name).short_desc()}" for name in COMMANDS]
    lines = [
        f"rdfcrawl {__version__}, the crawler for the Web of Data",
        "",
        "Usage:",
        "  rdfcrawl <command> [options] [args]",
        "",
        "Commands:",
        *rows,
        "",
        "`rdfcrawl <command> -h` tells more of each.",
    ]
    return "\n".join(lines) + "\n"

"""The README and `docs/` match the code; see `test_docs_examples`, too."""

from __future__ import annotations

import argparse
import ast
import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest
from scrapy.commands import ScrapyCommand
from scrapy.settings import default_settings
from scrapy.utils.project import get_project_settings
from scrapy_redis.connection import SETTINGS_PARAMS_MAP

from rdfcrawl import settings as our_settings
from rdfcrawl.core.errors import Decision, Reason
from rdfcrawl.frontier.arguments.crawl import ARGUMENTS, of_one
from rdfcrawl.frontier.queue.candidate import RejectedLinks
from rdfcrawl.launch.crawls import our_spiders
from rdfcrawl.stores.options import STORE_CLASSES
from rdfcrawl.stores.provenance.records import Status
from tests.support import arguments_page, settings_page
from tests.support.page_tables import code_in, names, project_commands, section
from tests.support.pages import FENCES, PAGES, ROOT, read_page

if TYPE_CHECKING:
    from collections.abc import Iterator


IDS = [str(page.relative_to(ROOT)) for page in PAGES]


def nodes(pattern: str) -> Iterator[ast.AST]:
    """Yield every node of the package's modules that match a pattern."""
    for path in sorted((ROOT / "rdfcrawl").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if re.search(pattern, text):
            yield from ast.walk(ast.parse(text))


# -- settings ------------------------------------------------------------------------


def settings_read_elsewhere() -> set[str]:
    """Return the settings that the code reads without a table of settings."""
    found = set()
    for node in nodes(r"settings\.get"):
        match node:
            case ast.Call(ast.Attribute(value, name), [ast.Constant(str(setting)), *_]):
                of_settings = ast.unparse(value).endswith("settings")
                if of_settings and name.startswith("get"):
                    found.add(setting)
    return found


def test_settings_page_is_written_from_the_declarations() -> None:
    """If a setting is declared, then its page has its default, range and text."""
    page = read_page("settings.md")
    assert page == settings_page.drawn(page), (
        "run python -m tests.support.settings_page"
    )
    assert len(settings_page.declared()) > 150


def test_settings_are_declared() -> None:
    """If a setting is ours, then a table declares it, and Scrapy's have our default."""
    redis = {*SETTINGS_PARAMS_MAP, "REDIS_PARAMS", "SCHEDULER_SERIALIZER"}
    known = {*vars(default_settings), *settings_page.declared(), *redis}
    assert settings_read_elsewhere() <= known
    ours = {name for name in vars(our_settings) if name.isupper()}
    assert ours <= known
    assert names(read_page("settings.md"), "setting") <= known


def test_stores_page_names_every_kind_of_store() -> None:
    """If a scheme of URIs has a class, then the page of stores has that scheme."""
    page = read_page("stores.md")
    kinds = {scheme.partition("+http")[0] for scheme in STORE_CLASSES}
    kinds.remove("segments")  # the log itself
    named = {each for each in kinds if re.search(rf"`{each}(:PATH|:FILE|\+http)", page)}
    assert named == kinds, "add rows to stores.md"


# -- arguments, faults, statistics -----------------------------------------------------


def test_spiders_page_is_written_from_the_declarations() -> None:
    """If a spider takes an argument, then its page describes it, and if it lasts."""
    page = read_page("spiders.md")
    drawn = arguments_page.drawn(page)
    assert page == drawn, "run python -m tests.support.arguments_page"
    assert names(page, "argument") == ARGUMENTS.keys()
    (brief,) = re.findall(r"^.* one command only.*$", page, re.MULTILINE)
    assert set(code_in(brief)) == of_one("command") | of_one("run")


def test_spiders_page_lists_all_spiders() -> None:
    """If there is a spider, then the page has it, and a table of its arguments."""
    page = read_page("spiders.md")
    ours = our_spiders()
    assert names(page, "spider") == ours.keys(), "add a row to spiders.md"
    _, *parts = re.split(r"^Of `(\w+)`:$", page, flags=re.MULTILINE)
    shown = {
        spider: names(text, "argument")
        for spider, text in zip(parts[::2], parts[1::2], strict=True)
    }
    taken = {name: set(vars(each).get("takes", ())) for name, each in ours.items()}
    assert shown == {name: takes for name, takes in taken.items() if takes}, (
        "move the rows of arguments in spiders.md to the table of their spider"
    )


def test_faults_page_lists_all_reasons() -> None:
    """If a fault can have a reason, then its page has it."""
    expected = {str(reason) for reason in Reason}
    assert names(read_page("faults.md"), "reason") == expected, "add rows to faults.md"


def test_stores_page_lists_all_decisions() -> None:
    """If a URI can be refused for a reason, then the page of the log has it."""
    told = names(read_page("stores.md"), "reason")
    assert told == {str(reason) for reason in Decision}


def test_statistics_page_lists_all_keys() -> None:
    """If the code counts under a key, then its page has it."""
    groups = "content_signal context decision document extract fault fetcher frontier"
    groups += " guard http items own_fault want"
    more = "link", "ping", "robots", "robots_tag", "shapes", "store", "tdm", "warc"
    begins = f"(?:{'|'.join([*groups.split(), *more])})"
    key = re.compile(rf"{begins}(?:/[a-z_*]+)+")
    counted = set()
    for node in nodes(f"[\"']{begins}/"):
        match node:
            case ast.Constant(str(text)) if key.fullmatch(text):
                counted.add(text)
            case ast.Constant("context/" as group):  # arguments of `count`
                counted.add(f"{group}*")
            case ast.JoinedStr(parts):
                text = "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "*"
                    for part in parts
                )
                if key.fullmatch(text):
                    counted.add(text)
    counted -= {"link/*"}
    counted |= {f"link/{each.name}" for each in fields(RejectedLinks)}
    counted -= {f"fault/{reason}" for reason in Reason}  # the page has the pattern
    told = names(read_page("statistics.md"), "key")
    assert {re.sub(r"<\w+>", "*", name) for name in told} == counted


def test_statistics_page_lists_the_variants() -> None:
    """If a key has a closed list of endings, then the page has all of them."""
    page = read_page("statistics.md")
    statuses: tuple[str, ...] = get_args(Status)
    assert names(page, "status") == {status.lower() for status in statuses}


# -- commands ------------------------------------------------------------------------


class _Plain(ScrapyCommand):
    """Has the options of every command."""

    def short_desc(self) -> str:
        """Return nothing."""
        return ""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Do nothing."""


def options_of(command: ScrapyCommand) -> list[set[str]]:
    """Return the options of a command and of its actions, each with its aliases."""
    command.settings = get_project_settings()
    parser = argparse.ArgumentParser(conflict_handler="resolve", add_help=False)
    command.add_options(parser)
    parsers = [parser]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            parsers += action.choices.values()
    found = (set(action.option_strings) for each in parsers for action in each._actions)
    return [names for names in found if names - {"-h", "--help"}]


def test_commands_page_lists_all_project_commands() -> None:
    """If there is a command of ours, then its page has it."""
    headings = re.findall(r"^## scrapy (.*)$", read_page("commands.md"), re.MULTILINE)
    assert sorted(name for name in headings if "," not in name) == project_commands()


@pytest.mark.parametrize("name", project_commands())
def test_commands_page_lists_all_options(name: str) -> None:
    """If a command of ours has an option, then its section has it."""
    if name == "dataweb":
        text = " ".join(code_in(FENCES.sub("", read_page("dataweb.md"))))
    else:
        text = " ".join(
            names(section(read_page("commands.md"), f"scrapy {name}"), "option")
        )
    told = set(re.findall(r"(?<!\S)--?[A-Za-z][a-z-]*", text))
    options = options_of(import_module(f"rdfcrawl.commands.{name}").Command())
    everywhere = set().union(*options_of(_Plain()))
    assert [names for names in options if not names & (told | everywhere)] == []
    assert told <= set().union(*options)


def test_make_goals_exist() -> None:
    """If a page says `make something`, then the Makefile can make it."""
    goals = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r"(?:`|^\$ )make (\w+)", text, re.MULTILINE))
    assert {"demo", "test"} <= named <= goals


# -- links ---------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page, as GitHub makes them of headings."""
    text = FENCES.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_internal_links_lead_somewhere(page: Path) -> None:
    """If a page links to a file or a heading, then it is there."""
    text = FENCES.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), target


def test_named_files_exist() -> None:
    """If a page for contributors names a file or folder, then it exists."""
    pages = ROOT / "CONTRIBUTING.md", ROOT / "docs/explanation/architecture.md"
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    named = set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", text))
    assert len(named) > 70
    missing = [
        path
        for path in named
        if not ((ROOT / path).exists() or (ROOT / "rdfcrawl" / path).exists())
    ]
    assert not missing


def test_index_links_all_pages() -> None:
    """If there is a page, then the index of the documentation leads to it."""
    index = ROOT / "docs" / "README.md"
    targets = re.findall(r"\]\(([^)#\s]+)", index.read_text(encoding="utf-8"))
    linked = {(index.parent / target).resolve() for target in targets}
    pages = {page for page in PAGES if page.parent != ROOT} - {index}
    assert pages <= linked

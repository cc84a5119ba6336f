"""The README and `docs/` say what the code does; see `test_docs_examples`, too."""

from __future__ import annotations

import argparse
import ast
import re
from dataclasses import fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from scrapy.commands import ScrapyCommand
from scrapy.settings import default_settings
from scrapy.utils.project import get_project_settings
from scrapy_redis.connection import SETTINGS_PARAMS_MAP

from rdfcrawl import settings as our_settings
from rdfcrawl.core.errors import Decision, Reason
from rdfcrawl.core.formats import FORMATS
from rdfcrawl.core.options.defaults import STORE_CLASSES
from rdfcrawl.frontier.arguments.crawl import CrawlArguments
from rdfcrawl.frontier.queue.candidate import RejectedLinks
from rdfcrawl.pipelines.provenance import Status
from tests.support.page_tables import code_in, names, project_commands, rows, section
from tests.support.pages import FENCES, PAGES, ROOT, read_page

if TYPE_CHECKING:
    from collections.abc import Iterator


IDS = [str(page.relative_to(ROOT)) for page in PAGES]
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "h": 3600}

_READERS = {"is_on", "mapping", "one_of", "value_of"}  # of other settings than numbers


def nodes(pattern: str) -> Iterator[ast.AST]:
    """Yield every node of the package's modules that match a pattern."""
    for path in sorted((ROOT / "rdfcrawl").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if re.search(pattern, text):
            yield from ast.walk(ast.parse(text))


# -- settings ------------------------------------------------------------------------


@cache
def settings_read() -> dict[str, tuple[float, float] | None]:
    """Return the settings that the code reads, with the range it asks for."""
    found: dict[str, tuple[float, float] | None] = {}
    readers = "|".join((*_READERS, "number", "integer"))
    for node in nodes(rf"settings\.get|\b({readers})\("):
        if not isinstance(node, ast.Call):
            continue
        called, given = node.func, node.args
        if isinstance(called, ast.Attribute) and called.attr.startswith("get"):
            if ast.unparse(called.value).endswith("settings"):
                match given[0]:
                    case ast.Constant(str(name)):
                        found.setdefault(name, None)
        elif isinstance(called, ast.Name) and called.id in _READERS:
            match given[1]:
                case ast.Constant(str(name)):
                    found[name] = None
        elif isinstance(called, ast.Name) and called.id in {"number", "integer"}:
            match given[1:]:
                case [ast.Constant(str(name)), *limits]:
                    least, *most = [float(number_of(limit)) for limit in limits]
                    found[name] = least, most[0] if most else float("inf")
    return found


def number_of(node: ast.expr) -> Any:
    """Return the value of constants and their products."""
    return eval(ast.unparse(node), {"__builtins__": {}})


def in_settings_py() -> dict[str, Any]:
    """Return what the project sets."""
    return {name: value for name, value in vars(our_settings).items() if name.isupper()}


def scrapys() -> set[str]:
    """Return the settings that Scrapy itself reads."""
    return {name for name in vars(default_settings) if name.isupper()}


def value_of(cell: str) -> object:
    """Return the value that a cell of the column `default` stands for."""
    text = cell.strip("`")
    number, _, unit = text.partition(" ")
    if unit in UNITS:
        return float(number) * UNITS[unit]
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def test_settings_page_lists_all_settings_and_no_others() -> None:
    """If a setting is read or set by the project, then its page has it."""
    redis = {*SETTINGS_PARAMS_MAP, "REDIS_PARAMS"} - {"REDIS_DECODE_RESPONSES"}
    expected = in_settings_py().keys() | (settings_read().keys() - scrapys()) | redis
    assert names(read_page("settings.md"), "setting") == expected


def test_settings_of_the_project_have_an_effect() -> None:
    """If the project sets something, then Scrapy or the project reads it."""
    assert in_settings_py().keys() <= settings_read().keys() | scrapys()


def test_settings_page_tells_the_defaults() -> None:
    """If the page gives a value as the default, then the project sets it."""
    told = {
        name: value_of(row["default"])
        for row in rows(read_page("settings.md"), "setting")
        for name in code_in(row["setting"])
        if name in in_settings_py() and ("why" not in row or row["default"][0] == "`")
        if name not in {"STORE_CLASSES", "GUARD_PORTS"}  # described in words
    }
    assert told == {name: in_settings_py()[name] for name in told}
    assert len(told) > 40


def test_stores_page_names_every_kind_of_store() -> None:
    """If a scheme of URIs has a class, then the page of stores has that scheme."""
    page = read_page("stores.md")
    kinds = {scheme.partition("+http")[0] for scheme in STORE_CLASSES}
    kinds.remove("segments")  # the log itself
    named = {each for each in kinds if re.search(rf"`{each}(:PATH|:FILE|\+http)", page)}
    assert named == kinds


def test_settings_page_tells_the_ranges() -> None:
    """If the code refuses numbers out of a range, then the page tells it."""
    told = {}
    for row in rows(read_page("settings.md"), "setting"):
        text = row.get("range", "").removeprefix("from ")
        if re.fullmatch(r"[\d.]+( to [\d.]+)?", text):
            least, _, most = text.partition(" to ")
            told[row["setting"].strip("`")] = float(least), float(most or "inf")
    assert told == {name: each for name, each in settings_read().items() if each}


# -- arguments, faults, statistics -----------------------------------------------------


def test_spiders_page_lists_all_arguments() -> None:
    """If a spider takes an argument, then its page has it."""
    expected = {one.name for one in fields(CrawlArguments)}
    assert names(read_page("spiders.md"), "argument") == expected


def test_spiders_page_lists_all_spiders() -> None:
    """If there is a spider, then the page has it."""
    paths = (ROOT / "rdfcrawl" / "spiders").glob("*.py")
    expected = {path.stem for path in paths} - {"__init__", "base", "frontier"}
    assert names(read_page("spiders.md"), "spider") == expected


def test_faults_page_lists_all_reasons() -> None:
    """If a fault can have a reason, then its page has it."""
    assert names(read_page("faults.md"), "reason") == {str(reason) for reason in Reason}


def test_stores_page_lists_all_decisions() -> None:
    """If a URI can be refused for a reason, then the page of the log has it."""
    told = names(read_page("stores.md"), "reason")
    assert told == {str(reason) for reason in Decision}


def test_statistics_page_lists_all_keys() -> None:
    """If the code counts under a key, then its page has it."""
    groups = "content_signal context decision document extract fault fetcher frontier"
    groups += " guard http own_fault"
    more = "link", "ping", "robots", "robots_tag", "shapes", "store", "tdm", "warc"
    begins = f"(?:{'|'.join([*groups.split(), *more])})"
    key = re.compile(rf"{begins}(?:/[a-z_*]+)+")
    counted = set()
    for node in nodes(f"[\"']{begins}/"):
        match node:
            case ast.Constant(str(text)) if key.fullmatch(text):
                counted.add(text)
            case ast.Constant("context/" as group):  # what `count` is called with
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
    line = next(row for row in rows(page, "key") if "<format>" in row["key"])
    assert set(code_in(line["what is counted"])) == {each.name for each in FORMATS}


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


def test_index_links_all_pages() -> None:
    """If there is a page, then the index of the documentation leads to it."""
    index = ROOT / "docs" / "README.md"
    targets = re.findall(r"\]\(([^)#\s]+)", index.read_text(encoding="utf-8"))
    linked = {(index.parent / target).resolve() for target in targets}
    pages = {page for page in PAGES if page.parent != ROOT} - {index}
    assert pages <= linked

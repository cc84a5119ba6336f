"""The README and `docs/` say what the code does, and their examples run."""

from __future__ import annotations

import argparse
import ast
import doctest
import os
import re
import shlex
import signal
import socket
import sys
import time
from dataclasses import dataclass, field, fields
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, get_args

import pytest
from scrapy.commands import ScrapyCommand
from scrapy.settings import default_settings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.project import get_project_settings

from rdfcrawl import settings as our_settings
from rdfcrawl.arguments.crawl import ArgumentSet, CrawlArguments
from rdfcrawl.errors import ConfigError, Reason
from rdfcrawl.formats import FORMATS
from rdfcrawl.frontier.candidate import RejectedLinks
from rdfcrawl.frontier.redis_client import NAMES
from rdfcrawl.frontier.redis_program import find_server
from rdfcrawl.options.defaults import STORE_CLASSES
from rdfcrawl.pipelines.provenance import Status
from tests.conftest import LOOPBACK_NETS
from tests.support.command_forks import shared_forks
from tests.support.pages import FENCES, PAGES, ROOT, blocks, page_path, read_page
from tests.support.project import forks_of
from tests.support.written_logs import write_log

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.support.command_forks import CommandForks, ForkedCommand
    from tests.support.project import InstalledPackage

IDS = [str(page.relative_to(ROOT)) for page in PAGES]
TUTORIAL = page_path("first-crawl.md")
SPIDERS = ("linkeddata", "sitemap", "resourcesync", "ckan", "sparql", "warc")
_BASH = """
import os, signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
os.execvp("bash", ["bash", "-c", sys.argv[1]])
"""
_PROGRAMS = {"python", "rdfcrawl", "scrapy"}
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "h": 3600}

# Their examples read a crawl; other tests run them.
_WITH_DATA = (
    *("copy-a-site.md", "describe-the-crawl.md", "first-crawl.md"),
    *("parquet.md", "read-the-result.md"),
)
_READERS = {"is_on", "mapping", "one_of", "value_of"}  # of other settings than numbers
# What examples call that want a crawler; it crawls in a copy of their process.
_PREAMBLE = f"""
def crawl(seeds):
    import os, runpy, sys
    pid = os.fork()
    if pid:
        assert os.waitpid(pid, 0)[1] == 0
        return
    code = 1
    try:
        sys.argv[1:] = ["crawl", "linkeddata", "-aseeds=" + ",".join(seeds)]
        sys.argv += ["-sDOWNLOAD_DELAY=0", "-sGUARD_ALLOW_NETS={LOOPBACK_NETS}"]
        runpy.run_module("scrapy", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stderr.flush()
        os._exit(code)
"""
_code = re.compile(r"`([^`]+)`").findall


def section(text: str, heading: str) -> str:
    """Return what follows a heading, up to the next of its level."""
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows(text: str, first: str) -> list[dict[str, str]]:
    """Return the rows of all tables whose first column is called `first`."""
    found: list[dict[str, str]] = []
    header: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip()[1:-1].split("|")]
        if not line.startswith("|"):
            header = []
        elif not header:
            header = cells
        elif header[0] == first and set(line) - set("|- "):
            found.append(dict(zip(header, cells, strict=True)))
    return found


def names(text: str, first: str) -> set[str]:
    """Return what is written as code in the first columns of these tables."""
    return {name for row in rows(text, first) for name in _code(row[first])}


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
    redis = {*NAMES, "REDIS_PARAMS"}
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
        for name in _code(row["setting"])
        if name in in_settings_py() and ("why" not in row or row["default"][0] == "`")
        if name != "STORE_CLASSES"
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


def test_statistics_page_lists_all_keys() -> None:
    """If the code counts under a key, then its page has it."""
    groups = "context document fault fetcher frontier guard http link robots robots_tag"
    begins = f"(?:{'|'.join([*groups.split(), 'store', 'tdm', 'warc'])})"
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
    assert set(_code(line["what is counted"])) == {each.name for each in FORMATS}


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


def commands() -> list[str]:
    """Return the names of our commands."""
    paths = (ROOT / "rdfcrawl" / "commands").glob("[!_]*.py")
    return sorted(path.stem for path in paths)


def test_commands_page_lists_all_commands() -> None:
    """If there is a command of ours, then its page has it."""
    headings = re.findall(r"^## scrapy (.*)$", read_page("commands.md"), re.MULTILINE)
    assert sorted(name for name in headings if "," not in name) == commands()


@pytest.mark.parametrize("name", commands())
def test_commands_page_lists_all_options(name: str) -> None:
    """If a command of ours has an option, then its section has it."""
    if name == "dataweb":
        text = " ".join(_code(FENCES.sub("", read_page("dataweb.md"))))
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


# -- examples ------------------------------------------------------------------------


def examples(language: str, *, but: Sequence[str] = ()) -> list[Any]:
    """Return the blocks of a language in all pages, as parameters."""
    return [
        pytest.param(block, id=f"{page.stem}-{number}")
        for page in PAGES
        if page.name not in but
        for number, block in enumerate(
            blocks(page.read_text(encoding="utf-8"), language)
        )
    ]


@pytest.mark.parametrize("block", examples("python", but=_WITH_DATA))
def test_python_examples_run(block: str, tmp_path: Path) -> None:
    """If a page shows Python, then it runs and answers what the page says."""
    if ">>>" in block:
        example = doctest.DocTestParser().get_doctest(block, {}, "example", None, 0)
        assert doctest.DocTestRunner().run(example).failed == 0
        return
    write_log(tmp_path / "crawl" / "linkeddata", [])
    code = _PREAMBLE + block.replace("20_000", "2_000")
    folder = make_project(tmp_path)
    done = shared_forks().run("-c", code, folder=folder, env=IN_CLONE)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", examples("sh"))
def test_commands_in_pages_are_accepted(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a page shows a command that is not run here, then its arguments are right."""
    spiders = get_spider_loader(get_project_settings())
    monkeypatch.chdir(tmp_path)
    for name in ("seeds.txt", "seeds.txt.gz", "allow.txt", "deny.txt", "person.ttl"):
        Path(name).touch()
    Path("archive").mkdir()
    Path("archive/a.warc.gz").touch()
    Path("crawl/linkeddata/warc").mkdir(parents=True)
    Path("crawl/linkeddata/warc/a.warc.gz").touch()
    Path("files.txt").write_text("archive/*.warc.gz", encoding="utf-8")
    Path("people.rq").write_text("SELECT ?s ?p ?o { ?s ?p ?o }", encoding="utf-8")
    told = names(read_page("settings.md"), "setting")
    for line in block.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] not in (["scrapy"], ["rdfcrawl"]):
            continue
        assert words[1] in commands()
        given = [pair.partition("=") for pair in after("-a", words)]
        spider = next((word for word in words if word in SPIDERS), "linkeddata")
        accepts: ArgumentSet = spiders.load(spider).accepts()  # type: ignore[attr-defined]
        accepts.parse({name: value for name, _, value in given})
        assert {pair.partition("=")[0] for pair in after("-s", words)} <= told


def after(option: str, words: list[str]) -> list[str]:
    """Return the words that follow an option."""
    return [words[i + 1] for i, word in enumerate(words) if word == option]


@dataclass(slots=True)
class Step:
    """One command of a console, and what it is said to print."""

    command: str
    lines: list[str] = field(default_factory=list)


def steps(text: str) -> list[Step]:
    """Return the steps of all console blocks of a page."""
    found: list[Step] = []
    for block in blocks(text, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Step(line[2:]))
            elif line.strip():
                found[-1].lines.append(line)
    return found


_varies = re.compile(r"^this run|INFO:|startedAtTime|^#\s").search


def shape(line: str, *, is_cut_short: bool) -> str:
    """Return a line without what differs from run to run: times, sizes and hashes."""
    line = re.sub(r"[0-9a-f]{32}", "0", line)
    if is_cut_short or _varies(line):
        line = re.sub(r"\d[\d,.:]*", "0", line)
    return " ".join(line.split())


def check_output(step: Step, output: str) -> None:
    """See that a command printed the lines of the page, in order; `…` is anything."""
    cut = "^C" in step.lines
    actual = iter([shape(line, is_cut_short=cut) for line in output.splitlines()])
    for line in step.lines:
        wanted = shape(line, is_cut_short=cut)
        pattern = ".*".join(map(re.escape, wanted.split("…")))
        if line not in {"…", "^C"}:
            assert any(re.fullmatch(pattern, one) for one in actual), (line, output)


def make_project(folder: Path) -> Path:
    """Make a folder in which `scrapy` finds the project."""
    (folder / "scrapy.cfg").write_bytes((ROOT / "scrapy.cfg").read_bytes())
    return folder


def environment(python: str, **variables: str) -> dict[str, str]:
    """Return the variables of a shell in which a virtual environment is activated."""
    ours = ("SCRAPY", "REDIS", "PYTHONPATH")
    kept = {n: v for n, v in os.environ.items() if not n.startswith(ours)}
    path = f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "PYTHONUNBUFFERED": "1", **variables}


IN_CLONE = environment(sys.executable, PYTHONPATH=str(ROOT))


@dataclass(frozen=True, slots=True)
class Terminal:
    """Where commands are typed, in an environment that is activated.

    Attributes:
        forks: of its Python.
    """

    folder: Path
    python: Path
    forks: CommandForks
    env: Mapping[str, str]

    def start(self, line: str) -> Typed:
        """Start a command as a user would, with its outputs in one pipe."""
        name, *others = words = shlex.split(line)
        program = [] if name == "python" else [str(self.python.parent / name)]
        if name not in _PROGRAMS or "|" in words:
            program, others = ["-c", _BASH], [line]
        reader, writer = os.pipe()
        with os.fdopen(writer, "wb") as out:
            command = [*program, *others]
            process = self.forks.start(command, out, folder=self.folder, env=self.env)
        return Typed(process, os.fdopen(reader, encoding="utf-8"))

    def run(self, line: str) -> str:
        """Run a command to a good end; return what it printed."""
        typed = self.start(line)
        output = typed.rest()
        assert typed.process.wait() == 0, output
        return output

    def run_and_interrupt(self, line: str) -> str:
        """Press Ctrl-C when a crawl has run for a moment; return what it printed."""
        typed = self.start(line)
        begin = typed.read_until("frontier in")
        time.sleep(2.5)
        typed.process.send_signal(signal.SIGINT)
        return begin + typed.rest()


@dataclass(frozen=True, slots=True)
class Typed:
    """A command that was typed, and what it prints."""

    process: ForkedCommand
    out: TextIO

    def read_until(self, text: str) -> str:
        """Return what is printed up to a line that has a text in it."""
        lines = []
        for line in self.out:
            lines.append(line)
            if text in line:
                break
        return "".join(lines)

    def rest(self) -> str:
        """Return all that is still printed."""
        with self.out:
            return self.out.read()


def free_port() -> int:
    """Return a port that is free on the first host of the synthetic web."""
    with socket.socket() as one:
        one.bind(("127.42.0.1", 0))
        return int(one.getsockname()[1])


def check_console(consoles: list[Step], terminal: Terminal) -> None:
    """Type commands while the first of them serves a web."""
    serve, *others = consoles
    web = terminal.start(serve.command)
    try:
        check_output(serve, web.read_until("Ctrl-C"))
        for step in others:
            has_key = "^C" in step.lines
            run = terminal.run_and_interrupt if has_key else terminal.run
            check_output(step, run(step.command))
    finally:
        web.process.send_signal(signal.SIGINT)
        web.rest()


def consoles_of(*pages: Path) -> list[Step]:
    """Return the steps of pages, the synthetic web of which is at a free port."""
    port = free_port()
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    text = text.replace(":8085", f":{port}").replace("port 8085", f"port {port}")
    return steps(re.sub(r"(?m)^(\$ .* dataweb serve .*)$", rf"\1 --port {port}", text))


@pytest.fixture
def server() -> None:
    """Skip the test where no server for the frontier is installed."""
    try:
        find_server()
    except ConfigError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("server")
def test_tour_of_the_readme(tmp_path: Path) -> None:
    """If a newcomer types what the README says, then they see what it shows."""
    demo, *others = consoles_of(*(page for page in PAGES if page != TUTORIAL))
    assert demo.command == "make demo"
    assert "scrapy demo" in (ROOT / "Makefile").read_text()
    python, forks = Path(sys.executable), shared_forks()
    terminal = Terminal(make_project(tmp_path), python, forks, IN_CLONE)
    demonstration = terminal.start("scrapy demo")
    try:
        check_console(others, terminal)
        check_output(demo, demonstration.rest())
        assert demonstration.process.wait() == 0
    finally:
        demonstration.process.kill()


@pytest.mark.usefixtures("server")
def test_tutorial(tmp_path: Path, installed: InstalledPackage) -> None:
    """If a newcomer follows the tutorial in an empty folder, then it is as it says."""
    for block in blocks(TUTORIAL.read_text(encoding="utf-8"), "python"):
        name = block.partition("\n")[0].removeprefix("# ")
        (tmp_path / name).write_text(block, encoding="utf-8")
    python = installed.python
    env = environment(str(python))
    terminal = Terminal(tmp_path, python, forks_of(python), env)
    check_console(consoles_of(TUTORIAL), terminal)

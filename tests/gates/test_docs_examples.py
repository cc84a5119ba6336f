"""The examples of the README and of `docs/` run, and give the shown output."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import signal
import socket
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pytest
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.project import get_project_settings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.redis.embedded import find_server
from tests.conftest import LOOPBACK_NETS
from tests.support.command_forks import shared_forks
from tests.support.page_tables import names, project_commands
from tests.support.pages import PAGES, ROOT, blocks, page_path, read_page
from tests.support.project import forks_of
from tests.support.written_logs import write_log

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rdfcrawl.frontier.arguments.crawl import ArgumentSet
    from tests.support.command_forks import CommandForks, ForkedCommand
    from tests.support.project import InstalledPackage


TUTORIAL = page_path("first-crawl.md")
SPIDERS = ("linkeddata", "sitemap", "resourcesync", "ckan", "oaipmh", "sparql", "warc")
_BASH = """
import os, signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
os.execvp("bash", ["bash", "-c", sys.argv[1]])
"""
_PROGRAMS = {"python", "rdfcrawl", "scrapy"}


# Their examples read a crawl; other tests run them.
_WITH_DATA = (
    *("copy-a-site.md", "describe-the-crawl.md", "first-crawl.md", "items.md"),
    *("judge-sitemaps.md", "parquet.md", "read-the-result.md"),
)


# Examples that need a crawler; it crawls in a copy of their process.
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
    """If a page shows Python, then it runs and gives the results on the page."""
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
        assert words[1] in project_commands()
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
    """One command of a console, and its expected output."""

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
    """Return a line without the parts that vary by run: times, sizes and hashes."""
    line = re.sub(r"[0-9a-f]{32}", "0", line)
    if is_cut_short or _varies(line):
        line = re.sub(r"\d[\d,.:]*", "0", line)
        line = re.sub(r"\b0 (\w+)s\b", r"0 \1", line)  # may be one
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
        """Run a command to a good end; return its output."""
        typed = self.start(line)
        output = typed.rest()
        assert typed.process.wait() == 0, output
        return output

    def run_and_interrupt(self, line: str) -> str:
        """Press Ctrl-C when a crawl has run for a moment; return its output."""
        typed = self.start(line)
        begin = typed.read_until("frontier in")
        time.sleep(2.5)
        typed.process.send_signal(signal.SIGINT)
        return begin + typed.rest()


@dataclass(frozen=True, slots=True)
class Typed:
    """A typed command, and its output."""

    process: ForkedCommand
    out: TextIO

    def read_until(self, text: str) -> str:
        """Return the output up to a line that contains a text."""
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
    """If a newcomer types the commands of the README, then they see its output."""
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

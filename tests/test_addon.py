"""The add-on, and our spiders in projects of others: what is set, and what is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest
import scrapy
from scrapy.addons import AddonManager
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError
from scrapy.settings import Settings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.project import ENVVAR

import rdfcrawl
from rdfcrawl.addon import PATH
from rdfcrawl.cli import COMMANDS, execute, settings_here
from rdfcrawl.commands import genspider
from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.options import defaults
from rdfcrawl.core.options.scrapy_settings import check_components, iter_warnings
from rdfcrawl.launch import crawls as launch
from rdfcrawl.launch.options import LaunchOptions
from rdfcrawl.pipelines.spider_options import SpiderOptions
from rdfcrawl.rdf.environment import ParseLimits
from rdfcrawl.rdf.unpack.limits import UnpackLimits
from rdfcrawl.spiders.linkeddata import LinkedDataSpider
from rdfcrawl.uri.guard.policy import Guard

# What `scrapy startproject` writes, and what projects set for spiders of theirs.
PROJECT: dict[str, Any] = {
    "BOT_NAME": "people",
    "SPIDER_MODULES": ["tests.support.slow_spiders"],
    "ADDONS": {PATH: 500},
    "ROBOTSTXT_OBEY": False,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "DOWNLOAD_DELAY": 3,
    "DOWNLOAD_TIMEOUT": 7,
    "FEED_EXPORT_ENCODING": "utf-8",
    "GUARD_ALLOW_NETS": ["127.0.0.0/8"],
    "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
    "EXTENSIONS": {"scrapy.extensions.telnet.TelnetConsole": None},
    "DOWNLOAD_HANDLERS": {"ftp": "people.FtpHandler"},
}


class PlainSpider(scrapy.Spider):
    """A spider that has nothing to do with us."""

    name = "plain"


class OwnSpider(LinkedDataSpider):
    """A subclass with settings of its own."""

    name = "own"
    custom_settings: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "DOWNLOAD_DELAY": 5,
        "VISIT_MAX_SECS": 20,
    }


def settings_of(spider: type[scrapy.Spider], **changes: Any) -> Settings:
    """Return the settings of a crawler of a spider in the project."""
    project = Settings(PROJECT | changes)
    AddonManager.load_pre_crawler_settings(project)
    crawler = Crawler(spider, project)
    crawler.addons.load_settings(crawler.settings)
    return crawler.settings


def test_spiders_of_ours_stand_beside_those_of_the_project() -> None:
    """If a project has the add-on, then its spider loader finds our spiders, too."""
    project = Settings(
        PROJECT | {"SPIDER_MODULES": "tests.crawl.doors.test_own_spiders"}
    )
    AddonManager.load_pre_crawler_settings(project)
    AddonManager.load_pre_crawler_settings(project)
    modules = project.getlist("SPIDER_MODULES")
    assert modules == ["rdfcrawl.spiders", "tests.crawl.doors.test_own_spiders"]
    assert {"linkeddata", "ckan", "portals"} <= set(get_spider_loader(project).list())


def test_other_spiders_keep_their_settings() -> None:
    """If a project has the add-on, then other spiders see no other setting change."""
    without = Settings(PROJECT).copy_to_dict()
    found = settings_of(PlainSpider).copy_to_dict()
    assert found.pop("SPIDER_MODULES") == [
        "rdfcrawl.spiders",
        "tests.support.slow_spiders",
    ]
    assert without.pop("SPIDER_MODULES") == ["tests.support.slow_spiders"]
    assert found == without


def test_settings_of_the_project_are_not_overwritten() -> None:
    """If a project sets something, then our spiders have that, not our default."""
    settings = settings_of(LinkedDataSpider)
    for name, value in PROJECT.items():
        if not isinstance(value, dict) and name != "SPIDER_MODULES":
            assert settings[name] == value, name
    own = settings_of(OwnSpider)
    assert (own.getint("DOWNLOAD_DELAY"), own.getint("VISIT_MAX_SECS")) == (5, 20)


@pytest.mark.parametrize("name", [n for n in vars(defaults) if n.isupper()])
def test_what_nobody_sets_has_our_default(name: str) -> None:
    """If neither project nor spider set something, then a spider of ours has ours."""
    value = getattr(defaults, name)
    settings = settings_of(LinkedDataSpider)
    if isinstance(value, dict):
        expected = value | PROJECT.get(name, {})
        assert settings.getdict(name) == expected
    else:
        assert settings[name] == PROJECT.get(name, value)


def test_a_project_needs_no_settings_of_ours() -> None:
    """If a project only names our spiders, then their options can all be read."""
    crawler = Crawler(LinkedDataSpider, Settings())
    check_components(crawler.settings)
    assert not [*iter_warnings(crawler.settings, LinkedDataSpider, with_scrapy=False)]
    crawler.crawling = True
    with pytest.raises(ConfigError, match="USER_AGENT=rdfcrawl/"):
        LinkedDataSpider.from_crawler(crawler)
    settings = Settings({"USER_AGENT": "lab/1 (+mailto:me@lab.example)"})
    crawler = Crawler(LinkedDataSpider, settings)
    crawler.crawling = True
    options = LinkedDataSpider.from_crawler(crawler, seeds="http://a.example/").options
    assert options.fetch.max_document_bytes == defaults.DOWNLOAD_MAXSIZE


def test_a_project_of_startproject_is_not_warned_of() -> None:
    """If a project has what Scrapy's template sets, then no warning tells of it."""
    settings = settings_of(LinkedDataSpider)
    assert not [*iter_warnings(settings, LinkedDataSpider, with_scrapy=False)]


def test_update_settings_of_a_subclass_may_forget_ours() -> None:
    """If a subclass does not call `super()`, then the defaults are there."""

    class Forgets(LinkedDataSpider):
        name = "forgets"

        @classmethod
        def update_settings(cls, settings: Any) -> None:
            settings.set("USER_AGENT", "lab/1 (me@lab.example)", "spider")

    crawler = Crawler(Forgets, Settings())
    crawler.crawling = True
    spider = Forgets.from_crawler(crawler, seeds="http://a.example/")
    assert spider.options.fetch.user_agent == "lab/1 (me@lab.example)"
    assert crawler.settings["SCHEDULER"] == defaults.SCHEDULER


def test_scheduler_of_a_project_is_kept_for_its_spiders_alone() -> None:
    """If a project has the scheduler of scrapy-redis, then our spiders have ours."""
    other = "scrapy_redis.scheduler.Scheduler"
    assert settings_of(PlainSpider, SCHEDULER=other)["SCHEDULER"] == other
    ours = settings_of(LinkedDataSpider, SCHEDULER=other)
    assert ours["SCHEDULER"] == defaults.SCHEDULER
    check_components(ours)


def test_options_can_be_read_without_a_spider(tmp_path: Path) -> None:
    """If numbers and switches are read from bare settings, they are our defaults."""
    bare = Settings({"CRAWL_DIR": tmp_path})
    options = SpiderOptions.from_settings(bare, "x")
    assert options.extract.limits == ParseLimits()
    assert options.extract.unpack == UnpackLimits()
    assert bare["UNPACK_MAX_DEPTH"] == UnpackLimits().depth
    assert LaunchOptions.from_settings(bare).may_fork
    assert options.crawl.paths.root == tmp_path / "x"
    assert options.fetch.guard == Guard()


class TestInterface:
    """What can be imported from `rdfcrawl`."""

    @pytest.mark.parametrize("name", rdfcrawl.__all__)
    def test_names_are_there_and_documented(self, name: str) -> None:
        """If a name is public, then it can be imported, and has a docstring."""
        value = getattr(rdfcrawl, name)
        assert name in dir(rdfcrawl)
        if name != "__version__":
            assert value.__name__ == name
            assert value.__doc__.strip()

    def test_other_names_are_not(self) -> None:
        """If a name is not there, then the error says so as Python does."""
        with pytest.raises(AttributeError, match="no attribute 'Spider'"):
            rdfcrawl.Spider  # type: ignore[attr-defined]  # noqa: B018

    def test_import_costs_nothing(self) -> None:
        """If the package is imported, then no room of it is, and no library."""
        line = (
            "import sys; old = set(sys.modules); import rdfcrawl\n"
            "new = {name.partition('.')[0] for name in set(sys.modules) - old}\n"
            "print(*new - sys.stdlib_module_names)"
        )
        folder = launch.__file__.rpartition("/rdfcrawl/")[0]
        done = subprocess.run(
            [sys.executable, "-c", line], capture_output=True, check=True, cwd=folder
        )
        assert done.stdout.split() == [b"rdfcrawl"]


class TestLines:
    """What is told in one line."""

    @pytest.mark.parametrize("here", [True, False])
    def test_spider_of_ours_that_is_not_here(
        self, here: bool, monkeypatch: pytest.MonkeyPatch, capsys: Any
    ) -> None:
        """If a spider of ours is not in the project, the line says what brings it."""
        monkeypatch.setattr("rdfcrawl.launch.crawls.inside_project", lambda: here)
        with pytest.raises(SystemExit):
            launch.check_name("sitemap", get_spider_loader(Settings()))
        told = capsys.readouterr().err
        wanted = "rdfcrawl.Addon" if here else "`rdfcrawl crawl sitemap` needs none"
        assert wanted in told
        assert told.count("\n") == 1

    @pytest.mark.parametrize(
        ("argv0", "name"),
        [
            ("/x/bin/rdfcrawl", "rdfcrawl"),
            ("/x/rdfcrawl/__main__.py", "rdfcrawl"),
            ("/x/bin/scrapy", "scrapy"),
            ("/x/scrapy/__main__.py", "scrapy"),
            ("/rdfcrawl/run.py", "scrapy"),
        ],
    )
    def test_begins_with_the_program_that_was_called(
        self, argv0: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
    ) -> None:
        """If a command fails, then its line begins with the name of the program."""
        from rdfcrawl.core.console import fail

        monkeypatch.setattr(sys, "argv", [argv0])
        with pytest.raises(SystemExit):
            fail("so")
        assert capsys.readouterr().err == f"{name}: so\n"


class TestCommands:
    """Both programs have the same commands."""

    def test_are_those_of_scrapy_and_of_our_package(self) -> None:
        """If a module of commands is ours, then both programs have it."""
        folder = Path(launch.__file__).parents[1]
        ours = {path.stem for path in (folder / "commands").glob("[!_]*.py")}
        assert {n for n, home in COMMANDS.items() if "rdfcrawl" in home} == ours

    def test_are_listed_by_the_program(self, capsys: Any) -> None:
        """If `rdfcrawl` is called without a command, then it lists all of them."""
        with pytest.raises(SystemExit) as ended:
            execute(["rdfcrawl"])
        assert not ended.value.code
        told = capsys.readouterr().out
        assert [line.split()[0] for line in told.splitlines() if line[:2] == "  "] == [
            "rdfcrawl",
            *COMMANDS,
        ]

    @pytest.mark.parametrize(
        ("words", "told"),
        [
            (("dance",), "dance: unknown command; there are changes, check, crawl"),
            (("crawl",), "crawl: name one spider"),
            (("fetch", "--spider=dance"), "spider dance: unknown; there are ckan"),
        ],
    )
    def test_what_is_wrong_is_told_in_one_line(
        self,
        words: tuple[str, ...],
        told: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: Any,
    ) -> None:
        """If a command or a spider is unknown or missing, one line says so."""
        monkeypatch.setattr(sys, "argv", ["rdfcrawl"])
        monkeypatch.setenv(ENVVAR, "rdfcrawl.settings")
        with pytest.raises(SystemExit) as ended:
            execute(["rdfcrawl", *words])
        assert ended.value.code == 2
        found = capsys.readouterr().err
        assert found.startswith(f"rdfcrawl: {told}")
        assert found.count("\n") == 1


class TestSettingsOfTheProgram:
    """Where `rdfcrawl` has its settings from."""

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Work in a folder of its own, without a project."""
        monkeypatch.setenv(ENVVAR, "")
        monkeypatch.delenv(ENVVAR)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", [*sys.path])
        return tmp_path

    def test_of_any_folder_are_our_defaults(self) -> None:
        """If there is no project, they are those of ours, for child processes, too."""
        settings = settings_here()
        assert settings["DOWNLOAD_DELAY"] == defaults.DOWNLOAD_DELAY
        assert settings["SPIDER_MODULES"] == ["rdfcrawl.spiders"]
        assert settings["NEWSPIDER_MODULE"] is None
        assert os.environ[ENVVAR] == "rdfcrawl.settings"

    def test_of_a_project_go_first(self, folder: Path) -> None:
        """If there is a project, its settings are taken, and our add-on is added."""
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = its_settings\n")
        lines = 'BOT_NAME = "its"\nADDONS = {"its.Addon": 1}\nDOWNLOAD_DELAY = 9\n'
        (folder / "its_settings.py").write_text(lines)
        settings = settings_here()
        assert (settings["BOT_NAME"], settings["DOWNLOAD_DELAY"]) == ("its", 9)
        assert settings.getdict("ADDONS") == {"its.Addon": 1, PATH: 500}

    def test_that_are_missing_are_told_in_one_line(
        self, folder: Path, capsys: Any
    ) -> None:
        """If a project names settings that there are not, then one line says so."""
        (folder / "scrapy.cfg").write_text("[settings]\ndefault = no_settings\n")
        with pytest.raises(SystemExit):
            settings_here()
        told = capsys.readouterr().err
        assert told.startswith("scrapy: no_settings: no settings of a project: ")


class TestTemplate:
    """`genspider -t rdf`."""

    @staticmethod
    def run(*words: str, **changes: Any) -> None:
        """Run `scrapy genspider`."""
        command = genspider.Command()
        command.settings = Settings({"NEWSPIDER_MODULE": "", **changes})
        from argparse import ArgumentParser

        parser = ArgumentParser(conflict_handler="resolve")
        command.add_options(parser)
        opts, args = parser.parse_known_args(words)
        command.run(args, opts)

    def test_writes_a_spider_that_can_be_loaded(
        self, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
    ) -> None:
        """If a spider is generated, then it is a subclass of ours with its name."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(tmp_path)
        self.run("-t", "rdf", "lab-people", "https://example.org/people")
        assert "Created spider 'lab-people' using template 'rdf'" in (
            capsys.readouterr().out
        )
        (name,) = get_spider_loader(Settings({"SPIDER_MODULES": ["lab_people"]})).list()
        spider = get_spider_loader(Settings({"SPIDER_MODULES": ["lab_people"]})).load(
            name
        )
        assert issubclass(spider, LinkedDataSpider)
        assert spider.start_urls == ["https://example.org/people"]
        assert spider.allowed_domains == ["example.org"]  # type: ignore[attr-defined]

    def test_leaves_scrapys_templates_as_they_are(self, capsys: Any) -> None:
        """If templates are listed, ours is among Scrapy's, which can be shown."""
        self.run("-l")
        assert {"basic", "crawl", "rdf"} <= set(capsys.readouterr().out.split())
        self.run("-d", "basic")
        assert "scrapy.Spider" in capsys.readouterr().out
        with pytest.raises(UsageError):
            self.run("-t", "rdf", "only-a-name")

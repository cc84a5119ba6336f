"""Repositories of OAI-PMH: `scrapy crawl oaipmh`, and those that are seeds."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from tests.support.oai_repositories import (
    DC,
    OaiRepository,
    RepositoryItem,
    ServedRepository,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands, CrawlResult
    from tests.support.crawl_webs import Loopback

_numbers = count(1)


@contextmanager
def served(**given: Any) -> Iterator[OaiRepository]:
    """Serve a repository of seven items, of which one is deleted."""
    repository = OaiRepository(**given)
    stamp = "2025-0{}-01" if repository.day else "2025-0{}-01T00:00:00Z"
    repository.put(
        *(RepositoryItem(f"{n}", stamp.format(n), f"title {n}") for n in range(1, 8)),
        RepositoryItem("8", stamp.format(8), is_deleted=True),
    )
    with ServedRepository(repository, f"127.94.41.{next(_numbers)}"):
        yield repository


def harvest(
    commands: Commands,
    repository: OaiRepository,
    folder: Path | None = None,
    **given: Any,
) -> CrawlResult:
    """Harvest a repository."""
    arguments = {"repositories": repository.base} | given
    return commands.crawl(
        arguments=arguments, spider="oaipmh", folder=folder, FRONTIER_LEASE_SECS=2
    )


def titles(result: CrawlResult) -> dict[str, str]:
    """Return the titles that are stored now, by their graphs."""
    quads = result.latest_quads
    return {g: o[1:].rpartition('"')[0] for _, p, o, g in quads if p == f"{DC}title"}


def expected(repository: OaiRepository, names: str, prefix: str = "oai_dc") -> Any:
    """Return the titles of items, by the URLs of their records."""
    return {
        repository.record_of(name, prefix): repository.items[name].title
        for name in names
    }


def test_every_record_is_a_document(commands: Commands) -> None:
    """If a repository is harvested, then each record has a graph of its own."""
    with served(zips=True, busy=frozenset({2})) as repository:
        repository.items["3"].url = "http://e.example/three"
        result = harvest(commands, repository)
        assert result.code == 0, result.stderr
        assert titles(result) == expected(repository, "1234567")
        subjects = {s for s, p, _, _ in result.latest_quads if p == f"{DC}title"}
        assert {"http://e.example/three", "oai:e.example:1"} <= subjects
        # The second list request was 503 with Retry-After.
        assert len(repository.lists()) == 4
        assert not result.ask(f"<{repository.record_of('8')}> ?p ?x .")


def test_next_run_asks_for_changes(commands: Commands) -> None:
    """If a repository keeps deletions, then the next run lists changes, and takes them.

    An unchanged record is not written again.
    """
    with served(now="2025-09-05T00:00:00Z") as repository:
        folder = commands.folder()
        before = harvest(commands, repository, folder).writes()
        repository.forget()
        repository.now = "2025-09-09T00:00:00Z"
        repository.put(
            RepositoryItem("2", "2025-09-05", "changed"),
            RepositoryItem("3", "2025-09-06", is_deleted=True),
            RepositoryItem("9", "2025-09-07", "new"),
        )
        result = harvest(commands, repository, folder)
        assert result.code == 0, result.stderr
        (first,) = repository.lists()
        assert first["from"] == "2025-09-04"  # a day before the first response
        assert titles(result) == expected(repository, "1245679")
        assert result.raw(repository.record_of("3")) == b""
        written = result.writes() - before
        assert set(written) - {repository.base} >= {
            repository.record_of(name) for name in "29"
        }
        assert repository.record_of("1") not in written


def test_complete_list_shows_deletions(commands: Commands) -> None:
    """If a repository forgets deletions, then all is listed, and what lacks is gone."""
    with served(deleted="no", day=False) as repository:
        folder = commands.folder()
        harvest(commands, repository, folder)
        for n in range(2):
            repository.forget()
            repository.items.pop("4", None)
            result = harvest(commands, repository, folder)
            assert "from" not in repository.lists()[0]
            assert titles(result) == expected(repository, "123567"), n
        assert result.raw(repository.record_of("4")) == b""


def test_failures_keep_the_last_good_copy(commands: Commands) -> None:
    """If a list is cut, is a page of an error, or is empty, then nothing is deleted.

    One that is empty in two runs is believed, and items that come back are harvested.
    """
    with served(deleted="no") as repository:
        folder = commands.folder()
        harvest(commands, repository, folder)
        everything, items = expected(repository, "1234567"), dict(repository.items)
        for fault in ("cut", "broken"):
            repository.forget()
            setattr(repository, fault, frozenset({2}))
            result = harvest(commands, repository, folder)
            assert titles(result) == everything, fault
            assert "; 1 source is incomplete" in result.stderr, fault
        repository.forget()
        repository.items.clear()
        result = harvest(commands, repository, folder)
        assert titles(result) == everything
        assert "fault/copy_kept" in result.statistics
        assert titles(harvest(commands, repository, folder)) == {}
        repository.items |= items
        repository.items.pop("5")
        result = harvest(commands, repository, folder)
        assert titles(result) == expected(repository, "123467")


def test_list_goes_on_after_an_expired_token(commands: Commands) -> None:
    """If a token has expired, then the list begins again at the last datestamp."""
    with served(expired=frozenset({2}), day=False) as repository:
        result = harvest(commands, repository)
        assert titles(result) == expected(repository, "1234567")
        again = repository.lists()[2]
        assert again["from"] == "2025-03-01T00:00:00Z"


def test_bad_record_costs_itself(commands: Commands) -> None:
    """If the metadata of a record are not well-formed, then the others are stored."""
    with served() as repository:
        repository.items["2"].is_broken = True
        result = harvest(commands, repository)
        found = titles(result)
        assert found.keys() >= expected(repository, "134567").keys()
        assert all(found[k] == v for k, v in expected(repository, "134567").items())
        assert result.ask("?a rc:fault/rc:reason ?x .")


def test_rdf_is_preferred_unless_a_format_is_named(commands: Commands) -> None:
    """If a repository has RDF, then it is read; `metadata_prefix` says otherwise."""
    with served(prefixes=("mods", "oai_dc", "rdf")) as repository:
        result = harvest(commands, repository)
        assert titles(result) == expected(repository, "1234567", "rdf")
        assert repository.lists()[0]["metadataPrefix"] == "rdf"
        result = harvest(commands, repository, metadata_prefix="oai_dc")
        assert titles(result) == expected(repository, "1234567")


def test_sets_are_listed_one_by_one(commands: Commands) -> None:
    """If sets are named, then only their records are stored; one may move."""
    with served(deleted="no") as repository:
        for name in "123":
            repository.items[name].sets = ("a",)
        repository.items["4"].sets = ("b",)
        folder = commands.folder()
        result = harvest(commands, repository, folder, sets="a,b")
        assert titles(result) == expected(repository, "1234")
        assert {each.get("set") for each in repository.lists()} == {"a", "b"}
        repository.items["1"].sets = ("b",)
        repository.items["2"].sets = ()
        result = harvest(commands, repository, folder, sets="a,b")
        assert titles(result) == expected(repository, "134")


def test_seed_that_is_a_repository_is_harvested(commands: Commands) -> None:
    """If a seed is a response of OAI-PMH, then its records are stored, in each run."""
    with served() as repository, served() as other:
        folder = commands.folder()
        seeds = [repository.base, f"{other.base}?verb=Identify"]
        result = commands.crawl(seeds, folder=folder)
        wanted = expected(repository, "1234567") | expected(other, "1234567")
        assert titles(result) == wanted
        repository.put(RepositoryItem("9", "2026-02-01", "new"))
        result = commands.crawl(seeds, folder=folder)
        assert titles(result) == wanted | expected(repository, "9")


def test_refused_time_lists_everything(commands: Commands) -> None:
    """If a repository refuses `from`, then all of its records are listed."""
    with served(says_times=True, now="2025-06-01T00:00:00Z") as repository:
        folder = commands.folder()
        harvest(commands, repository, folder)
        repository.forget()
        repository.put(RepositoryItem("9", "2025-05-01", "new"))
        result = harvest(commands, repository, folder)
        assert [each.get("from") for each in repository.lists()][:2] == [
            "2025-05-31T23:00:00Z",
            None,
        ]
        assert titles(result) == expected(repository, "12345679")


def test_link_to_a_repository_is_harvested_if_wanted(
    commands: Commands, loopback: Loopback
) -> None:
    """If a crawl comes upon a repository, then `harvest` decides on its records."""
    with served(page=2) as repository:
        site = loopback(host="127.94.42.1")
        url = f"{repository.base}?verb=ListRecords&metadataPrefix=oai_dc"
        body = f"<{site.url('/')}> <urn:x:see> <{url}> .\n".encode()
        site.pages["/"] = loopback.response(body, "application/n-triples")
        result = commands.crawl([site.url("/")])
        assert set(titles(result)) == {url}
        assert len(repository.lists()) == 1
        result = commands.crawl([site.url("/")], arguments={"harvest": "oaipmh"})
        assert expected(repository, "1234567").items() <= titles(result).items()


def test_kill_loses_no_record(commands: Commands) -> None:
    """If the worker is killed during a harvest, then the next command completes it."""
    with served(page=1) as repository:
        folder = commands.folder()
        running = commands.start_crawl(
            arguments={"repositories": repository.base},
            spider="oaipmh",
            folder=folder,
            FRONTIER_LEASE_SECS=2,
        )
        commands.wait_until(lambda: repository.n_lists >= 3)
        running.send(signal.SIGKILL)
        running.wait()
        result = harvest(commands, repository, folder)
        assert titles(result) == expected(repository, "1234567")

"""The arguments of a spider, read once from the strings behind `scrapy crawl -a`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Final, Self, get_type_hints

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.records import CrawlBudget, Kind
from rdfcrawl.frontier.arguments.own import parse_own
from rdfcrawl.frontier.arguments.parsers import (
    MAX_DEPTH,
    NAMED,
    PARSERS,
    CrawlPolicy,
    GivenUp,
    Take,
    texts_of,
)
from rdfcrawl.rdf.links.policy import LinkPolicy
from rdfcrawl.rdf.user_queries import UserQuery  # noqa: TC001 (get_type_hints)
from rdfcrawl.uri import BadUri
from rdfcrawl.uri.hosts import NO_HOSTS, HostNames
from rdfcrawl.uri.link_filter import CrawlExtent, UrlPatterns
from rdfcrawl.uri.schemes import check_scheme

MAX_HOSTS_PER_DOMAIN: Final = 10_000  # by default
# Those that not all spiders take; `RdfSpider.takes` says which one does.
OF_SOURCES: Final = frozenset(
    {
        *("sites", "slice"),
        *("sources", "audit"),
        *("portals", "organization", "group", "q", "fq"),
        *("endpoints", "graphs", "skip_graphs", "take", "query"),
        "files",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlArguments:
    """What one crawl is to do; every field has the name of its `-a` argument.

    `docs/reference/spiders.md` describes the arguments, with their texts and defaults.
    Here, sources and seeds are the URLs as they are requested, or the file that has
    them, and files of patterns and queries are read.

    A subclass (a frozen dataclass, whose fields have defaults) has arguments of its
    own beside these; `RdfSpider.arguments_class` names it.
    """

    seeds: tuple[str, ...] | Path = ()
    follow: LinkPolicy = field(default_factory=LinkPolicy)
    scope: CrawlExtent = CrawlExtent.ANY
    domains: frozenset[str] = frozenset()
    depth: int = MAX_DEPTH
    max_per_host: int = 0
    max_hosts_per_domain: int = MAX_HOSTS_PER_DOMAIN
    max_per_domain: int = 0
    schedule: CrawlPolicy = "none"
    quota: int = 0
    allow: UrlPatterns = field(default_factory=UrlPatterns)
    deny: UrlPatterns = field(default_factory=UrlPatterns)
    shapes: Path | None = None
    fresh: bool = False
    reset: frozenset[str] = frozenset()
    retry: tuple[GivenUp, ...] = ()
    harvest: frozenset[Kind | str] = frozenset({Kind.CKAN, Kind.SPARQL})
    trust: HostNames = NO_HOSTS
    sites: tuple[str, ...] | Path = ()
    slice: bool = False
    sources: tuple[str, ...] | Path = ()
    audit: bool = False
    portals: tuple[str, ...] | Path = ()
    organization: str = ""
    group: str = ""
    q: str = ""
    fq: str = ""
    endpoints: tuple[str, ...] | Path = ()
    graphs: frozenset[str] = frozenset()
    skip_graphs: frozenset[str] = frozenset()
    take: Take = "all"
    query: UserQuery | None = None
    files: tuple[str, ...] | Path = ()

    @property
    def budget(self) -> CrawlBudget:
        """The most that is taken of hosts and registered domains."""
        return CrawlBudget(
            self.max_per_host, self.max_hosts_per_domain, self.max_per_domain
        )

    @classmethod
    def parse(
        cls, arguments: Mapping[str, object], takes: Collection[str] = ()
    ) -> Self:
        """Read the arguments of a spider; absent ones and None have their default.

        `_job`, which scrapyd gives to every spider, is accepted and ignored.

        `takes` are those that the spider has beside those of all spiders.

        Raises:
            ConfigError: an argument is unknown or has a wrong value, a seed is no
                URL, or a file cannot be read. One line, with what is allowed.
        """
        given = texts_of(arguments)
        own = cls.own()
        names = [*arguments_of(takes), *own]
        unknown = sorted(given.keys() - set(names))
        if unknown:
            raise ConfigError(
                f"argument {unknown[0]}={given[unknown[0]]}: unknown; must be one of"
                f" {', '.join(names)}"
            )
        if not set(NAMED).isdisjoint(takes):
            given.setdefault("follow", "none")  # its sources are what is wanted
        values = {
            name: own[name](text) if name in own else PARSERS[name](name, text)
            for name, text in given.items()
        }
        _check_reset(values.get("reset", ()), own)
        try:
            return cls(**values)
        except ValueError as error:  # of `__post_init__`
            raise ConfigError(f"arguments of {cls.__name__}: {error}") from error

    @classmethod
    def own(cls) -> dict[str, Callable[[str], Any]]:
        """Return the parser of each argument that a subclass adds."""
        if cls is CrawlArguments:
            return {}
        types = get_type_hints(cls)
        return {
            each.name: partial(parse_own, each.name, each, types[each.name])
            for each in fields(cls)
            if each.name not in PARSERS
        }


@dataclass(frozen=True, slots=True)
class ArgumentSet:
    """The arguments that a class of spiders takes."""

    takes: tuple[str, ...] = ()  # of ours, those that other spiders do not take
    # what they are read into; a subclass has further ones
    class_: type[CrawlArguments] = CrawlArguments
    # names of further ones that its `__init__` takes, as Scrapy has it
    passed: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        """Names of the arguments that a crawl may keep."""
        return [*arguments_of(self.takes), *self.class_.own()]

    def parse(self, arguments: Mapping[str, object]) -> CrawlArguments:
        """Read the arguments of a spider; see `CrawlArguments.parse`."""
        ours = {n: value for n, value in arguments.items() if n not in self.passed}
        return self.class_.parse(ours, self.takes)


def arguments_of(takes: Collection[str]) -> list[str]:
    """Return the names of our arguments that a spider takes, and those of all."""
    return [name for name in PARSERS if name not in OF_SOURCES or name in takes]


def check_schemes(arguments: CrawlArguments, schemes: frozenset[str]) -> None:
    """Raise `ConfigError` if the operator names a URL of a scheme that is not crawled.

    Those in a file are looked at when it is read.
    """
    for name in ("seeds", *NAMED):
        urls = getattr(arguments, name)
        try:
            for url in urls if isinstance(urls, tuple) else ():
                check_scheme(url, schemes)
        except BadUri as error:
            raise ConfigError(
                f"argument {name}: {url}: {error.fault.detail}: must be"
                f" {', '.join(sorted(schemes))}; FETCH_SCHEMES may add others"
            ) from error


def checked_quota(arguments: CrawlArguments) -> int:
    """Return the quota of registered domains that a command gives; 0 for none.

    Raises:
        ConfigError: of `schedule` and `quota`, one is given without the other.
    """
    quota = arguments.quota
    if arguments.schedule == "domain" and not quota:
        raise ConfigError(
            "argument schedule=domain: must be given with quota, the most fetches from"
            " a registered domain in an epoch"
        )
    if quota and arguments.schedule != "domain":
        raise ConfigError(f"argument quota={quota}: must be given with schedule=domain")
    return quota


def _check_reset(names: Collection[str], own: Collection[str]) -> None:
    for unknown in sorted(set(names) - {*PARSERS, *own, "all"}):
        shown = ",".join(sorted(names))
        raise ConfigError(f"argument reset={shown}: there is no argument {unknown}")

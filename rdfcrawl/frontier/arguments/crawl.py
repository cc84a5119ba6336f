"""The arguments of a spider, read once from the values of `scrapy crawl -a`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from inspect import Parameter, signature
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, Self, cast, get_args, get_type_hints

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import perhaps
from rdfcrawl.core.records import CrawlBudget, Kind
from rdfcrawl.frontier.arguments.parsers import (
    BOOLEANS,
    DATASETS,
    INLINE,
    MAX_DEPTH,
    MAX_QUOTA,
    OAI_PMH,
    CrawlPolicy,
    GivenUp,
    Take,
    content_of,
    is_file_of_patterns,
    parse_choice,
    parse_domains,
    parse_files,
    parse_follow,
    parse_graphs,
    parse_harvest,
    parse_items,
    parse_number,
    parse_own,
    parse_query,
    parse_retry,
    parse_seeds,
    parse_shapes,
    parse_text,
    parse_time,
    parse_trust,
    parse_url_patterns,
    parse_want,
    parse_words,
    text_of,
)
from rdfcrawl.frontier.arguments.seeds import BadSeed, Seed, iter_seeds
from rdfcrawl.rdf.links.policy import LinkPolicy
from rdfcrawl.rdf.queries import UserQuery
from rdfcrawl.uri import BadUri
from rdfcrawl.uri.hosts import NO_HOSTS, HostNames
from rdfcrawl.uri.link_filter import CrawlExtent, UrlPatterns
from rdfcrawl.uri.parse import check_scheme

_MAX_HOSTS_PER_DOMAIN: Final = 10_000
_MAX_BUDGET: Final = 2**31 - 1
_MAX_NAMED: Final = 100_000  # sources that a crawl remembers
_ARGUMENT: Final = "argument"
_HARVESTED: Final = frozenset[Kind | str]({Kind.CKAN, Kind.SPARQL, DATASETS})
_TAKING_FILES: Final = (parse_url_patterns, parse_query)  # given by path


@dataclass(frozen=True, slots=True)
class Argument:
    """The declaration of one argument.

    Attributes:
        parse: returns the value for its name and its text; raises `ConfigError`.
        source: kind of the sources that it names, or name of their harvester; new ones
            are added to the stored ones.
        is_of_all: all spiders take it; for others, `RdfSpider.takes` names it.
        lasts: its extent; a new value needs `reset` while the crawl lasts.
        may_rise: a higher value needs no `reset`.
    """

    parse: Callable[[str, str], Any]
    source: Kind | str | None = None
    is_of_all: bool = True
    lasts: Literal["crawl", "run", "command"] = "crawl"
    may_rise: bool = False


def argument(parse: Callable[[str, str], Any], default: Any, **more: Any) -> Any:
    """Declare an argument of spiders; `more` is for `Argument`."""
    found = Argument(parse, **more)
    return field(default_factory=lambda: default, metadata={_ARGUMENT: found})


def _source(kind: Kind | str, parse: Callable[[str, str], Any] = parse_seeds) -> Any:
    return argument(parse, (), source=kind, is_of_all=False)


def _filter(parse: Callable[[str, str], Any], default: Any) -> Any:
    return argument(parse, default, is_of_all=False)


def _budget(default: int) -> Any:
    return argument(parse_number(_MAX_BUDGET), default, may_rise=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlArguments:
    """Argument values of one crawl; each field is named like its argument.

    The text below a field is its description in `docs/reference/spiders.md`. Sources
    and seeds are requestable URLs, or the path of a file of URLs; files of patterns and
    queries are read.

    A subclass (a frozen dataclass whose fields have defaults) adds arguments;
    `RdfSpider.arguments_class` names it.
    """

    seeds: tuple[str, ...] | Path = argument(parse_seeds, (), lasts="command")
    """where the crawl begins: http(s) or [ftp(s)](ftp.md) URLs separated by commas, or
    `@FILE`"""
    follow: LinkPolicy = argument(parse_follow, LinkPolicy())
    """which IRIs of statements, and which links of pages, are followed; see
    [below](#follow)"""
    scope: CrawlExtent = argument(
        parse_choice({str(extent): extent for extent in CrawlExtent}), CrawlExtent.ANY
    )
    """how far the crawl goes: `any`, `domain`, `host` or `prefix`; see [below](#scope)
    """
    domains: frozenset[str] = argument(parse_domains, frozenset())
    """a link must be on one of these hosts or below it: `example.org,example.net`;
    without it, there is no limit"""
    depth: int = argument(parse_number(MAX_DEPTH), MAX_DEPTH)
    """links followed from a seed, 0 to 255; 0 fetches the seeds alone, 255 is no limit
    """
    max_per_host: int = _budget(0)
    """most URLs accepted for one host, without its `robots.txt` and sitemaps; 0 is no
    limit"""
    max_hosts_per_domain: int = _budget(_MAX_HOSTS_PER_DOMAIN)
    """most hosts of one registered domain (`example.co.uk`; sites below `github.io` and
    the like are domains of their own) whose URLs are accepted, besides the domain
    itself and its `www`; 0 is no limit. [Crowds](../explanation/frontier.md#crowds)
    explains how they share a crawl with others"""
    max_per_domain: int = _budget(0)
    """most URLs accepted for one registered domain, counted from the time when it is
    first set; 0 is no limit"""
    schedule: CrawlPolicy = argument(
        parse_choice({word: word for word in get_args(CrawlPolicy)}), "none"
    )
    """`domain`: each registered domain has a [quota of
    fetches](../explanation/refresh.md#quotas), which sitemaps and links share by
    their results so far. Needs `quota`, from the beginning of the crawl"""
    quota: int = argument(parse_number(MAX_QUOTA, minimum=2), 0)
    """with `schedule=domain`: most pages requested of a registered domain in an epoch,
    2 to 100000; `SCHEDULE_EPOCH_SECS` sets its length
    ([settings](settings.md))"""
    allow: UrlPatterns = argument(parse_url_patterns, UrlPatterns())
    """a regular expression that links must match, or a file of them, one of which they
    must match; see [below](#allow-and-deny)"""
    deny: UrlPatterns = argument(parse_url_patterns, UrlPatterns())
    """a regular expression that links must not match, or a file of them"""
    want: frozenset[str] = argument(parse_want, frozenset())
    """classes and properties that are [wanted](../how-to/wanted-pages.md), as
    `schema:Product`: IRIs, or names with a prefix, separated by commas; or a file of
    SHACL shapes in Turtle, whose targets are wanted. URLs of the forms that yield
    their statements come first, and URLs of forms that never did last, or not at all.
    Not with `schedule=domain`"""
    shapes: Path | None = argument(parse_shapes, None, lasts="command")
    """file of [SHACL shapes](../how-to/shapes.md), by which each document is judged
    while the crawl goes on; the report is in `shapes/` in the folder of the crawl.
    Needs the extra `[shapes]`"""
    items: frozenset[str] | None = argument(parse_items, None, lasts="command")
    """classes whose [items](../how-to/items.md) go through the item pipelines and into
    the feeds of `-o` and `-O`, in place of rows for documents: `Product` or
    `schema:Product`, `foaf:Person`, an IRI; separated by commas; or `all`"""
    fresh: bool = argument(parse_choice(BOOLEANS), False, lasts="command")
    """`1`: forget the URIs of an earlier crawl of this name, and restart; its stored
    files are moved to `before-<time>` in the folder of the crawl. Also `true`,
    `false`, `0`"""
    retry: tuple[GivenUp, ...] = argument(parse_retry, (), lasts="command")
    """queue again the URIs that this crawl gave up: `failed`, because hosts were down,
    busy or broken, or as [code that runs here](faults.md#own-faults) failed; `dead`,
    because [workers died](../explanation/frontier.md#lives) of them; `unlikely`, as
    their form of URL led to nothing that is [wanted](../how-to/wanted-pages.md); or
    several of these, separated by commas"""
    reset: frozenset[str] = argument(parse_words, frozenset(), lasts="command")
    """names of arguments whose values replace those with which the crawl began, or
    `all`; see [below](#a-crawl-remembers)"""
    harvest: frozenset[Kind | str] = argument(parse_harvest, _HARVESTED)
    """which kinds of sources are harvested when the crawl comes upon them: `datasets`
    in the sitemaps that `robots.txt` names, which are read before the pages of a host,
    so that a dump is fetched in place of its pages; all entries of a `sitemap`,
    `resourcesync`, `ckan`, `sparql`, `oaipmh`; `dcat` for the catalogs of [other
    portals](../explanation/sources.md#catalogs-in-dcat); and `void` for
    `/.well-known/void` and `dcat-us` for `/data.json`; separated by commas; `all` or
    `none`. With `sitemap`, a seed may be a sitemap or feed, and `/sitemap.xml` is tried
    if `robots.txt` names none; with `resourcesync`, `/.well-known/resourcesync` is
    tried on the sites of seeds. These
    [usual places](../explanation/sources.md#usual-places) are tried once for each site.
    With `want`, `sitemap` is harvested by default, too. A source
    that an argument names is harvested in any case"""
    trust: HostNames = argument(parse_trust, NO_HOSTS)
    """hosts that sources may speak for without [their
    consent](../explanation/sources.md#consent): `example.org`, or `example.org:8080`
    for one port, or `*.example.org` for all hosts below it; separated by commas"""
    sites: tuple[str, ...] | Path = _source(Kind.SITEMAP)
    """sites, or their sitemaps: URLs as for `seeds`"""
    sitemaps: UrlPatterns = _filter(parse_url_patterns, UrlPatterns())
    """a regular expression that the URLs of sitemaps in an index must match, or a file
    of them, one of which they must match. `^(?!.*/archive-)` leaves out those whose
    URL has `/archive-`"""
    sitemaps_since: int = _filter(parse_time, 0)
    """only sitemaps in an index whose `lastmod` is not before this date or time, as
    `2026-09-21`, and those without `lastmod`"""
    slice: bool = _filter(parse_choice(BOOLEANS), False)
    """`1`: cut the dumps of datasets into the descriptions of their resources, each in
    its own graph"""
    sources: tuple[str, ...] | Path = _source(Kind.RESOURCESYNC)
    """sites, or documents of ResourceSync: URLs as for `seeds`"""
    audit: bool = argument(parse_choice(BOOLEANS), False, is_of_all=False, lasts="run")
    """`1`: compare everything with the lists of resources, not only the entries of the
    lists of changes"""
    portals: tuple[str, ...] | Path = _source(Kind.CKAN)
    """front pages of portals: URLs as for `seeds`"""
    organization: str = _filter(parse_text, "")
    """only datasets of this organization"""
    group: str = _filter(parse_text, "")
    """only datasets of this group"""
    q: str = _filter(parse_text, "")
    """a search, in the syntax of CKAN"""
    fq: str = _filter(parse_text, "")
    """a filter of the search, in Solr's syntax"""
    endpoints: tuple[str, ...] | Path = _source(Kind.SPARQL)
    """endpoints: URLs as for `seeds`"""
    graphs: frozenset[str] = _filter(parse_graphs, frozenset())
    """IRIs of the named graphs to take, separated by commas, or `@FILE`; `*` stands for
    anything, `default` is the default graph"""
    skip_graphs: frozenset[str] = _filter(parse_graphs, frozenset())
    """graphs to leave out, in the same notation"""
    take: Take = _filter(parse_choice({word: word for word in get_args(Take)}), "all")
    """`all` statements, or only the descriptions of `datasets`"""
    query: UserQuery | None = _filter(parse_query, None)
    """file of a query whose results are fetched instead: SELECT of `?s ?p ?o` and
    perhaps `?g`, or CONSTRUCT; see
    [sources](../explanation/sources.md#a-query-of-your-own)"""
    repositories: tuple[str, ...] | Path = _source(OAI_PMH)
    """base URLs of repositories, or requests to them: URLs as for `seeds`"""
    metadata_prefix: str = _filter(parse_text, "")
    """`metadataPrefix` of the records; without it, the first format of RDF or Dublin
    Core that a repository has"""
    sets: frozenset[str] = _filter(parse_words, frozenset())
    """only these sets, by their `setSpec`, separated by commas"""
    files: tuple[str, ...] | Path = _source(Kind.WARC, parse_files)
    """WARC files: paths, with `*`, `?` or `**`, and URLs as for `seeds`, separated by
    commas; or `@FILE` with one of them on each line"""

    @property
    def budget(self) -> CrawlBudget:
        """Limits on hosts and registered domains."""
        return CrawlBudget(
            self.max_per_host, self.max_hosts_per_domain, self.max_per_domain
        )

    @classmethod
    def parse(
        cls, arguments: Mapping[str, object], takes: Collection[str] = ()
    ) -> Self:
        """Read the arguments of a spider; absent ones and None have their default.

        `_job`, which scrapyd gives to every spider, is accepted and ignored.

        `takes` are the arguments of this spider besides those of all spiders.

        Raises:
            ConfigError: an argument is unknown or has a wrong value, a seed is no URL,
                or a file cannot be read. One line that names the allowed values.
        """
        given = texts_of(arguments)
        own = cls.own()
        names = [*arguments_of(takes), *own]
        unknown = sorted(given.keys() - set(names))
        if unknown:
            name = unknown[0]
            raise ConfigError(
                f"argument {name}={given[name]}: unknown{perhaps(name, names)};"
                f" must be one of {', '.join(names)}"
            )
        if not set(NAMED).isdisjoint(takes):
            given.setdefault("follow", "none")  # only its sources are wanted
        values = {
            name: own[name](text) if name in own else ARGUMENTS[name].parse(name, text)
            for name, text in given.items()
        }
        if values.get("want") and set(NAMED).isdisjoint(takes):
            values.setdefault("harvest", _HARVESTED | {Kind.SITEMAP})
        _check_reset(values.get("reset", ()), own)
        try:
            return cls(**values)
        except ValueError as error:  # of `__post_init__`
            raise ConfigError(f"arguments of {cls.__name__}: {error}") from error

    def iter_sources(self, schemes: frozenset[str]) -> Iterator[Seed | BadSeed]:
        """Yield the sources that arguments name, and faults of files of them."""
        for name, kind in NAMED.items():
            for each in iter_seeds(getattr(self, name), schemes):
                yield Seed(each, kind) if isinstance(each, str) else each

    @classmethod
    def own(cls) -> dict[str, Callable[[str], Any]]:
        """Return the parser of each argument that a subclass adds."""
        if cls is CrawlArguments:
            return {}
        types = get_type_hints(cls)
        return {
            each.name: partial(parse_own, each.name, each, types[each.name])
            for each in fields(cls)
            if each.name not in ARGUMENTS
        }


ARGUMENTS: Final[dict[str, Argument]] = {
    each.name: each.metadata[_ARGUMENT] for each in fields(CrawlArguments)
}
NAMED: Final = {name: x.source for name, x in ARGUMENTS.items() if x.source is not None}
"""Arguments with sources of the operator, and their kinds."""


@dataclass(frozen=True, slots=True)
class ArgumentSet:
    """The arguments that a class of spiders takes."""

    takes: tuple[str, ...] = ()  # names of our arguments besides those of all spiders
    # dataclass of their values; a subclass adds arguments
    class_: type[CrawlArguments] = CrawlArguments
    # names of further parameters of its `__init__`, as in Scrapy
    passed: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        """Names of the arguments that a crawl can keep."""
        return [*arguments_of(self.takes), *self.class_.own()]

    @property
    def source(self) -> str:
        """Name of the argument with the URLs at which such a spider begins."""
        return next(filter(NAMED.__contains__, self.takes), "seeds")

    def parse(self, arguments: Mapping[str, object]) -> CrawlArguments:
        """Read the arguments of a spider; see `CrawlArguments.parse`."""
        ours = {n: value for n, value in arguments.items() if n not in self.passed}
        return self.class_.parse(ours, self.takes)


def own_parameters(spider: type) -> frozenset[str]:
    """Return the keyword arguments that the `__init__` of a class of spiders names."""
    named = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    ours = {"self", "name", "arguments", "options"}
    return frozenset(
        each.name
        for base in spider.__mro__
        if "__init__" in vars(base)
        and not base.__module__.startswith(("builtins", "scrapy."))
        for each in signature(vars(base)["__init__"]).parameters.values()
        if each.kind in named and each.name not in ours
    )


def arguments_of(takes: Collection[str]) -> list[str]:
    """Return the names of our arguments that a spider takes, and those of all."""
    return [name for name, x in ARGUMENTS.items() if x.is_of_all or name in takes]


def of_one(lasts: Literal["run", "command"]) -> frozenset[str]:
    """Return the names of the arguments that apply to one run or command only."""
    return frozenset(name for name, each in ARGUMENTS.items() if each.lasts == lasts)


def texts_of(arguments: Mapping[str, object]) -> dict[str, str]:
    """Return arguments as texts, without absent ones and those of scrapyd.

    A path stands for a file; regular expressions are returned as a list.
    """
    return {
        name: _text_of(name, value)
        for name, value in arguments.items()
        if value is not None and name != "_job"
    }


def _text_of(name: str, value: object) -> str:
    parse = ARGUMENTS[name].parse if name in ARGUMENTS else None
    if isinstance(value, Path):
        return f"@{value}" if parse in (parse_seeds, parse_graphs) else str(value)
    try:
        is_list = isinstance(value, Iterable) and not isinstance(value, str)
        if is_list and parse is parse_url_patterns:
            return INLINE + "\n".join(map(text_of, cast("Iterable[object]", value)))
        return text_of(value)
    except ConfigError as error:
        raise ConfigError(f"argument {name}: {error}") from error


def inlined(name: str, text: str) -> str:
    """Return the text of an argument, with the content of the file that it names.

    Of a file of sources, only the first `_MAX_NAMED` URLs.
    """
    if text.startswith(INLINE) or name not in ARGUMENTS:
        return text
    parse = ARGUMENTS[name].parse
    if parse is parse_want:
        return text_of(parse_want(name, text))
    if name in NAMED:
        urls = iter_seeds(parse(name, text))
        named = islice((url for url in urls if isinstance(url, str)), _MAX_NAMED)
        return ",".join(named)
    if parse is parse_url_patterns and not is_file_of_patterns(name, text):
        return INLINE + text
    is_file = parse in _TAKING_FILES or (parse is parse_graphs and text.startswith("@"))
    return INLINE + content_of(name, text) if is_file else text


def check_schemes(arguments: CrawlArguments, schemes: frozenset[str]) -> None:
    """Raise `ConfigError` if the operator names a URL of a scheme that is not crawled.

    URLs in a file are checked when the file is read.
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
        ConfigError: `schedule` is given without `quota`, or the reverse.
    """
    quota = arguments.quota
    if quota and arguments.want:
        raise ConfigError(
            "argument want: not with schedule=domain, whose quotas choose the pages;"
            " leave out one of them"
        )
    if arguments.schedule == "domain" and not quota:
        raise ConfigError(
            "argument schedule=domain: must be given with quota, the most fetches from"
            " a registered domain in an epoch"
        )
    if quota and arguments.schedule != "domain":
        raise ConfigError(f"argument quota={quota}: must be given with schedule=domain")
    return quota


def _check_reset(names: Collection[str], own: Collection[str]) -> None:
    for unknown in sorted(set(names) - {*ARGUMENTS, *own, "all"}):
        shown = ",".join(sorted(names))
        raise ConfigError(f"argument reset={shown}: there is no argument {unknown}")

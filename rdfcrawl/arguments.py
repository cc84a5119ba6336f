"""The arguments of a spider, read once from the strings behind `scrapy crawl -a`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import islice
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Final,
    Literal,
    Self,
    cast,
    get_args,
    get_type_hints,
)

from rdfcrawl.catalogs.sparql.userquery import UserQuery, parse_user_query
from rdfcrawl.errors import ConfigError
from rdfcrawl.links import (
    CrawlExtent,
    LinkPolicy,
    UrlPatterns,
    load_patterns,
    parse_patterns,
)
from rdfcrawl.own_arguments import BOOLEANS, parse_own, text_of
from rdfcrawl.records import CrawlBudget, Kind
from rdfcrawl.seeds import check_seed_file, iter_seeds
from rdfcrawl.uri import BadUri, host_of, requestable
from rdfcrawl.uri.hosts import NO_HOSTS, HostNames
from rdfcrawl.uri.schemes import check_scheme, seed_url

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

Take = Literal["all", "datasets"]
GivenUp = Literal["failed", "dead"]
MAX_DEPTH: Final = 255  # what a record holds; a record's depth stops growing there
MAX_HOSTS_PER_DOMAIN: Final = 10_000  # by default
MAX_NAMED: Final = 100_000  # sources that a crawl remembers as named by its operator
INLINE: Final = "data:,"  # what follows is the content of a file that is remembered
# Sources that the operator names, and what they are.
NAMED: Final = {
    "sites": Kind.SITEMAP,
    "sources": Kind.RESOURCESYNC,
    "portals": Kind.CKAN,
    "endpoints": Kind.SPARQL,
}

# A comma belongs to a URL unless another URL begins after it.
_split_urls = re.compile(r",\s*(?=[A-Za-z][A-Za-z0-9+.-]*://)").split
_is_iri = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*").fullmatch
_SOURCES = {
    kind.name.lower(): kind
    for kind in Kind
    if kind.is_source and kind is not Kind.CUSTOM
}
VOID: Final = "void"  # of a site, at its well-known place


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlArguments:
    """What one crawl is to do; every field has the name of its `-a` argument.

    Attributes:
        seeds: URLs separated by commas, or `@FILE`; here, the URLs as they are
            requested, or the file. Empty: the crawl continues.
        follow: which IRIs are links; see `LinkPolicy.parse`. Default `abox`, and
            `none` for the spiders of sources.
        scope: `any` (default), `domain`, `host` or `prefix`: what a link has to
            have in common with a seed.
        domains: hosts, and those below them, that links must lie on; none is no limit.
        depth: links followed from a seed, 0 to 255. The default 255 is no limit,
            since a record's depth stops growing there.
        max_per_host: URLs taken of one host; the default 0 is no limit.
        max_hosts_per_domain: hosts of one registered domain of which URLs are taken,
            10,000 by default; 0 is no limit.
        max_per_domain: URLs taken of one registered domain; the default 0 is no limit.
        allow: file of regular expressions; a link has to match one of them.
        deny: file of regular expressions; a link must match none of them.
        fresh: forget an earlier crawl of the same name; `0`, `1`, `false`, `true`.
        reset: names of arguments whose values replace those that the crawl was begun
            with, separated by commas, or `all`.
        retry: ask once more for what was given up: `failed`, as its host failed, and
            `dead`, as workers died of it; separated by commas.
        harvest: kinds of sources that are harvested when a link or a document shows
            one: `sitemap`, `resourcesync`, `ckan`, `sparql`, and `void`, what each
            site says of its datasets at `/.well-known/void`; separated by commas, or
            `all` or `none`. Default `ckan,sparql`. A source that is named by an
            argument is harvested in any case.
        trust: hosts that sites may speak for without their consent: `a.example`,
            `a.example:8080`, `*.a.example` for those below it; separated by commas.
        sites: of the spider `sitemap`: sites, or their sitemaps.
        slice: of the spider `sitemap`: cut dumps into a graph for each resource.
        sources: of the spider `resourcesync`: sites, or documents of ResourceSync.
        audit: of the spider `resourcesync`: compare what is there with the lists of
            resources, not only what the lists of changes say.
        portals: of the spider `ckan`: front pages of portals.
        organization, group, q, fq: of the spider `ckan`: which datasets of a portal,
            in the words of its search.
        endpoints: of the spider `sparql`.
        graphs, skip_graphs: of the spider `sparql`: IRIs of the named graphs to take,
            or to leave, separated by commas or `@FILE`; `default` is the default graph.
        take: of the spider `sparql`: `all` statements (default), or the descriptions
            of `datasets` alone.
        query: of the spider `sparql`: file of a query to take the results of instead.

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
    allow: UrlPatterns = field(default_factory=UrlPatterns)
    deny: UrlPatterns = field(default_factory=UrlPatterns)
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

        Args:
            arguments: name and text of each.
            takes: arguments that the spider has beside those of all spiders.

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
            name: own[name](text) if name in own else _PARSERS[name](name, text)
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
            if each.name not in _PARSERS
        }


@dataclass(frozen=True, slots=True)
class ArgumentSet:
    """The arguments that a class of spiders takes.

    Attributes:
        takes: of ours, those that it has beside those of all spiders.
        class_: what they are read into; a subclass has further ones.
        passed: names of further ones that its `__init__` takes, as Scrapy has it.
    """

    takes: tuple[str, ...] = ()
    class_: type[CrawlArguments] = CrawlArguments
    passed: frozenset[str] = frozenset()

    @property
    def names(self) -> list[str]:
        """Names of the arguments that a crawl may keep."""
        return [*arguments_of(self.takes), *self.class_.own()]

    def parse(self, arguments: Mapping[str, object]) -> CrawlArguments:
        """Read the arguments of a spider; see `CrawlArguments.parse`."""
        ours = {n: value for n, value in arguments.items() if n not in self.passed}
        return self.class_.parse(ours, self.takes)


def texts_of(arguments: Mapping[str, object]) -> dict[str, str]:
    """Return arguments as texts, without absent ones and those of scrapyd.

    A path stands for the file; of regular expressions, a list for what is in one.

    Raises:
        ConfigError: an argument is nothing that has a text.
    """
    return {
        name: _text_of(name, value)
        for name, value in arguments.items()
        if value is not None and name != "_job"
    }


def _text_of(name: str, value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Path):
        return f"@{value}" if name in _LISTS_OR_FILES else str(value)
    try:
        if name in _PATTERNS and isinstance(value, Iterable):
            return INLINE + "\n".join(map(text_of, value))
        return text_of(value)
    except ConfigError as error:
        raise ConfigError(f"argument {name}: {error}") from error


def arguments_of(takes: Collection[str]) -> list[str]:
    """Return the names of our arguments that a spider takes.

    Args:
        takes: those beside the ones of all spiders.
    """
    return [name for name in _PARSERS if name not in OF_SOURCES or name in takes]


def inlined(name: str, text: str) -> str:
    """Return the text of an argument with the content of the file that it names.

    Of a file of sources, the first `MAX_NAMED` URLs.

    Raises:
        ConfigError: the file cannot be read.
    """
    if text.startswith(INLINE):
        return text
    if name in NAMED:
        urls = iter_seeds(_seeds(name, text))
        named = islice((url for url in urls if isinstance(url, str)), MAX_NAMED)
        return ",".join(named)
    is_file = name in ("allow", "deny", "query") or (
        name in ("graphs", "skip_graphs") and text.startswith("@")
    )
    return INLINE + _content(name, text) if is_file else text


def _content(name: str, text: str) -> str:
    """Return what is in the file of an argument, or what was in it before.

    Raises:
        ConfigError: the file cannot be read.
    """
    if text.startswith(INLINE):
        return text.removeprefix(INLINE)
    try:
        return Path(text.removeprefix("@")).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"argument {name}={text}: cannot be read: {error}") from error


def _seeds(name: str, text: str) -> tuple[str, ...] | Path:
    if text.startswith("@"):
        path = Path(text[1:])
        try:
            check_seed_file(path)
        except ConfigError as error:
            raise ConfigError(
                f"argument {name}={text}: must be URLs, or @FILE of URLs that {error}"
            ) from error
        return path
    try:
        return tuple(map(_seed, _split_urls(text.strip(", ")))) if text else ()
    except BadUri as error:
        raise ConfigError(
            f"argument {name}={text}: must be http(s) or ftp(s) URLs separated by"
            f" commas, or @FILE: {error}"
        ) from error


def _seed(text: str) -> str:
    url = seed_url(text)
    if "," in host_of(url):  # WHATWG allows it; here it is a URL without its scheme
        raise BadUri(f"comma in the host: {text!r}")
    return url


def check_schemes(arguments: CrawlArguments, schemes: frozenset[str]) -> None:
    """See that what the operator names is of schemes that are crawled.

    Those in a file are looked at when it is read.

    Raises:
        ConfigError: one is not.
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


def _follow(_name: str, text: str) -> LinkPolicy:
    return LinkPolicy.parse(text)


def _extent(name: str, text: str) -> CrawlExtent:
    try:
        return CrawlExtent(text)
    except ValueError:
        raise ConfigError(
            f"argument {name}={text}: must be one of {', '.join(CrawlExtent)}"
        ) from None


def _domains(name: str, text: str) -> frozenset[str]:
    domains = set()
    for entry in filter(None, map(str.strip, text.split(","))):
        try:
            domains.add(host_of(requestable(f"http://{entry}/")))
        except BadUri:
            domains.add("")
        if "/" in entry or "" in domains:
            raise ConfigError(
                f"argument {name}={text}: must be hosts such as example.org, separated"
                " by commas"
            )
    return frozenset(domains)


def _patterns(name: str, text: str) -> UrlPatterns:
    if text.startswith(INLINE):
        return parse_patterns(_content(name, text), name=name)
    try:
        return load_patterns(Path(text))
    except ConfigError as error:
        raise ConfigError(f"argument {name}={text}: {error}") from error


def _number(maximum: int) -> Callable[[str, str], int]:
    def parse(name: str, text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) > maximum:
            raise ConfigError(
                f"argument {name}={text}: must be a whole number from 0 to {maximum}"
            )
        return int(text)

    return parse


def _boolean(name: str, text: str) -> bool:
    try:
        return BOOLEANS[text.lower()]
    except KeyError:
        raise ConfigError(
            f"argument {name}={text}: must be one of {', '.join(BOOLEANS)}"
        ) from None


def _reset(_name: str, text: str) -> frozenset[str]:
    return frozenset(filter(None, map(str.strip, text.split(","))))


def _check_reset(names: Collection[str], own: Collection[str]) -> None:
    for unknown in sorted(set(names) - {*_PARSERS, *own, "all"}):
        shown = ",".join(sorted(names))
        raise ConfigError(f"argument reset={shown}: there is no argument {unknown}")


def _retry(name: str, text: str) -> tuple[GivenUp, ...]:
    words = tuple(filter(None, map(str.strip, text.split(","))))
    if not set(words) <= set(get_args(GivenUp)):
        allowed = ", ".join(get_args(GivenUp))
        raise ConfigError(f"argument {name}={text}: must be some of {allowed}")
    return cast("tuple[GivenUp, ...]", words)


def _harvest(name: str, text: str) -> frozenset[Kind | str]:
    sources: dict[str, Kind | str] = {**_SOURCES, VOID: VOID}
    words: dict[str, set[Kind | str]] = {
        "all": set(sources.values()),
        "none": set(),
    } | {word: {source} for word, source in sources.items()}
    try:
        chosen = [words[word.strip()] for word in text.split(",")]
    except KeyError as error:
        raise ConfigError(
            f"argument {name}={text}: {error} must be one of {', '.join(words)}"
        ) from None
    return frozenset().union(*chosen)


def _trust(name: str, text: str) -> HostNames:
    try:
        return HostNames.parse(filter(None, map(str.strip, text.split(","))))
    except BadUri as error:
        raise ConfigError(
            f"argument {name}={text}: must be hosts such as example.org,"
            f" example.org:8080 or *.example.org, separated by commas: {error}"
        ) from error


def _graphs(name: str, text: str) -> frozenset[str]:
    if text.startswith(("@", INLINE)):
        lines = _content(name, text).splitlines()
        entries = [line.strip() for line in lines if not line.startswith("#")]
    else:
        entries = list(map(str.strip, _split_urls(text)))
    for entry in filter(None, entries):
        if entry != "default" and not _is_iri(entry):
            raise ConfigError(
                f"argument {name}={text}: {entry!r} must be an IRI, or `default`"
            )
    return frozenset(filter(None, entries))


def _take(name: str, text: str) -> Take:
    for word in get_args(Take):
        if text == word:
            return cast("Take", word)
    raise ConfigError(
        f"argument {name}={text}: must be one of {', '.join(get_args(Take))}"
    )


def _query(name: str, text: str) -> UserQuery:
    shown = name if text.startswith(INLINE) else f"{name}={text}"
    return parse_user_query(_content(name, text), name=f"argument {shown}")


def _text(_name: str, text: str) -> str:
    return text


_PARSERS: Final[dict[str, Callable[[str, str], Any]]] = {
    "seeds": _seeds,
    "follow": _follow,
    "scope": _extent,
    "domains": _domains,
    "depth": _number(MAX_DEPTH),
    "max_per_host": _number(2**31 - 1),
    "max_hosts_per_domain": _number(2**31 - 1),
    "max_per_domain": _number(2**31 - 1),
    "allow": _patterns,
    "deny": _patterns,
    "fresh": _boolean,
    "reset": _reset,
    "retry": _retry,
    "harvest": _harvest,
    "trust": _trust,
    "sites": _seeds,
    "slice": _boolean,
    "sources": _seeds,
    "audit": _boolean,
    "portals": _seeds,
    "organization": _text,
    "group": _text,
    "q": _text,
    "fq": _text,
    "endpoints": _seeds,
    "graphs": _graphs,
    "skip_graphs": _graphs,
    "take": _take,
    "query": _query,
}
_PATTERNS: Final = frozenset({"allow", "deny"})
_LISTS_OR_FILES: Final = frozenset({"seeds", "graphs", "skip_graphs", *NAMED})
# Those that not all spiders take; `RdfSpider.takes` says which one does.
OF_SOURCES: Final = frozenset(
    {
        *("sites", "slice"),
        *("sources", "audit"),
        *("portals", "organization", "group", "q", "fq"),
        *("endpoints", "graphs", "skip_graphs", "take", "query"),
    }
)

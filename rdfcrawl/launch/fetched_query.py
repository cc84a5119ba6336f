"""Fetch the documents that a query needs, from the resources that it names.

The links followed are objects of the predicates in the query: an approximation of the
matching links of O. Hartig, "SQUIN: a traversal based query execution system for the
web of linked data" (2013).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from rdflib import RDF, URIRef, Variable
from rdflib.paths import InvPath, Path
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.parser import parseQuery

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import PREFIXES
from rdfcrawl.launch.private_crawls import run_private_crawl
from rdfcrawl.spiders.linkeddata import LinkedDataSpider

if TYPE_CHECKING:
    import pathlib

    from scrapy.crawler import CrawlerProcessBase
    from scrapy.settings import BaseSettings

_SETTINGS: Final = {"HOST_LAST_WAIT_SECS": 0, "RETRY_TIMES": 0}
_REFUSED: Final = 2  # exit code of a crawl
# Members with the names of graphs, which are URLs of documents.
_GRAPH_NAMES: Final = {"Graph": ("term",), "DatasetClause": ("default", "named")}
_BOUNDS: Final = {
    "closespider_itemcount": "--fetch-documents",
    "closespider_timeout": "--fetch-secs",
}


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits of the fetches for a query.

    Attributes:
        depth: links followed from the resources in the query.
        documents: number of documents.
        secs: duration of the crawl.
    """

    depth: int
    documents: int
    secs: float


@dataclass(frozen=True, slots=True)
class NamedResources:
    """The terms of a query that lead to documents.

    Attributes:
        seeds: resources in the query, by their URLs.
        follow: the argument `follow` of the links that its predicates have.
    """

    seeds: tuple[str, ...]
    follow: str


def named_resources(query: str) -> NamedResources:
    """Return the terms of a query that lead to documents.

    Classes and predicates are no resources. If a predicate is a variable, then all
    links are followed.

    Raises:
        ConfigError: the query is invalid, or names no resource of the web.

    >>> named_resources("SELECT ?n { <http://e/me> foaf:knows ?x . ?x foaf:name ?n }")
    NamedResources(seeds=('http://e/me',), follow='+http://xmlns.com/foaf/0.1/knows,+http://xmlns.com/foaf/0.1/name')
    """
    try:
        parsed = translateQuery(parseQuery(query), initNs=PREFIXES)
    except Exception as error:  # of rdflib, of many kinds
        raise ConfigError(f"query --fetch: {error}") from error
    triples = list(_iter_triples(parsed.algebra))
    subjects = (subject for subject, _, _ in triples)
    objects = (obj for _, predicate, obj in triples if predicate != RDF.type)
    named = chain(subjects, objects, _iter_values(parsed.algebra))
    iris = dict.fromkeys(str(each) for each in named if isinstance(each, URIRef))
    seeds = tuple(each for each in iris if each.startswith(("http://", "https://")))
    if not seeds:
        raise ConfigError("query --fetch: name a resource in the query: <http://...>")
    return NamedResources(seeds, _follow(predicate for _, predicate, _ in triples))


def _follow(predicates: Iterable[object]) -> str:
    """Return the argument `follow` for the links of some predicates."""
    positions = dict[str, None]()
    for each in predicates:
        if isinstance(each, Variable):
            return "abox"
        for part in _iter_steps(each):
            if isinstance(part, InvPath):
                positions["subject"] = None
            elif isinstance(part, URIRef) and part != RDF.type:
                positions[f"+{part}"] = None
    if any("," in each for each in positions):
        return "abox"
    return ",".join(positions) or "none"


def _iter_steps(path: object) -> Iterator[object]:
    """Yield the predicates of a property path, and its inverse steps."""
    if isinstance(path, Path):
        if isinstance(path, InvPath):
            yield path
        for each in vars(path).values():
            for part in each if isinstance(each, list) else [each]:
                yield from _iter_steps(part)
    else:
        yield path


def _iter_triples(part: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the triple patterns of a query."""
    for each in _iter_parts(part):
        # `get` of these nodes returns the name of a missing member.
        for flat in each["triples"] if "triples" in each else ():  # noqa: SIM401
            yield from zip(flat[::3], flat[1::3], flat[2::3], strict=True)


def _iter_values(part: Any) -> Iterator[object]:
    """Yield the terms of VALUES, DESCRIBE, GRAPH and FROM."""
    for each in _iter_parts(part):
        name = getattr(each, "name", "")
        if name in _GRAPH_NAMES:
            yield from (each[key] for key in _GRAPH_NAMES[name] if key in each)
        elif name == "values":
            for row in each["res"]:
                yield from row.values()
        elif name == "DescribeQuery" and isinstance(each["PV"], list):
            yield from each["PV"]


def _iter_parts(part: Any) -> Iterator[Any]:
    """Yield the nodes of an algebra expression."""
    if isinstance(part, Mapping):
        yield part
        for name in part:
            yield from _iter_parts(part[name])
    elif isinstance(part, list | tuple):
        for each in part:
            yield from _iter_parts(each)


def fetch_named(
    process: CrawlerProcessBase,
    settings: BaseSettings,
    resources: NamedResources,
    limits: FetchLimits,
    *,
    folder: pathlib.Path,
) -> tuple[pathlib.Path, str]:
    """Crawl from some resources; return the folder of the crawl, and a summary.

    Args:
        process: in which the crawl runs.
        settings: those of the crawl are set in them.
        resources: from which it begins.
        limits: of the crawl.
        folder: of temporary files.

    Raises:
        ConfigError: a setting is wrong.
        OSError: the crawl could not begin.
    """
    arguments = {
        "seeds": ",".join(resources.seeds),
        "follow": resources.follow,
        "depth": str(limits.depth),
        "harvest": "none",
    }
    bounds = {
        "CLOSESPIDER_ITEMCOUNT": limits.documents,
        "CLOSESPIDER_TIMEOUT": limits.secs,
    }
    code, crawler = run_private_crawl(
        process,
        settings,
        LinkedDataSpider,
        arguments,
        folder=folder,
        more={**_SETTINGS, **bounds},
    )
    if code == _REFUSED or crawler.stats is None:
        raise OSError("the resources were not fetched")
    return folder / LinkedDataSpider.name, _summary(crawler.stats.get_stats())


def _summary(stats: Mapping[str, Any]) -> str:
    documents = counted(stats.get("document/stored", 0), "document")
    statements = counted(stats.get("document/quads", 0), "statement")
    text = f"fetched {documents} with {statements}"
    prefix = "fault/"
    faults = [
        f"{name.removeprefix(prefix)} {number}"
        for name, number in sorted(stats.items())
        if name.startswith(prefix)
    ]
    if faults:
        text += f"; faults {', '.join(faults)}"
    if bound := _BOUNDS.get(stats.get("finish_reason", "")):
        text += f"; more is linked: {bound}"
    return text

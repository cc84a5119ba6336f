"""The part of an endpoint that is harvested."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from rdfcrawl.sources.access import DEFAULT_GRAPH
from rdfcrawl.sources.harvest.protocol import read_task
from rdfcrawl.sources.sitemaps.semantic import ALL_GRAPHS
from rdfcrawl.sources.sparql.plan import EndpointPlan
from rdfcrawl.sources.sparql.settings import HarvestSettings

if TYPE_CHECKING:
    from rdfcrawl.core.records import Record
    from rdfcrawl.frontier.arguments.crawl import CrawlArguments


def plan_of(record: Record, given: CrawlArguments, rows: int) -> EndpointPlan:
    """Return the plan of an endpoint, by the arguments if the operator named it.

    Args:
        record: of the endpoint.
        given: arguments of the spider.
        rows: of the first pages.

    The URL of the endpoint names the document that describes it, so the default
    graph has another name.
    """
    default_graph = f"{record.url}#default"
    task = read_task(record)
    if not task.is_named:
        settings = HarvestSettings(
            default_graph=default_graph, trust="same-origin", page_rows=rows
        )
        return EndpointPlan(record.url, _limited(settings, task.graphs))
    named = tuple(sorted(given.graphs - {"default"}))
    is_wanted = not given.graphs and "default" not in given.skip_graphs
    otherwise: Literal["auto", "never"] = "auto" if is_wanted else "never"
    skipped = tuple(sorted(given.skip_graphs - {"default"}))
    if given.graphs == {"default"}:
        skipped = ("*",)
    settings = HarvestSettings(
        mode="query" if given.query else given.take,
        query=given.query,
        include=named,
        exclude=skipped,
        default_graph=default_graph,
        take_default_graph="always" if "default" in given.graphs else otherwise,
        page_rows=rows,
    )
    return EndpointPlan(record.url, settings)


def _limited(settings: HarvestSettings, graphs: tuple[str, ...]) -> HarvestSettings:
    """Return the settings for the graphs of `DatasetAccess.graphs`."""
    if not graphs or ALL_GRAPHS in graphs:
        return settings
    named = tuple(name for name in graphs if name != DEFAULT_GRAPH)
    return replace(
        settings,
        include=named,
        exclude=() if named else (ALL_GRAPHS,),
        take_default_graph="always" if DEFAULT_GRAPH in graphs else "never",
    )

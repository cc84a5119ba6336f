"""The task of a record of a source: for which run, named by whom, and which step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from rdfcrawl.core.tasks.ckan import CkanTask
from rdfcrawl.core.tasks.sitemap import ConsentTask, RobotsTask, SitemapTask
from rdfcrawl.core.tasks.sparql import SparqlPing, SparqlTask
from rdfcrawl.core.tasks.sync import SyncSearch, SyncTask
from rdfcrawl.core.tasks.warc import WarcTask


@dataclass(frozen=True, slots=True)
class CustomTask:
    """One request of a source that a harvester of the user's reads."""

    TAG: ClassVar = "custom"

    harvester: str  # its name in the setting `HARVESTERS`
    # which step of the harvest, in words of its own: ASCII without control characters
    payload: str = ""


Payload: TypeAlias = (
    CkanTask
    | SparqlTask
    | SparqlPing
    | SyncTask
    | SyncSearch
    | SitemapTask
    | RobotsTask
    | ConsentTask
    | CustomTask
    | WarcTask
)


@dataclass(frozen=True, slots=True)
class SourceTask:
    """What a record of a source is to do."""

    TAG: ClassVar = "source"

    run: int  # of the crawl: another run asks again
    is_named: bool = False  # the operator named the source; it was not come upon
    payload: Payload | None = None  # which step of the harvest; None is the first one
    # of an endpoint that are wanted (`DatasetAccess.graphs`); all if empty
    graphs: tuple[str, ...] = ()

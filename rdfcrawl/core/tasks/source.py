"""The task of a record of a source: its run, its origin, and the step."""

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
    """One request of a source for a user's harvester."""

    TAG: ClassVar = "custom"

    harvester: str  # its name in the setting `HARVESTERS`
    # step of the harvest, defined by the harvester: ASCII without control characters
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
    """Step of the harvest of a source."""

    TAG: ClassVar = "source"

    run: int  # of the crawl: another run requests it again
    is_named: bool = False  # named by the operator, not discovered
    payload: Payload | None = None  # step of the harvest; None is the first one
    # graphs of an endpoint to read (`DatasetAccess.graphs`); all if empty
    graphs: tuple[str, ...] = ()

"""ResourceSync as a source: a mirror of its resources.

`source_finder` looks for a source, `document_reader` reads its documents and dumps,
`step_runner` runs their steps, `resource_fetcher` handles single resources,
`resource_writer` those of dumps; `files` stores bytes, `mirror_index` the state.
"""

from __future__ import annotations

from rdfcrawl.sources.harvest.resourcesync.harvester import ResourceSyncHarvester
from rdfcrawl.sources.harvest.resourcesync.source_finder import listed_at, named_by

__all__ = ["ResourceSyncHarvester", "listed_at", "named_by"]

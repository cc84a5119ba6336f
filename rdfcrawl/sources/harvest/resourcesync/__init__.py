"""ResourceSync as a source: a mirror of its resources.

`harvester` looks for a source, `document_reader` reads its documents and dumps and runs
their steps, `resources` handles single resources and their bytes, `mirror_index` the
state.
"""

from __future__ import annotations

from rdfcrawl.sources.harvest.resourcesync.harvester import (
    ResourceSyncHarvester,
    described_at,
    listed_at,
    named_by,
)

__all__ = ["ResourceSyncHarvester", "described_at", "listed_at", "named_by"]

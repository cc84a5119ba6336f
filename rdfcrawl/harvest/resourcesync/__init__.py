"""ResourceSync as a source: resources that are kept equal to their source.

`finding` looks for a source, `lists` reads its documents and dumps, `work` does what
they ask for, `resources` takes what they name one by one, `writer` what dumps have;
`files` has the bytes, and `memory` what is known of it all.
"""

from __future__ import annotations

from rdfcrawl.harvest.resourcesync.harvester import ResourceSyncHarvester
from rdfcrawl.harvest.resourcesync.source_finder import listed_at, named_by

__all__ = ["ResourceSyncHarvester", "listed_at", "named_by"]

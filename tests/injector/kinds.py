"""Kinds of sources, most of them nodes of the data web.

A kind is a node for each version, from 1 on: in each of them some documents are
changed, one is new and one is gone. To add a source, add a row to `KINDS`: with the
options of its node in the data web, or with a function of `files.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.nodes.base import to_ntriples
from rdfcrawl.dataweb.nodes.catalog import CatalogOptions
from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from rdfcrawl.dataweb.nodes.paged import PagedOptions, PagingStyle
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.dataweb.nodes.resourcesync import ResourceSyncOptions
from rdfcrawl.dataweb.nodes.semantic import DatasetWay, DumpKind, SemanticOptions
from rdfcrawl.dataweb.nodes.semantic_sitemap import DatasetNames
from tests.injector import files
from tests.injector.judging import grouped, quads_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rdfcrawl.dataweb.nodes.base import NodePlan, WebNode
    from rdfcrawl.dataweb.nodes.site import SiteOptions
    from tests.injector.files import FileNode
    from tests.injector.judging import Truth


@dataclass(frozen=True)
class SourceKind:
    """A kind of source.

    Attributes:
        name: for messages.
        options: of its node in the data web, or what files it has.
        n_requests: that differ, in each later run at least.
        argument: of the spider, for the sites; with `seed`, a target.
        changes: arguments of `change` of a node of the data web.
        is_by_graph: the truth of files is compared graph by graph, not by subject.
        by_refresh: see `Chain`.
        """

    name: str
    options: SiteOptions[Any] | Callable[[str, int], files.Files]
    n_requests: int
    argument: str = "sites"
    seed: str = "/"
    changes: Mapping[str, Any] = field(default_factory=dict)
    is_by_graph: bool = True
    by_refresh: bool = False

    @property
    def group(self) -> int:
        """The term that its truth is grouped by: 3 is the graph, 0 the subject."""
        return 3 if self.is_by_graph and callable(self.options) else 0

    @property
    def node_kind(self) -> NodeKind:
        """The kind of its node."""
        return NodeKind.SITEMAP if callable(self.options) else self.options.kind

    def make(self, plan: NodePlan, version: int) -> WebNode:
        """Return the node in a version."""
        if callable(self.options):
            return files.FileNode(plan, self.options(plan.origin, version), version)
        node = self.options.build(plan)
        for _ in range(1, version):
            node.change(**self.changes)
        return node

    def truth_of(self, node: WebNode) -> Truth:
        """Return the truth of a node."""
        if isinstance(node, files.FileNode):
            truth = node.truth()
            quads = ((*x, graph) for graph, triples in truth.items() for x in triples)
        else:
            quads = iter(quads_of(to_ntriples(node.iter_truth())))
        return grouped(quads, self.group)


_RS: Final[dict[str, Any]] = {"argument": "sources", "changes": {"n": 4, "seed": 78}}
_WAY = DatasetWay

KINDS: tuple[SourceKind, ...] = (
    SourceKind("pages", files.pages, 8),
    SourceKind("index", files.sitemap_index, 8),
    SourceKind("feed", files.feed, 6),
    SourceKind("dumps", files.dumps, 6),
    SourceKind("packed", files.packed_dump, 3),
    SourceKind("archives", files.archives, 5),
    SourceKind("mirrors", files.mirrors, 4, is_by_graph=False),
    SourceKind("void", files.described_dumps, 5),
    SourceKind("tree", files.tree, 3, "seeds", "/c1", by_refresh=True),
    SourceKind("list", files.resource_list, 7, "sources"),
    SourceKind(
        "dataset",
        SemanticOptions(n_uris=5, ways=(_WAY.DUMP,), dump=DumpKind.NTRIPLES, n_samples=0),
        3,
    ),
    SourceKind("fragments", SemanticOptions(n_uris=9, ways=(_WAY.FRAGMENTS,), n_samples=0), 5),
    SourceKind(
        "parts",
        SemanticOptions(
            n_uris=9,
            ways=(_WAY.FRAGMENTS, _WAY.DUMP),
            names=DatasetNames.SECOND,
            n_samples=0,
        ),
        5,
    ),
    SourceKind("dataset endpoint", SemanticOptions(n_uris=5, ways=(_WAY.SPARQL,), n_samples=0), 8),
    SourceKind("ways", SemanticOptions(n_uris=4), 6),
    SourceKind(
        "portal",
        PortalOptions(n_datasets=4, rdf_every=1),
        8,
        "portals",
        changes={"changed": 2, "deleted": 1, "created": 1},
    ),
    SourceKind(
        "portal list",
        PortalOptions(n_datasets=4, rdf_every=2, search="refused"),
        8,
        "portals",
        changes={"changed": 2, "deleted": 1, "created": 1},
    ),
    SourceKind(
        "portal catalog",
        PortalOptions(n_datasets=4, rdf_every=2, search="refused", lists=False, dcat="hydra", dcat_page=2),
        8,
        "portals",
        changes={"changed": 2, "deleted": 1, "created": 1},
    ),
    SourceKind("endpoint", EndpointOptions(n_triples=60), 12, "endpoints", "/sparql"),
    SourceKind("dump", ResourceSyncOptions(n_resources=8, has_lists=False), 4, **_RS),
    SourceKind("changes", ResourceSyncOptions(n_resources=8, has_dumps=False), 4, **_RS),
    SourceKind(
        "indexes",
        ResourceSyncOptions(n_resources=8, has_dumps=False, list_size=4, found_by=("html",)), 7, **_RS,
    ),
)
KINDS += tuple(
    SourceKind(style, PagedOptions(n_members=9, page_size=4, styles=(style,)), n, "seeds", f"/{style}", by_refresh=True)
    for style, n in zip(PagingStyle, (4, 4, 4, 4, 2), strict=True)
)
KINDS += (
    SourceKind("links", files.linked_pages, 4, "seeds", by_refresh=True),
    SourceKind("slices", files.sliced_dump, 3, by_refresh=True),
)

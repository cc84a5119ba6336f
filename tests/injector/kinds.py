"""Kinds of sources, most of them nodes of the data web.

A kind is a node for each version, from 1 on: in each of them some documents are
changed, one is new and one is gone. To add a source, add a row to `KINDS`: with the
options of its node in the data web, or with a function of `files.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.nodes.base import to_ntriples
from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from rdfcrawl.dataweb.nodes.paged import PagedOptions, PagingStyle
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.dataweb.nodes.resourcesync import ResourceSyncOptions
from rdfcrawl.dataweb.nodes.semantic import DatasetWay, SemanticOptions
from rdfcrawl.dataweb.nodes.semantic_sitemap import DatasetNames
from tests.injector import files, repositories
from tests.injector.judging import grouped, quads_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rdfcrawl.dataweb.nodes.base import NodePlan, WebNode
    from rdfcrawl.dataweb.nodes.site import ChangingSite, SiteOptions
    from tests.injector.judging import Truth


@dataclass(frozen=True)
class SourceKind:
    """A kind of source.

    Attributes:
        name: for messages.
        options: of its node in the data web, or what files it has, or its node.
        n_requests: that differ, in each later run at least.
        argument: of the spider, for the sites; with `seed`, a target.
        changes: arguments of `change` of a node of the data web.
        is_by_graph: the truth of files is compared graph by graph, not by subject.
        has_links: see `CrawlChain`.
        is_variant: only `python -m tests.injector` tries it.
        is_behind: each URL is redirected to one of the same site, below `/at`.
    """

    name: str
    options: (
        SiteOptions[Any]
        | Callable[[str, int], files.SiteFiles]
        | type[repositories.RepositoryNode]
    )
    n_requests: int
    argument: str = "sites"
    seed: str = "/"
    changes: Mapping[str, Any] = field(default_factory=dict)
    is_by_graph: bool = True
    has_links: bool = False
    is_variant: bool = False
    is_behind: bool = False

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
        node: WebNode
        if isinstance(self.options, type):
            node = self.options(plan, version)
            return node
        if callable(self.options):
            return files.FileNode(plan, self.options(plan.origin, version), version)
        node = self.options.build(plan)
        for _ in range(1, version):
            cast("ChangingSite", node).change(**self.changes)
        return node

    def truth_of(self, node: WebNode) -> Truth:
        """Return the truth of a node."""
        if isinstance(node, files.FileNode):
            truth = node.truth()
            quads = [(*x, graph) for graph, triples in truth.items() for x in triples]
        else:
            quads = quads_of(to_ntriples(node.iter_truth()))
        return grouped(quads, self.group)


_PORTAL: Final[dict[str, Any]] = {
    "argument": "portals",
    "changes": {"changed": 2, "deleted": 1, "created": 1},
}
# By this seed, no resource is moved.
_SYNC: Final[dict[str, Any]] = {
    "argument": "sources",
    "changes": {"n": 4, "seed": 78},
}
_LINKS: Final[dict[str, Any]] = {"argument": "seeds", "has_links": True}


def _dataset(*ways: DatasetWay, n_uris: int = 5, **options: Any) -> SemanticOptions:
    return SemanticOptions(n_uris=n_uris, ways=ways, n_samples=0, **options)


def _portal(**options: Any) -> PortalOptions:
    return PortalOptions(n_datasets=4, rdf_every=1, **options)


def _sync(**options: Any) -> ResourceSyncOptions:
    return ResourceSyncOptions(n_resources=8, **options)


def _pages(style: PagingStyle) -> PagedOptions:
    return PagedOptions(n_members=9, page_size=4, styles=(style,))


_NO_API: Final[dict[str, Any]] = {"search": "refused", "lists": False}
_SECOND: Final = DatasetNames.SECOND
_IN_PARTS: Final = (DatasetWay.FRAGMENTS, DatasetWay.DUMP)

_KINDS: Final = (
    SourceKind("pages", files.pages, 8),
    SourceKind("index", files.sitemap_index, 8),
    SourceKind("feed", files.feed, 6),
    SourceKind("dumps", files.dumps, 6),
    SourceKind("packed", files.packed_dump, 3),
    SourceKind("archives", files.archives, 5),
    SourceKind("mirrors", files.mirrors, 4, is_by_graph=False),
    SourceKind("void", files.described_dumps, 5),
    SourceKind("list", files.resource_list, 7, "sources"),
    SourceKind("dataset", _dataset(DatasetWay.DUMP), 3, is_variant=True),
    SourceKind("fragments", _dataset(DatasetWay.FRAGMENTS), 5, is_variant=True),
    SourceKind("parts", _dataset(*_IN_PARTS, n_uris=9, names=_SECOND), 5),
    SourceKind("dataset endpoint", _dataset(DatasetWay.SPARQL), 8, is_variant=True),
    SourceKind("ways", SemanticOptions(n_uris=4), 5),
    SourceKind("portal", _portal(), 7, **_PORTAL),
    SourceKind("portal list", _portal(search="refused"), 8, is_variant=True, **_PORTAL),
    SourceKind("portal pages", _portal(**_NO_API), 8, is_variant=True, **_PORTAL),
    SourceKind("endpoint", EndpointOptions(n_triples=60), 10, "endpoints", "/sparql"),
    SourceKind("dump", _sync(has_lists=False), 4, **_SYNC),
    SourceKind("changes", _sync(has_dumps=False), 4, **_SYNC),
    SourceKind("repository", repositories.RepositoryNode, 4, "repositories", "/oai"),
    SourceKind(
        *("full repository", repositories.FullRepositoryNode, 6),
        *("repositories", "/oai"),
        is_variant=True,
    ),
    SourceKind(
        "indexes",
        _sync(has_dumps=False, list_size=4, found_by=("html",)),
        *(7, "sources"),
        changes=_SYNC["changes"],
        is_variant=True,
    ),
    # -- by links ----------------------------------------------------------------------
    SourceKind("links", files.linked_pages, 4, **_LINKS),
    SourceKind("slices", files.sliced_dump, 3, has_links=True),
    SourceKind("tree", files.tree, 3, seed="/c1", **_LINKS),
    SourceKind("ldes", _pages(PagingStyle.LDES), 2, seed="/ldes", **_LINKS),
    *(
        SourceKind(style, _pages(style), 4, seed=f"/{style}", is_variant=True, **_LINKS)
        for style in (PagingStyle.HYDRA, PagingStyle.HYDRA_OLD, PagingStyle.LINK)
    ),
    SourceKind(
        *("search tree", _pages(PagingStyle.TREE), 4),
        seed="/tree",
        is_variant=True,
        **_LINKS,
    ),
)
_BEHIND: Final = (
    "pages",
    "index",
    "dumps",
    "void",
    "list",
    "ways",
    "portal",
    "changes",
)

KINDS: Final = (
    *_KINDS,
    *(
        replace(
            kind,
            name=f"{kind.name} behind",
            n_requests=2 * kind.n_requests,
            is_by_graph=False,
            is_variant=True,
            is_behind=True,
        )
        for kind in _KINDS
        if kind.name in (*_BEHIND, "links", "tree")
    ),
)

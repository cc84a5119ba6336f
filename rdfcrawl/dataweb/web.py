"""The web: plans, data and truth of all nodes, created from one seed."""

from __future__ import annotations

import ipaddress
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import counted
from rdfcrawl.dataweb.config import ORCA_KINDS, NodeKind
from rdfcrawl.dataweb.evolution.clock import WebClock
from rdfcrawl.dataweb.evolution.draws import DAY_SECS
from rdfcrawl.dataweb.evolution.node import EvolvingNode, EvolvingOptions
from rdfcrawl.dataweb.evolution.truth import write_history
from rdfcrawl.dataweb.generations import pass_generations
from rdfcrawl.dataweb.nodegraph import NodeGraph, draw_graph, draw_kinds
from rdfcrawl.dataweb.nodes.base import NodePlan, WebNode, origin_of
from rdfcrawl.dataweb.nodes.ckan import CkanNode
from rdfcrawl.dataweb.nodes.dereferencing import DereferencingNode, resource_path
from rdfcrawl.dataweb.nodes.dump import DumpFormat, DumpNode, draw_dump_format
from rdfcrawl.dataweb.nodes.pages import make_pages
from rdfcrawl.dataweb.nodes.rdfa import ENTRANCE_PATH, RdfaNode
from rdfcrawl.dataweb.nodes.sparql import ENDPOINT_PATH, SparqlNode
from rdfcrawl.dataweb.nodes.suite import read_suite_pages
from rdfcrawl.dataweb.rdfgraph import draw_rdf_graph
from rdfcrawl.dataweb.sources import options_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdfcrawl.dataweb.config import WebConfig

GRAPH_PREFIX = "urn:dataweb:"  # + KIND:ID, the graph of a node's truth


@dataclass(frozen=True, slots=True)
class DataWeb:
    """A generated web, ready to be served.

    Attributes:
        config: of the web, with the actual port.
        graph: kinds and links of the nodes.
        nodes: by node id.
    """

    config: WebConfig
    graph: NodeGraph
    nodes: tuple[WebNode, ...]

    @property
    def evolving(self) -> tuple[EvolvingNode, ...]:
        """The nodes that change in time."""
        return tuple(node for node in self.nodes if isinstance(node, EvolvingNode))

    @property
    def seeds(self) -> tuple[str, ...]:
        """URLs from which the complete web can be reached."""
        return tuple(self.nodes[node].plan.access_uri for node in self.graph.seeds)

    def iter_truth(self) -> Iterator[str]:
        """Yield N-Quads lines that a crawler should find, one graph per node.

        Blank nodes are patterns: each stands for any term, on its own.
        """
        for node in self.nodes:
            graph = f"<{GRAPH_PREFIX}{node.plan.kind}:{node.plan.index}>"
            for s, p, o in node.iter_truth():
                subject = _relabel(s, node.plan.index)
                yield f"{subject} {p} {_relabel(o, node.plan.index)} {graph} .\n"

    def write_seeds(self, path: Path) -> None:
        """Write the seeds, one in a line."""
        path.write_text("".join(f"{url}\n" for url in self.seeds))

    def write_history(self, path: Path, *, now: float = 0.0) -> None:
        """Write the history of evolving nodes; nothing if there are none.

        Args:
            path: of the file.
            now: time of the web; if it is beyond the horizon, it takes its place.
        """
        horizon = max(self.config.horizon_days * DAY_SECS, now)
        write_history(path, self.evolving, begin=self.config.begin, horizon=horizon)

    def write_truth(self, path: Path) -> int:
        """Write `iter_truth` to a file and return its number of lines."""
        n_lines = 0
        with path.open("w", encoding="utf-8") as out:
            for line in self.iter_truth():
                out.write(line)
                n_lines += 1
        return n_lines


def build_web(config: WebConfig, clock: WebClock | None = None) -> DataWeb:
    """Generate a web; equal parameters give an equal web.

    Args:
        config: of the web.
        clock: of the evolving nodes; None makes one.

    Raises:
        ConfigError: the port is not decided yet, or the RDFa suite is not there.
    """
    if config.port == 0:
        raise ConfigError("port must be decided before the web is made")
    kinds = draw_kinds(config, _random(config, "kinds"))
    graph = draw_graph(kinds, degree=config.degree, rng=_random(config, "graph"))
    dumps = {
        index: draw_dump_format(config, _random(config, f"dump-{index}"), nth)
        for nth, index in enumerate(
            index for index, kind in enumerate(kinds) if kind is NodeKind.DUMP
        )
    }
    plans = list(_iter_plans(config, kinds, dumps))
    evolving = _evolving_options(config, plans, clock or WebClock(speed=config.speed))
    uris = [plan.access_uri for plan in plans]
    nodes = [
        _build_node(
            replace(plan, links=tuple(uris[target] for target in targets)),
            config,
            dumps.get(plan.index),
            evolving.get(plan.index),
        )
        for plan, targets in zip(plans, graph.links, strict=True)
    ]
    return DataWeb(config, graph, tuple(nodes))


def list_addresses(config: WebConfig) -> list[str]:
    """Return one loopback address per node: those after the first, no .0 and .255.

    Raises:
        ConfigError: there are not enough addresses before the end of loopback.
    """
    addresses: list[str] = []
    number = int(ipaddress.IPv4Address(config.first_address))
    while len(addresses) < config.n_nodes:
        address = ipaddress.IPv4Address(number)
        if not address.is_loopback:
            raise ConfigError(f"address {config.first_address} leaves too few others")
        if number % 256 not in (0, 255):
            addresses.append(str(address))
        number += 1
    return addresses


def _random(config: WebConfig, component: str) -> random.Random:
    """One stream of random numbers per component: none disturbs another."""
    return random.Random(f"{config.seed}/{component}")


def _iter_plans(
    config: WebConfig, kinds: tuple[NodeKind, ...], dumps: dict[int, DumpFormat]
) -> Iterator[NodePlan]:
    for index, address in enumerate(list_addresses(config)):
        kind = kinds[index]
        path = {
            NodeKind.DEREFERENCING: resource_path(0),
            NodeKind.CKAN: "/",
            NodeKind.SPARQL: ENDPOINT_PATH,
            NodeKind.RDFA: ENTRANCE_PATH,
        }.get(kind, "")
        if kind is NodeKind.DUMP:
            path = f"{dumps[index].path}#dataset-0-resource-0"
        uri = origin_of(address, config.port) + path
        if kind not in ORCA_KINDS:
            options = options_of(config, kind, index)
            uri = options.access_uri(origin_of(address, config.port))
        yield NodePlan(
            index=index,
            kind=kind,
            address=address,
            port=config.port,
            access_uri=uri,
        )


def _evolving_options(
    config: WebConfig, plans: list[NodePlan], clock: WebClock
) -> dict[int, EvolvingOptions]:
    """Return the options of the nodes that change; the last mirror the first."""
    plans = [one for one in plans if one.kind is NodeKind.EVOLVING]
    n_originals = len(plans) - config.n_mirrors
    if n_originals < config.n_mirrors:
        raise ConfigError(
            f"mirrors is {config.n_mirrors}, but"
            f" {counted(len(plans), 'node evolves', 'nodes evolve')}"
        )
    found = {}
    for place, plan in enumerate(plans):
        original = plans[place % n_originals]
        options = options_of(config, plan.kind, original.index)
        found[plan.index] = replace(
            cast("EvolvingOptions", options),
            clock=clock,
            begin=config.begin_date,
            mirror_of="" if original is plan else original.origin,
        )
    return found


def _build_node(
    plan: NodePlan,
    config: WebConfig,
    dump: DumpFormat | None,
    evolving: EvolvingOptions | None,
) -> WebNode:
    if evolving is not None:
        return evolving.build(plan)
    if plan.kind not in ORCA_KINDS:
        node: WebNode = options_of(config, plan.kind, plan.index).build(plan)
        return node
    if plan.kind is NodeKind.RDFA:
        if config.rdfa_dir:
            return RdfaNode(plan, read_suite_pages(config.rdfa_dir, plan.origin))
        return RdfaNode(plan, make_pages(plan.origin))
    return _build_drawn(plan, config, dump)


def _build_drawn(plan: NodePlan, config: WebConfig, dump: DumpFormat | None) -> WebNode:
    if plan.kind is NodeKind.CKAN:
        return CkanNode(plan)
    rng = _random(config, f"data-{plan.index}")
    objects = _draw_objects(plan, config, rng)
    changes = _random(config, f"generations-{plan.index}")
    gone = pass_generations(objects, config.generation, changes)
    if plan.kind is NodeKind.SPARQL:
        return SparqlNode(plan, objects)
    if dump is not None:
        return DumpNode(plan, objects, dump_format=dump)
    for resource in range(len(objects), len(objects) + config.n_disallowed):
        objects[rng.randrange(config.n_resources)].append(resource)
    objects += [[] for _ in range(config.n_disallowed)]
    return DereferencingNode(
        plan,
        objects,
        n_disallowed=config.n_disallowed,
        gone=gone,
        delay_secs=config.delay_secs,
    )


def _draw_objects(
    plan: NodePlan, config: WebConfig, rng: random.Random
) -> list[list[int | str]]:
    """Return the node's own edges, and its links from resources drawn at random."""
    edges = draw_rdf_graph(config.n_resources, degree=config.rdf_degree, rng=rng)
    objects: list[list[int | str]] = [[*targets] for targets in edges]
    for uri in plan.links:
        rng.choice(objects).append(uri)
    return objects


def _relabel(term: str, index: int) -> str:
    return f"_:n{index}{term[2:]}" if term.startswith("_:") else term

"""Sites that change in time, without a server, for tests at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.evolution.draws import DAY_SECS
from rdfcrawl.dataweb.evolution.node import EvolvingNode, EvolvingOptions
from rdfcrawl.dataweb.evolution.truth import gather_history, iter_history
from rdfcrawl.dataweb.messages import NodeRequest
from rdfcrawl.dataweb.nodes.base import NodePlan

if TYPE_CHECKING:
    from rdfcrawl.dataweb.evolution.truth import WebTruth
    from rdfcrawl.dataweb.messages import NodeResponse


def site(address: str = "127.0.0.9", **options: Any) -> EvolvingNode:
    """Return a site that is not served."""
    plan = NodePlan(
        index=0,
        kind=NodeKind.EVOLVING,
        address=address,
        port=80,
        access_uri=f"http://{address}/",
    )
    return EvolvingOptions(**options).build(plan)


def ask(node: EvolvingNode, path: str, day: float, **fields: str) -> NodeResponse:
    """Return a site's answer on a day, with header fields of the request."""
    sent = {name.lower().replace("_", "-"): value for name, value in fields.items()}
    return node.respond_at(NodeRequest("GET", path, fields=sent), day * DAY_SECS)


def truth_of(*nodes: EvolvingNode, days: float = 30) -> WebTruth:
    """Return the truth of sites up to a day."""
    return gather_history(iter_history(nodes, begin="", horizon=days * DAY_SECS))

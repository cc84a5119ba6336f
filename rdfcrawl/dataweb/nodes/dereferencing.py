"""A node whose resource URIs return the triples of the resource."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rdfcrawl.dataweb.messages import (
    GONE,
    NOT_ACCEPTABLE,
    NOT_FOUND,
    ROBOTS_PATH,
    NodeResponse,
)
from rdfcrawl.dataweb.negotiation import RDF_NEGOTIATOR
from rdfcrawl.dataweb.nodes.base import NodePlan, WebNode, serialize

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from pyoxigraph import RdfFormat

    from rdfcrawl.dataweb.messages import NodeRequest
    from rdfcrawl.dataweb.nodes.base import Statement

_RESOURCE = re.compile(r"/dataset-0/resource-(0|[1-9][0-9]{0,8})\Z")


def resource_path(resource: int) -> str:
    """Path of a resource, `/dataset-0/resource-K`."""
    return f"/dataset-0/resource-{resource}"


class DereferencingNode(WebNode):
    """Linked Data by content negotiation; some resources may be disallowed.

    Args:
        plan: the decisions made before.
        objects: by resource, the resources and IRIs it links to; the last
            `n_disallowed` resources are disallowed and empty.
        n_disallowed: how many.
        gone: resources that were there once.
        delay_secs: `Crawl-delay` of robots.txt; 0 for none.
    """

    def __init__(
        self,
        plan: NodePlan,
        objects: Sequence[Sequence[int | str]],
        *,
        n_disallowed: int = 0,
        gone: Collection[int] = (),
        delay_secs: float = 0.0,
    ) -> None:
        super().__init__(plan)
        self._objects = objects
        self._n_allowed = len(objects) - n_disallowed
        self._gone = gone
        self._delay_secs = delay_secs
        self._base = plan.origin
        self._cache: dict[tuple[str, RdfFormat], NodeResponse] = {}
        self._disallowed = frozenset(
            resource_path(k) for k in range(self._n_allowed, len(objects))
        )
        self._robots = self._encode_robots()

    @property
    def disallowed(self) -> frozenset[str]:
        """Paths that robots.txt disallows."""
        return self._disallowed

    @property
    def delay_secs(self) -> float:
        """`Crawl-delay` of robots.txt; 0 if there is none."""
        return self._delay_secs

    def respond(self, request: NodeRequest) -> NodeResponse:
        """Respond 200 for a resource, 410 if it is gone, 406 if no format suits."""
        target = request.target
        if target == ROBOTS_PATH:
            return self._robots
        rdf_format = RDF_NEGOTIATOR.choose(request.accept)
        # At most (resources x formats) responses: only existing ones are stored.
        if rdf_format and (known := self._cache.get((target, rdf_format))):
            return known
        match = _RESOURCE.match(target)
        if not match or int(match[1]) >= len(self._objects):
            return NOT_FOUND
        if int(match[1]) in self._gone:
            return GONE
        if rdf_format is None:
            return NOT_ACCEPTABLE
        body = serialize(self._statements(int(match[1])), rdf_format)
        response = NodeResponse(200, body, content_type=rdf_format.media_type)
        self._cache[target, rdf_format] = response
        return response

    def iter_truth(self) -> Iterator[Statement]:
        """Yield the triples of all resources that are allowed."""
        for resource in range(self._n_allowed):
            yield from self._statements(resource)

    def _statements(self, resource: int) -> Iterator[Statement]:
        subject = f"<{self._base}{resource_path(resource)}>"
        predicate = f"<{self._base}/dataset-0/property-0>"
        for item in self._objects[resource]:
            if isinstance(item, int):
                yield subject, predicate, f"<{self._base}{resource_path(item)}>"
            else:
                yield subject, predicate, f"<{item}>"

    def _encode_robots(self) -> NodeResponse:
        text = robots_text(sorted(self._disallowed), delay_secs=self._delay_secs)
        if not text:
            return NOT_FOUND
        return NodeResponse(
            200, text.encode(), content_type="text/plain; charset=utf-8"
        )


def robots_text(disallowed: Sequence[str], *, delay_secs: float) -> str:
    """Write a robots.txt (RFC 9309); empty if there is nothing to say.

    >>> print(robots_text(["/a"], delay_secs=5), end="")
    User-agent: *
    Crawl-delay: 5
    Disallow: /a
    """
    lines = ["User-agent: *"]
    if delay_secs:
        lines.append(f"Crawl-delay: {delay_secs:g}")
    lines += [f"Disallow: {path}" for path in disallowed]
    return "\n".join(lines) + "\n" if len(lines) > 1 else ""

"""A node that publishes its graph as one file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rdfcrawl.dataweb.config import DumpProfile
from rdfcrawl.dataweb.messages import NOT_FOUND, NodeResponse
from rdfcrawl.dataweb.nodes.base import NodePlan, WebNode
from rdfcrawl.dataweb.nodes.packings import PACKINGS
from rdfcrawl.dataweb.nodes.serializations import SERIALIZATIONS

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from rdfcrawl.dataweb.config import WebConfig
    from rdfcrawl.dataweb.messages import NodeRequest
    from rdfcrawl.dataweb.nodes.base import Statement
    from rdfcrawl.dataweb.nodes.packings import DumpPacking
    from rdfcrawl.dataweb.nodes.serializations import DumpSerialization


@dataclass(frozen=True, slots=True)
class DumpFormat:
    """Serialization and compression of one dump; `packing` unset is plain."""

    serialization: DumpSerialization
    packing: DumpPacking | None = None

    @property
    def path(self) -> str:
        """Path of the file, for example `/dumpFile.ttl.gz`."""
        suffix = self.packing.extension if self.packing else ""
        return f"/dumpFile.{self.serialization.extension}{suffix}"

    @property
    def media_type(self) -> str:
        """Media type that the server declares."""
        return (self.packing or self.serialization).media_type


def draw_dump_format(config: WebConfig, rng: random.Random, index: int) -> DumpFormat:
    """Draw a serialization, and a compression with the configured probability.

    The extended profile draws nothing: its dumps go through all combinations, so that
    a large web has them all.

    Args:
        config: of the web.
        rng: of this dump.
        index: of the dump among the dumps.
    """
    serializations = SERIALIZATIONS[config.profile]
    packings = PACKINGS[config.profile]
    if config.profile is DumpProfile.EXTENDED:
        rest, at = divmod(index, len(serializations))
        packing = (None, *packings)[rest % (len(packings) + 1)]
        return DumpFormat(serializations[at], packing)
    serialization = rng.choice(serializations)
    if rng.random() >= config.compressed:
        return DumpFormat(serialization)
    return DumpFormat(serialization, rng.choice(packings))


class DumpNode(WebNode):
    """One file; the resources are its fragments."""

    def __init__(
        self,
        plan: NodePlan,
        objects: Sequence[Sequence[int | str]],
        *,
        dump_format: DumpFormat,
    ) -> None:
        super().__init__(plan)
        self._objects = objects
        self._format = dump_format

    def respond(self, request: NodeRequest) -> NodeResponse:
        """Respond 200 for the file, else 404."""
        return self._file if request.target == self._format.path else NOT_FOUND

    def iter_truth(self) -> Iterator[Statement]:
        """Yield all triples of the file."""
        base = f"{self.plan.origin}{self._format.path}#dataset-0"
        predicate = f"<{base}-property-0>"
        for resource, items in enumerate(self._objects):
            subject = f"<{base}-resource-{resource}>"
            for item in items:
                iri = f"{base}-resource-{item}" if isinstance(item, int) else item
                yield subject, predicate, f"<{iri}>"

    @cached_property
    def _file(self) -> NodeResponse:
        body = self._format.serialization.write(self.iter_truth())
        if self._format.packing:
            body = self._format.packing.pack(body)
        return NodeResponse(200, body, content_type=self._format.media_type)

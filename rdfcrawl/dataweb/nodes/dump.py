"""A node that publishes its graph as one file."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import zipfile
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pyoxigraph import RdfFormat

from rdfcrawl.dataweb.messages import NOT_FOUND, Response
from rdfcrawl.dataweb.nodes.base import Node, NodePlan, serialize

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator, Sequence

    from rdfcrawl.dataweb.config import WebConfig
    from rdfcrawl.dataweb.messages import Request
    from rdfcrawl.dataweb.nodes.base import Statement

_ENTRY_NAME = "ldcbench.dump"  # ORCA's entries have no extension of RDF


@dataclass(frozen=True, slots=True)
class Serialization:
    """How a dump is written: extension, media type, syntax."""

    extension: str
    media_type: str
    rdf_format: RdfFormat


@dataclass(frozen=True, slots=True)
class Packing:
    """How a dump is compressed: extension, media type, function."""

    extension: str
    media_type: str
    pack: Callable[[bytes], bytes]


def _zip(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        # A fixed date: the same web has the same bytes.
        archive.writestr(zipfile.ZipInfo(_ENTRY_NAME), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _tar(content: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        entry = tarfile.TarInfo(_ENTRY_NAME)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _tar_gz(content: bytes) -> bytes:
    return _gzip(_tar(content))


# The media types of Jena, which ORCA's dump nodes state.
SERIALIZATIONS = (
    Serialization("ttl", "text/turtle", RdfFormat.TURTLE),
    Serialization("n3", "text/rdf+n3", RdfFormat.N3),
    Serialization("rdf", "application/rdf+xml", RdfFormat.RDF_XML),
    Serialization("nt", "application/n-triples", RdfFormat.N_TRIPLES),
)
_ZIP = Packing(".zip", "application/zip", _zip)
PACKINGS = {
    2020: (
        Packing(".gz", "application/gzip", _gzip),
        Packing(".bz2", "application/x-bzip2", bz2.compress),
        _ZIP,
    ),
    2021: (
        Packing(".tar", "application/x-tar", _tar),
        Packing(".tar.gz", "application/x-targzip", _tar_gz),  # sic, as ORCA has it
        _ZIP,
    ),
}


@dataclass(frozen=True, slots=True)
class DumpFormat:
    """Serialization and compression of one dump; `packing` unset is plain."""

    serialization: Serialization
    packing: Packing | None = None

    @property
    def path(self) -> str:
        """Path of the file, for example `/dumpFile.ttl.gz`."""
        suffix = self.packing.extension if self.packing else ""
        return f"/dumpFile.{self.serialization.extension}{suffix}"

    @property
    def media_type(self) -> str:
        """What the server declares."""
        return (self.packing or self.serialization).media_type


def draw_dump_format(config: WebConfig, rng: random.Random) -> DumpFormat:
    """Draw a serialization, and a compression with the configured probability."""
    serialization = rng.choice(SERIALIZATIONS)
    if rng.random() >= config.compressed:
        return DumpFormat(serialization)
    return DumpFormat(serialization, rng.choice(PACKINGS[config.profile]))


class DumpNode(Node):
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

    def answer(self, request: Request) -> Response:
        """Answer 200 for the file, else 404."""
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
    def _file(self) -> Response:
        body = serialize(self.iter_truth(), self._format.serialization.rdf_format)
        if self._format.packing:
            body = self._format.packing.pack(body)
        return Response(200, body, content_type=self._format.media_type)

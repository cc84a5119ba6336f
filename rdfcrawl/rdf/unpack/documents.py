"""Yield the documents in compressed files and archives, in order."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final, cast
from urllib.parse import quote

from rdfcrawl.core import formats
from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.formats import FormatDecision, PackingKind
from rdfcrawl.rdf import sniffing
from rdfcrawl.rdf.unpack.codecs import codec_of
from rdfcrawl.rdf.unpack.limits import PackingLayer, UnpackLimits, UnpackMeter
from rdfcrawl.rdf.unpack.members import ARCHIVES, ArchiveEntry
from rdfcrawl.rdf.unpack.scratch import FileBlob, MemoryBlob, MemoryScratch, ScratchTee
from rdfcrawl.rdf.unpack.seven_zip import iter_seven_zip
from rdfcrawl.rdf.unpack.streams import PieceStream, buffered, content_if_short, decoded
from rdfcrawl.rdf.unpack.tar import iter_tar
from rdfcrawl.rdf.unpack.zip import iter_zip

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.unpack.scratch import ScratchSpace, SeekableBytes

# Faults of documents that were not or not completely read.
INCOMPLETE: Final = frozenset(
    {
        *(Reason.TOO_LARGE, Reason.BAD_ARCHIVE, Reason.CHECKSUM, Reason.ENCRYPTED),
        *(Reason.TOO_MANY_MEMBERS, Reason.TOO_DEEP),
    }
)
_MEMORY_SCRATCH_BYTES: Final = 64 * 2**20

# Members without RDF, even if the name of the archive suggests RDF.
_PROSE: Final = re.compile(
    r"(?:readme|licen[cs]e|copying|copyright|change(?:s|log)|notice|authors|"
    r"manifest|todo|news|install|makefile)(?![a-z])",
    re.IGNORECASE,
)
_NO_RDF: Final = re.compile(
    r"\.(?:txt|md|rst|csv|tsv|json|xml|xsd|dtd|pdf|png|jpe?g|gif|svg|ico|docx?|xlsx?|"
    r"odt|ods|ya?ml|toml|ini|cfg|conf|log|py|sh|js|css|java|class|jar|exe|dll|so|sql|"
    r"md5|sha1|sha256|sha512|asc|sig|ds_store|gitignore)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedDocument:
    """An unpacked document, to be read before the next one."""

    # of the enclosing members, from the outside in; empty outside archives
    names: tuple[str, ...]
    name: str  # unique name made from `names`
    file_name: str  # of the innermost member, or of the URL; without packing extensions
    packings: tuple[str, ...]  # from the outside in
    source: ByteSource  # the bytes, which end at a fault
    decision: FormatDecision  # on the format


def iter_documents(
    source: ByteSource,
    packing: PackingKind,
    *,
    url: str,
    media_type: str,
    limits: UnpackLimits,
    scratch: ScratchSpace | None,
    log: FaultLog,
    is_read: Callable[[str, ByteSource, FormatDecision], bool],
) -> Iterator[PackedDocument]:
    """Yield the documents in a compressed file or archive, in order.

    The name and content of a document determine its format; without extension, the
    names around it or the media type. Members that are not RDF are skipped with a
    fault; folders, links and devices are only counted.

    Args:
        source: the published bytes.
        packing: of the source.
        url: of the source.
        media_type: of the Content-Type, or empty.
        limits: on all documents together.
        scratch: for random access; None: a little memory.
        log: takes the faults; those in `INCOMPLETE` mean missing documents.
        is_read: whether extractors read a member that is not RDF, given its file name
            and first bytes.

    Raises:
        OSError: the source cannot be read.
    """
    scratch = scratch or MemoryScratch(_MEMORY_SCRATCH_BYTES)
    unpacking = _Unpacking(limits, scratch, log, is_read)
    with source.open() as file:
        layer = PackingLayer(UnpackMeter(limits), is_container=True)
        is_buffered = isinstance(file, io.BufferedReader)
        reader = file if is_buffered else buffered(cast("io.RawIOBase", file))
        stream = _Stream(cast("io.BufferedReader", reader), layer, source.open)
        yield from unpacking.walk(stream, packing, _Place.of(url, media_type))
    if not unpacking.n_found and not unpacking.n_noted:
        log.note(Reason.EMPTY, "no documents in it")


@dataclass(frozen=True, slots=True)
class _Stream:
    """A stream from a layer; `reopen` starts a second one, if possible."""

    file: io.BufferedReader
    layer: PackingLayer
    reopen: Callable[[], BinaryIO] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The names around a document, which may indicate its format."""

    # innermost file name around the document that indicates a format, or the outermost
    hint: str
    media_type: str  # of the source if it is an RDF format or a link set, or empty
    own: str = ""  # file name of the member without decoded packings, or empty
    names: tuple[str, ...] = ()
    packings: tuple[str, ...] = ()

    @classmethod
    def of(cls, url: str, media_type: str) -> _Place:
        declared = formats.format_of_media_type(media_type)
        # Packed bytes are not a page, even if the server declares HTML.
        if declared is formats.HTML or (
            declared is None and "linkset" not in media_type
        ):
            media_type = ""
        return cls(hint=url, media_type=media_type)

    def packed_in(self, packing: PackingKind) -> _Place:
        packings = (*self.packings, packing.value)
        if self.names:
            return replace(self, packings=packings, own=formats.name_inside(self.own))
        return replace(self, packings=packings, hint=formats.name_inside(self.hint))

    def member(self, name: str) -> _Place:
        names, own = (*self.names, name), quote(name.rpartition("/")[2])
        if self.own and formats.format_of_name(self.own):
            return replace(self, names=names, own=own, hint=self.own, media_type="")
        return replace(self, names=names, own=own)

    def decide(self, head: bytes) -> FormatDecision:
        """Decide on the format by own name, content and the names around."""
        if self.own.startswith("._"):  # macOS metadata of a file
            return sniffing.decide("", "", head)
        if self.own:
            decision = sniffing.decide("", self.own, head)
            if (
                decision.packing
                or formats.format_of_name(self.own)
                or _PROSE.match(self.own)
                or _NO_RDF.search(self.own)
            ):
                return decision
        return sniffing.decide(self.media_type, self.hint, head)


@dataclass(slots=True)
class _Unpacking:
    """The unpacking of one source; `n_noted` also counts follow-up faults."""

    _limits: UnpackLimits
    _scratch: ScratchSpace
    _log: FaultLog
    _is_read: Callable[[str, ByteSource, FormatDecision], bool]
    _n_by_name: Counter[int] = field(default_factory=Counter)
    n_found: int = 0
    n_noted: int = 0

    def walk(
        self, stream: _Stream, packing: PackingKind, place: _Place
    ) -> Iterator[PackedDocument]:
        place = place.packed_in(packing)
        if len(place.packings) > self._limits.depth:
            detail = " in ".join(reversed(place.packings))
            self._note(SourceFault(Reason.TOO_DEEP, detail), stream.layer)
        elif packing in ARCHIVES:
            yield from self._members(stream, packing, place)
        else:
            yield from self._offer(self._decompress(stream, packing, place), place)

    # -- compression ---------------------------------------------------------------

    def _decompress(
        self, stream: _Stream, packing: PackingKind, place: _Place
    ) -> _Stream:
        in_member = f" in {place.names[-1][:80]!r}" if place.names else ""
        pieces = partial(self._decoded, packing, what=packing.value + in_member)
        layer, reopen_packed = stream.layer.inside(), stream.reopen
        file = PieceStream(pieces(stream.file, layer), note=self._note, layer=layer)
        if reopen_packed is None:
            return _Stream(buffered(file), layer, None)

        def reopen() -> BinaryIO:
            upstream = reopen_packed()
            return _reopen(layer, partial(pieces, upstream), upstream)

        return _Stream(buffered(file), layer, reopen)

    def _decoded(
        self, packing: PackingKind, file: BinaryIO, layer: PackingLayer, *, what: str
    ) -> Iterator[bytes]:
        return decoded(file.read, codec_of(packing, self._limits), layer, what=what)

    # -- archives ------------------------------------------------------------------

    def _members(
        self, stream: _Stream, packing: PackingKind, place: _Place
    ) -> Iterator[PackedDocument]:
        layer = stream.layer.inside(is_container=True)
        try:
            with ExitStack() as stack:
                for entry in self._entries(stream, packing, layer, stack):
                    yield from self._offer(
                        self._member(entry), place.member(entry.name)
                    )
                    if layer.meter.is_over:
                        return
        except SourceFault as fault:
            self._note(fault, layer)

    def _entries(
        self,
        stream: _Stream,
        packing: PackingKind,
        layer: PackingLayer,
        stack: ExitStack,
    ) -> Iterator[ArchiveEntry]:
        note = partial(self._note, layer=layer)
        if packing is PackingKind.TAR:
            return iter_tar(stream.file, layer, note)
        blob = self._blob(stream)
        stack.callback(blob.close)
        if packing is PackingKind.ZIP:
            return iter_zip(blob, layer, note)
        return iter_seven_zip(blob, layer, note)

    def _blob(self, stream: _Stream) -> SeekableBytes:
        """Return the bytes for random access."""
        raw: object = stream.file.raw
        if isinstance(raw, io.BytesIO):
            return MemoryBlob(raw.getvalue())
        if not isinstance(raw, PieceStream):
            return FileBlob(stream.file)
        data = content_if_short(stream.file)
        if data is not None:
            return MemoryBlob(data)
        return self._scratch.hold(stream.file, max_bytes=self._limits.seekable_bytes)

    def _member(self, entry: ArchiveEntry) -> _Stream:
        layer = entry.layer
        file = PieceStream(entry.pieces(layer), note=self._note, layer=layer)
        reopen = partial(_reopen, layer, entry.pieces) if entry.is_reopenable else None
        return _Stream(buffered(file), layer, reopen)

    # -- documents -----------------------------------------------------------------

    def _offer(self, stream: _Stream, place: _Place) -> Iterator[PackedDocument]:
        """Yield the document in a stream, or the documents packed in it."""
        with stream.file as file:
            head = file.peek(formats.HEAD_BYTES)[: formats.HEAD_BYTES]
            decision = place.decide(head)
            if decision.packing is not None:
                yield from self.walk(stream, decision.packing, place)
            elif (
                decision.format is not None
                or not place.names
                or self._is_read(place.own, ByteSource(head), decision)
            ):
                yield from self._document(stream, place, decision)
            elif head:
                self._skip(place, decision)

    def _document(
        self, stream: _Stream, place: _Place, decision: FormatDecision
    ) -> Iterator[PackedDocument]:
        self.n_found += 1
        with ExitStack() as stack:
            yield PackedDocument(
                names=place.names,
                name=self._name(place),
                file_name=place.own or place.hint,
                packings=place.packings,
                source=self._source(stream, decision, stack),
                decision=decision,
            )

    def _source(
        self, stream: _Stream, decision: FormatDecision, stack: ExitStack
    ) -> ByteSource:
        data = content_if_short(stream.file)
        if data is not None:
            return ByteSource(data)
        found = decision.format
        needs_places = found is not None and not (
            found.is_line_based or found.family == "binary"
        )
        if stream.reopen is None and needs_places:
            tee = ScratchTee(stream.file, self._scratch)
            stack.callback(tee.close)
            return ByteSource(stream=tee.first(), reopen=tee.reopen)
        return ByteSource(stream=stream.file, reopen=stream.reopen)

    def _name(self, place: _Place) -> str:
        """Return a unique name; archives may repeat names."""
        name = "!/".join(place.names)
        if place.names:
            self._n_by_name[hash(name)] += 1
            n = self._n_by_name[hash(name)]
            if n > 1:
                return f"{name}#{n}"
        return name

    def _skip(self, place: _Place, decision: FormatDecision) -> None:
        self.n_noted += 1
        name = repr(place.names[-1][:80])
        if decision.found:
            detail = f"{decision.found}: {name}"
            self._log.note(Reason.UNSUPPORTED_FORMAT, detail)
        else:
            self._log.note(Reason.UNKNOWN_FORMAT, name)

    def _note(self, fault: SourceFault, layer: PackingLayer) -> None:
        self.n_noted += 1
        # Content of a truncated stream is truncated too: not noted again.
        if fault.fault.reason is not Reason.BAD_ARCHIVE or not layer.is_within_cut():
            self._log.note(fault.fault.reason, fault.fault.detail)


def _reopen(
    layer: PackingLayer,
    pieces: Callable[[PackingLayer], Iterator[bytes]],
    upstream: BinaryIO | None = None,
) -> BinaryIO:
    """Return the bytes of a layer from the beginning, with the same limits."""
    own = PackingLayer(layer.meter.restarted())
    return buffered(
        # The first reading noted the faults.
        PieceStream(pieces(own), note=lambda *_: None, layer=own, upstream=upstream)
    )

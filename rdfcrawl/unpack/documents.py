"""The documents in a packed thing, one after another."""

from __future__ import annotations

import io
import re
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final, cast
from urllib.parse import quote

from rdfcrawl import formats
from rdfcrawl.bytesource import ByteSource
from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.formats import PackingKind
from rdfcrawl.unpack.codecs import codec_of
from rdfcrawl.unpack.meter import PackingLayer, UnpackMeter
from rdfcrawl.unpack.scratch import FileBlob, MemoryBlob, MemoryScratch
from rdfcrawl.unpack.seven_zip import iter_seven_zip
from rdfcrawl.unpack.streams import PieceStream, buffered, decoded, whole_if_short
from rdfcrawl.unpack.tar import iter_tar
from rdfcrawl.unpack.tee import ScratchTee
from rdfcrawl.unpack.zip import iter_zip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdfcrawl.faultlog import FaultLog
    from rdfcrawl.formats import FormatDecision
    from rdfcrawl.unpack.archive import ArchiveEntry
    from rdfcrawl.unpack.limits import UnpackLimits
    from rdfcrawl.unpack.scratch import ScratchSpace, SeekableBytes

# Something was not read, if one of these was noted.
INCOMPLETE: Final = frozenset(
    {
        *(Reason.TOO_LARGE, Reason.BAD_ARCHIVE, Reason.CHECKSUM, Reason.ENCRYPTED),
        *(Reason.TOO_MANY_MEMBERS, Reason.TOO_DEEP),
    }
)
_ARCHIVES: Final = frozenset({PackingKind.ZIP, PackingKind.TAR, PackingKind.SEVEN_ZIP})
MEMORY_SCRATCH_BYTES: Final = 64 * 2**20  # where no other scratch is given

# Files of archives that are no data, however the archive is called.
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
    """A document in a packed thing; read it before the next one is asked for.

    Attributes:
        names: of the members that it is in, from the outside in; empty if there is
            no archive around it.
        name: all of them as one, different from those of the other documents.
        file_name: of the innermost, or of what is unpacked; packings left out.
        packings: what it is packed in, from the outside in.
        source: its bytes; they end where something is wrong with them.
        decision: what it is to be read as.
    """

    names: tuple[str, ...]
    name: str
    file_name: str
    packings: tuple[str, ...]
    source: ByteSource
    decision: FormatDecision


def _is_html(_name: str, _: ByteSource, decision: FormatDecision) -> bool:
    return decision.format is formats.HTML


def iter_documents(
    source: ByteSource,
    packing: PackingKind,
    *,
    url: str,
    media_type: str,
    limits: UnpackLimits,
    scratch: ScratchSpace | None,
    log: FaultLog,
    is_read: Callable[[str, ByteSource, FormatDecision], bool] = _is_html,
) -> Iterator[PackedDocument]:
    """Yield the documents in what is packed, in order, packings in it unfolded.

    A document's format is told by its own name and content. One without extension
    inherits from the names around it, or from the media type. Members that are no
    RDF are passed by and noted; folders, links and devices only counted.

    Args:
        source: of what was published.
        packing: what it is packed in.
        url: where it was published.
        media_type: of its Content-Type, or empty.
        limits: on all of it.
        scratch: for what must be read out of order; None: a little in memory.
        log: takes the faults; one of `INCOMPLETE` says that something is not there.
        is_read: given the file name and the begin of a member, tells whether extractors
            read it, what is no serialization of RDF included.

    Raises:
        OSError: the source cannot be read.
    """
    scratch = scratch or MemoryScratch(MEMORY_SCRATCH_BYTES)
    unpacking = _Unpacking(limits, scratch, log, is_read)
    with source.open() as file:
        layer = PackingLayer(UnpackMeter(limits), is_container=True)
        stream = _Stream(_as_buffered(file), layer, source.open)
        yield from unpacking.walk(stream, packing, _Place.of(url, media_type))
    if not unpacking.n_found and not unpacking.n_noted:
        log.note(Reason.EMPTY, "no documents in it")


@dataclass(frozen=True, slots=True)
class _Stream:
    """Bytes that pass by.

    Attributes:
        file: gives them.
        layer: that they come from.
        reopen: gives them again; None if it cannot.
    """

    file: io.BufferedReader
    layer: PackingLayer
    reopen: Callable[[], BinaryIO] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where something is, and what the names around it tell.

    Attributes:
        hint: file name around it that tells a format, or the outermost one.
        media_type: of the whole if it names a format of RDF, or empty.
        own: file name of the member, or empty; packings that are undone left out.
    """

    hint: str
    media_type: str
    own: str = ""
    names: tuple[str, ...] = ()
    packings: tuple[str, ...] = ()

    @classmethod
    def of(cls, url: str, media_type: str) -> _Place:
        declared = formats.format_of_media_type(media_type)
        # A packed thing is not a page, whatever the server calls it.
        if declared is None or declared is formats.HTML:
            media_type = ""
        return cls(hint=url, media_type=media_type)

    def packed_in(self, packing: PackingKind) -> _Place:
        """Return the place of what is in it."""
        packings = (*self.packings, packing.value)
        if self.names:
            return replace(self, packings=packings, own=formats.name_inside(self.own))
        return replace(self, packings=packings, hint=formats.name_inside(self.hint))

    def member(self, name: str) -> _Place:
        """Return the place of a member."""
        names, own = (*self.names, name), quote(name.rpartition("/")[2])
        if self.own and formats.format_of_name(self.own):
            return replace(self, names=names, own=own, hint=self.own, media_type="")
        return replace(self, names=names, own=own)

    def decide(self, head: bytes) -> FormatDecision:
        """Decide what it is, by its own name, its content, the names around it."""
        if self.own.startswith("._"):  # what macOS knows of a file of this name
            return formats.decide("", "", head)
        if self.own:
            decision = formats.decide("", self.own, head)
            if (
                decision.packing
                or formats.format_of_name(self.own)
                or _PROSE.match(self.own)
                or _NO_RDF.search(self.own)
            ):
                return decision
        return formats.decide(self.media_type, self.hint, head)


class _Unpacking:
    """One packed thing.

    Attributes:
        n_found: documents.
        n_noted: faults, those that follow from others included.
    """

    def __init__(
        self,
        limits: UnpackLimits,
        scratch: ScratchSpace,
        log: FaultLog,
        is_read: Callable[[str, ByteSource, FormatDecision], bool],
    ) -> None:
        self._limits, self._scratch, self._log = limits, scratch, log
        self._is_read = is_read
        self._n_by_name: Counter[int] = Counter()
        self.n_found = 0
        self.n_noted = 0

    def walk(
        self, stream: _Stream, packing: PackingKind, place: _Place
    ) -> Iterator[PackedDocument]:
        """Yield the documents in a stream that is packed."""
        place = place.packed_in(packing)
        if len(place.packings) > self._limits.depth:
            detail = " in ".join(reversed(place.packings))
            self._note(SourceFault(Reason.TOO_DEEP, detail), stream.layer)
        elif packing in _ARCHIVES:
            yield from self._members(stream, packing, place)
        else:
            yield from self._offer(self._decompress(stream, packing, place), place)

    # -- compression ---------------------------------------------------------------

    def _decompress(
        self, stream: _Stream, packing: PackingKind, place: _Place
    ) -> _Stream:
        in_member = f" in {place.names[-1][:80]!r}" if place.names else ""
        pieces = partial(self._decoded, packing, what=packing.value + in_member)
        layer, reopen = stream.layer.inside(), stream.reopen
        file = PieceStream(pieces(stream.file, layer), note=self._note, layer=layer)
        if reopen is None:
            return _Stream(buffered(file), layer, None)
        return _Stream(buffered(file), layer, partial(_again, reopen, pieces, layer))

    def _decoded(
        self, packing: PackingKind, file: BinaryIO, layer: PackingLayer, *, what: str
    ) -> Iterator[bytes]:
        codec = codec_of(
            packing,
            memory_bytes=self._limits.codec_memory_bytes,
            window_log=self._limits.window_log,
        )
        return decoded(file.read, codec, layer, what=what)

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
        if packing is PackingKind.TAR:
            return iter_tar(stream.file, layer)
        blob = self._blob(stream)
        stack.callback(blob.close)
        note = partial(self._note, layer=layer)
        if packing is PackingKind.ZIP:
            return iter_zip(blob, layer, note)
        return iter_seven_zip(blob, layer, note)

    def _blob(self, stream: _Stream) -> SeekableBytes:
        """Return the bytes so that they can be read in any order."""
        raw: object = stream.file.raw
        if isinstance(raw, io.BytesIO):
            return MemoryBlob(raw.getvalue())
        if not isinstance(raw, PieceStream):
            return FileBlob(stream.file)
        data = whole_if_short(stream.file)
        if data is not None:
            return MemoryBlob(data)
        return self._scratch.hold(stream.file, max_bytes=self._limits.seekable_bytes)

    def _member(self, entry: ArchiveEntry) -> _Stream:
        layer = entry.layer
        file = PieceStream(entry.pieces(layer), note=self._note, layer=layer)
        if not entry.is_reopenable:
            return _Stream(buffered(file), layer, None)

        def again() -> BinaryIO:
            own = PackingLayer(layer.meter.again())
            return buffered(PieceStream(entry.pieces(own), note=_ignore, layer=own))

        return _Stream(buffered(file), layer, again)

    # -- documents -----------------------------------------------------------------

    def _offer(self, stream: _Stream, place: _Place) -> Iterator[PackedDocument]:
        """Yield what a stream is: a document, or those in it."""
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
                self._pass_by(place, decision)

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
        data = whole_if_short(stream.file)
        if data is not None:
            return ByteSource(data)
        found = decision.format
        needs_places = found is not None and not (
            found.is_line_based or found.family == "binary"
        )
        if stream.reopen is None and needs_places:
            tee = ScratchTee(stream.file, self._scratch)
            stack.callback(tee.close)
            return ByteSource(stream=tee.first(), reopen=tee.again)
        return ByteSource(stream=stream.file, reopen=stream.reopen)

    def _name(self, place: _Place) -> str:
        """Return the names as one; an archive may have a name more than once."""
        name = "!/".join(place.names)
        if place.names:
            self._n_by_name[hash(name)] += 1
            n = self._n_by_name[hash(name)]
            if n > 1:
                return f"{name}#{n}"
        return name

    def _pass_by(self, place: _Place, decision: FormatDecision) -> None:
        self.n_noted += 1
        name = repr(place.names[-1][:80])
        if decision.found:
            detail = f"{decision.found}: {name}"
            self._log.note(Reason.UNSUPPORTED_FORMAT, detail)
        else:
            self._log.note(Reason.UNKNOWN_FORMAT, name)

    def _note(self, fault: SourceFault, layer: PackingLayer) -> None:
        self.n_noted += 1
        # What is in something that was cut off is cut off too.
        if fault.fault.reason is not Reason.BAD_ARCHIVE or not layer.is_within_cut():
            self._log.note(fault.fault.reason, fault.fault.detail)


def _as_buffered(file: BinaryIO) -> io.BufferedReader:
    if isinstance(file, io.BufferedReader):
        return file
    return buffered(cast("io.RawIOBase", file))


def _again(
    reopen: Callable[[], BinaryIO],
    pieces: Callable[[BinaryIO, PackingLayer], Iterator[bytes]],
    layer: PackingLayer,
) -> BinaryIO:
    """Return a compressed stream once more, with the same limits."""
    file, own = reopen(), PackingLayer(layer.meter.again())
    return buffered(
        PieceStream(pieces(file, own), note=_ignore, layer=own, upstream=file)
    )


def _ignore(fault: SourceFault, layer: PackingLayer) -> None:
    """Take a fault that is noted already."""

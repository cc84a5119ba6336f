"""Limits on unpacking, and their counters."""

from __future__ import annotations

from dataclasses import dataclass

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.messages import counted
from rdfcrawl.core.options.table import OptionsTable, integer, number

RATIO_FREE_BYTES = 2**20  # the ratio of shorter content is not limited


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackLimits(OptionsTable):
    """Limits on one packed document; output before a limit is kept."""

    # output of all layers: `x.nt.gz` counts once, `x.nt.gz` in a compressed zip twice.
    # Equal to the limit of fetched dumps.
    n_bytes: int = integer("UNPACK_MAXSIZE", 50 * 1024 * 1024 * 1024, 1)
    """bytes unpacked of one document, all its members and levels together"""
    # decoded to encoded bytes, beyond the first 1 MiB decoded: per layer, and of all
    # layers to the published bytes
    ratio: float = number("UNPACK_MAX_RATIO", 200, 1)
    """unpacked : packed"""
    n_members: int = integer("UNPACK_MAX_MEMBERS", 100_000, 1)
    """files in an archive"""
    depth: int = integer("UNPACK_MAX_DEPTH", 3, 1, 10)
    """packings one inside another, as `.tar.gz` has two"""
    # longest archive that is spooled for random access (zip and 7z have their
    # directories at the end)
    seekable_bytes: int = 8 * 2**30
    # window or dictionary of one decoder. 128 MiB suffices for `zstd --ultra -22`, and
    # is twice the need of `xz -9` and `7z -mx=9`.
    codec_memory_bytes: int = 128 * 2**20

    @property
    def window_log(self) -> int:
        """Exponent of the largest power of two within `codec_memory_bytes`."""
        return min(31, max(10, self.codec_memory_bytes.bit_length() - 1))


class UnpackMeter:
    """Counts over all layers of one packed document.

    Attributes:
        n_in: published bytes read.
        n_out: bytes decoded by all layers.
        is_over: an overall limit was exceeded; reading ends.
    """

    def __init__(self, limits: UnpackLimits, *, n_in: int = 0) -> None:
        self.limits = limits
        self.n_in = n_in
        self.n_out = 0
        self._n_members = 0
        self.is_over = False

    def restarted(self) -> UnpackMeter:
        """Return a meter for a second reading, with the same limits."""
        return UnpackMeter(self.limits, n_in=self.n_in)

    def count_member(self) -> None:
        """Count an entry of an archive.

        Raises:
            SourceFault: `TOO_MANY_MEMBERS`.
        """
        self._n_members += 1
        if self._n_members > self.limits.n_members:
            self.is_over = True
            detail = f"more than {self.limits.n_members}"
            raise SourceFault(Reason.TOO_MANY_MEMBERS, detail)


class PackingLayer:
    """Counts of one packing, within its outer layers.

    Args:
        outer: layer that this one reads from; None for the published bytes.
        is_container: the layer only groups members, which are decoded one by one.

    Attributes:
        is_cut: the layer ended early, so that inner layers also end early.
    """

    def __init__(
        self,
        meter: UnpackMeter,
        outer: PackingLayer | None = None,
        *,
        is_container: bool = False,
    ) -> None:
        self.meter = meter
        self._outer = outer
        is_published = outer is None or not outer._hides  # noqa: SLF001
        self._hides: bool = not (is_container and is_published)
        self.n_in = 0
        self.n_out = 0
        self.is_cut = False

    def inside(self, *, is_container: bool = False) -> PackingLayer:
        """Return a layer that reads from this one."""
        return PackingLayer(self.meter, self, is_container=is_container)

    def is_within_cut(self) -> bool:
        """Return whether this or an outer layer ended early."""
        return self.is_cut or (self._outer is not None and self._outer.is_within_cut())

    def count_in(self, n_bytes: int) -> None:
        """Count encoded bytes."""
        self.n_in += n_bytes
        if self._outer is None or not self._outer._hides:  # noqa: SLF001
            self.meter.n_in += n_bytes

    def count_out(self, n_bytes: int) -> None:
        """Count decoded bytes.

        Raises:
            SourceFault: `TOO_LARGE`, by bytes or ratio, of this layer or of all.
        """
        meter, limits = self.meter, self.meter.limits
        self.n_out += n_bytes
        meter.n_out += n_bytes
        if meter.n_out > limits.n_bytes:
            meter.is_over = True
            detail = f"unpacks to more than {counted(limits.n_bytes, 'byte')}"
            raise SourceFault(Reason.TOO_LARGE, detail)
        if self.n_out > max(RATIO_FREE_BYTES, self.n_in * limits.ratio):
            raise _bomb("ratio", self, limits)
        if meter.n_out > max(RATIO_FREE_BYTES, meter.n_in * limits.ratio):
            meter.is_over = True
            raise _bomb("total ratio", meter, limits)


def _bomb(
    what: str, counts: PackingLayer | UnpackMeter, limits: UnpackLimits
) -> SourceFault:
    ratio = f"{counted(counts.n_out, 'byte')} out of {counts.n_in:,}"
    return SourceFault(Reason.TOO_LARGE, f"{what} over {limits.ratio:g}: {ratio}")

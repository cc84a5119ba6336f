"""Count bytes in and out, and hold them against the limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.errors import Reason, SourceFault
from rdfcrawl.unpack.limits import RATIO_FREE_BYTES

if TYPE_CHECKING:
    from rdfcrawl.unpack.limits import UnpackLimits


class UnpackMeter:
    """Counts over all layers of one packed thing.

    Attributes:
        limits: what is held against.
        n_in: bytes taken from what was published.
        n_out: bytes that all layers decoded to.
        n_members: entries of archives.
        is_over: a limit on the whole was passed: nothing more is read.
    """

    __slots__ = ("is_over", "limits", "n_in", "n_members", "n_out")

    def __init__(self, limits: UnpackLimits, *, n_in: int = 0) -> None:
        self.limits = limits
        self.n_in = n_in
        self.n_out = 0
        self.n_members = 0
        self.is_over = False

    def again(self) -> UnpackMeter:
        """Return a meter for reading something a second time, with the same limits."""
        return UnpackMeter(self.limits, n_in=self.n_in)

    def count_member(self) -> None:
        """Count an entry of an archive.

        Raises:
            SourceFault: `TOO_MANY_MEMBERS`.
        """
        self.n_members += 1
        if self.n_members > self.limits.n_members:
            self.is_over = True
            raise SourceFault(
                Reason.TOO_MANY_MEMBERS, f"more than {self.limits.n_members}"
            )


class PackingLayer:
    """Counts of one packing, within its outer layers.

    Args:
        meter: of the whole.
        outer: the layer that this one reads from; None if that is what was published.
        is_container: it only gathers; what is in it decodes by itself.

    Attributes:
        is_cut: it ended early, so that inner layers cannot but end early too.
    """

    __slots__ = ("_hides", "_outer", "is_cut", "meter", "n_in", "n_out")

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

    def take(self, n_bytes: int) -> None:
        """Count what is decoded."""
        self.n_in += n_bytes
        if self._outer is None or not self._outer._hides:  # noqa: SLF001
            self.meter.n_in += n_bytes

    def give(self, n_bytes: int) -> None:
        """Count what it decodes to.

        Raises:
            SourceFault: `TOO_LARGE`; over all or of this layer, by bytes or ratio.
        """
        meter, limits = self.meter, self.meter.limits
        self.n_out += n_bytes
        meter.n_out += n_bytes
        if meter.n_out > limits.n_bytes:
            meter.is_over = True
            raise SourceFault(
                Reason.TOO_LARGE, f"unpacks to more than {limits.n_bytes} bytes"
            )
        if self.n_out > max(RATIO_FREE_BYTES, self.n_in * limits.ratio):
            raise SourceFault(
                Reason.TOO_LARGE,
                f"ratio over {limits.ratio:g}: "
                f"{self.n_in} bytes unpack to {self.n_out}",
            )
        if meter.n_out > max(RATIO_FREE_BYTES, meter.n_in * limits.ratio):
            meter.is_over = True
            raise SourceFault(
                Reason.TOO_LARGE,
                f"ratio over all over {limits.ratio:g}: "
                f"{meter.n_in} bytes unpack to {meter.n_out}",
            )

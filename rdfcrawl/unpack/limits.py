"""How much is unpacked of one thing."""

from __future__ import annotations

from dataclasses import dataclass

RATIO_FREE_BYTES = 2**20  # what is short may compress as well as it likes


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackLimits:
    """Bounds on what one packed thing unpacks to; what came before one is kept.

    Attributes:
        n_bytes: bytes that all its layers decode to together: `x.nt.gz` counts once,
            `x.nt.gz` in a compressed zip twice. As the longest dump that is fetched.
        ratio: decoded to encoded bytes, beyond the first 1 MiB decoded: of each
            layer by itself, and of all layers together to what was published.
        n_members: entries of all archives in it, folders and the like included.
        depth: packings in one another; `x.tar.gz` has two.
        seekable_bytes: longest archive in another packing that is put aside to be
            read out of order (zip and 7z have their directories at the end).
        codec_memory_bytes: window or dictionary of one decoder. 128 MiB is what
            `zstd --ultra -22` asks for, and twice that of `xz -9` and `7z -mx=9`.
    """

    n_bytes: int = 50 * 2**30
    ratio: float = 200.0
    n_members: int = 100_000
    depth: int = 3
    seekable_bytes: int = 8 * 2**30
    codec_memory_bytes: int = 128 * 2**20

    @property
    def window_log(self) -> int:
        """The largest power of two within `codec_memory_bytes`, as its exponent."""
        return min(31, max(10, self.codec_memory_bytes.bit_length() - 1))

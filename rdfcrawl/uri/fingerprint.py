"""The number that stands for a URL in the seen-set."""

from __future__ import annotations

from hashlib import blake2b


def fingerprint(normal: str) -> int:
    """Return 64 bits of BLAKE2b of a normal form, as a signed number.

    Two of n URLs collide with a chance of about n²/2⁶⁵: 3e-8 for a million, 0.03
    for a billion, and 3 pairs are to be expected in ten billion. A collision makes
    one URL look seen. Where the seen-set is split by registered domain, only URLs of
    one part can collide, which divides that by the number of parts.

    Args:
        normal: result of `NormalForm.normalize`; ASCII.

    Returns:
        From -2⁶³ to 2⁶³-1, the numbers that Redis keeps as integers.
    """
    digest = blake2b(normal.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)

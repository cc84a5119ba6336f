"""Compress and decompress files in pieces."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import IO

_GZIP_LEVEL: Final = 2  # of isal


def packer(packing: str) -> Callable[[bytes], bytes]:
    """Return a function that compresses a piece; concatenate the pieces of a file.

    Args:
        packing: `gz`, `zst`, or empty for no compression.
    """
    if packing == "gz":
        from isal import igzip  # noqa: PLC0415

        return lambda content: igzip.compress(content, _GZIP_LEVEL, mtime=0)
    if packing == "zst":
        return cast("Callable[[bytes], bytes]", _zstd().compress)
    return lambda content: content


def open_packed(path: Path, packing: str) -> IO[bytes]:
    """Open a file compressed by `packer` for reading.

    Raises:
        OSError: the file cannot be read.
    """
    if packing == "gz":
        from isal import igzip  # noqa: PLC0415

        return cast("IO[bytes]", igzip.IGzipFile(path))  # type: ignore[no-untyped-call]
    if packing == "zst":
        return cast("IO[bytes]", _zstd().open(path))
    return path.open("rb")


def _zstd() -> Any:
    if sys.version_info >= (3, 14):  # pragma: no cover
        from compression import zstd  # noqa: PLC0415
    else:
        from backports import zstd  # noqa: PLC0415
    return zstd

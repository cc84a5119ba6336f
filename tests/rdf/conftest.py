"""Documents in memory and on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(params=["bytes", "file"])
def as_source(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[bytes], Any]:
    """A document in memory or on disk."""

    def source(body: bytes) -> bytes | Path:
        if request.param == "bytes":
            return body
        path = tmp_path / "document"
        path.write_bytes(body)
        return path

    return source

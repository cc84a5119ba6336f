"""Fixtures of the tests of the fetch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder to serve."""
    folder = tmp_path / "files"
    folder.mkdir()
    return folder

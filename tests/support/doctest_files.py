"""Imports no file for its examples that has none.

`--doctest-modules` imports each file of the package and of the tests, and looks for
examples in all that is in it, in each process of the tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _pytest.doctest import DoctestModule

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_PROMPT = b">>> "
_Collected = list[pytest.Collector]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, _Collected, _Collected]:
    """Drop the collector of examples of a file without any."""
    collected = yield
    if any(isinstance(each, DoctestModule) for each in collected) and (
        _PROMPT not in file_path.read_bytes()
    ):
        return [each for each in collected if not isinstance(each, DoctestModule)]
    return collected

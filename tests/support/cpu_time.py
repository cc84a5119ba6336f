"""The CPU that a block takes, as far as a test may claim anything of it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def takes_at_most(secs: float) -> Iterator[None]:
    """Fail if the block takes more CPU of this process.

    CPU shared with other processes does several times less in a second: the limit is
    ten times the expected time, and far less than a mistake would take.
    """
    began = time.process_time()
    yield
    assert time.process_time() - began < secs

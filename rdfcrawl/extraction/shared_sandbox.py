"""Child processes that outlive a call: one pool for each event loop.

They end with their loop, as `asyncio.run` ends it, or with this process.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rdfcrawl.extraction.sandbox import Sandbox

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Hashable

    from rdfcrawl.extraction.options import ExtractOptions

_Key = tuple[asyncio.AbstractEventLoop, "Hashable"]
_keepers: dict[_Key, tuple[AsyncGenerator[Sandbox], Sandbox]] = {}


async def shared_sandbox(options: ExtractOptions) -> Sandbox:
    """Return the pool of the running event loop for these options."""
    limits = options.processes, options.memory_bytes, options.unpack.n_bytes
    key = asyncio.get_running_loop(), (*limits, options.custom)
    if key not in _keepers:
        keeper = _keep(key, options)
        _keepers[key] = keeper, await anext(keeper)
    return _keepers[key][1]


async def _keep(key: _Key, options: ExtractOptions) -> AsyncGenerator[Sandbox]:
    """Yield a pool; a loop that is shut down closes its generators."""
    try:
        async with Sandbox(
            options.processes,
            memory_bytes=options.memory_bytes,
            scratch_bytes=options.unpack.n_bytes,
            custom=options.custom,
        ) as sandbox:
            yield sandbox
    finally:
        del _keepers[key]

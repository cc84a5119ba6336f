"""Output that is made durable, while Redis refuses the worker."""

from __future__ import annotations

import pytest

from rdfcrawl.core.errors import CrawlGone, StoreFault
from rdfcrawl.frontier.redis.errors import WorkerRefusedError
from rdfcrawl.pipelines.items import DurablePipeline


class _Output(DurablePipeline):
    """Output that also needs Redis, which refuses it from now on."""

    _is_open = True

    async def _sync(self) -> None:
        raise WorkerRefusedError("Authentication required")

    _end = _sync

    def _as_fault(self, error: Exception) -> StoreFault:
        return StoreFault(str(error))


async def test_redis_that_refuses_is_no_fault_of_a_store(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If Redis refuses a worker during a flush, then the store is not at fault."""
    output = _Output()
    assert isinstance(await output.flush(), CrawlGone)
    await output.close_spider()
    output = _Output()
    await output.close_spider()
    assert not caplog.records

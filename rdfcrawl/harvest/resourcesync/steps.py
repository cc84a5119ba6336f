"""The steps of a page, taken in a thread, some at a time."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Final

from rdfcrawl.sitemaps.resourcesync.steps import (
    DeletedResource,
    DumpedResource,
    UnfetchedResource,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from rdfcrawl.harvest.resourcesync.mirror_index import MirrorIndex
    from rdfcrawl.sitemaps.resourcesync.mirror import KnownResource, Lookup
    from rdfcrawl.sitemaps.resourcesync.steps import Step

_AT_ONCE: Final = 200


async def iter_steps(
    begin: Callable[[Lookup], Iterator[Step]], memory: MirrorIndex
) -> AsyncIterator[list[Step]]:
    """Yield steps, some at a time; all of them are to be acted on before the next.

    A `DumpedResource` is the last of those that it comes with.

    Args:
        begin: starts reading; is given what looks resources up.
        memory: what is looked up.
    """
    loop = asyncio.get_running_loop()
    told: dict[str, KnownResource] = {}  # by steps that were not acted on yet

    def look_up(uris: Sequence[str]) -> Mapping[str, KnownResource]:
        known = asyncio.run_coroutine_threadsafe(memory.known(uris), loop).result()
        known.update((uri, told[uri]) for uri in uris if uri in told)
        return known

    def take(steps: Iterator[Step]) -> list[Step]:
        group: list[Step] = []
        for step in islice(steps, _AT_ONCE):
            group.append(step)
            if isinstance(step, UnfetchedResource | DeletedResource):
                told[step.version.uri] = step.version.known()
            elif isinstance(step, DumpedResource):
                break
        return group

    steps = await asyncio.to_thread(begin, look_up)
    try:
        while group := await asyncio.to_thread(take, steps):
            yield group
            told.clear()
    finally:
        close = getattr(steps, "close", None)
        if close is not None:
            with suppress(ValueError):  # cancelled while the thread still takes some
                close()

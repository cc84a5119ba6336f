"""Files that a dataset dropped, which stay until its other files have been read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rdfcrawl.frontier.queue.tables import StateStore

_FORMER: Final = "left files"  # of a dataset: URL -> run, and run of its release
_AWAITED: Final = "awaited files"  # of a dataset: URL of a file -> _IS_READ
_IS_READ: Final = "read"
_MAX_KEPT: Final = 3  # runs in which they stay until another file is read


class FormerFiles:
    """The former files of datasets, shared by all workers of a crawl."""

    def __init__(self, store: StateStore, run: int) -> None:
        self._store, self._run = store, run

    async def keep(
        self, name: str, files: Iterable[str], awaited: Iterable[str] = ()
    ) -> None:
        """Let former files of a dataset stay, for some runs at most.

        Args:
            name: of the dataset.
            files: its former files.
            awaited: URLs of all files to read before; see `is_last_read`.
        """
        await self._store.put(name, _FORMER, dict.fromkeys(files, str(self._run)))
        await self._store.clear(name, _AWAITED)
        await self._store.put(name, _AWAITED, dict.fromkeys(awaited, ""))

    async def are_kept(self, name: str) -> bool:
        """Return whether former files of a dataset stay."""
        entries = self._store.entries(name, _FORMER)
        return any([" " not in runs async for _, runs in entries])

    async def is_last_read(self, name: str, url: str) -> bool:
        """Note that a file was read; return whether it was the last awaited one."""
        if await self._store.get(name, _AWAITED, url) is None:  # as usual
            return False
        await self._store.put(name, _AWAITED, {url: _IS_READ})
        entries = self._store.entries(name, _AWAITED)
        return all([mark == _IS_READ async for _, mark in entries])

    async def released(
        self, name: str, present: Collection[str], *, has_others: bool
    ) -> list[str] | None:
        """Return the former files of a dataset that need not stay any more.

        They are forgotten in the next run, in case that a response is processed twice.
        None: there are no former files.

        Args:
            name: of the dataset.
            present: its files, possibly former ones.
            has_others: the other files have been read.
        """
        run, n_former = self._run, 0
        released, past = dict[str, str](), list[str]()
        async for url, runs in self._store.entries(name, _FORMER):
            n_former += 1
            since, _, released_in = runs.partition(" ")
            if url in present or (released_in and int(released_in) < run):
                past.append(url)
            elif released_in or has_others or run - int(since) >= _MAX_KEPT:
                released[url] = f"{since} {run}"
        if len(past) == n_former:
            await self.forget(name)
            return None
        await self._store.drop(name, _FORMER, past)
        await self._store.put(name, _FORMER, released)
        return list(released)

    async def forget(self, name: str) -> None:
        """Forget the former files of a dataset."""
        await self._store.clear(name, _FORMER)
        await self._store.clear(name, _AWAITED)

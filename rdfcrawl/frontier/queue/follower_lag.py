"""Lag of the stores that follow a crawl on this machine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from rdfcrawl.frontier.queue.worker_reports import CURRENT

if TYPE_CHECKING:
    from pathlib import Path

LAG: Final = f"{CURRENT}store/"
DOCUMENTS, SECS, SET_ASIDE, STUCK = "documents", "secs", "set_aside", "stuck"
_LOOK_SECS: Final = 10.0


class FollowerLag:
    """Measures the lag of followers periodically while a worker runs.

    Attributes:
        figures: figures for reports, `now/store/<kind>/<name>`: the maximum over all
            stores of a kind.
    """

    def __init__(self) -> None:
        self.figures: dict[str, float] = {}
        self._task: asyncio.Task[None] | None = None

    def begin(self, root: Path) -> None:
        """Start measuring the followers of the crawl in a folder."""
        self._task = asyncio.create_task(self._look(root))

    def end(self) -> None:
        """Stop measuring."""
        if self._task is not None:
            self._task.cancel()

    async def _look(self, root: Path) -> None:
        while True:
            await asyncio.sleep(_LOOK_SECS)
            if (root / "followers").is_dir():
                self.figures = await asyncio.to_thread(lag_of, root)


def lag_of(root: Path) -> dict[str, float]:
    """Return the lag of the followers that have begun."""
    from rdfcrawl.stores.followers.status import read_statuses  # noqa: PLC0415 (few have any)

    figures: dict[str, float] = {}
    for status in read_statuses(root):
        kind = status.name.partition(":")[0]
        lags = {
            DOCUMENTS: status.n_behind,
            SECS: status.secs_behind,
            SET_ASIDE: len(status.set_aside) + status.n_unnamed,
            STUCK: status.state in {"waiting", "unusable", "failed"},
        }
        for what, value in lags.items():
            name = f"{LAG}{kind}/{what}"
            figures[name] = max(float(value), figures.get(name, 0.0))
    return figures

"""The look of a worker at the epochs of domains that have a quota, again and again."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.counting import counted
from rdfcrawl.frontier.worker.worker_state import sleep_until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rdfcrawl.frontier.queue.domain_epochs import EndedEpoch
    from rdfcrawl.frontier.worker.worker_state import WorkerState

logger = logging.getLogger(__name__)

_LOOK_SECS: Final = 1.0  # others may have done something, too


class EpochKeeper:
    """Grants URLs and begins epochs, for all workers.

    Attributes:
        n_granted: URLs that were granted here.
        n_begun: epochs that were begun here.
    """

    def __init__(self, state: WorkerState, log: Path | None) -> None:
        self._state = state
        self._log = log
        self.n_granted = 0
        self.n_begun = 0

    async def run(self) -> None:
        """Look whenever something happens here, and now and then, until the end."""
        state = self._state
        while not state.stopping.is_set():
            state.look_now.clear()
            look = await state.persistent("epochs", state.frontier.epochs.look)
            self.n_granted += look.n_granted
            self.n_begun += look.n_begun
            if look.ended and self._has_told(look.ended):
                await state.persistent(
                    "epochs", state.frontier.epochs.logged, look.ended
                )
            if look.granted:
                state.stir(look.granted)
                state.claim_now.set()
            due = _LOOK_SECS if look.due_secs is None else look.due_secs
            await sleep_until(state.look_now, min(_LOOK_SECS, max(0.01, due)))

    def _has_told(self, ended: Sequence[EndedEpoch]) -> bool:
        """Log epochs; return whether that is done, or else is to be done again.

        Who is killed behind this leaves lines that another worker writes once more.
        """
        if self._log is None:
            return True
        lines = "".join(f"{each.entry}\n" for each in ended)
        try:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("a+b") as file:
                if file.tell():
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b"\n":  # torn, by one of the same name
                        lines = f"\n{lines}"
                file.write(lines.encode())
        except OSError as error:
            logger.warning("not logged: %s: %s", counted(len(ended), "epoch"), error)
            return False
        return True

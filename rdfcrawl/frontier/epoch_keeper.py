"""The look of a worker at the epochs of domains that have a quota, again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.frontier.worker_state import sleep_until

if TYPE_CHECKING:
    from rdfcrawl.frontier.worker_state import WorkerState

_LOOK_SECS: Final = 1.0  # others may have done something, too


class EpochKeeper:
    """Grants URLs and begins epochs, for all workers.

    Attributes:
        n_granted: URLs that were granted here.
        n_begun: epochs that were begun here.
    """

    def __init__(self, state: WorkerState) -> None:
        self._state = state
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
            if look.granted:
                state.stir(look.granted)
                state.claim_now.set()
            due = _LOOK_SECS if look.due_secs is None else look.due_secs
            await sleep_until(state.look_now, min(_LOOK_SECS, max(0.01, due)))

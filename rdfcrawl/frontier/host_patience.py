"""How long hosts that refuse are borne with, and what is waited for at the end."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import Fault, Reason
from rdfcrawl.records import refused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfcrawl.frontier.worker_state import WorkerState
    from rdfcrawl.records import Visit

logger = logging.getLogger(__name__)

_LOOK_SECS: Final = 1.0
_SAY_SECS: Final = 60.0


class HostPatience:
    """Decide how long hosts that refuse are tried, also when no others are left."""

    def __init__(self, state: WorkerState) -> None:
        self.n_hosts = 0  # that refuse, once there is nothing else to do
        self._state = state
        self._options = state.options
        self._look_at = 0.0
        self._say_at = 0.0

    @property
    def secs(self) -> float:
        """How long a host is borne with at present."""
        patience, last = self._options.patience_secs, self._options.last_wait_secs
        return min(patience, last) if self.n_hosts else patience

    def judge(self, visits: Iterable[Visit]) -> None:
        """Decide of claimed visits whether their hosts are still tried."""
        for visit in visits:
            visit.is_borne = visit.down_secs < self.secs
            if visit.failures and visit.asked_rest_secs:
                _pass_over(visit)

    async def look(self) -> None:
        """Find out, now and then, whether there is anything else to do."""
        if self._options.patience_secs <= 0 or monotonic() < self._look_at:
            return
        self._look_at = monotonic() + _LOOK_SECS
        last = min(self._options.patience_secs, self._options.last_wait_secs)
        n_others, n_down, secs = await self._down(last, is_last_wait=False)
        self.n_hosts = 0 if n_others else n_down
        if not self.n_hosts:
            self._say_at = 0.0
            return
        await self._down(last, is_last_wait=True)
        if monotonic() >= self._say_at:
            self._say_at = monotonic() + _SAY_SECS
            until = datetime.now(UTC) + timedelta(seconds=secs)
            logger.info(
                "all else is done: waiting for %d hosts that do not answer, until %s"
                " UTC at the latest (HOST_LAST_WAIT_SECS)",
                n_down,
                f"{until:%Y-%m-%d %H:%M:%S}",
            )

    async def _down(self, secs: float, *, is_last_wait: bool) -> tuple[int, int, float]:
        down, what = self._state.frontier.down, "look for hosts that refuse"
        return await self._state.persistent(what, down, secs, is_last_wait=is_last_wait)


def _pass_over(visit: Visit) -> None:
    """Take out all records of a host that has asked to be left alone for longer."""
    visit.host_refused = True
    visit.retry_after_secs = visit.asked_rest_secs
    if visit.is_borne:
        visit.returned = dict(enumerate(visit.records))
        visit.not_before_secs = visit.asked_rest_secs
    else:
        visit.is_unasked = True
        detail = f"it is to be left alone for {visit.asked_rest_secs:.0f} s more"
        fault = Fault(Reason.HOST_BUSY, detail)
        visit.failed += visit.pending
        for index in visit.pending:
            visit.documents.append(refused(visit.records[index], [fault]))
    visit.pending.clear()

"""What is fixed for one worker of a crawl: values, without a connection."""

from __future__ import annotations

from dataclasses import dataclass

from rdfcrawl.records import NO_BUDGET, Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierOptions:
    """What is fixed for one worker.

    Attributes:
        partitions: wanted for a new crawl; an existing one keeps its own.
        lease_secs: a worker that did not renew for so long is taken for dead.
        batch: most URIs of a visit.
        window_secs: a visit has as many URIs as fit into this at the host's delay.
        delay_secs: least time between two requests to a host that sets none.
        budget: most URIs and hosts ever accepted.
    """

    partitions: int = 16
    lease_secs: float = 60.0
    batch: int = 50
    window_secs: float = 5.0
    delay_secs: float = 1.0
    budget: Budget = NO_BUDGET


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What is fixed for one worker.

    Attributes:
        name: unique among all workers of the crawl, now and ever.
        visits: hosts visited at once, that are quick.
        slow_visits: hosts visited at once beside them, that are not.
        slow_secs: a visit is slow that has waited so long for one answer.
        commit_secs: stores are flushed and visits acknowledged so often.
        ack_lag_secs: pause between the flush of the stores and the acknowledgement;
            needed only where children and parent lie on different Redis masters.
        max_buffered: with so many links unsent (Redis is away), no new visits.
        idle_secs: the crawl must have had no work for so long before it is over.
        patience_secs: hosts that refuse are tried for so long.
        last_wait_secs: the same once there is nothing else to do.
    """

    name: str
    visits: int = 32
    slow_visits: int = 64
    slow_secs: float = 3.0
    commit_secs: float = 1.0
    ack_lag_secs: float = 0.0
    max_buffered: int = 50_000
    idle_secs: float = 0.0
    patience_secs: float = 0.0
    last_wait_secs: float = 0.0

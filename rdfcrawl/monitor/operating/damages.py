"""Kinds of damage of a frontier, with their messages."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class DamageKind(StrEnum):
    """A violated invariant of `docs/explanation/frontier.md`."""

    QUEUE_WITHOUT_STATE = "queue_without_state"
    QUEUE_LENGTH = "queue_length"
    LOCK_WITHOUT_LEASE = "lock_without_lease"
    PAUSED_AND_NOT_LOCKED = "paused_and_not_locked"
    PAUSED_AND_NOT_LISTED = "paused_and_not_listed"
    READY_WITHOUT_WORK = "ready_without_work"
    WORK_NOT_READY = "work_not_ready"
    REFUSING_WITHOUT_WORK = "refusing_without_work"
    CROWD_PLACE = "crowd_place"
    WRONG_CROWD = "wrong_crowd"
    LEASE_WITHOUT_BATCH = "lease_without_batch"
    BATCH_WITHOUT_LEASE = "batch_without_lease"
    COUNTER = "counter"
    HOSTS_COUNTER = "hosts_counter"
    DOMAIN_COUNT = "domain_count"
    TWO_PARTITIONS = "two_partitions"
    WRONG_PARTITION = "wrong_partition"
    WAITS_BY_NO_SOURCE = "waits_by_no_source"
    SOURCE_WITHOUT_URI = "source_without_uri"
    OVER_OF_HOST = "over_of_host"
    OVER_OF_DOMAIN = "over_of_domain"
    GRANTED = "granted"
    OVER_QUOTA = "over_quota"
    UNKNOWN_KEY = "unknown_key"


# Findings of `inspect` on a key (`lua/sound.lua`).
OF_KEYS: Final = {
    "S": DamageKind.QUEUE_WITHOUT_STATE,
    "N": DamageKind.QUEUE_LENGTH,
    "L": DamageKind.LOCK_WITHOUT_LEASE,
    "P": DamageKind.PAUSED_AND_NOT_LOCKED,
    "K": DamageKind.PAUSED_AND_NOT_LISTED,
    "R": DamageKind.READY_WITHOUT_WORK,
    "W": DamageKind.WORK_NOT_READY,
    "D": DamageKind.REFUSING_WITHOUT_WORK,
}
_TEXTS: Final = {
    DamageKind.QUEUE_WITHOUT_STATE: "has {found} URIs queued, and no state",
    DamageKind.QUEUE_LENGTH: "has {found} URIs queued, but counts another number",
    DamageKind.LOCK_WITHOUT_LEASE: "is locked, and no lease holds it",
    DamageKind.PAUSED_AND_NOT_LOCKED: "is paused, and can still be claimed",
    DamageKind.PAUSED_AND_NOT_LISTED: "is paused or listed as paused, not both",
    DamageKind.READY_WITHOUT_WORK: "waits to be claimed, and must not",
    DamageKind.WORK_NOT_READY: "has work, and does not wait to be claimed",
    DamageKind.REFUSING_WITHOUT_WORK: "counts as refusing, and has no work",
    DamageKind.CROWD_PLACE: "is a crowd with a place and no hosts, or the reverse",
    DamageKind.WRONG_CROWD: "waits in the wrong crowd {found}",
    DamageKind.LEASE_WITHOUT_BATCH: "is a lease without a batch",
    DamageKind.BATCH_WITHOUT_LEASE: "has a batch of epoch {found}, and no lease",
    DamageKind.COUNTER: "is a counter with the value {found}",
    DamageKind.HOSTS_COUNTER: "is a counter with the value {found}",
    DamageKind.DOMAIN_COUNT: "is a domain that counts {found} hosts",
    DamageKind.TWO_PARTITIONS: "also has state in partition {found}",
    DamageKind.WRONG_PARTITION: "belongs to partition {found}",
    DamageKind.WAITS_BY_NO_SOURCE: "has {found} URIs that wait and that no epoch finds",
    DamageKind.SOURCE_WITHOUT_URI: "has {found} names that wait, without URIs",
    DamageKind.OVER_OF_HOST: "counts {found} URIs over its budget",
    DamageKind.OVER_OF_DOMAIN: "is a domain that counts {found} URIs over its budget",
    DamageKind.GRANTED: "is a domain that counts {found} granted URIs under way",
    DamageKind.OVER_QUOTA: "is a domain that was granted {found} URIs over its quota",
    DamageKind.UNKNOWN_KEY: "is a key of Redis unknown to this version",
}


@dataclass(frozen=True, slots=True)
class FrontierDamage:
    """One violation of an invariant.

    Attributes:
        kind: which invariant.
        partition: its number; -1 for keys of the crawl.
        name: of the host, lease, counter, crowd, domain or key.
        found: actual value, for the text.
        expected: correct value, if known.
    """

    kind: DamageKind
    partition: int
    name: str
    found: str = ""
    expected: str = ""

    def line(self) -> str:
        """Return the damage as a line of text."""
        where = "crawl" if self.partition < 0 else f"partition {self.partition}"
        text = _TEXTS[self.kind].format(found=self.found)
        must = f", and must be {self.expected}" if self.expected else ""
        return f"{self.kind}: {where}: {self.name} {text}{must}"

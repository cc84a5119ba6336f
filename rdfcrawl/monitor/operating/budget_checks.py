"""Compare the counters of budgets and quotas with the queues.

Partitions that are too large for one script while workers run are skipped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rdfcrawl.core.counting import in_batches
from rdfcrawl.frontier.queue.candidate import bucket_of
from rdfcrawl.monitor.operating.damages import DamageKind, FrontierDamage
from rdfcrawl.monitor.operating.scans import MAX_ADDED_UP, pages_of
from rdfcrawl.uri import registered_domain

if TYPE_CHECKING:
    from rdfcrawl.monitor.operating.crawl import FrontierView
    from rdfcrawl.monitor.operating.key_names import PartitionKeys

_BATCH_SIZE: Final = 500
_OF_DOMAIN: Final = b" o"


class Charged(NamedTuple):
    """A host or, with the bucket of its count, a registered domain."""

    name: str
    bucket: str = ""


class BudgetCheck:
    """The checks of one crawl."""

    def __init__(self, crawl: FrontierView, *, has_workers: bool) -> None:
        self._crawl = crawl
        self._has_workers = has_workers

    async def over_budgets(
        self, number: int, names: PartitionKeys
    ) -> list[FrontierDamage] | None:
        """Return hosts and domains with a wrong count of URIs over a budget.

        None if there are too many to examine while workers run.
        """
        crawl, prefix = self._crawl, self._crawl.prefixes[number]
        found = await self._found_over(number)
        counted = await self._counted_over(number, names, found)
        doubtful = [x for x in {*found, *counted} if found[x] != counted[x]]
        if not doubtful:
            return []
        n_over = await crawl.redis.hlen(f"{prefix}:over")
        if self._has_workers and n_over > MAX_ADDED_UP:
            return None
        damages = []
        for charged in doubtful:  # a second time, in one script
            n, says = await crawl.run("inspect", number, "over", *charged)
            if n != says:
                kind = DamageKind.OVER_OF_HOST
                if charged.bucket:
                    kind = DamageKind.OVER_OF_DOMAIN
                damages.append(
                    FrontierDamage(kind, number, charged.name, str(says), str(n))
                )
        return damages

    async def _found_over(self, number: int) -> Counter[Charged]:
        found: Counter[Charged] = Counter()
        name = f"{self._crawl.prefixes[number]}:over"
        async for page in pages_of(self._crawl.redis.hscan, name):
            for field, item in page.items():
                key = field.rpartition(b" ")[0].decode(errors="replace")
                domain = registered_domain(key)
                is_of_domain = item.startswith(b"d")
                whose = Charged(key)
                if is_of_domain:
                    whose = Charged(domain, str(bucket_of(domain)))
                found[whose] += 1
        return found

    async def _counted_over(
        self, number: int, names: PartitionKeys, found: Iterable[Charged]
    ) -> Counter[Charged]:
        prefix, redis = self._crawl.prefixes[number], self._crawl.redis
        hosts = names.hosts | {each.name for each in found if not each.bucket}
        counted: Counter[Charged] = Counter()
        for some in in_batches(hosts, _BATCH_SIZE):
            pipe = redis.pipeline(transaction=False)
            for key in some:
                pipe.hget(f"{prefix}:h:{key}", "o")
            for key, n in zip(some, await pipe.execute(), strict=True):
                if n:
                    counted[Charged(key)] = int(n)
        for bucket in names.counts:
            async for page in pages_of(redis.hscan, f"{prefix}:d:{bucket}"):
                for field, n in page.items():
                    if field.endswith(_OF_DOMAIN):
                        domain = field.removesuffix(_OF_DOMAIN).decode(errors="replace")
                        counted[Charged(domain, bucket)] = int(n)
        return counted

    async def quotas(
        self, number: int, names: PartitionKeys
    ) -> list[FrontierDamage] | None:
        """Return domains with a wrong count of granted URIs, or over their quota.

        None if there are too many to examine while workers run.
        """
        crawl = self._crawl
        if not crawl.frontier.epochs.is_scheduled:
            return []
        size = await crawl.run("inspect", number, "size")
        queued = await crawl.redis.hget(f"{crawl.prefixes[number]}:cnt", "q")
        if self._has_workers and size + int(queued or 0) > MAX_ADDED_UP:
            return None
        rows: Any = await crawl.run("inspect", number, "grants", *names.quotas)
        damages = []
        for i in range(0, len(rows), 4):
            name, n, says, n_over = rows[i : i + 4]
            kinds = {
                DamageKind.GRANTED: (n != says, str(says), str(n)),
                DamageKind.OVER_QUOTA: (n_over > 0, str(n_over), ""),
            }
            damages += [
                FrontierDamage(kind, number, name.decode(), found, expected)
                for kind, (is_wrong, found, expected) in kinds.items()
                if is_wrong
            ]
        return damages

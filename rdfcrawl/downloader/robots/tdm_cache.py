"""Files of reservations of origins, each requested when a document needs it.

Only documents with statements or links, and without their own reservations on text and
data mining, need it: until the file is known, nothing of them is used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.reservations import NOTHING, PRODUCT_TOKEN, Reservations
from rdfcrawl.core.shared_tasks import SharedTasks
from rdfcrawl.downloader.robots.origin_memory import OriginMemory
from rdfcrawl.downloader.robots.packing import pack_tdm, unpack_tdm
from rdfcrawl.downloader.robots.policy import RobotsAccess, judge
from rdfcrawl.downloader.robots.tdm_file import TDM_PATH, TdmRules, parse_tdm_file
from rdfcrawl.frontier.request_turns import HostRestsError, SoloTurn, SoloTurns, Take
from rdfcrawl.uri.origin import origin_of

if TYPE_CHECKING:
    from rdfcrawl.core.visits import Visit
    from rdfcrawl.downloader.robots.cache import RobotsCache, RobotsOptions
    from rdfcrawl.downloader.robots.responses import RobotsResponse
    from rdfcrawl.frontier.queue.host_rules import RulesKeeper

NO_FILE: Final = TdmRules((), 200)


class TdmCache:
    """The rules in the files of origins, least recently used dropped first.

    Args:
        robots: fetches the files, if robots.txt allows that.
        count: called with the statistic of each file.
        keeper: rules that other workers and earlier runs have found.
    """

    def __init__(
        self,
        robots: RobotsCache,
        options: RobotsOptions,
        *,
        keeper: RulesKeeper,
        turns: SoloTurns | None = None,
        count: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._robots, self._options = robots, options
        self._keeper, self._count = keeper, count
        self._turns = turns or SoloTurns()
        self._known = OriginMemory[TdmRules](options.max_origins, options.max_bytes)
        self._fetching = SharedTasks[TdmRules | None]()

    def known(self, url: str) -> Reservations | None:
        """Return the reservations of an origin for a URL; None if not known yet."""
        if not url.startswith("http"):
            return NOTHING
        rules = self._known.fresh(origin_of(url))
        return None if rules is None else rules.of(url)

    async def of(self, url: str, visit: Visit) -> Reservations | None:
        """Return the reservations of an origin for a URL; request the file if needed.

        Returns:
            None if the file was not requested because the worker stops.
        """
        if (known := self.known(url)) is not None:
            return known
        origin = origin_of(url)
        load = partial(self._load, origin, visit)
        rules = await self._fetching.run(origin, load)
        return None if rules is None else rules.of(url)

    async def close(self) -> None:
        """Cancel open requests."""
        await self._fetching.close()

    async def _load(self, origin: str, visit: Visit) -> TdmRules | None:
        """Return the rules in the shared cache, or fetch them for all workers."""
        name = self._name_of(origin)
        kept = await self._keeper.look(name)
        older = None if kept.rules is None else unpack_tdm(kept.rules)
        if kept.is_due or older is None:
            return await self._fetch(origin, visit, older or self._known.last(origin))
        self._known.keep(origin, older, kept.secs)
        return older

    async def _fetch(
        self, origin: str, visit: Visit, older: TdmRules | None
    ) -> TdmRules | None:
        name, options = self._name_of(origin), self._options
        allowed = await self._robots.rules(origin)
        if isinstance(allowed, list):  # they were known when the document was requested
            await self._keeper.end(name)
            return older or NO_FILE
        rules, ttl_secs = NO_FILE, options.ttl_secs
        if self._robots.refusal(allowed, origin + TDM_PATH) is None:
            take = self._turns_for(origin, visit, allowed.delay_secs)
            response = await self._robots.follow(origin, take, TDM_PATH)
            if response.is_unsent:
                await self._keeper.end(name)
                return None
            if judge(response.status) is RobotsAccess.UNREACHABLE:
                rules, ttl_secs = older or NO_FILE, min(ttl_secs, options.stale_secs)
            else:
                rules = self._read(origin, response)
        await self._keeper.keep_rules(name, pack_tdm(rules), ttl_secs)
        self._known.keep(origin, rules, ttl_secs)
        return rules

    def _turns_for(self, origin: str, visit: Visit, delay_secs: float) -> Take:
        """Return the function that waits for turns to request a file.

        Outside of the host's working hours there is no turn, and the document waits for
        the next visit.
        """

        async def take(url: str) -> SoloTurn | None:
            try:
                return await self._turns.of_url(url, delay_secs, visit=visit)
            except HostRestsError:
                if origin_of(url) == origin:
                    return None
                raise

        return take

    def _read(self, origin: str, response: RobotsResponse) -> TdmRules:
        """Return the rules in a file.

        Without a file, an origin has no rules (TDMRep, "TDM File on the Origin
        Server").
        """
        if judge(response.status) is not RobotsAccess.PARSE:
            return NO_FILE
        rules = parse_tdm_file(response.body, origin)
        self._count("tdm/bad_file" if rules is None else "tdm/file")
        return rules or NO_FILE

    def _name_of(self, origin: str) -> str:
        """Return the key of an origin in the shared cache, next to robots.txt's."""
        agent = self._options.agent
        own = "" if agent == PRODUCT_TOKEN else f" {agent.lower()}"
        return f"{origin}{TDM_PATH}{own}"

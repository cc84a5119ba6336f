"""Reservations on text and data mining for a site: `/.well-known/tdmrep.json`.

The file is requested when a document needs it: one with statements or links, and
without its own reservations. Until the file is known, nothing of them is used.

Source: TDM Reservation Protocol, W3C Community Group Final Report of 10 May 2024, "TDM
File on the Origin Server". Its patterns are those of robots.txt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from rdfcrawl.core.reservations import (
    MAX_POLICY_CHARS,
    NOTHING,
    PRODUCT_TOKEN,
    Reservations,
)
from rdfcrawl.core.shared_tasks import SharedTasks, SizedMemory
from rdfcrawl.core.visits import Visit
from rdfcrawl.downloader.robots.cache import RobotsCache, RobotsOptions
from rdfcrawl.downloader.robots.parser import PathPattern, path_of
from rdfcrawl.downloader.robots.policy import RobotsAccess, RobotsResponse, judge
from rdfcrawl.downloader.robots.storage import DAMAGES, packed, unpacked
from rdfcrawl.frontier.queue.host_rules import RulesKeeper
from rdfcrawl.frontier.request_turns import HostRestsError, SoloTurn, SoloTurns, Take
from rdfcrawl.uri.hosts import origin_of

TDM_PATH: Final = "/.well-known/tdmrep.json"
MAX_RULES: Final = 1000
_MAX_PATTERN_CHARS: Final = 2048
_VALUES: Final = {"1": True, "0": False}


@dataclass(frozen=True, slots=True, eq=False)
class TdmRules:
    """The rules in the file of one origin."""

    # patterns and the reservations of matching paths, in order
    rules: tuple[tuple[PathPattern, Reservations], ...]
    n_bytes: int  # approximate size in memory

    def of(self, url: str) -> Reservations:
        """Return the reservations for a URL of the origin: the first match counts."""
        if not self.rules:
            return NOTHING
        path = path_of(url)
        for pattern, said in self.rules:
            if pattern.matches(path):
                return said
        return NOTHING


def parse_tdm_file(body: bytes, origin: str) -> TdmRules | None:
    r"""Parse the file of an origin; invalid rules are ignored.

    Args:
        body: of any length that fits in memory.
        origin: scheme, host and port, which locations may contain.

    Returns:
        None if it is another kind of file.

    >>> rules = parse_tdm_file(b'[{"location": "/a/*.ttl$", "tdm-reservation": 1}]', "")
    >>> [rules.of(f"http://a.example/{x}").tdm for x in ("a/b.ttl", "a/b.ttl?c", "b")]
    [True, None, None]
    """
    try:
        found = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list):
        return None
    rules = tuple(_iter_rules(found[:MAX_RULES], origin))
    n_bytes = 200 + sum(400 + 2 * len(rule[0].text) for rule in rules)
    return TdmRules(rules, n_bytes)


def _iter_rules(found: list[Any], origin: str) -> Iterator[tuple[PathPattern, Any]]:
    for each in found:
        location = each.get("location") if isinstance(each, dict) else None
        if not isinstance(location, str) or len(location) > _MAX_PATTERN_CHARS:
            continue
        path = location.strip().removeprefix(origin)
        if not path.startswith(("/", "*")):
            path = f"/{path}"
        value = each.get("tdm-reservation")
        is_word = isinstance(value, int | str)
        # Values other than 1 and 0 are ignored.
        tdm = _VALUES.get(str(value).strip()) if is_word else None
        policy = each.get("tdm-policy") if tdm else None
        text = policy.strip()[:MAX_POLICY_CHARS] if isinstance(policy, str) else ""
        said = Reservations(tdm=tdm, tdm_policy=text) if tdm is not None else NOTHING
        yield PathPattern.of(path.encode("utf-8", "replace")), said


def pack_tdm(tdm: TdmRules) -> bytes:
    """Return the rules of a TDM file as bytes."""
    rules = [(p.text, said.tdm, said.tdm_policy) for p, said in tdm.rules]
    return packed([rules, tdm.n_bytes])


def unpack_tdm(data: bytes) -> TdmRules | None:
    """Return packed rules of a TDM file; None for anything else."""
    try:
        rules, n_bytes = unpacked(data)
        pairs = tuple(
            (
                PathPattern.of(text.encode()),
                Reservations(tdm=value, tdm_policy=str(policy)),
            )
            for text, value, policy in rules
        )
        return TdmRules(pairs, int(n_bytes))
    except DAMAGES:
        return None  # not our data


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
        self._known = SizedMemory[str, TdmRules](options.max_origins, options.max_bytes)
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

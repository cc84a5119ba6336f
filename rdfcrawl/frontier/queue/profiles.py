"""Settings and spider arguments that a crawl stores until it is restarted.

A record is processed with the arguments of the spider that queued it, on any worker: it
has the number of that spider. The settings define which URIs are equal and which share
a queue; after a change, seen URIs would be crawled again.

A crawl keeps the arguments of each of its spiders. A command that continues it need not
repeat them; to change a value, it must name the argument in `reset`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import clipped, counted
from rdfcrawl.frontier.arguments.crawl import (
    ARGUMENTS,
    NAMED,
    ArgumentSet,
    CrawlArguments,
    arguments_of,
    inlined,
    of_one,
)
from rdfcrawl.frontier.arguments.parsers import words_of
from rdfcrawl.uri import HostGrouping, NormalForm, PolitenessKey
from rdfcrawl.uri.link_filter import CrawlExtent, CrawlScope, LinkFilter

if TYPE_CHECKING:
    from rdfcrawl.core.records import Record
    from rdfcrawl.frontier.queue.frontier_client import Frontier
    from rdfcrawl.frontier.queue.options import CrawlOptions
    from rdfcrawl.frontier.redis.errors import RedisRetry


ALL: Final = "all"
_OF_ONE_COMMAND: Final = of_one("command")
_OF_ONE_RUN: Final = of_one("run")
BUDGETS: Final = frozenset(name for name, x in ARGUMENTS.items() if x.may_rise)
_MAX_SHOWN: Final = 60  # characters of a value in a message

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlMember:
    """One spider that joins a crawl, with the texts of its arguments.

    `has_seeds`: the command gives seeds.
    """

    spider: str = "linkeddata"
    accepts: ArgumentSet = field(default_factory=ArgumentSet)
    given: Mapping[str, str] = field(default_factory=dict)
    has_seeds: bool = False


@dataclass(frozen=True, slots=True)
class AgreedArguments:
    """The arguments that are valid from now on."""

    texts: dict[str, str]  # of the stored arguments, without files
    # names of arguments whose value has changed
    changed: frozenset[str] = frozenset()


def agree(
    stored: Mapping[str, str] | None,
    member: CrawlMember,
    crawl_id: str,
    *,
    is_new_run: bool = False,
) -> AgreedArguments:
    """Return the merged arguments of a crawl and a command.

    Arguments of one run are forgotten when the next one begins.

    Args:
        stored: arguments of this spider in the crawl; None if the spider is new.
        member: the spider and its given arguments.
        crawl_id: for the message.
        is_new_run: the crawl had finished.

    Raises:
        ConfigError: a value contradicts the stored one and is not reset; or `reset`
            names an argument that the spider does not take.
    """
    kept = [name for name in member.accepts.names if name not in _OF_ONE_COMMAND]
    reset = _names(member.given.get("reset", ""), kept)
    given = {
        name: inlined(name, member.given[name]) for name in kept if name in member.given
    }
    if stored is None:
        return AgreedArguments(given)
    gone = reset | _OF_ONE_RUN if is_new_run else reset
    texts = {name: text for name, text in stored.items() if name not in gone}
    for name, text in given.items():
        if name in NAMED:
            texts[name] = _united(name, texts.get(name), text)
        elif name in reset | _OF_ONE_RUN or _is_raised_budget(name, text, stored):
            texts[name] = text
        elif not _is_same(name, text, stored.get(name), member.accepts):
            raise _contradiction(name, member, stored.get(name), crawl_id)
    changed = frozenset(
        name
        for name in kept
        if name not in {*NAMED, *_OF_ONE_RUN}
        and not _is_same(name, texts.get(name), stored.get(name), member.accepts)
    )
    return AgreedArguments(texts, changed)


def _names(text: str, kept: list[str]) -> frozenset[str]:
    names = frozenset(words_of(text))
    if ALL in names:
        return frozenset(kept)
    for name in sorted(names - set(kept)):
        raise ConfigError(
            f"argument reset={name}: must be {ALL}, or of {', '.join(kept)}"
        )
    return names


def _value(name: str, text: str | None, accepts: ArgumentSet) -> object:
    given = {} if text is None else {name: text}
    return getattr(accepts.parse(given), name)


def _is_same(
    name: str, text: str | None, other: str | None, accepts: ArgumentSet
) -> bool:
    return text == other or _value(name, text, accepts) == _value(name, other, accepts)


def _is_raised_budget(name: str, text: str, stored: Mapping[str, str]) -> bool:
    """Return whether a budget is raised, which needs no `reset`."""
    if name not in BUDGETS:
        return False
    before = int(stored.get(name, getattr(CrawlArguments(), name)))
    return bool(before) and (int(text) > before or int(text) == 0)


def _united(name: str, before: str | None, text: str) -> str:
    """Return all sources ever named; those of a file without its name."""
    named: dict[str, None] = {}
    for part in (before or "", text):
        urls = getattr(CrawlArguments.parse({name: part}, (name,)), name)
        named |= dict.fromkeys(urls)
    return inlined(name, ",".join(named))


def _contradiction(
    name: str, member: CrawlMember, before: str | None, crawl_id: str
) -> ConfigError:
    text = member.given[name]
    begun = f"without {name}" if before is None else f"with {name}={_shown(before)}"
    return ConfigError(
        f"argument {name}={text}: crawl {crawl_id} was begun {begun}; leave it out to"
        f" continue so, or add -a reset={name} to change it"
    )


def _shown(text: str) -> str:
    return clipped(" ".join(text.removeprefix("data:,").split()), _MAX_SHOWN)


async def keep_settings(
    frontier: Frontier, options: CrawlOptions, settings: BaseSettings
) -> CrawlOptions:
    """Return the options with the stored settings of the crawl.

    Raises:
        ConfigError: the command line gives another value.
    """
    wanted = {
        "POLITENESS_KEY": str(options.keys.grouping),
        "ADDRESS_DELAY": str(options.address_delay_secs),
        "SESSION_PARAMETERS": json.dumps(options.normal_form.session_parameters),
    }
    conf = frontier.key("conf")
    kept = {}
    for name, value in wanted.items():
        await frontier.redis.hsetnx(conf, name.lower(), value)
        stored = await frontier.redis.hget(conf, name.lower())
        kept[name] = cast("bytes", stored).decode()
        if kept[name] != value:
            _log_stored(name, kept[name], settings, frontier.crawl_id)
    parameters = tuple(json.loads(kept["SESSION_PARAMETERS"]))
    return replace(
        options,
        keys=PolitenessKey(HostGrouping(kept["POLITENESS_KEY"])),
        address_delay_secs=float(kept["ADDRESS_DELAY"]),
        normal_form=NormalForm(parameters),
    )


def _log_stored(name: str, kept: str, settings: BaseSettings, crawl_id: str) -> None:
    message = (
        f"{name}={settings.get(name)}: crawl {crawl_id} was begun with {name}={kept},"
        " and keeps it; -a fresh=1 restarts it"
    )
    if (settings.getpriority(name) or 0) >= SETTINGS_PRIORITIES["cmdline"]:
        raise ConfigError(message)
    logger.warning("%s", message)


class SpiderProfiles:
    """The arguments of each spider of a crawl."""

    def __init__(self, frontier: Frontier, outage: RedisRetry) -> None:
        self.own = 0  # number of this worker's spider, after `enter`
        # known arguments, by number
        self.arguments: dict[int, CrawlArguments] = {}
        self.names: dict[int, str] = {}  # of their spiders, likewise
        self._frontier = frontier
        self._redis = frontier.redis
        self._name = frontier.key("arguments")
        self._persistent = outage.persistent

    def scope_key(self, number: int) -> str:
        """Return the key of a profile's scope, which its workers share."""
        return self._frontier.key(f"scope:{number}" if number else "scope")

    def of(self, record: Record) -> CrawlArguments:
        """Return the arguments of a record; if unknown, those of this worker."""
        return self.arguments.get(record.profile) or self.arguments[self.own]

    async def enter(self, member: CrawlMember) -> None:
        """Agree with the crawl on the arguments of this worker's spider.

        Raises:
            ConfigError: they contradict the stored ones, or change while workers of the
                crawl are running.
        """
        while True:
            rows = await self._rows()
            found = [n for n, row in rows.items() if row["spider"] == member.spider]
            self.own = found[0] if found else len(rows)
            stored = rows[self.own]["arguments"] if found else None
            agreed = agree(
                stored,
                member,
                self._frontier.crawl_id,
                is_new_run=await self._frontier.is_new_run(),
            )
            _check_schedule(stored, agreed, self._frontier.crawl_id)
            row = {
                "spider": member.spider,
                "takes": member.accepts.takes,
                "arguments": agreed.texts,
            }
            text = json.dumps(row, sort_keys=True)
            if not found:
                if not await self._redis.hsetnx(self._name, str(self.own), text):
                    continue  # another worker was faster
            elif agreed.texts != stored:
                await self._check_change(member, agreed.texts, agreed.changed)
                await self._redis.hset(self._name, str(self.own), text)
            self.arguments[self.own] = member.accepts.parse(agreed.texts)
            self.names[self.own] = member.spider
            self._log_stored(member, agreed.texts)
            return

    async def _check_change(
        self, member: CrawlMember, texts: dict[str, str], changed: frozenset[str]
    ) -> None:
        if not changed - BUDGETS:
            return
        names = ",".join(sorted(changed))
        if live := await self._frontier.live_workers():
            raise ConfigError(
                f"argument reset={names}: workers of the crawl are running, or died"
                f" within the last 15 s: {', '.join(live)}"
            )
        if "scope" not in changed:
            return
        wanted = member.accepts.parse(texts).scope
        if wanted is not CrawlExtent.ANY and not member.has_seeds:
            raise ConfigError(
                f"argument reset=scope: scope={wanted} is derived from the seeds; give"
                " them, too"
            )
        await self._redis.delete(self.scope_key(self.own))

    def _log_stored(self, member: CrawlMember, texts: dict[str, str]) -> None:
        """Log the arguments that were not given, and continue as stored."""
        kept = [
            f"{name}={text if len(text) < 60 else text[:60] + '…'}"
            for name, text in sorted(texts.items())
            if name not in member.given and name not in NAMED
        ]
        if kept:
            logger.info("continuing with the stored %s", " ".join(kept))

    async def learn(self, records: Iterable[Record]) -> bool:
        """Load the unknown arguments of records; return whether there were any."""
        if all(record.profile in self.arguments for record in records):
            return False
        before = len(self.arguments)
        await self.learn_all()
        return len(self.arguments) > before

    async def learn_all(self) -> None:
        """Load the arguments of all spiders of the crawl."""
        rows = await self._persistent("read the arguments", self._rows)
        for number, row in rows.items():
            if number not in self.arguments:
                self.arguments[number] = _arguments_of(row)
                self.names[number] = row["spider"]

    async def texts(self) -> list[dict[str, str]]:
        """Return the texts of the arguments of each spider of the crawl.

        Raises:
            RedisError: Redis is unreachable; there is no retry.
        """
        return [row["arguments"] for row in (await self._rows()).values()]

    async def by_spider(self) -> dict[str, dict[str, str]]:
        """Return the texts of the arguments of each spider, by its name.

        Raises:
            RedisError: Redis is unreachable; there is no retry.
        """
        rows = (await self._rows()).values()
        return {row["spider"]: row["arguments"] for row in rows}

    async def numbers(self) -> dict[str, int]:
        """Return the numbers of all spiders of the crawl, by their names.

        Raises:
            RedisError: Redis is unreachable; there is no retry.
        """
        return {row["spider"]: n for n, row in (await self._rows()).items()}

    async def link_filters(self) -> list[LinkFilter]:
        """Return the link filter of each spider of the crawl, without blocked hosts.

        Raises:
            RedisError: Redis is unreachable; there is no retry.
        """
        filters = []
        for number, row in (await self._rows()).items():
            arguments = _arguments_of(row)
            found = await self._redis.smembers(self.scope_key(number))
            entries = frozenset(each.decode() for each in cast("set[bytes]", found))
            scope = CrawlScope(arguments.scope, entries)
            filters.append(
                LinkFilter(scope, arguments.allow, arguments.deny, arguments.domains)
            )
        return filters

    async def _rows(self) -> dict[int, dict[str, Any]]:
        found = await self._redis.hgetall(self._name)
        return dict(sorted((int(n), json.loads(row)) for n, row in found.items()))

    def merged(self, given: CrawlArguments) -> CrawlArguments:
        """Return the arguments of this worker's spider: given seeds, stored others."""
        names = of_one("command") | NAMED.keys()
        this_time = {name: getattr(given, name) for name in names}
        return replace(self.arguments[self.own], **this_time)

    async def take_up(self) -> None:
        """Queue the URIs refused by a budget that was raised since."""
        budget = self.arguments[self.own].budget
        done = f"taken:{self.own}"
        conf = self._frontier.key("conf")
        kept = await self._persistent(
            "read the arguments", self._redis.hget, conf, done
        )
        text = " ".join(map(str, budget))
        if kept == text.encode():
            return
        if n := await self._persistent(
            "queue refused URIs", self._frontier.take_up, self.own, budget
        ):
            logger.info("queued %s that had been over budget", counted(n, "URI"))
        await self._persistent("keep the arguments", self._redis.hset, conf, done, text)


def _arguments_of(row: dict[str, Any]) -> CrawlArguments:
    """Return the stored arguments of another spider."""
    takes = row["takes"]
    ours = {*arguments_of(takes)} & row["arguments"].keys()
    texts = {name: row["arguments"][name] for name in ours}
    return CrawlArguments.parse(texts, takes)


def _check_schedule(
    stored: Mapping[str, str] | None, agreed: AgreedArguments, crawl_id: str
) -> None:
    """Raise `ConfigError` if a crawl would lose its quotas."""
    name = "schedule"
    if stored and stored.get(name) not in (None, agreed.texts.get(name)):
        raise ConfigError(
            f"argument reset={name}: crawl {crawl_id} was begun with"
            f" {name}={stored[name]}, and keeps it; -a fresh=1 restarts it"
        )

"""The actions of `scrapy frontier`: words of the command line in, lines out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Final, TypeVar

from rdfcrawl.errors import ConfigError
from rdfcrawl.operating import tables
from rdfcrawl.operating.checking import FrontierCheck
from rdfcrawl.operating.crawl import OperatedCrawl, crawls_in
from rdfcrawl.operating.hosts import (
    HostOrder,
    HostPhase,
    HostQuery,
    list_hosts,
    read_host,
)
from rdfcrawl.operating.repairing import FrontierRepair
from rdfcrawl.operating.status import read_status
from rdfcrawl.operating.steering import MAX_DELAY_SECS, HostSteering

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from rdfcrawl.operating.damages import FrontierDamage

Write = Callable[[str], object]
Kind = TypeVar("Kind", HostOrder, HostPhase)
_HOSTS, _HEAD = 20, 10  # shown, if nobody says how many
_MAX_BUDGET: Final = 2**31 - 1
_NONE: Final = "default"


async def run_action(
    settings: BaseSettings, words: Sequence[str], opts: argparse.Namespace, write: Write
) -> int:
    """Do one action on the crawl that settings name; return the exit code.

    Raises:
        ConfigError: the words are wrong, or Redis cannot be used.
    """
    action, *rest = words
    check_words(action, rest)
    async with await OperatedCrawl.open(settings) as crawl:
        with crawl.connection.explaining():
            return await FrontierActions(crawl, opts, write).run(action, rest)


_WORDS: Final = {
    "status": "",
    "hosts": "",
    "host": "HOST",
    "pause": "HOST",
    "resume": "HOST",
    "drop": "HOST",
    "set-delay": "HOST SECS",
    "set-budget": "HOST URIS",
    "check": "",
}


def check_words(action: str, rest: Sequence[str]) -> None:
    """Raise `ConfigError` if an action does not exist, or its words are not as many."""
    if action not in _WORDS:
        raise ConfigError(f"no such action; there are {', '.join(_WORDS)}")
    wanted = _WORDS[action]
    if len(rest) != len(wanted.split()):
        raise ConfigError(f"say: frontier {action} {wanted}".rstrip())


class FrontierActions:
    """The actions on one open crawl."""

    def __init__(
        self, crawl: OperatedCrawl, opts: argparse.Namespace, write: Write
    ) -> None:
        self._crawl = crawl
        self._opts = opts
        self._write = write

    async def run(self, action: str, rest: Sequence[str]) -> int:
        """Do one action; return the exit code."""
        match action:
            case "status":
                return await self._status()
            case "hosts":
                return await self._hosts()
            case "host":
                return await self._host(rest[0])
            case "check":
                return await self._check()
        return await self._steer(action, rest)

    def _tell(self, lines: Iterable[str]) -> None:
        for line in lines:
            # Names from the web are not to be trusted on a terminal.
            shown = line if line.isprintable() else ascii(line)[1:-1]
            self._write(f"{shown}\n")

    async def _status(self) -> int:
        opts = self._opts
        if opts.all:
            names = await crawls_in(self._crawl.redis)
            self._tell([tables.as_json(names)] if opts.json else names)
            return 0
        status = await read_status(self._crawl)
        if opts.json:
            self._tell([tables.as_json(status)])
        else:
            self._tell(tables.status_lines(status, with_partitions=opts.partitions))
        return 0

    async def _hosts(self) -> int:
        opts = self._opts
        below = await self._crawl.key_of(opts.below) if opts.below else ""
        query = HostQuery(
            order=_choice("--sort", opts.sort, HostOrder),
            is_reversed=opts.reverse,
            phase=_choice("--phase", opts.phase, HostPhase) if opts.phase else None,
            below=below,
            most=opts.most or _HOSTS,
        )
        hosts = await list_hosts(self._crawl, query)
        now = await self._crawl.now_ms()
        self._tell(
            tables.json_lines(hosts) if opts.json else tables.host_lines(hosts, now)
        )
        return 0

    async def _host(self, text: str) -> int:
        key = await self._crawl.key_of(text)
        detail = await read_host(self._crawl, key, most=self._opts.most or _HEAD)
        if detail is None:
            raise ConfigError(f"host {key}: the frontier has nothing of it")
        if self._opts.json:
            self._tell([tables.as_json(detail)])
        else:
            self._tell(tables.detail_lines(detail))
        return 0

    async def _check(self) -> int:
        """Tell what is wrong, and mend if wanted; return 1 if anything is left."""
        check = FrontierCheck(self._crawl)
        damages = await check.run()
        self._tell_damages(damages)
        if damages and self._opts.repair:
            await FrontierRepair(self._crawl).run(damages)
            check = FrontierCheck(self._crawl)
            left = await check.run()
            self._tell_check(check, f"{len(damages):,} mended, {len(left):,} left")
            self._tell_damages(left)
            return int(bool(left))
        self._tell_check(check, f"{len(damages):,} damages")
        return int(bool(damages))

    def _tell_damages(self, damages: Sequence[FrontierDamage]) -> None:
        for each in damages:
            line = each.line()
            self._tell(
                [tables.as_json({**asdict(each), "line": line})]
                if self._opts.json
                else [line]
            )

    def _tell_check(self, check: FrontierCheck, found: str) -> None:
        if self._opts.json:
            return
        n = self._crawl.frontier.partitions
        self._tell([f"{check.n_hosts:,} hosts in {n:,} partitions: {found}"])
        if check.not_compared:
            numbers = ", ".join(map(str, check.not_compared))
            line = f"counters not added up beside workers, as there is much: {numbers}"
            self._tell([line])

    async def _steer(self, action: str, rest: Sequence[str]) -> int:
        steering = HostSteering(self._crawl)
        key = await self._crawl.key_of(rest[0])
        match action:
            case "pause":
                change = await steering.pause(key)
            case "resume":
                change = await steering.resume(key)
            case "drop":
                change = await steering.drop(key)
            case "set-delay":
                change = await steering.set_delay(key, _delay(rest[1]))
            case _:
                change = await steering.set_budget(key, _budget(rest[1]))
        if self._opts.json:
            self._tell([tables.as_json(change)])
        else:
            self._tell([tables.change_line(action, change)])
        return 0


def _choice(name: str, text: str, kinds: type[Kind]) -> Kind:
    try:
        return kinds(text)
    except ValueError:
        known = ", ".join(kinds)
        raise ConfigError(f"{name} {text[:50]!a}: must be one of {known}") from None


def _delay(text: str) -> float | None:
    if text == _NONE:
        return None
    try:
        secs = float(text)
    except ValueError:
        secs = -1.0
    if not 0 <= secs <= MAX_DELAY_SECS:
        raise ConfigError(
            f"SECS {text[:50]!a}: must be 0 to {MAX_DELAY_SECS}, or {_NONE}"
        )
    return secs


def _budget(text: str) -> int | None:
    if text == _NONE:
        return None
    if not (text.isascii() and text.isdecimal() and int(text[:12]) <= _MAX_BUDGET):
        raise ConfigError(
            f"URIS {text[:50]!a}: must be 0 (no limit) to {_MAX_BUDGET}, or {_NONE}"
        )
    return int(text)

"""The actions of `scrapy frontier`: from arguments to lines of output."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final, TypeVar

from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import counted
from rdfcrawl.monitor.operating import tables
from rdfcrawl.monitor.operating.checking import FrontierCheck
from rdfcrawl.monitor.operating.crawl import OperatedCrawl, crawls_in
from rdfcrawl.monitor.operating.damages import FrontierDamage
from rdfcrawl.monitor.operating.exporting import MovedFrontier, export_frontier
from rdfcrawl.monitor.operating.hosts import (
    HostOrder,
    HostPhase,
    HostQuery,
    list_hosts,
    read_host,
)
from rdfcrawl.monitor.operating.importing import import_frontier, import_queue
from rdfcrawl.monitor.operating.repairing import FrontierRepair
from rdfcrawl.monitor.operating.status import read_status
from rdfcrawl.monitor.operating.steering import (
    MAX_DELAY_SECS,
    DrainOutcome,
    HostChange,
    HostSteering,
    drain_worker,
)
from rdfcrawl.monitor.operating.uris import (
    GivenUpList,
    UriLookup,
    add_uris,
    discard_given_up,
    iter_given_up,
)

Write = Callable[[str], object]
Kind = TypeVar("Kind", HostOrder, HostPhase)
_HOSTS, _HEAD = 20, 10  # default number of rows
_MAX_BUDGET: Final = 2**31 - 1
_NONE: Final = "default"
MAX_LISTED: Final = 1000


async def run_action(
    settings: BaseSettings, words: Sequence[str], opts: argparse.Namespace, write: Write
) -> int:
    """Do one action on the crawl that settings name; return the exit code.

    Raises:
        ConfigError: the words are wrong, or Redis cannot be used.
    """
    action, *rest = words
    check_words(action, rest)
    # A crawl to import does not exist yet.
    is_queue = action == "import" and _names_queue(rest[0])
    path = Path(rest[0]) if action == "import" and not is_queue else None
    moved = await import_frontier(settings, path) if path else None
    is_read = action != "forget"
    async with await OperatedCrawl.open(settings, is_read=is_read) as crawl:
        with crawl.connection.explaining():
            actions = FrontierActions(crawl, opts, write)
            if moved is not None:
                return await actions.check_imported(moved)
            if is_queue:
                return await actions.import_queue(rest[0], settings)
            return await actions.run(action, rest)


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
    "uri": "URI",
    "add": "URI...",
    "dead": "list|retry|drop",
    "forget": "CRAWL",
    "drain": "WORKER",
    "export": "FILE",
    "import": "FILE|KEY",
    "exporter": "",
}


def _names_queue(text: str) -> bool:
    """Return whether a word is a key of scrapy-redis, and no file."""
    return text.endswith(":requests") and not Path(text).exists()


def check_words(action: str, rest: Sequence[str]) -> None:
    """Raise `ConfigError` if an action does not exist, or has too few or many words."""
    if action not in _WORDS:
        raise ConfigError(f"no such action; choose one of {', '.join(_WORDS)}")
    wanted = _WORDS[action]
    n = len(wanted.split())
    if len(rest) < n or (len(rest) > n and not wanted.endswith("...")):
        raise ConfigError(f"type: frontier {action} {wanted}".rstrip())


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
        actions = {
            "status": self._status,
            "hosts": self._hosts,
            "host": self._host,
            "check": self._check,
            "uri": self._uri,
            "add": self._add,
            "dead": self._given_up,
            "forget": self._forget,
            "drain": self._drain,
            "export": self._export,
        }
        if action in actions:
            return await actions[action](rest)
        return await self._steer(action, rest)

    def _print(self, lines: Iterable[str]) -> None:
        for line in lines:
            # Names from the web may contain control characters of terminals.
            shown = line if line.isprintable() else ascii(line)[1:-1]
            self._write(f"{shown}\n")

    def _show(self, value: object, lines: Iterable[str]) -> None:
        """Print a value as JSON on request, or else as lines of text."""
        self._print([tables.as_json(value)] if self._opts.json else lines)

    async def _status(self, _words: Sequence[str]) -> int:
        opts = self._opts
        if opts.all:
            names = await crawls_in(self._crawl.redis)
            self._show(names, names)
            return 0
        status = await read_status(self._crawl)
        lines = tables.status_lines(status, with_partitions=opts.partitions)
        self._show(status, lines)
        return 0

    async def _hosts(self, _words: Sequence[str]) -> int:
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
        self._print(
            tables.json_lines(hosts) if opts.json else tables.host_lines(hosts, now)
        )
        return 0

    async def _host(self, words: Sequence[str]) -> int:
        key = await self._crawl.key_of(words[0])
        detail = await read_host(self._crawl, key, most=self._opts.most or _HEAD)
        if detail is None:
            raise ConfigError(f"host {key}: not in the frontier")
        self._show(detail, tables.detail_lines(detail))
        return 0

    async def _check(self, _words: Sequence[str]) -> int:
        """Print damage, and repair it on request; return 1 if any is left."""
        check = FrontierCheck(self._crawl)
        damages = await check.run()
        self._print_damages(damages)
        if damages and self._opts.repair:
            await FrontierRepair(self._crawl).run(damages)
            check = FrontierCheck(self._crawl)
            left = await check.run()
            self._print_check(check, f"{len(damages):,} repaired, {len(left):,} left")
            self._print_damages(left)
            return int(bool(left))
        self._print_check(check, counted(len(damages), "damage"))
        return int(bool(damages))

    async def _uri(self, words: Sequence[str]) -> int:
        status = await UriLookup(self._crawl).find(words[0])
        self._show(status, [tables.uri_line(status)])
        return 0

    async def _add(self, texts: Sequence[str]) -> int:
        added = await add_uris(self._crawl, texts, spider=self._opts.spider)
        for each in added:
            self._show(each, [f"{each.url}: {each.fate}"])
        return 0

    async def _given_up(self, words: Sequence[str]) -> int:
        """List, queue or drop given-up URIs."""
        name: GivenUpList = "failed" if self._opts.failed else "dead"
        match words[0]:
            case "list":
                left = self._opts.most or MAX_LISTED
                async for each in iter_given_up(self._crawl, name):
                    self._show(each, [each.url])
                    if not (left := left - 1):
                        break
                return 0
            case "retry":
                n = await self._crawl.frontier.retry([name])
                fate = "queued again"
            case "drop":
                n = await discard_given_up(self._crawl, name)
                fate = "dropped"
            case other:
                raise ConfigError(f"{other[:50]!a}: must be list, retry or drop")
        self._show({fate: n}, [f"{n:,} {fate}"])
        return 0

    async def _forget(self, words: Sequence[str]) -> int:
        """Delete all data of the crawl in Redis, if no worker is running."""
        frontier, name = self._crawl.frontier, words[0]
        if name != self._crawl.crawl_id:
            raise ConfigError(
                f"CRAWL {name[:100]}: settings name crawl {self._crawl.crawl_id};"
                f" add -s CRAWL_ID={name[:100]}"
            )
        if live := await frontier.live_workers():
            raise ConfigError(
                f"CRAWL {name}: workers are running, or died within the last 15 s:"
                f" {', '.join(live)}"
            )
        await frontier.clear()
        self._print([f"{name}: its frontier is deleted; stored documents remain"])
        return 0

    async def _drain(self, words: Sequence[str]) -> int:
        """End a worker; return 1 if it is dead."""
        drained = await drain_worker(self._crawl, words[0])
        self._show(drained, [tables.drain_line(drained)])
        return int(drained.outcome is DrainOutcome.DEAD)

    async def _export(self, words: Sequence[str]) -> int:
        """Write the crawl to a file; return 1 if unknown keys are left out."""
        if words[0] == "-":
            raise ConfigError("-: name a file")
        moved = await export_frontier(self._crawl, Path(words[0]))
        self._show(moved, tables.moved_lines("exported", moved))
        return int(bool(moved.left_out))

    async def import_queue(self, key: str, settings: BaseSettings) -> int:
        """Queue the requests of scrapy-redis; return 1 if one is refused."""
        done = await import_queue(self._crawl, key, settings, spider=self._opts.spider)
        self._show(done, [str(done)])
        return int(bool(done.refused))

    async def check_imported(self, moved: MovedFrontier) -> int:
        """Print and check an imported crawl; return 1 if it is damaged."""
        self._show(moved, tables.moved_lines("imported", moved))
        return await self._check(())

    def _print_damages(self, damages: Sequence[FrontierDamage]) -> None:
        for each in damages:
            self._show({**asdict(each), "line": each.line()}, [each.line()])

    def _print_check(self, check: FrontierCheck, found: str) -> None:
        if self._opts.json:
            return
        n = self._crawl.frontier.partitions
        hosts = counted(check.n_hosts, "host")
        self._print([f"{hosts} in {counted(n, 'partition')}: {found}"])
        if check.not_compared:
            numbers = ", ".join(map(str, check.not_compared))
            line = f"counters not checked while workers run (too large): {numbers}"
            self._print([line])

    async def _steer(self, action: str, rest: Sequence[str]) -> int:
        key = await self._crawl.key_of(rest[0])
        value = rest[1] if len(rest) > 1 else ""
        change = await steer_host(self._crawl, action, key, value)
        self._show(change, [tables.change_line(action, change)])
        return 0


async def steer_host(
    crawl: OperatedCrawl, action: str, key: str, value: str
) -> HostChange:
    """Pause, resume or drop a host, or set its delay or budget.

    Raises:
        ConfigError: the value is wrong.
    """
    steering = HostSteering(crawl)
    match action:
        case "pause":
            return await steering.pause(key)
        case "resume":
            return await steering.resume(key)
        case "drop":
            return await steering.drop(key)
        case "set-delay":
            return await steering.set_delay(key, delay_of(value))
    return await steering.set_budget(key, budget_of(value))


def _choice(name: str, text: str, kinds: type[Kind]) -> Kind:
    try:
        return kinds(text)
    except ValueError:
        known = ", ".join(kinds)
        raise ConfigError(f"{name} {text[:50]!a}: must be one of {known}") from None


def delay_of(text: str) -> float | None:
    """Return a delay typed by an operator, in seconds; None: reset it.

    Raises:
        ConfigError: it is not a delay.
    """
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


def budget_of(text: str) -> int | None:
    """Return a budget typed by an operator; None: the spider's.

    Raises:
        ConfigError: it is not a budget.
    """
    if text == _NONE:
        return None
    if not (text.isascii() and text.isdecimal() and int(text[:12]) <= _MAX_BUDGET):
        raise ConfigError(
            f"URIS {text[:50]!a}: must be 0 (no limit) to {_MAX_BUDGET}, or {_NONE}"
        )
    return int(text)

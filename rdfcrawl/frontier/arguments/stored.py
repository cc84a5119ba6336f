"""Compare the arguments of a command with those stored in the crawl.

A crawl keeps the arguments of each of its spiders. A command that continues it need not
repeat them; to change a value, it must name the argument in `reset`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.arguments.crawl import (
    ARGUMENTS,
    NAMED,
    ArgumentSet,
    CrawlArguments,
    inlined,
    of_one,
)
from rdfcrawl.frontier.arguments.parsers import words_of

ALL: Final = "all"
_OF_ONE_COMMAND: Final = of_one("command")
_OF_ONE_RUN: Final = of_one("run")
BUDGETS: Final = frozenset(name for name, x in ARGUMENTS.items() if x.may_rise)
_MAX_SHOWN: Final = 60  # characters of a value in a message


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
    line = " ".join(text.removeprefix("data:,").split())
    return line if len(line) <= _MAX_SHOWN else f"{line[:_MAX_SHOWN]}…"

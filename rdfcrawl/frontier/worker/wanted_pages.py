"""Pages that are likely to have wanted statements: their turns, and their results.

The counts of a host are in Redis. A worker reads them when it has leased the host, and
adds its own before it releases the host, so all workers judge by the same counts. A
worker that dies between the two loses counts of pages that are fetched again.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from redis.exceptions import RedisError

from rdfcrawl.core.errors import Decision
from rdfcrawl.core.messages import counted
from rdfcrawl.core.records import Document, Kind, Record, Urgency
from rdfcrawl.core.tasks import ListedPage
from rdfcrawl.core.visits import Visit
from rdfcrawl.frontier.queue.candidate import Candidate, unpack_or_none
from rdfcrawl.frontier.queue.candidate_adder import DecisionLog
from rdfcrawl.frontier.queue.form_yields import (
    HostForms,
    UrlChance,
    is_explored,
    urgency_of,
)
from rdfcrawl.frontier.queue.frontier_client import Frontier
from rdfcrawl.frontier.queue.host_rules import WantOptions
from rdfcrawl.frontier.queue.profiles import SpiderProfiles
from rdfcrawl.frontier.redis.errors import RedisRetry, is_full
from rdfcrawl.uri import PolitenessKey
from rdfcrawl.uri.page_forms import PageForm, page_form
from rdfcrawl.uri.traps import form_of

logger = logging.getLogger(__name__)

_MAX_HOSTS: Final = 10_000  # remembered here
_LEADING: Final = ""  # counts pages of all forms that led to others
_MOST_LEADING: Final = 3  # of these in a visit
_USE: Final = "count pages by their forms"


class _FormPlace(NamedTuple):
    """A form of URL, and the politeness key with its counts."""

    key: str
    form: PageForm


class WantedPages:
    """Judges the URLs of leased hosts by the yields of their forms.

    Only pages that documents or sitemaps name, and that were never requested, are
    judged. All others (seeds, dumps, sources, pages to fetch again) are fetched.

    Args:
        frontier: shared by all workers.
        profiles: arguments of all spiders of the crawl.
        keys: which URLs share a queue.
        options: numbers of tries.
        retry: repeats commands while Redis is unreachable.
        decisions: log of URLs that come last or are not fetched; None without one.

    Attributes:
        n_unlikely: URLs that were not fetched here.
    """

    def __init__(
        self,
        frontier: Frontier,
        profiles: SpiderProfiles,
        keys: PolitenessKey,
        options: WantOptions,
        *,
        retry: RedisRetry,
        decisions: DecisionLog | None = None,
    ) -> None:
        self.n_unlikely = 0
        self._frontier = frontier
        self._profiles = profiles
        self._key_of = keys.of
        self._options = options
        self._retry = retry
        self._decisions = decisions
        self._hosts: dict[str, HostForms] = {}
        self._changed: set[str] = set()  # keys with changes that are not stored
        self._to_reopen: set[str] = set()
        self._to_check: set[str] = set()  # with URLs that were just set aside

    def wants(self, record: Record) -> bool:
        """Return whether the spider of a record wants certain statements."""
        return bool(self._profiles.of(record).want)

    async def judge(self, visits: Sequence[Visit]) -> None:
        """Remove from leased visits the URLs that are not fetched, or not yet."""
        await self._read(visit.key for visit in visits)
        for visit in visits:
            self._judge_visit(visit)

    def _judge_visit(self, visit: Visit) -> None:
        forms, fetched = self._hosts[visit.key], Counter[str]()
        share = self._options.exploration
        for index in list(visit.pending):
            record = visit.records[index]
            if not self._is_judged(record):
                continue
            form = self._place(record, visit.key).form
            match forms.chance(form):
                case UrlChance.UNKNOWN:
                    if fetched[form.narrow] >= forms.n_left(form):
                        visit.give_back([index])
                    fetched[form.narrow] += 1
                case UrlChance.SOME:
                    # Those that they lead to come before the others.
                    if fetched[_LEADING] >= _MOST_LEADING:
                        visit.give_back([index])
                    fetched[_LEADING] += 1
                case UrlChance.UNLIKELY if not is_explored(record.url, share):
                    visit.set_aside(index)
                    forms.add_unlikely(form)
                    self._changed.add(visit.key)
                    self.n_unlikely += 1
                    self._log(Decision.UNLIKELY, record.url, record.parent)

    def _is_judged(self, record: Record) -> bool:
        is_new = not (record.retries or record.lost or record.change)
        is_named = record.kind is Kind.PAGE and bool(record.parent) and is_new
        return is_named and self.wants(record)

    def ranked(self, links: Iterable[Candidate], band: bytes) -> list[Candidate]:
        """Return links with their bands by their forms; `band` is the ordinary one."""
        found = []
        for link in links:
            record = None
            if link.item[:1] == band and link.key in self._hosts:
                record = unpack_or_none(link.item[1:], link.key)
            if record is not None and record.kind is Kind.PAGE:
                rank = self._rank(record, link.key, Urgency.ORDINARY)
                link = link._replace(item=b"%d" % rank + link.item[1:])  # noqa: PLW2901
            found.append(link)
        return found

    def urgency(self, record: Record, stated: Urgency) -> Urgency:
        """Return the urgency of a page of a sitemap, by its form."""
        return self._rank(record, self._key_of(record.url), stated)

    def _rank(self, record: Record, key: str, usual: Urgency) -> Urgency:
        forms = self._hosts.get(key)
        if forms is None:
            return usual
        chance = forms.chance(self._place(record, key).form)
        if chance is UrlChance.UNKNOWN:
            return usual
        if chance is UrlChance.UNLIKELY:
            self._log(Decision.UNLIKELY_LAST, record.url, record.parent)
        return urgency_of(chance)

    async def note(self, document: Document) -> None:
        """Count a processed document for the form of its URL."""
        record, status = document.record, document.status
        is_result = status in range(200, 500) and status not in (304, 408, 425, 429)
        if not (is_result and record.kind is Kind.PAGE and self.wants(record)):
            return
        key, form = self._place(record, self._key_of(record.url))
        leading = [] if isinstance(record.task, ListedPage) else self._leading(record)
        await self._read((key, *(each.key for each in leading)), is_cached=True)
        own = self._hosts[key]
        own.add_try(form, is_hit=document.n_wanted > 0)
        self._changed.add(key)
        for parent in leading:
            of_parent = self._hosts[parent.key]
            if document.n_wanted:
                of_parent.add_lead(parent.form)
                self._changed.add(parent.key)
            if parent.key == key:
                own.add_link(form, parent.form)

    def _leading(self, record: Record) -> list[_FormPlace]:
        """Return the places of the URLs that led to a record."""
        urls = filter(None, (record.parent, *record.chain))
        return [self._place(Record(url, profile=record.profile)) for url in urls]

    def _place(self, record: Record, key: str = "") -> _FormPlace:
        """Return the form of a record; that of a listed page has its sitemap."""
        url = record.url
        key = key or self._key_of(url)
        narrow, wide = page_form(url)
        begin = url.find("://") + 3
        host = url[begin : url.find("/", begin)]
        head = "" if host == key else host
        head = f"{record.profile} {head}" if record.profile else head
        if isinstance(record.task, ListedPage) and record.parent:
            narrow += f" @{form_of(record.parent).rpartition('/')[2][:40]}"
        return _FormPlace(key, PageForm(head + narrow, head + wide))

    def _log(self, why: Decision, url: str, parent: str) -> None:
        if self._decisions is not None:
            self._decisions.note(why, [url], parent)

    async def _read(self, keys: Iterable[str], *, is_cached: bool = False) -> None:
        """Read the counts of hosts; with `is_cached`, only of those not known here."""
        if len(self._hosts) > _MAX_HOSTS:
            kept = self._changed | self._to_reopen
            self._hosts = {key: self._hosts[key] for key in kept}
        wanted = [x for x in set(keys) if not (is_cached and x in self._hosts)]
        if not wanted:
            return
        stored = await self._retry.persistent(_USE, self._frontier.forms.read, wanted)
        for key, counts in zip(wanted, stored, strict=True):
            known = self._hosts.get(key)
            forms = self._hosts[key] = HostForms.of(counts, self._options.tries)
            if known:
                forms.add_all(known.changes)
            if any(forms.wrongly_set_aside()):
                self._to_reopen.add(key)

    async def store(self) -> None:
        """Store all changes, before the hosts of their visits are released."""
        changed, self._changed = self._changed, set()
        if not changed:
            return
        forms = self._hosts
        for key in changed:
            if any(forms[key].wrongly_set_aside()):
                self._to_reopen.add(key)
            elif forms[key].has_set_aside:
                self._to_check.add(key)
        changes = {key: forms[key].take_changes() for key in changed}
        try:
            await self._retry.persistent_unless_full(
                _USE, self._frontier.forms.add, changes
            )
        except RedisError as error:
            if not is_full(error):
                raise
            logger.debug("Redis is full: %s not stored", counted(len(changes), "count"))

    async def reopen(self) -> set[int]:
        """Queue set-aside URLs of hosts again if their forms turn out well.

        Called when the hosts are released: their URLs are set aside by then. Return the
        partitions of the hosts.
        """
        checked, self._to_check = self._to_check, set()
        await self._read(checked)  # pages of other hosts may have led there meanwhile
        keys, self._to_reopen = self._to_reopen, set()
        partitions = set()
        for key in keys:
            partition = self._frontier.locations.of(key)
            partitions.add(partition)
            n_queued = await self._retry.persistent(
                "queue URLs again", self._frontier.forms.reopen, partition, key
            )
            await self._read([key], is_cached=True)
            self._hosts[key].forget_set_aside()
            self._changed.add(key)
            logger.info(
                "%s of %s queued again, as their forms lead to wanted statements",
                counted(n_queued, "URL"),
                key,
            )
        return partitions

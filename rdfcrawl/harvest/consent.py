"""Which sites let the sitemaps of others list their URLs: what their robots.txt names.

What a sitemap lists of another site waits until the robots.txt of that one was read. It
is asked for once in a run, and whoever comes second of the two, the sitemap or the
robots.txt, finds what the first has noted: so nothing waits for ever.

Source: sitemaps.org, "Sitemaps & Cross Submits".
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from enum import Enum
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from rdfcrawl.errors import Reason
from rdfcrawl.faultlog import FaultLog
from rdfcrawl.records import FollowUp, Kind, Record, Urgency
from rdfcrawl.robots.cache import ROBOTS_PATH
from rdfcrawl.tasks.records import decode_record, encode_record
from rdfcrawl.tasks.sitemap import ConsentTask
from rdfcrawl.tasks.source import SourceTask
from rdfcrawl.uri import host_of
from rdfcrawl.uri.origin import origin_of, site_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rdfcrawl.harvest.context import HarvestContext
    from rdfcrawl.harvest.response import HarvestedResponse
    from rdfcrawl.records import Document

# Tables of a site (`site_of`), with the number of the run in their names.
_STATE: Final = "consent"  # in a run: `read`, once its robots.txt was; `by` a record
_NAMED: Final = "sitemaps named"  # in a run: by its robots.txt
_LISTING: Final = "listed by"  # in a run: mark of a sitemap -> that sitemap
_WAITING: Final = "listed"  # in a run: mark and URL -> the rest of what is listed
_ASKED: Final = "sites asked"  # in a run: because of its sitemaps
# Table of a sitemap, likewise.
_NAMES: Final = "names"  # its URLs, and those of the indexes above it

_MAX_SITES: Final = 100  # that are asked because of one sitemap
_MAX_SITES_OF_SITE: Final = 1000  # because of all sitemaps of one site
_MAX_PORTS: Final = 3  # of one host that are asked because of one sitemap
_MAX_WAITING: Final = 50_000  # URLs of one site
_MAX_LOOKED_UP: Final = 1000  # sites that one sitemap lists
_MAX_NAMES: Final = 50  # of one sitemap
_MAX_TOLD: Final = 20  # sitemaps, in faults of their own
_AT_ONCE: Final = 500


class ConsentAnswer(Enum):
    """What a site says of a sitemap that lists its URLs."""

    GIVEN = "given"
    REFUSED = "refused"
    AWAITED = "awaited"
    NOT_ASKED = "not asked"


class SitemapConsents:
    """Who consents to which sitemaps, for all workers of a crawl.

    Whatever is noted here stays until the run is over: a record may be done again, and
    must then find what it found before.
    """

    def __init__(self, context: HarvestContext) -> None:
        self._store = context.state_store
        self._session = context.session
        self._run = context.run

    # -- what a site says ------------------------------------------------------------

    async def robots_read(
        self, sites: Iterable[str], named: Iterable[str], response: HarvestedResponse
    ) -> None:
        """Take note of the sitemaps that sites name; take what has waited for that.

        Args:
            sites: whose robots.txt the response is.
            named: URLs of the sitemaps.
            response: takes follow-ups, and the faults of what is refused.
        """
        texts = dict.fromkeys(map(_spelt, named), "")
        own = f"{response.record.url} {response.record.task_text()}"
        for site in sites:
            for table in (_NAMED, _LISTING, _WAITING, _ASKED, _STATE):
                await self._store.clear(site, f"{table} {self._run - 1}")
            await self._store.put(site, self._of_run(_NAMED), texts)
            # In this order: what is listed from now on does not wait any more.
            await self._store.put(site, self._of_run(_STATE), {"read": ""})
            # Another record that asks for the same may have taken it all.
            if await self._store.claim(site, self._of_run(_STATE), "by", own) == own:
                await self._release(site, response)

    async def is_given(self, site: str, sitemap: str) -> bool | None:
        """Tell whether a site consents to a sitemap; None if it was not read yet.

        Args:
            site: see `site_of`.
            sitemap: where it is, after redirects.
        """
        if await self._store.get(site, self._of_run(_STATE), "read") is None:
            return None
        names = await self._names(sitemap)
        found = await self._store.get_many(site, self._of_run(_NAMED), names)
        return any(each is not None for each in found)

    async def _release(self, site: str, response: HarvestedResponse) -> None:
        """Take or refuse what waits for the word of a site."""
        listing = {
            mark: sitemap
            async for mark, sitemap in self._store.entries(site, self._of_run(_LISTING))
        }
        given = {
            mark for mark, sitemap in listing.items()
            if await self.is_given(site, sitemap)
        }  # fmt: skip
        n_refused: Counter[str] = Counter()
        async for key, text in self._store.entries(site, self._of_run(_WAITING)):
            mark, _, url = key.partition(" ")
            if mark in given:
                self.take([_from_text(url, text)], response)
            else:
                n_refused[mark] += 1
        log = FaultLog()
        for number, (mark, n) in enumerate(n_refused.items()):
            is_told = number < _MAX_TOLD
            _note_refused(log, site, listing.get(mark, ""), n, apart=is_told)
        response.document.faults += log.all()

    # -- what a sitemap lists --------------------------------------------------------

    def take(self, children: Sequence[FollowUp], response: HarvestedResponse) -> None:
        """Let what may be listed follow a response."""
        response.follow_ups.extend(children)
        # Or a link to a page that has changed, and is new, would be followed once more.
        changed = [child.record.url for child in children if child.change]
        if changed:
            self._session.add_outlinks((), changed)

    async def note_names(self, document: Document) -> list[str]:
        """Return by which URLs a sitemap can be named; they are remembered for it.

        These are its own, redirects included, and those of the indexes that list it.
        """
        record = document.record
        own = (record.url, *record.chain, *document.response.requested)
        names = dict.fromkeys(map(_spelt, own))
        names |= dict.fromkeys(await self._names(record.url))
        kept = list(names)[:_MAX_NAMES]
        await self._store.clear(record.url, f"{_NAMES} {self._run - 1}")
        await self._store.clear(
            document.response.requested[-1], f"{_NAMES} {self._run - 1}"
        )
        await self.add_names(document.response.requested[-1], kept)
        return kept

    async def add_names(self, sitemap: str, names: Iterable[str]) -> None:
        """Take note of URLs that stand for a sitemap, too, unless it has too many."""
        table = self._of_run(_NAMES)
        if await self._store.size(sitemap, table) < _MAX_NAMES:
            await self._store.put(sitemap, table, dict.fromkeys(names, ""))

    async def _names(self, sitemap: str) -> list[str]:
        names = {_spelt(sitemap): None}
        async for name, _ in self._store.entries(sitemap, self._of_run(_NAMES)):
            names[name] = None
        return list(names)

    async def hold(self, site: str, sitemap: str, children: Sequence[FollowUp]) -> int:
        """Let what a sitemap lists wait; return how much of it is too much."""
        mark = blake2b(sitemap.encode(), digest_size=6).hexdigest()
        await self._store.put(site, self._of_run(_LISTING), {mark: sitemap})
        waiting = self._of_run(_WAITING)
        room = max(0, _MAX_WAITING - await self._store.size(site, waiting))
        held = {f"{mark} {x.record.url}": _to_text(x) for x in children}
        n_over = 0
        if len(held) > room:  # of what waits already, nothing is too much
            known = await self._store.get_many(site, waiting, held)
            new = [k for k, x in zip(held, known, strict=True) if x is None]
            n_over = len(new[room:])
            for key in new[room:]:
                del held[key]
        if held:
            await self._store.put(site, waiting, held)
        return n_over

    async def may_ask(self, site: str, because_of: str) -> bool:
        """Tell whether a site may be asked because of the sitemaps of another one."""
        asked = self._of_run(_ASKED)
        if await self._store.get(because_of, asked, site) is not None:
            return True
        if await self._store.size(because_of, asked) >= _MAX_SITES_OF_SITE:
            return False
        await self._store.put(because_of, asked, {site: ""})
        return True

    def _of_run(self, table: str) -> str:
        return f"{table} {self._run}"


class ForeignEntries:
    """What a sitemap lists of other sites, while it is read.

    Args:
        consents: of the crawl.
        context: what harvesters work with.
        response: the sitemap; takes follow-ups and faults.

    Attributes:
        log: takes the faults.
        has_some: it lists URLs that are not taken at once.
    """

    def __init__(
        self,
        consents: SitemapConsents,
        context: HarvestContext,
        response: HarvestedResponse,
    ) -> None:
        self.log = response.log
        self.has_some = False
        self._consents = consents
        self._context = context
        self._response = response
        self._document = response.document
        self._sitemap = response.final_url
        self._words: dict[str, ConsentAnswer] = {}
        self._awaited: Counter[str] = Counter()  # sites that are asked, by host
        self._asked: set[str] = set()
        self._held: dict[str, list[FollowUp]] = {}
        self._n_held = 0
        self._names: list[str] = []

    async def add(self, child: FollowUp) -> None:
        """Take a URL of another site, refuse it, or let it wait."""
        if self._document.is_nofollow:  # whoever takes the children counts it
            self._response.follow_ups.append(child)
            return
        record = child.record
        site = site_of(record.url)
        parent = self._document.record
        if not self._context.session.wants(parent, record.url, record.depth):
            detail = f"{record.url}: of another site, and not wanted"
            self.log.note(Reason.CROSS_SITE, detail)
            return
        word = self._words.get(site)
        if word is None:
            word = self._words[site] = await self._word(site)
        self.has_some = self.has_some or word is not ConsentAnswer.GIVEN
        if word is not ConsentAnswer.AWAITED:
            self._take(word, site, [child])
            return
        self._held.setdefault(site, []).append(child)
        self._n_held += 1
        if self._n_held >= _AT_ONCE:
            await self.settle()

    async def names(self) -> list[str]:
        """Return what the sitemap is named by; see `SitemapConsents.note_names`."""
        if not self._names:
            self._names = await self._consents.note_names(self._document)
        return self._names

    async def settle(self) -> None:
        """Put what waits into the state store, and have the sites asked."""
        for site, children in self._held.items():
            n_over = await self._consents.hold(site, self._sitemap, children)
            # In this order: the word of the site may come at any time.
            is_given = await self._consents.is_given(site, self._sitemap)
            if is_given is not None:
                word = self._words[site] = (
                    ConsentAnswer.GIVEN if is_given else ConsentAnswer.REFUSED
                )
                self._take(word, site, children)
                continue
            if n_over:
                detail = f"URLs that wait for the word of {site}"
                self.log.note(Reason.TOO_MANY_ENTRIES, detail, n_over)
            if site not in self._asked:
                self._asked.add(site)
                self._response.follow_ups.append(self._question(children[0].record))
        self._held.clear()
        self._n_held = 0

    async def _word(self, site: str) -> ConsentAnswer:
        if len(self._words) >= _MAX_LOOKED_UP:
            return ConsentAnswer.NOT_ASKED
        await self.names()
        is_given = await self._consents.is_given(site, self._sitemap)
        if is_given is not None:
            return ConsentAnswer.GIVEN if is_given else ConsentAnswer.REFUSED
        host = host_of(f"http://{site}/")
        is_much = self._awaited.total() >= _MAX_SITES
        if is_much or self._awaited[host] >= _MAX_PORTS:
            return ConsentAnswer.NOT_ASKED
        if not await self._consents.may_ask(site, site_of(self._sitemap)):
            return ConsentAnswer.NOT_ASKED
        self._awaited[host] += 1
        return ConsentAnswer.AWAITED

    def _take(self, word: ConsentAnswer, site: str, children: list[FollowUp]) -> None:
        if word is ConsentAnswer.GIVEN:
            self._consents.take(children, self._response)
        elif word is ConsentAnswer.REFUSED:
            _note_refused(self.log, site, self._sitemap, len(children))
        else:
            detail = f"sites of others, of which {site} is not asked"
            self.log.note(Reason.TOO_MANY_ENTRIES, detail, len(children))

    def _question(self, listed: Record) -> FollowUp:
        """Return the record that asks a site for its robots.txt."""
        consent = ConsentTask(site_of(listed.url))
        record = Record(
            origin_of(listed.url) + ROBOTS_PATH,
            Kind.SITEMAP,
            self._document.record.depth,
            self._document.record.url,
            task=SourceTask(self._context.run, payload=consent),
        )
        return FollowUp(record, is_part_of_source=True, urgency=Urgency.SOON)


def sites_of_robots(document: Document) -> list[str]:
    """Return the sites that a robots.txt speaks for: those that redirect to it, too.

    Source: RFC 9309 2.3.1.2.
    """
    urls = (*document.record.chain, document.record.url)
    sites = (site_of(url) for url in urls if url == origin_of(url) + ROBOTS_PATH)
    return list(dict.fromkeys(sites))


def _note_refused(
    log: FaultLog, site: str, sitemap: str, count: int, *, apart: bool = False
) -> None:
    detail = f"URLs of {site} in {sitemap}, which its robots.txt does not name"
    log.note(Reason.CROSS_SITE, detail, count, apart=apart)


def _spelt(sitemap: str) -> str:
    """Return a sitemap's URL as it is compared: without its scheme."""
    return sitemap.partition("://")[2]


def _to_text(child: FollowUp) -> str:
    record = replace(child.record, change=child.change)
    return f"{int(child.urgency)} {encode_record(record)}"


def _from_text(url: str, text: str) -> FollowUp:
    urgency, _, rest = text.partition(" ")
    record = decode_record(url, rest)
    waiting = replace(record, change="")
    return FollowUp(waiting, urgency=Urgency(int(urgency)), change=record.change)

"""Consent of sites to the sitemaps of other sites, given in their robots.txt.

URLs of another site wait until the robots.txt of that site is read, once per run. The
second of the two, sitemap or robots.txt, finds the notes of the first, so no URL waits
forever.

Source: sitemaps.org, "Sitemaps & Cross Submits".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from hashlib import blake2b
from typing import Final

from rdfcrawl.core.errors import Decision, FaultLog, Reason
from rdfcrawl.core.records import Document, FollowUp, Kind, Record, Urgency
from rdfcrawl.core.source_tasks import ConsentTask, SourceTask
from rdfcrawl.core.visits import decode_follow_up, encode_follow_up
from rdfcrawl.downloader.robots.cache import ROBOTS_PATH
from rdfcrawl.sources.harvest.protocol import HarvestContext
from rdfcrawl.sources.harvest.response import HarvestedResponse
from rdfcrawl.uri import host_of
from rdfcrawl.uri.hosts import origin_of, site_of

# Tables of a site (`site_of`), with the number of the run in their names.
_STATE: Final = "consent"  # in a run: `read` after its robots.txt; `by`: a record
_NAMED: Final = "sitemaps named"  # in a run: by its robots.txt
_LISTING: Final = "listed by"  # in a run: mark -> sitemap
_WAITING: Final = "listed"  # in a run: mark and URL -> the rest of the entry
_REQUESTED: Final = "sites asked"  # in a run: sites requested because of its sitemaps
# Table of a sitemap, also with the number of the run.
_NAMES: Final = "names"  # its URLs, and those of its indexes

_MAX_SITES: Final = 100  # requested because of one sitemap
_MAX_SITES_OF_SITE: Final = 1000  # requested because of all sitemaps of one site
_MAX_PORTS: Final = 3  # of one host, requested because of one sitemap
_MAX_WAITING: Final = 50_000  # URLs of one site
_MAX_LOOKED_UP: Final = 1000  # sites in one sitemap
_MAX_NAMES: Final = 50  # of one sitemap
_MAX_SEPARATE_FAULTS: Final = 20  # sitemaps with a separate fault
_BATCH_SIZE: Final = 500


class ConsentDecision(Enum):
    """Decision of a site about a sitemap that lists its URLs."""

    GIVEN = "given"
    REFUSED = "refused"
    AWAITED = "awaited"
    NOT_REQUESTED = "not requested"


class SitemapConsents:
    """Consents of sites to sitemaps, shared by all workers of a crawl.

    Notes stay until the run is over, so a repeated record finds the same state.
    """

    def __init__(self, context: HarvestContext) -> None:
        self._store = context.state_store
        self._session = context.session
        self._run = context.run

    # -- sites -----------------------------------------------------------------------

    async def mark_robots_read(
        self, sites: Iterable[str], named: Iterable[str], response: HarvestedResponse
    ) -> None:
        """Note the sitemaps in a robots.txt of sites; release waiting URLs."""
        texts = dict.fromkeys(map(_spelt, named), "")
        own = f"{response.record.url} {response.record.task_text()}"
        for site in sites:
            for table in (_NAMED, _LISTING, _WAITING, _REQUESTED, _STATE):
                await self._store.clear(site, f"{table} {self._run - 1}")
            await self._store.put(site, self._of_run(_NAMED), texts)
            # In this order: URLs listed from now on do not wait.
            await self._store.put(site, self._of_run(_STATE), {"read": ""})
            # Another record with the same request may have released the URLs.
            if await self._store.claim(site, self._of_run(_STATE), "by", own) == own:
                await self._release(site, response)

    async def is_given(self, site: str, sitemap: str) -> bool | None:
        """Return whether a site consents to a sitemap; None if unknown."""
        if await self._store.get(site, self._of_run(_STATE), "read") is None:
            return None
        names = await self._names(sitemap)
        return bool(await self._store.get_many(site, self._of_run(_NAMED), names))

    async def are_given(self, pairs: Iterable[tuple[str, str]]) -> list[bool | None]:
        """Return `is_given` for pairs of site and sitemap."""
        return await self._store.gather(self.is_given(*pair) for pair in pairs)

    async def has_named_some(self, site: str) -> bool:
        """Return whether the robots.txt of a site, if read, names sitemaps."""
        return await self._store.size(site, self._of_run(_NAMED)) > 0

    async def _release(self, site: str, response: HarvestedResponse) -> None:
        """Queue or refuse the URLs that wait for a site."""
        listing = {
            mark: sitemap
            async for mark, sitemap in self._store.entries(site, self._of_run(_LISTING))
        }
        decisions = await self.are_given(
            (site, sitemap) for sitemap in listing.values()
        )
        given = {
            mark for mark, decision in zip(listing, decisions, strict=True) if decision
        }
        n_refused: Counter[str] = Counter()
        async for key, text in self._store.entries(site, self._of_run(_WAITING)):
            mark, _, url = key.partition(" ")
            waiting = decode_follow_up(url, text)
            if mark in given:
                self.take([waiting], response)
            else:
                n_refused[mark] += 1
                parent = waiting.record.parent
                self._session.links.note_decision(Decision.CROSS_SITE, [url], parent)
        log = FaultLog()
        for number, (mark, n) in enumerate(n_refused.items()):
            is_separate = number < _MAX_SEPARATE_FAULTS
            _note_refused(log, site, listing.get(mark, ""), n, apart=is_separate)
        response.document.faults += log.all()

    # -- sitemaps --------------------------------------------------------------------

    def take(self, children: Sequence[FollowUp], response: HarvestedResponse) -> None:
        """Add permitted URLs to the follow-ups of a response."""
        response.follow_ups.extend(children)
        # Otherwise a link to a new page with a change would be followed twice.
        changed = [child.record.url for child in children if child.change]
        if changed:
            self._session.links.add_outlinks((), changed)

    async def note_names(self, document: Document) -> list[str]:
        """Return and remember the URLs under which a sitemap can be listed.

        These are its URL, its redirects, and its indexes.
        """
        record, requested = document.record, document.response.requested
        names = dict.fromkeys(map(_spelt, (record.url, *record.chain, *requested)))
        names |= dict.fromkeys(await self._names(record.url))
        kept = list(names)[:_MAX_NAMES]
        for url in (record.url, requested[-1]):
            await self._store.clear(url, f"{_NAMES} {self._run - 1}")
        await self.add_names(requested[-1], kept)
        return kept

    async def add_names(self, sitemap: str, names: Iterable[str]) -> None:
        """Note further URLs under which a sitemap can be listed, up to a limit."""
        entries = dict.fromkeys(names, "")
        await self._store.put_up_to(sitemap, self._of_run(_NAMES), entries, _MAX_NAMES)

    async def _names(self, sitemap: str) -> list[str]:
        entries = self._store.entries(sitemap, self._of_run(_NAMES))
        names = [_spelt(sitemap), *[name async for name, _ in entries]]
        return list(dict.fromkeys(names))

    async def hold(
        self, site: str, sitemap: str, children: Sequence[FollowUp]
    ) -> list[str]:
        """Store waiting URLs of a sitemap; return those beyond the limit."""
        mark = blake2b(sitemap.encode(), digest_size=6).hexdigest()
        await self._store.put(site, self._of_run(_LISTING), {mark: sitemap})
        held = {f"{mark} {x.record.url}": encode_follow_up(x) for x in children}
        table = self._of_run(_WAITING)
        over = await self._store.put_up_to(site, table, held, _MAX_WAITING)
        return [key.partition(" ")[2] for key in over]

    async def hold_all(
        self, sitemap: str, children: Mapping[str, Sequence[FollowUp]]
    ) -> list[list[str]]:
        """Return the result of `hold` for each site."""
        return await self._store.gather(
            self.hold(site, sitemap, some) for site, some in children.items()
        )

    async def may_request(self, site: str, because_of: str) -> bool:
        """Return whether sitemaps of a site may cause a request to another site."""
        requested = self._of_run(_REQUESTED)
        if await self._store.get(because_of, requested, site) is not None:
            return True
        if await self._store.size(because_of, requested) >= _MAX_SITES_OF_SITE:
            return False
        await self._store.put(because_of, requested, {site: ""})
        return True

    def _of_run(self, table: str) -> str:
        return f"{table} {self._run}"


class ForeignEntries:
    """URLs of other sites in a sitemap; `has_some` if some had to wait."""

    def __init__(
        self,
        consents: SitemapConsents,
        context: HarvestContext,
        response: HarvestedResponse,
    ) -> None:
        self.has_some = False
        self._log = response.log
        self._consents = consents
        self._context = context
        self._response = response
        self._document = response.document
        self._sitemap = response.final_url
        self._decisions: dict[str, ConsentDecision] = {}
        self._early: dict[str, ConsentDecision | None] = {}  # of `look_up`
        self._awaited: Counter[str] = Counter()  # requested sites, by host
        self._requested: set[str] = set()
        self._held: dict[str, list[FollowUp]] = {}
        self._n_held = 0
        self._names: list[str] = []

    async def add(self, child: FollowUp) -> None:
        """Queue a URL of another site, refuse it, or make it wait."""
        if self._document.is_nofollow:  # counted with the other children
            self._response.follow_ups.append(child)
            return
        record, parent = child.record, self._document.record
        site = site_of(record.url)
        ingest = self._context.session.ingests.of(parent)
        if not ingest.wants(record.url, record.depth):
            detail = f"{record.url}: of another site, and not accepted"
            self._log.note(Reason.CROSS_SITE, detail)
            if why := ingest.refusal(record.url, record.depth):
                self._log.refuse(why, record.url)
            return
        decision = self._decisions.get(site)
        if decision is None:
            decision = self._decisions[site] = await self._decision(site)
        self.has_some = self.has_some or decision is not ConsentDecision.GIVEN
        if decision is not ConsentDecision.AWAITED:
            self._take(decision, site, [child])
            return
        self._held.setdefault(site, []).append(child)
        self._n_held += 1
        if self._n_held >= _BATCH_SIZE:
            await self.settle()

    async def look_up(self, urls: Iterable[str]) -> None:
        """Look up decisions for the next URLs, in few round trips."""
        if self._document.is_nofollow:
            return
        sites = dict.fromkeys(map(site_of, urls))
        room = max(0, _MAX_LOOKED_UP - len(self._decisions))
        new = [site for site in sites if site not in self._decisions][:room]
        if new:
            await self.names()
            self._early = await self._known_decisions(new)

    async def names(self) -> list[str]:
        """Return the names of the sitemap; see `SitemapConsents.note_names`."""
        if not self._names:
            self._names = await self._consents.note_names(self._document)
        return self._names

    async def settle(self) -> None:
        """Store the waiting URLs, and queue requests to their sites."""
        overs = await self._consents.hold_all(self._sitemap, self._held)
        # In this order, because a site may decide in the meantime.
        decisions = await self._known_decisions(self._held)
        for (site, children), over in zip(self._held.items(), overs, strict=True):
            if decision := decisions[site]:
                self._decisions[site] = decision
                self._take(decision, site, children)
                continue
            if over:
                detail = f"URLs that wait for the robots.txt of {site}"
                self._log.note(Reason.TOO_MANY_ENTRIES, detail, len(over))
                self._refuse(over)
            if site not in self._requested:
                self._requested.add(site)
                self._response.follow_ups.append(
                    self._robots_record(children[0].record)
                )
        self._held.clear()
        self._n_held = 0

    async def _decision(self, site: str) -> ConsentDecision:
        if len(self._decisions) >= _MAX_LOOKED_UP:
            return ConsentDecision.NOT_REQUESTED
        await self.names()
        if site not in self._early:
            self._early |= await self._known_decisions([site])
        if decision := self._early.pop(site):
            return decision
        host = host_of(f"http://{site}/")
        is_much = self._awaited.total() >= _MAX_SITES
        if is_much or self._awaited[host] >= _MAX_PORTS:
            return ConsentDecision.NOT_REQUESTED
        if not await self._consents.may_request(site, site_of(self._sitemap)):
            return ConsentDecision.NOT_REQUESTED
        self._awaited[host] += 1
        return ConsentDecision.AWAITED

    async def _known_decisions(
        self, sites: Iterable[str]
    ) -> dict[str, ConsentDecision | None]:
        """Return the known decisions of sites."""
        names = list(sites)
        given = await self._consents.are_given((site, self._sitemap) for site in names)
        meaning = {
            None: None, True: ConsentDecision.GIVEN, False: ConsentDecision.REFUSED
        }  # fmt: skip
        return {
            site: meaning[is_given] for site, is_given in zip(names, given, strict=True)
        }

    def _take(
        self, decision: ConsentDecision, site: str, children: list[FollowUp]
    ) -> None:
        if decision is ConsentDecision.GIVEN:
            self._consents.take(children, self._response)
            return
        self._refuse(child.record.url for child in children)
        if decision is ConsentDecision.REFUSED:
            _note_refused(self._log, site, self._sitemap, len(children))
        else:
            detail = f"URLs of {site}, whose robots.txt is not requested"
            self._log.note(Reason.TOO_MANY_ENTRIES, detail, len(children))

    def _refuse(self, urls: Iterable[str]) -> None:
        for url in urls:
            self._log.refuse(Decision.CROSS_SITE, url)

    def _robots_record(self, listed: Record) -> FollowUp:
        """Return the record of a site's robots.txt."""
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
    """Return the sites of a robots.txt, redirects included (RFC 9309 2.3.1.2)."""
    urls = (*document.record.chain, document.record.url)
    sites = (site_of(url) for url in urls if url == origin_of(url) + ROBOTS_PATH)
    return list(dict.fromkeys(sites))


def _note_refused(
    log: FaultLog, site: str, sitemap: str, count: int, *, apart: bool = False
) -> None:
    detail = f"URLs of {site} in {sitemap}, which is not in its robots.txt"
    log.note(Reason.CROSS_SITE, detail, count, apart=apart)


def _spelt(sitemap: str) -> str:
    """Return the URL of a sitemap for comparison, without scheme."""
    return sitemap.partition("://")[2]

"""Turn links into candidates of the frontier, without network access."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.errors import Decision, Fault, Reason, SourceFault
from rdfcrawl.core.records import CrawlBudget, FollowUp, Kind, Record, Urgency
from rdfcrawl.core.tasks import DumpPart, ListedPage, RequestTask
from rdfcrawl.frontier.queue.bands import ScoreBands, linked_band, waiting_band
from rdfcrawl.frontier.queue.candidate import (
    SEEN_ONLY,
    Candidate,
    JudgedLinks,
    OriginPlaces,
    RejectedLinks,
    kind_of,
    kind_of_named,
    pack,
    pack_link,
    payload_url,
)
from rdfcrawl.frontier.queue.candidate_adder import DecisionLog
from rdfcrawl.frontier.queue.tables import DeferredRecord, ExcludedPrefixes
from rdfcrawl.frontier.worker.worker_state import RecentLinks
from rdfcrawl.uri import (
    CRAWLED_SCHEMES,
    BadUri,
    NormalForm,
    PolitenessKey,
    fingerprint,
    host_of,
)
from rdfcrawl.uri import requestable as to_requestable
from rdfcrawl.uri.hosts import origin_of_link, without_origins
from rdfcrawl.uri.link_filter import CrawlExtent, LinkFilter
from rdfcrawl.uri.parse import check_scheme, seed_url
from rdfcrawl.uri.traps import LinkVerdict, UrlForms, is_endless

if TYPE_CHECKING:
    from rdfcrawl.frontier.worker.wanted_pages import WantedPages

SEED_BAND: Final = b"1"
LINK_BAND: Final = b"2"
LATER_BAND: Final = b"3"  # for URLs that wait until their host has no others
_BANDS: Final = {urgency: b"%d" % urgency for urgency in Urgency}
_MAX_CACHED: Final = 100_000
_LONGEST_SCHEME_CHARS: Final = 8  # longer than "https://"


class LinkIngest:
    """Filters links, and makes candidates of the wanted ones.

    Args:
        keys: which URLs share a queue.
        normal_form: which URLs are the same.
        link_filter: scope, allow and deny; not applied to seeds.
        partitions: of the crawl.
        max_depth: most links from a seed to a URL.
        profile: number of the arguments.
        budget: most URIs and hosts; None is the budget of the worker.
        shared_with: another one of the worker, which shares `rejected`, `covered`,
            `deferred` and `forms`.
    """

    def __init__(
        self,
        *,
        keys: PolitenessKey,
        normal_form: NormalForm,
        link_filter: LinkFilter,
        partitions: int,
        max_depth: int,
        profile: int = 0,
        budget: CrawlBudget | None = None,
        shared_with: LinkIngest | None = None,
    ) -> None:
        self.rejected = RejectedLinks()  # numbers of links that were not queued
        self.covered = ExcludedPrefixes()  # of datasets fetched otherwise
        # covered records by prefix; see `take_deferred`
        self.deferred: dict[str, list[DeferredRecord]] = {}
        self.forms = UrlForms(link_filter.traps)  # that are very frequent on a host
        if shared_with is not None:
            self.rejected, self.covered = shared_with.rejected, shared_with.covered
            self.deferred, self.forms = shared_with.deferred, shared_with.forms
        self._profile, self._budget = profile, budget
        self.decisions: DecisionLog | None = None  # log of refusals
        self.scores: ScoreBands | None = None  # of pages
        self.wanted: WantedPages | None = None  # orders pages by the forms of URLs
        self._is_scheduled = False
        self._link_bands = LINK_BAND, LATER_BAND
        # prefixes that have reached the limit of deferred records
        self.full: AbstractSet[str] = frozenset()
        self._normalize = normal_form.normalize
        self._is_simple, self._is_plain = normal_form.is_simple, normal_form.is_plain
        self._max_depth = max_depth
        self._places = OriginPlaces(keys, partitions)
        self._far: set[bytes] = set()  # prefixes of links to hosts out of scope
        self.set_filter(link_filter)

    def use_epochs(self) -> None:
        """Queue pages for the epochs of their domains from now on."""
        self._is_scheduled = True
        self._link_bands = linked_band(LINK_BAND), linked_band(LATER_BAND)

    def set_filter(self, link_filter: LinkFilter) -> None:
        """Use this filter for links from now on."""
        self.link_filter = link_filter
        of_hosts = CrawlExtent.HOST, CrawlExtent.DOMAIN
        self._decides_by_host = link_filter.scope.extent in of_hosts
        self._far.clear()
        self.forget_recent()  # rejected links may be wanted now

    def forget_recent(self) -> None:
        """Offer all links again, including recent ones."""
        self._recent = RecentLinks()

    def note(self, record: Record) -> None:
        """Remember a queued record, whose URL need not be offered again."""
        if record.kind.is_of_url and not record.change:  # others have more than a URL
            self._recent.note(record.url.encode())

    def links(
        self,
        links: Collection[bytes],
        *,
        parent: Record,
        url: str,
        is_last: bool = False,
    ) -> JudgedLinks:
        """Return the candidates among the links of a document.

        Args:
            links: absolute IRIs as found, without fragments, UTF-8.
            parent: the document's record.
            url: the document's URL.
            is_last: queue them behind all others of their hosts.
        """
        depth = parent.depth + 1
        if depth > self._max_depth:
            self.rejected.too_deep += len(links)
            self._note_all(Decision.TOO_DEEP, links, url)
            return JudgedLinks([], [])
        if self._far:  # a dump has millions of links out of scope
            near = without_origins(self._far, links)
            self.rejected.filtered += len(links) - len(near)
            if self.decisions is not None and len(near) < len(links):
                far = set(links).difference(near)
                self._note_all(Decision.OUT_OF_SCOPE, far, url)
            links = near
        fresh = self._recent.unseen(links)
        self.rejected.recent += len(links) - len(fresh)
        page = url if url.isascii() and url.isprintable() else payload_url(url)
        # A source may name its documents freely; the requested server counts.
        policy = self.link_filter.schemes
        schemes = policy.of_links(parent.url) if policy.own else CRAWLED_SCHEMES
        bands = 2 * self._link_bands[1:] if is_last else self._link_bands
        judged = self._judge(fresh, depth, page, schemes, bands)
        if self.wanted is not None:
            ranked = self.wanted.ranked(judged.candidates, LINK_BAND)
            return judged._replace(candidates=ranked)
        if self.scores is None:
            return judged
        scored = self.scores.of_links(judged.candidates, self._link_bands[0])
        return judged._replace(candidates=scored)

    def _judge(
        self,
        links: Iterable[bytes],
        depth: int,
        page: str,
        schemes: frozenset[str],
        bands: Sequence[bytes],
    ) -> JudgedLinks:
        """Return the candidates among links, and faults of the others.

        Hot path: it costs 12 to 15 us per link, including its calls.
        """
        candidates: list[Candidate] = []
        bad: list[Fault] = []
        traps: list[str] = []
        far, covered = self._far, self.covered.prefixes
        is_simple, is_plain = self._is_simple, self._is_plain
        admits = None if self.link_filter.is_open else self.link_filter.admits
        places, judge, profile = self._places.known, self.forms.judge, self._profile
        link_band, later_band = bands
        for link in links:
            if far and origin_of_link(link) in far:
                self.rejected.filtered += 1
                self._note_all(Decision.OUT_OF_SCOPE, [link], page)
                continue
            url = normal = link.decode(errors="replace")
            if not is_simple(url) and not is_plain(url):
                try:
                    url, normal = to_requestable(url, schemes=schemes), ""
                except BadUri as error:
                    bad.append(self._note_bad(error, link, page))
                    continue
            if admits and not admits(url):
                self._reject(link, url, page)
                continue
            # Few resources have a name with an extension.
            is_file = max(url.rfind("."), url.rfind("%")) > url.rfind("/") or "?" in url
            if is_file and self._ignores(url, page):
                continue
            if covered and self._is_covered(link, url, depth, page):
                continue
            origin = url[: url.find("/", _LONGEST_SCHEME_CHARS)]
            key, partition, short, n_chars = places.get(origin) or self._places.of(url)
            verdict = judge(url, key, page)
            if verdict is LinkVerdict.TRAP:
                traps.append(url)
                self._note(Decision.URL_TRAP, url, page)
                continue
            is_later = verdict is LinkVerdict.LATER
            self.rejected.large_form += is_later
            band = later_band if is_later else link_band
            path = url[n_chars:]
            kind = kind_of(url) if "." in path else Kind.PAGE
            item = band + pack_link(
                url, kind, depth, page, short=short + path, profile=profile
            )
            mark = fingerprint(normal or self._normal_form(url))
            candidates.append(Candidate(partition, key, mark, item, self._budget))
        if bad or traps:
            return self._judged(candidates, bad, traps)
        return JudgedLinks(candidates, [])

    def _judged(
        self, candidates: list[Candidate], bad: list[Fault], traps: list[str]
    ) -> JudgedLinks:
        """Return candidates, and count the faults of the other links."""
        faults = []
        if bad:
            self.rejected.bad += len(bad)
            faults.append(replace(bad[0], count=len(bad)))
        if traps:
            self.rejected.trap += len(traps)
            detail = f"a URL that grows forever: {traps[0]}"[: Fault.MAX_DETAIL]
            faults.append(Fault(Reason.URL_TRAP, detail, count=len(traps)))
        return JudgedLinks(candidates, faults)

    def turns_away(self, host: bytes, n_links: int, *, parent: Record) -> bool:
        """Return whether links of `parent` are known to be out of scope; count them.

        `host` is their common prefix, from `links.authority`.
        """
        is_far = host in self._far and parent.depth < self._max_depth
        self.rejected.filtered += n_links * is_far
        return is_far

    def _note_bad(self, error: BadUri, link: bytes, page: str) -> Fault:
        self._note_all(Decision.BAD_URI, [link], page)
        if self.link_filter.schemes.own:  # other schemes may lead there
            self._recent.forget(link)
        return error.fault

    def _normal_form(self, url: str) -> str:
        """Return the normal form of a link that may not be normal."""
        normal = self._normalize(url)
        if self.decisions is not None:
            self.decisions.note_spelling(fingerprint(normal))
        return normal

    def _ignores(self, url: str, parent: str) -> bool:
        """Return whether a URL has the name of a picture or the like; count it."""
        is_ignored = self.link_filter.ignored.covers_url(url)
        if is_ignored:
            self.rejected.ignored_extension += 1
            self._note(Decision.IGNORED_EXTENSION, url, parent)
        return is_ignored

    def _note(self, why: Decision | None, url: str, parent: str) -> None:
        if self.decisions is not None and why is not None:
            self.decisions.note(why, [url], parent)

    def _note_all(self, why: Decision, links: Collection[bytes], parent: str) -> None:
        if self.decisions is not None:
            self.decisions.note_links(why, links, parent)

    def _reject(self, link: bytes, target: str, page: str) -> None:
        """Count an unwanted link; remember its host if that is the reason."""
        self.rejected.filtered += 1
        if self.decisions is not None:
            self._note(self.link_filter.refusal(target), target, page)
        if self._decides_by_host and not self.link_filter.scope.covers(target):
            if len(self._far) >= _MAX_CACHED:
                self._far.clear()
            self._far.add(origin_of_link(link))

    def seed(self, url: str) -> Candidate:
        """Return the candidate of a seed parsed by `seed_url`."""
        record = Record(url, kind_of(url), profile=self._profile)
        return self.candidate(record, SEED_BAND)

    def seed_url(self, text: str) -> str:
        """Return the URL of a seed; raise `BadUri` if its scheme is not crawled."""
        url = seed_url(text)
        check_scheme(url, self.link_filter.schemes.of_seeds)
        return url

    def request(self, record: Record, urgency: Urgency) -> Candidate:
        """Return the candidate of a request of the spider."""
        return self.candidate(replace(record, profile=self._profile), _BANDS[urgency])

    def follow_ups(
        self, follow_ups: Iterable[FollowUp], *, source_url: str = ""
    ) -> JudgedLinks:
        """Return the candidates among the follow-ups of one document.

        Parts of a source are always wanted; all others are filtered like links.
        `source_url` is that of the document's record, empty for the operator's sources.
        """
        candidates = []
        bad: list[Fault] = []
        traps: list[str] = []
        policy = self.link_filter.schemes
        schemes = policy.of_links(source_url) if source_url else policy.of_seeds
        for follow_up in follow_ups:
            record = follow_up.record
            try:
                url = to_requestable(record.url, schemes=schemes)
                record.task_text()  # raises if it is too long
            except SourceFault as error:
                bad.append(error.fault)
                self._note(Decision.BAD_URI, record.url, record.parent)
                continue
            if not follow_up.is_part_of_source:
                if not self.follows(url, record):
                    continue
                # The kind of a record is better evidence than its name.
                if record.kind is Kind.PAGE and self._ignores(url, record.parent):
                    continue
                if is_endless(url, self.link_filter.traps):
                    traps.append(url)
                    self._note(Decision.URL_TRAP, url, record.parent)
                    continue
            record = self._to_queue(follow_up, url)
            band = _BANDS[self._urgency(follow_up, url)]
            takes_dataset = record.kind.is_source or isinstance(record.task, DumpPart)
            # For one changed URL, the URL is requested and not the dump.
            is_update = bool(record.change) and not follow_up.yields_to_dump
            is_exempt = follow_up.is_part_of_source or takes_dataset or is_update
            if is_exempt or not self._defers(record, band):
                candidates.append(self.candidate(record, band))
        return self._judged(candidates, bad, traps)

    def _urgency(self, follow_up: FollowUp, url: str) -> Urgency:
        if not isinstance(follow_up.record.task, ListedPage):
            return follow_up.urgency
        if self.wanted is not None:
            return self.wanted.urgency(follow_up.record, follow_up.urgency)
        if self.scores is None:
            return follow_up.urgency
        mark = fingerprint(self._normalize(url))
        return self.scores.of_listed(mark, follow_up.urgency)

    def follows(self, url: str, record: Record) -> bool:
        """Return whether the requestable URL of a record is followed; count if not."""
        why = self.refusal(url, record.depth)
        if why is None:
            return True
        self.rejected.too_deep += why is Decision.TOO_DEEP
        self.rejected.filtered += why is not Decision.TOO_DEEP
        self._note(why, url, record.parent)
        return False

    def refusal(self, url: str, depth: int) -> Decision | None:
        """Return why a requestable URL at a depth is refused; None if it is wanted."""
        if depth > self._max_depth:
            return Decision.TOO_DEEP
        return self.link_filter.refusal(url)

    def _to_queue(self, follow_up: FollowUp, url: str) -> Record:
        record, change = follow_up.record, ""
        if follow_up.change and not record.kind.is_source:
            change = f"{fingerprint(follow_up.change):x}"
        return replace(
            record,
            url=url,
            kind=kind_of_named(record.kind, url),
            parent=payload_url(record.parent),
            change=change,
            profile=self._profile,
        )

    def wants(self, url: str, depth: int) -> bool:
        """Return whether a requestable URL at a depth would be followed."""
        return depth <= self._max_depth and self.link_filter.admits(url)

    def uncovered(self, waiting: Iterable[DeferredRecord]) -> list[Candidate]:
        """Return the candidates among deferred records that are no longer covered."""
        return [
            self.candidate(each.record, each.band)
            for each in waiting
            if not self._defers(each.record, each.band)
        ]

    def take_deferred(self) -> dict[str, list[DeferredRecord]]:
        """Return the records deferred since the last call, by prefix."""
        found = dict(self.deferred)
        self.deferred.clear()
        return found

    def _is_covered(self, link: bytes, target: str, depth: int, url: str) -> bool:
        """Return whether a link is covered; defer a covered one if there is room."""
        prefix = self.covered.prefix_of(target)
        if prefix in self.full:  # saves making records of all links of a dump
            self.rejected.covered += 1
            self._recent.forget(link)
            self._note(Decision.COVERED, target, url)
        elif prefix:
            record = Record(target, kind_of(target), depth, url, profile=self._profile)
            self._defers(record, LINK_BAND)
        return bool(prefix)

    def _defers(self, record: Record, band: bytes) -> bool:
        """Defer a record if its URL is covered; return whether it was."""
        prefix = self.covered.prefix_of(record.url)
        if prefix:
            self.rejected.covered += 1
            self._note(Decision.COVERED, record.url, record.parent)
        if prefix and prefix not in self.full:
            self.deferred.setdefault(prefix, []).append(DeferredRecord(record, band))
        return bool(prefix)

    def defers_queued(self, record: Record, run: int) -> bool:
        """Defer a record of the queue if its URL is covered and there is room.

        It is seen already, so the deferred record has a change.
        """
        prefix = self.covered.prefix_of(record.url)
        if not prefix or prefix in self.full:
            return False
        change = f"{fingerprint(f'deferred in run {run}'):x}"
        return self._defers(replace(record, change=change), LINK_BAND)

    def wants_target(self, record: Record, target: str) -> bool:
        """Return whether the redirect of a record to a requestable URL is followed.

        Refusals are counted. `allow` applies only to pages: URLs of a source need not
        match it, and are in scope on the host of the source.
        """
        links = self.link_filter
        if not record.kind.is_source:
            is_wanted = links.admits(target) and not is_endless(target, links.traps)
        else:
            is_near = host_of(target) == host_of(record.url)
            is_near = is_near or links.scope.covers(target)
            is_wanted = is_near and not links.deny.match(target)
        if not is_wanted:
            self.rejected.filtered += 1
            why = links.refusal(target) or Decision.OUT_OF_SCOPE
            if is_endless(target, links.traps):
                why = Decision.URL_TRAP
            self._note(why, target, record.url)
        elif record.kind is Kind.PAGE and record.parent:  # not a seed
            return not self._ignores(target, record.url)
        return is_wanted

    def denies(self, url: str) -> bool:
        """Return whether `deny` of the operator matches a URL."""
        return self.link_filter.deny.match(url)

    def refuses(self, record: Record) -> bool:
        """Return whether a queued record is denied; seeds never are.

        Parts of a source are queued unchecked, so those on other hosts are checked
        here.
        """
        deny = self.link_filter.deny
        if not (deny.expressions and record.parent):
            return False
        is_own = record.kind.is_source and host_of(record.parent) == host_of(record.url)
        return not is_own and deny.match(record.url)

    def seen_only(self, url: str) -> Candidate:
        """Return the candidate that only marks a URL as seen."""
        key, partition, _, _ = self._places.of(url)
        return Candidate(partition, key, fingerprint(self._normalize(url)), SEEN_ONLY)

    def candidate(self, record: Record, band: bytes) -> Candidate:
        """Return the candidate of a record whose URL is requestable."""
        url, task = record.url, record.task_text()
        key, partition, _, _ = self._places.of(url)
        name = self._normalize(url)
        if isinstance(record.task, RequestTask):
            name = f"{name} {int(record.kind)} {record.task.identity}"
        elif record.kind.is_source:
            name = f"{name} {int(record.kind)} {task}"
        elif record.change:
            name = f"{name} {record.change}"
        is_counted = self._is_scheduled and not record.kind.is_source
        if is_counted and band != _BANDS[Urgency.REFRESH]:
            band = waiting_band(band, record)
        item = band + pack(record, key, task)
        return Candidate(partition, key, fingerprint(name), item, self._budget)

"""Reservations of publishers for the use of their documents, other than robots.txt.

Robots directives are in the header `X-Robots-Tag` or in a `<meta>` of a page, and the
reservation of text and data mining is in `tdm-reservation`, a header or a `<meta>`.
`docs/explanation/politeness.md` describes their effect on a crawl of data.

Source: Robots meta tag and X-Robots-Tag specifications (Google Search Central); TDM
Reservation Protocol, W3C Community Group Final Report of 10 May 2024.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Self

from rdfcrawl.core.errors import Reason

PRODUCT_TOKEN: Final = "rdfcrawl"  # noqa: S105  a name, not a secret
"""Our name in rules and directives (RFC 9309 2.2.1)."""

ROBOTS_TAG: Final = "X-Robots-Tag"
TDM_RESERVATION: Final = "TDM-Reservation"
TDM_POLICY: Final = "TDM-Policy"

# A closed set: each is a statistic. Others are ignored, such as those that allow
# something that is allowed anyway.
DIRECTIVES: Final = frozenset(
    {
        *("noindex", "nofollow", "noarchive", "nosnippet", "noai", "noimageai"),
        "unavailable_after",
    }
)
WITHHELD: Final = frozenset(
    {Reason.NOINDEX, Reason.TDM_RESERVED, Reason.CONTENT_SIGNAL}
)
"""Faults of documents that their publisher reserves."""
_MAX_TAG_CHARS: Final = 4096
MAX_POLICY_CHARS: Final = 1024
# Directives with a value; any other word before a colon names a crawler.
_WITH_VALUE: Final = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
# A date may have a comma after the day of the week.
_RULE = re.compile(
    r"\s*+(?:([^\s:,]++)\s*+:)?\s*+((?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri"
    r"|sat(?:ur)?|sun)(?:day)?\s*+,)?[^,]*+)(?:,|\Z)",
    re.IGNORECASE,
)


class Obedience(StrEnum):
    """How to treat a reservation of a publisher."""

    RESPECT = "respect"
    RECORD = "record"  # only write it to the provenance
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationPolicy:
    """How to treat robots directives and reservations of text and data mining.

    `agent` is the product token that directives may address, in lower case.
    """

    robots: Obedience = Obedience.IGNORE
    tdm: Obedience = Obedience.IGNORE
    signals: Obedience = Obedience.IGNORE
    # signals that forbid a use of the crawl, such as `search=no`
    unwelcome: frozenset[str] = frozenset()
    agent: str = PRODUCT_TOKEN

    @property
    def reads_any(self) -> bool:
        """Whether documents are searched for reservations."""
        return self.robots is not Obedience.IGNORE or self.tdm is not Obedience.IGNORE


IGNORE_ALL: Final = ReservationPolicy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservations:
    """The reservations of a publisher for a document."""

    directives: tuple[str, ...] = ()  # to robots; some of `DIRECTIVES`, sorted
    is_expired: bool = False  # the time of `unavailable_after` has passed
    # whether text and data mining is reserved; None if not declared
    tdm: bool | None = None
    # URL of the terms under which the rights are granted; unchecked, may be empty
    tdm_policy: str = ""
    # signals of robots.txt for the document, such as `search=yes`, sorted
    signals: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self is not NOTHING and self != NOTHING

    def refined(self, other: Self) -> Self:
        """Return these merged with others that are more specific to the document.

        All robots directives apply; for text and data mining, a page overrides its
        header (TDMRep, "Processing priority").
        """
        if not other:
            return self
        nearest = self if other.tdm is None else other
        return replace(
            self,
            directives=tuple(sorted({*self.directives, *other.directives})),
            is_expired=self.is_expired or other.is_expired,
            tdm=nearest.tdm,
            tdm_policy=nearest.tdm_policy,
            signals=self.signals or other.signals,
        )

    def under(self, policy: ReservationPolicy) -> Self:
        """Return the reservations without those that the policy ignores."""
        kept = self
        if policy.robots is Obedience.IGNORE:
            kept = replace(kept, directives=(), is_expired=False)
        if policy.tdm is Obedience.IGNORE:
            kept = replace(kept, tdm=None, tdm_policy="")
        if policy.signals is Obedience.IGNORE:
            kept = replace(kept, signals=())
        return kept

    def closes(self, policy: ReservationPolicy) -> bool:
        """Return whether nothing may be extracted from the document."""
        is_reserved = self.tdm is True and policy.tdm is Obedience.RESPECT
        return is_reserved or self._is_unwelcome(policy)

    def _is_unwelcome(self, policy: ReservationPolicy) -> bool:
        """Return whether signals forbid a use of the crawl."""
        is_obeyed = bool(self.signals) and policy.signals is Obedience.RESPECT
        return is_obeyed and not policy.unwelcome.isdisjoint(self.signals)

    def withholds(self, policy: ReservationPolicy) -> Reason | None:
        """Return why the statements of a document are not stored; None if they are."""
        if self._is_unwelcome(policy):
            return Reason.CONTENT_SIGNAL
        if self.closes(policy):
            return Reason.TDM_RESERVED
        is_off = self.is_expired or "noindex" in self.directives
        return Reason.NOINDEX if is_off and policy.robots is Obedience.RESPECT else None

    def forbids_following(
        self, policy: ReservationPolicy, *, wants_nofollow: bool = False
    ) -> bool:
        """Return whether links of the document are not followed.

        `wants_nofollow` ignores the directive `nofollow`.
        """
        is_nofollow = not wants_nofollow and "nofollow" in self.directives
        is_obeyed = policy.robots is Obedience.RESPECT
        return (is_nofollow and is_obeyed) or self.closes(policy)


NOTHING: Final = Reservations()


def read_headers(
    headers: Iterable[tuple[str, str]], policy: ReservationPolicy, *, now: float
) -> Reservations:
    """Return the reservations in the headers of a response, according to a policy.

    Args:
        headers: with the names above, one pair per line.
        policy: of the crawl.
        now: Unix time.
    """
    found = NOTHING
    terms = ""
    for name, value in headers:
        if name == ROBOTS_TAG:
            found = found.refined(read_directives(value, policy.agent, now=now))
        elif name == TDM_RESERVATION:
            found = found.refined(Reservations(tdm=read_tdm(value)))
        elif name == TDM_POLICY:
            terms = value.strip()[:MAX_POLICY_CHARS]
    if found.tdm is not None:
        found = replace(found, tdm_policy=terms)
    return found.under(policy)


def read_directives(
    value: str, agent: str = PRODUCT_TOKEN, *, now: float
) -> Reservations:
    """Return the directives of one line of `X-Robots-Tag`, or of one `<meta>`.

    A name with a colon addresses the rest of the line to one crawler; directives for
    others are ignored.

    >>> read_directives("otherbot: noindex, nofollow", now=0).directives
    ()
    >>> read_directives("none, rdfcrawl: noarchive", now=0).directives
    ('noarchive', 'nofollow', 'noindex')
    """
    found: set[str] = set()
    is_expired = False
    for name, text in _iter_ours(value[:_MAX_TAG_CHARS], agent):
        if name == "none":
            found |= {"noindex", "nofollow"}
        elif name == "unavailable_after":
            until = _parse_date(text[:100])
            if until is not None:
                found.add(name)
                is_expired = is_expired or until < now
        elif name in DIRECTIVES:
            found.add(name)
    if not found:
        return NOTHING
    return Reservations(directives=tuple(sorted(found)), is_expired=is_expired)


def read_tdm(value: str) -> bool | None:
    """Return the value of `tdm-reservation`; None if it is neither 1 nor 0."""
    return {"1": True, "0": False}.get(value.strip())


def read_metas(
    metas: Iterable[tuple[str, str]], policy: ReservationPolicy, *, now: float
) -> Reservations:
    """Return the reservations in the `<meta>` elements of a page, as `read_headers`.

    `metas` are names in lower case, and contents.
    """
    headers: list[tuple[str, str]] = []
    for name, content in metas:
        if name in ("robots", policy.agent):
            headers.append((ROBOTS_TAG, content))
        elif name == "tdm-reservation":
            headers.append((TDM_RESERVATION, content))
        elif name == "tdm-policy":
            headers.append((TDM_POLICY, content))
    return read_headers(headers, policy, now=now)


def _iter_ours(value: str, agent: str) -> Iterator[tuple[str, str]]:
    """Yield the directives for all crawlers or for us, and their values."""
    is_ours = True
    at = 0
    while at < len(value):
        match = _RULE.match(value, at)
        if match is None:  # such as two colons
            at = value.find(",", at) + 1 or len(value)
            continue
        at = match.end()
        name, text = (match[1] or "").lower(), match[2].strip()
        if name in _WITH_VALUE:
            if is_ours:
                yield name, text
            continue
        if name:
            is_ours = name in (agent, "*")
        if is_ours:
            inner, colon, rest = text.partition(":")
            word = inner.strip().lower()
            # Old pages separate directives only by spaces.
            words = [word] if colon else word.split()
            for each in words:
                yield each, rest.strip()


def _parse_date(text: str) -> float | None:
    """Return the Unix time of a date by RFC 822, RFC 850 or ISO 8601."""
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 (few need it)

    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, TypeError, IndexError, OverflowError):
            found = parse(text)
            return found.replace(tzinfo=found.tzinfo or UTC).timestamp()
    return None

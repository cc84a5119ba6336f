"""A dozen URLs of two sites, whose report is counted by hand, and hostile names."""

from __future__ import annotations

from rdfcrawl.analysis.measures.uri_facts import (
    LastmodClaim,
    ListReading,
    SitemapFacts,
    SitemapOrigin,
    UriFacts,
    UriFetch,
    UriListing,
)
from rdfcrawl.analysis.report.domains import DomainFacts
from rdfcrawl.stores.provenance.records import Activity, LoggedFault, Status

DAY_MS = 86_400_000
FIRST_DAY = 20_454  # 2026-01-01
ROBOTS, PING = SitemapOrigin.ROBOTS, SitemapOrigin.PING
HOSTILE = (
    "https://evil.example/?q=\"><script>alert(1)</script>&'\x00\u202e",
    '=HYPERLINK("https://evil.example/")',
    "]]></svg></style><img src=x onerror=alert(1)>\ud800",
)


def at(day: float) -> int:
    """Return a time, in days after the first."""
    return round((FIRST_DAY + day) * DAY_MS)


def uri(  # as the fields of the facts
    path: str,
    *,
    domain: str = "a.example",
    listed: float | None = None,
    linked: float | None = None,
    found_by: SitemapOrigin = ROBOTS,
    fetches: tuple[UriFetch, ...] = (),
    cluster: str = "",
    claims: tuple[LastmodClaim, ...] = (),
    pagerank: float | None = None,
) -> UriFacts:
    """Return a URL, seen on some days after the first."""
    listing = UriListing(
        sitemap=f"https://{domain}/map.xml",
        first_ms=at(listed or 0),
        found_by=found_by,
        has_lastmod=bool(claims),
    )
    return UriFacts(
        domain=domain,
        url=f"https://{domain}/{path}",
        listings=() if listed is None else (listing,),
        first_linked_ms=None if linked is None else at(linked),
        fetches=fetches,
        cluster=cluster and f"https://{domain}/{cluster}",
        original=cluster and f"https://{domain}/{cluster}",
        claims=claims,
        pagerank=pagerank,
    )


def read(day: float, content: str = "1", n_statements: int = 3) -> UriFetch:
    """Return a fetch that was read."""
    return UriFetch(
        started_ms=at(day), content_hash=content * 32, n_statements=n_statements
    )


LOST = UriFetch(started_ms=at(2), status="FAILED", http_status=404)
MOVED = UriFetch(started_ms=at(2), status="REDIRECTED", http_status=301)

# The worked example of the specification: claimed (yes, no, no), changed (no, yes, no).
REFETCHED = uri(
    "g",
    listed=0,
    linked=0,
    fetches=(read(0, "a"), read(1, "a"), read(2, "b"), read(3, "b")),
    claims=(
        LastmodClaim(read_ms=at(0), lastmod_ms=at(-9)),
        LastmodClaim(read_ms=at(1), lastmod_ms=at(-8)),
    ),
)
# Seen 9, by sitemaps a, b, c, g, h; by links b to g and i. Crawled: all but h and i.
# Clusters: {a, d}, b, c, e, f, g. Useful: a, b, g; c says nothing, f is lost.
SITE_A = (
    uri("a", listed=0, fetches=(read(1),), cluster="a", pagerank=0.25),
    uri("b", listed=0, linked=1, fetches=(read(2),), pagerank=0.25),
    uri(
        "c",
        listed=2.5,
        linked=0.5,
        found_by=PING,
        fetches=(read(3, n_statements=0),),
    ),
    uri("d", linked=1, fetches=(read(2),), cluster="a", pagerank=0.5),
    uri("e", linked=1, fetches=(MOVED,)),
    uri("f", linked=1, fetches=(LOST,)),
    REFETCHED,
    uri("h", listed=3, found_by=PING),
    uri("i", linked=3),
)
# Without sitemaps. Useful: j and k.
SITE_B = (
    uri("j", domain="b.example", linked=0, fetches=(read(1),)),
    uri("k", domain="b.example", linked=0, fetches=(read(1),)),
    uri("l", domain="b.example", linked=0),
)
SITEMAP = SitemapFacts(
    domain="a.example",
    url="https://a.example/map.xml",
    readings=(
        ListReading(started_ms=at(0), n_urls=5, list_hash="x"),
        ListReading(started_ms=at(1), n_urls=5, list_hash="x"),
    ),
)


def both_sites() -> tuple[DomainFacts, ...]:
    """Return the facts of both sites."""
    return (
        DomainFacts("a.example", SITE_A, (SITEMAP,)),
        DomainFacts("b.example", SITE_B),
    )


def activity(
    url: str,
    *,
    day: int = 1,
    secs: int = 1,
    status: Status = "SUCCESSFUL",
    read_as: str = "Turtle",
    n_statements: int = 0,
    faults: tuple[tuple[str, str], ...] = (),
    task: str = "",
    n_bytes: int = 0,
) -> Activity:
    """Return an activity at ten o'clock of a day in January 2026."""
    begin_ms = at(day - 1) + 10 * 3_600_000
    return Activity(
        url,
        begin_ms,
        begin_ms + secs * 1000,
        status=status,
        n_statements=n_statements,
        format=read_as,
        task=task,
        http_status=200,
        n_bytes=n_bytes,
        faults=tuple(LoggedFault(reason, 1, detail) for reason, detail in faults),
        n_faults=len(faults),
    )

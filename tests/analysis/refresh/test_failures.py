"""Pages that fail: tried again later, or gone."""

from __future__ import annotations

import pytest

from rdfcrawl.analysis.measures.uri_facts import UriFacts, UriFetch
from rdfcrawl.analysis.refresh.policy import FailureRules, trailing_failures

RULES = FailureRules(least_tries=3, least_ms=100, first_wait_ms=10, most_wait_ms=70)


def page(*statuses: int, step_ms: int = 50) -> UriFacts:
    """Return a page with a series of responses."""
    return UriFacts(
        domain="a.example",
        url="u",
        fetches=tuple(
            UriFetch(
                started_ms=n * step_ms,
                http_status=status,
                status="SUCCESSFUL" if status < 400 else "FAILED",
            )
            for n, status in enumerate(statuses)
        ),
    )


@pytest.mark.parametrize(
    ("statuses", "is_gone"),
    [
        ((), False),
        ((200,), False),
        ((200, 410), True),
        ((410, 200), False),
        ((404, 404), False),
        ((404, 404, 404), True),
        ((404, 404, 200, 404), False),
        ((404, 404, 503, 404), False),
        ((404, 410, 404, 404, 404), True),
        ((500, 500, 500, 500, 500), False),
        ((410, 500), False),
    ],
)
def test_gone(statuses: tuple[int, ...], *, is_gone: bool) -> None:
    """If 410 is answered, or 404 often enough, then a page is gone."""
    assert RULES.is_gone(page(*statuses)) is is_gone


def test_404_needs_time_too() -> None:
    """If 404 is answered many times within a short time, then the page is kept."""
    assert not RULES.is_gone(page(*[404] * 9, step_ms=1))


@pytest.mark.parametrize(
    ("statuses", "retry_ms"),
    [
        ((200,), 0),
        ((), 0),
        ((200, 500), 50 + 10),
        ((500, 500), 50 + 20),
        ((500, 200, 500), 100 + 10),
        ((500, 500, 500, 500, 500), 200 + 70),
        ((500,) * 200, 199 * 50 + 70),
    ],
)
def test_waits_double_up_to_a_limit(statuses: tuple[int, ...], retry_ms: int) -> None:
    """If a page fails again, then the next try waits twice as long."""
    assert RULES.retry_ms(page(*statuses)) == retry_ms


def test_page_that_was_deleted_stays_gone() -> None:
    """If the crawl has deleted a page, then it is gone until it is read again."""
    deleted = UriFetch(started_ms=1, status="DELETED", http_status=404)
    gone = UriFacts(domain="a.example", url="u", fetches=(deleted,))
    assert RULES.is_gone(gone)
    back = UriFacts(
        domain="a.example", url="u", fetches=(deleted, UriFetch(started_ms=2))
    )
    assert not RULES.is_gone(back)


def test_failures_since_the_last_success_count() -> None:
    """If a page was read, then earlier failures do not count."""
    found = trailing_failures(page(500, 200, 503, 404))
    assert [each.http_status for each in found] == [503, 404]


@pytest.mark.parametrize(
    ("faults", "is_owed"),
    [
        (("remote_context",), True),
        (("", "bad_content_encoding"), True),
        (("remote_context", "remote_context", "remote_context"), True),
        (("remote_context",) * 4, False),
        (("remote_context", ""), False),
        (("syntax",), False),
    ],
)
def test_pages_that_lack_something_are_owed(
    faults: tuple[str, ...], *, is_owed: bool
) -> None:
    """If a context or a sound body was missing, the next three runs try again."""
    fetches = tuple(
        UriFetch(started_ms=n, status="PARTIAL", fault=fault)
        for n, fault in enumerate(faults)
    )
    facts = UriFacts(domain="a.example", url="u", fetches=fetches)
    assert RULES.is_owed(facts) is is_owed

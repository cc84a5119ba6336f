"""Tests of `frontier.queue.form_yields`: which forms are unlikely, and when."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from rdfcrawl.core.records import Urgency
from rdfcrawl.frontier.queue.form_yields import (
    MAX_FORMS,
    HostForms,
    UrlChance,
    is_explored,
    urgency_of,
)
from rdfcrawl.uri.page_forms import PageForm

if TYPE_CHECKING:
    from collections.abc import Sequence

TRIES = 6
ITEM, PICTURE, LIST, TOP = (PageForm(x, x) for x in ("/p/#", "/i/#", "/c/#", "/t/#"))
OTHER = PageForm("/o/#", "/o/#")
FORMS = (ITEM, PICTURE, LIST, TOP)
# fetches: a form, whether it is a hit, and the form of its parent
FETCHES = st.lists(
    st.tuples(st.sampled_from(FORMS), st.booleans(), st.sampled_from(FORMS)),
    max_size=60,
)


def fetch(
    host: HostForms, form: PageForm, *, hit: bool = False, parent: PageForm = TOP
) -> None:
    """Count a fetch as a worker does."""
    host.add_try(form, is_hit=hit)
    if hit:
        host.add_lead(parent)
    host.add_link(form, parent)


def after(fetches: Sequence[tuple[PageForm, bool, PageForm]]) -> HostForms:
    """Return the counts after some fetches."""
    host = HostForms(TRIES)
    for form, hit, parent in fetches:
        fetch(host, form, hit=hit, parent=parent)
    return host


def test_a_form_without_success_is_unlikely() -> None:
    """If a form yields nothing in its tries, then it is unlikely, and not before.

    It has ten times as many while no form of the host yields anything.
    """
    host = HostForms(TRIES)
    assert host.n_left(PICTURE) == 10 * TRIES
    fetch(host, OTHER, hit=True, parent=OTHER)
    for n in range(TRIES):
        assert host.chance(PICTURE) is UrlChance.UNKNOWN
        assert host.n_left(PICTURE) == TRIES - n
        fetch(host, PICTURE, parent=ITEM)
    assert host.chance(PICTURE) is UrlChance.UNLIKELY
    assert host.chance(ITEM) is UrlChance.UNKNOWN


def test_lists_are_kept_while_they_lead_to_new_pages() -> None:
    """If a form leads to wanted pages, over any steps, then it has a chance.

    Once its pages have led nowhere for twice the tries, it is unlikely, as are the
    forms above it.
    """
    host = HostForms(TRIES)
    fetch(host, OTHER, hit=True, parent=OTHER)
    for _ in range(TRIES):
        fetch(host, TOP, parent=TOP)
        fetch(host, LIST, parent=TOP)
    host.add_unlikely(LIST)
    assert not [*host.wrongly_set_aside()]
    fetch(host, ITEM, hit=True, parent=LIST)
    assert [*host.wrongly_set_aside()] == ["/c/#"]
    assert host.chance(ITEM) is UrlChance.GOOD
    assert host.chance(LIST) is host.chance(TOP) is UrlChance.SOME
    for _ in range(2 * TRIES):
        assert host.chance(LIST) is UrlChance.SOME
        fetch(host, LIST, parent=TOP)
    assert host.chance(LIST) is host.chance(TOP) is UrlChance.UNLIKELY
    fetch(host, ITEM, hit=True, parent=LIST)
    assert host.chance(LIST) is host.chance(TOP) is UrlChance.SOME


def test_narrow_forms_are_judged_by_wide_ones() -> None:
    """If many narrow forms of a wide one yield nothing, then new ones are unlikely.

    If one of them yields, then new ones are unknown, and those set aside come back.
    """
    host = HostForms(TRIES)
    fetch(host, OTHER, hit=True, parent=OTHER)
    forms = [PageForm(f"/u/{i}/*", "/u/*/*") for i in range(4 * TRIES + 1)]
    for form in forms[:-1]:
        assert host.chance(form) is UrlChance.UNKNOWN
        fetch(host, form)
    assert host.chance(forms[-1]) is UrlChance.UNLIKELY
    host.add_unlikely(forms[-1])
    fetch(host, forms[0], hit=True)
    assert host.chance(forms[-1]) is UrlChance.UNKNOWN
    assert [*host.wrongly_set_aside()] == ["/u/*/*"]
    host.forget_set_aside()
    assert not [*host.wrongly_set_aside()]


def test_a_listed_form_shares_leads_with_that_of_links() -> None:
    """If sitemaps list the pages of a form, then links from these count for it."""
    host, listed = HostForms(TRIES), PageForm("/c/# @lists.xml", "/c/#")
    fetch(host, OTHER, hit=True, parent=OTHER)
    for _ in range(TRIES):
        fetch(host, listed)
    assert host.chance(listed) is UrlChance.UNLIKELY
    fetch(host, ITEM, hit=True, parent=LIST)
    assert host.chance(listed) is UrlChance.SOME


@given(FETCHES)
def test_a_form_with_success_is_never_unlikely(
    fetches: list[tuple[PageForm, bool, PageForm]],
) -> None:
    """If any page of a form had wanted statements, then the form is not unlikely."""
    host = after(fetches)
    for form, hit, _ in fetches:
        if hit:
            assert host.chance(form) in (UrlChance.GOOD, UrlChance.SOME)


@given(FETCHES, st.integers(0, 60))
def test_workers_agree(
    fetches: list[tuple[PageForm, bool, PageForm]], n_first: int
) -> None:
    """If a worker stores its counts at any time, then another one judges as it does."""
    host, stored = HostForms(TRIES), Counter[str]()
    for n, (form, hit, parent) in enumerate(fetches):
        fetch(host, form, hit=hit, parent=parent)
        if n == n_first:
            stored.update(host.take_changes())
    half = HostForms.of(stored, TRIES)
    half.add_all(host.changes)
    stored.update(host.take_changes())
    other = HostForms.of(stored, TRIES)
    for form in FORMS:
        assert host.chance(form) is other.chance(form) is half.chance(form)


def test_the_counts_of_a_host_are_bounded() -> None:
    """If a host has endless forms, then its counts end, and all are fetched."""
    host = HostForms(TRIES)
    for i in range(2 * MAX_FORMS):
        form = PageForm(f"/{i}/#", f"/{i}/*")
        fetch(host, form, hit=i % 3 == 0, parent=PageForm(f"/{i // 2}/#", "/"))
        host.add_unlikely(form)
    assert len(host.known) == MAX_FORMS
    assert sum(len(name) for name in host.counts) < 64 * 1024
    for _ in range(TRIES):
        fetch(host, PageForm("/new/#", "/new/*"))
    assert host.chance(PageForm("/new/#", "/new/*")) is UrlChance.UNKNOWN


def test_a_share_is_explored() -> None:
    """If URLs are of an unlikely form, then about the given share is fetched."""
    urls = [f"http://a.example/i/{i}" for i in range(10_000)]
    n_explored = sum(is_explored(url, 0.01) for url in urls)
    assert 50 < n_explored < 150
    assert not any(is_explored(url, 0.0) for url in urls)
    assert all(is_explored(url, 1.0) for url in urls)


def test_better_chances_come_first() -> None:
    """If forms have chances, then their URLs come in this order."""
    order = (Urgency.HIGHEST, Urgency.RAISED, Urgency.ORDINARY, Urgency.LATER)
    assert tuple(map(urgency_of, UrlChance)) == order

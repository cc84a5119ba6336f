"""Which documents are followed of those that show the same."""

from __future__ import annotations

import pytest

from rdfcrawl.analysis.duplicates.copies import (
    FOLLOWED,
    LEAST_PAGES,
    ComparedDocument,
    CopyJudge,
    CopyLimits,
    CopyVerdict,
)
from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.fingerprints import Fingerprint
from tests.support.fingerprints import fingerprint_text

LIMITS = CopyLimits(of_host=20, of_domain=0, of_address=0, near=100)
SAME = fingerprint_text("one text of more than eight words for all pages of a site")
TEMPLATE = "words of a template that all pages of the site have " * 3


def verdict(
    judge: CopyJudge, document: ComparedDocument, *links: bytes, leads_on: bool = True
) -> CopyVerdict:
    """Return the verdict on a document, then count it."""
    found = judge.judge(
        document,
        frozenset(links),
        digest=lambda: document.n_statements,
        leads_on=lambda new: leads_on and bool(new),
    )
    judge.note(document)
    return found


def new_judge(limits: CopyLimits = LIMITS) -> CopyJudge:
    """Return a judge that takes the end of a name for its domain."""
    return CopyJudge(limits, lambda host: (host.partition(".")[2], "192.0.2.1"))


def page(
    shown: Fingerprint = SAME, n_statements: int = 0, **more: int
) -> ComparedDocument:
    """Return a page of one host."""
    return ComparedDocument(
        "a.d.example",
        shown,
        is_page=True,
        n_statements=n_statements,
        n_images=more.get("n_images", 0),
    )


def test_copies_come_last_before_they_are_left() -> None:
    """If a text comes again, then its links come last after a tenth of the limit."""
    judge = new_judge()
    found = [verdict(judge, page()) for _ in range(30)]
    assert found[:2] == [FOLLOWED] * 2
    assert found[2:20] == [CopyVerdict(is_last=True)] * 18
    assert found[20:] == [CopyVerdict(Reason.HOST_COPIES)] * 10
    own = page(fingerprint_text("what no other page of this site says anywhere"))
    assert verdict(judge, own) == FOLLOWED


@pytest.mark.parametrize("limit", ["of_domain", "of_address"])
def test_copies_on_other_hosts_count_when_they_are_settled(limit: str) -> None:
    """If hosts show one text, then their domain and their address are judged."""
    limits = {"of_host": 0, "of_domain": 0, "of_address": 0, "near": 0, limit: 10}
    judge = new_judge(CopyLimits(**limits))
    shown = [page()._replace(host=f"h{n}.d.example") for n in range(12)]
    assert {verdict(judge, each) for each in shown} == {FOLLOWED}
    assert not judge.suspects
    judge.settle()
    assert judge.suspects
    reason = Reason[f"{limit.removeprefix('of_').upper()}_COPIES"]
    assert verdict(judge, shown[0]) == CopyVerdict(reason)
    other = page()._replace(host="h.e.example")
    is_near = limit == "of_address"
    assert verdict(judge, other) == (CopyVerdict(reason) if is_near else FOLLOWED)


def test_pages_with_data_or_images_of_their_own_are_followed() -> None:
    """If pages have one text, and other statements or images, then all are followed."""
    judge = new_judge()
    for n in range(1, 60):
        assert verdict(judge, page(n_statements=n)) == FOLLOWED
        assert verdict(judge, page(n_images=n)) == FOLLOWED


def test_near_copies_are_left_that_lead_to_nothing_else() -> None:
    """If pages differ in a word, then those without links of other forms are left."""

    def pages(judge: CopyJudge, *, leads_on: bool) -> list[CopyVerdict]:
        return [
            verdict(
                judge,
                page(fingerprint_text(f"{TEMPLATE} number {n} of very many")),
                b"http://a.d.example/%d" % n,
                leads_on=leads_on,
            )
            for n in range(LEAST_PAGES + 150)
        ]

    first = LEAST_PAGES + 10
    trap = pages(new_judge(), leads_on=False)
    assert trap[: first - 1] == [FOLLOWED] * (first - 1)
    assert trap[first + 1] == CopyVerdict(is_last=True)
    assert trap[-1] == CopyVerdict(Reason.ENDLESS_PAGES)
    honest = pages(new_judge(), leads_on=True)
    assert {each.reason for each in honest} == {None}
    assert honest[-1].is_last


def test_distinct_pages_of_one_template_are_no_near_copies() -> None:
    """If pages have some unique words each, then none comes last."""
    judge = new_judge()
    for n in range(300):
        own = " ".join(f"w{n * k}x{k}" for k in range(1, 30))
        found = verdict(judge, page(fingerprint_text(f"{TEMPLATE} {own}")))
        assert found == FOLLOWED

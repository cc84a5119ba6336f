"""The corpus: every document gives its statements and its faults, read in any way."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.corpora.cases import FOLDER, load
from tests.corpora.comparing import Reading, confined, differences, surplus, unlike
from tests.corpora.mutants import DOCUMENTS, mutants
from tests.corpora.others import read_by_others
from tests.corpora.readings import crawl, extract_all, show_all
from tests.corpora.serving import CaseServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.support.crawl_fixtures import Commands, RunRdf

CASES = load(FOLDER)
# Documents with an error: one of sixty, whose right results are unknown.
MUTANTS = [
    mutant.case for document in DOCUMENTS for mutant in [*mutants(document)][::60]
]
# `scrapy rdf` is a process for each: the first case of each class.
SHOWN = list({case.name.partition("/")[0]: case for case in reversed(CASES)}.values())
N_SHARES = 4


@pytest.fixture(scope="module")
def bases() -> Iterator[Mapping[str, str]]:
    """Yield the scheme and authority of each case while it is served."""
    with CaseServer([*CASES, *MUTANTS]) as server:
        yield server.bases


@pytest.fixture(scope="module")
def crawled(commands: Commands, bases: Mapping[str, str]) -> Mapping[str, Reading]:
    """Return the results of one crawl of all cases."""
    return crawl(commands, [*CASES, *MUTANTS], bases)


def _report(wrong: Mapping[str, list[str]]) -> str:
    return "\n".join(
        f"{name}\n    " + "\n    ".join(lines) for name, lines in wrong.items()
    )


def _wrong(
    readings: Mapping[str, Reading], bases: Mapping[str, str]
) -> dict[str, list[str]]:
    found = {}
    for case in CASES:
        lines = differences(case, readings[case.name], bases[case.name])
        if case.is_pending:
            lines = [] if lines else ["is pending, and right: remove the mark"]
        if lines:
            found[case.name] = lines
    return found


def _unlike(
    crawled: Mapping[str, Reading],
    readings: Mapping[str, Reading],
    bases: Mapping[str, str],
) -> dict[str, list[str]]:
    return {
        name: lines
        for name, found in readings.items()
        if (lines := unlike(crawled[name], found, bases[name]))
    }


def test_each_case_is_crawled_as_it_should_be(
    crawled: Mapping[str, Reading], bases: Mapping[str, str]
) -> None:
    """If a case is crawled, then its statements are stored, and its faults noted."""
    wrong = _wrong(crawled, bases)
    assert not wrong, f"{len(wrong)} of {len(CASES)} cases:\n{_report(wrong)}"


@pytest.mark.in_turn(N_SHARES, rooms=("rdf",))
@pytest.mark.parametrize("share", range(N_SHARES))
def test_each_case_is_extracted_as_it_is_crawled(
    crawled: Mapping[str, Reading], bases: Mapping[str, str], share: int
) -> None:
    """If a case is passed to `extract`, then it has the result of the crawl."""
    cases = [*CASES, *MUTANTS][share::N_SHARES]
    wrong = _unlike(crawled, extract_all(cases, bases), bases)
    assert not wrong, _report(wrong)


@pytest.mark.in_turn(N_SHARES, rooms=("rdf",))
@pytest.mark.parametrize("share", range(N_SHARES))
def test_cases_are_shown_as_they_are_crawled(
    rdf: RunRdf,
    crawled: Mapping[str, Reading],
    bases: Mapping[str, str],
    tmp_path: Path,
    share: int,
) -> None:
    """If a case is passed to `scrapy rdf`, then it has the result of the crawl."""
    shown = show_all(rdf, SHOWN[share::N_SHARES], bases, tmp_path)
    wrong = _unlike(crawled, shown, bases)
    assert not wrong, _report(wrong)


@pytest.mark.in_turn(N_SHARES, rooms=("rdf",))
@pytest.mark.parametrize("share", range(N_SHARES))
def test_no_statement_that_others_keep_is_lost(
    crawled: Mapping[str, Reading], bases: Mapping[str, str], share: int
) -> None:
    """If three other readers keep a statement, then we do, except by choice."""
    read = [
        case
        for case in CASES[share::N_SHARES]
        if crawled[case.name].format and not case.choice
    ]
    others = read_by_others(
        [
            (
                case.document.body,
                crawled[case.name].format,
                f"{bases[case.name]}/{case.document.path}",
            )
            for case in read
        ]
    )
    lost = {}
    for n, case in enumerate(read):
        kept = Counter(
            line
            for results in others.values()
            for line in set(
                surplus(
                    confined(
                        Reading(results[n] or frozenset()), bases[case.name]
                    ).quads,
                    crawled[case.name].quads,
                )
            )
        )
        if lines := [line for line, n_readers in kept.items() if n_readers > 2]:
            lost[case.name] = lines
    assert not lost, _report(lost)

"""Judge the statements that we and another reader find in the same document."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from tests.corpora.comparing import is_isomorphic, surplus

if TYPE_CHECKING:
    from collections.abc import Collection

    from tests.corpora.others import Quads


class Verdict(StrEnum):
    """Which of two results is better."""

    SAME = "same"
    OURS = "ours better"
    THEIRS = "theirs better"
    BOTH_WRONG = "both wrong"
    CHOICE = "choice"
    UNDECIDED = "undecided"


def judge(
    ours: Quads,
    theirs: Quads,
    *,
    want: Quads | None = None,
    choice: str = "",
    others: Collection[Quads] = (),
) -> Verdict:
    """Return which of two results is better.

    Args:
        ours: the statements that a crawl stores.
        theirs: those of another reader.
        want: the right ones, if they are known. Otherwise the result that has all
            statements of the other one is better, then that of more readers.
        choice: name of the choice by which we differ from other readers here.
        others: results of further readers.
    """
    if is_isomorphic(ours, theirs):
        return Verdict.SAME
    if want is None:
        return _better(ours, theirs, others)
    if is_isomorphic(ours, want):
        return Verdict.CHOICE if choice else Verdict.OURS
    return Verdict.THEIRS if is_isomorphic(theirs, want) else Verdict.BOTH_WRONG


def _better(ours: Quads, theirs: Quads, others: Collection[Quads]) -> Verdict:
    are_ours_all, are_theirs_all = not surplus(theirs, ours), not surplus(ours, theirs)
    n_ours = n_theirs = 0
    if are_ours_all == are_theirs_all:
        n_ours = sum(is_isomorphic(ours, each) for each in others)
        n_theirs = sum(is_isomorphic(theirs, each) for each in others)
    if (are_ours_all, n_ours) == (are_theirs_all, n_theirs):
        return Verdict.UNDECIDED
    is_ours = (are_ours_all, n_ours) > (are_theirs_all, n_theirs)
    return Verdict.OURS if is_ours else Verdict.THEIRS

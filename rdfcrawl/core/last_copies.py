"""Whether a response may replace the last good copy of its document.

A response that is cut, empty, a page of HTML in place of data, or much smaller than the
copy shows that a request failed, not that the data are gone. The copy stays, and the
next run requests the document again. What may be true after all, for example a smaller
file, is accepted when a later run gets the same statements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from rdfcrawl.core.messages import counted

SMALL: Final = 20
"""A list of at most so many entries may lose all of them: each is confirmed."""
MAX_MISSING: Final = 0.5
"""Share of the entries of a larger list, or of the statements of a document."""
_MAX_LOST: Final = 0.1  # share of the statements that a cut document may lack
_LEAST: Final = 100  # statements of a copy that is compared by size


def are_too_few(n_found: int, n_known: int, *, small: int = SMALL) -> bool:
    """Return whether a source that had `n_known` things implausibly has `n_found`.

    >>> are_too_few(0, 400), are_too_few(300, 400), are_too_few(0, 5)
    (True, False, False)
    """
    return n_known > small and n_found < n_known * (1 - MAX_MISSING)


@dataclass(frozen=True, slots=True)
class LastCopy:
    """The stored statements of a document, kept between runs.

    Attributes:
        digest: of the statements; empty if unknown, or some were not read.
        n_quads: number of statements; 0 if unknown.
        is_page: read from HTML.
        is_cut: the document was not read to its end.
        modified_secs: `Last-Modified`, Unix time; 0 if unknown.
        doubted: digest of the statements in a response that was refused.
        doubted_in: the run of that response.
        n_doubts: consecutive runs with that response.
    """

    digest: str = ""
    n_quads: int = 0
    is_page: bool = False
    is_cut: bool = False
    modified_secs: int = 0
    doubted: str = ""
    doubted_in: str = ""
    n_doubts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCopy:
    """The statements of a response that was read.

    Attributes:
        digest: of the statements.
        has_end: the format or its packing shows where the document ends.
        run: in which it was requested.
        The others: see `LastCopy`.
    """

    digest: str
    n_quads: int
    is_page: bool
    is_cut: bool
    has_end: bool
    modified_secs: int
    run: str

    def kept(self) -> LastCopy:
        """Return the copy after the response was stored."""
        digest = "" if self.is_cut else self.digest
        return LastCopy(
            digest, self.n_quads, self.is_page, self.is_cut, self.modified_secs
        )


def doubt_of(new: NewCopy, last: LastCopy) -> str:
    """Return why a response may not replace the last copy; empty if it may."""
    why, may_be_true = _doubt(new, last)
    if why and may_be_true and new.digest == last.doubted:
        is_later = new.run != last.doubted_in
        needed = 2 if new.is_page else 1
        if last.n_doubts + is_later > needed:
            return ""
    return why


def _doubt(new: NewCopy, last: LastCopy) -> tuple[str, bool]:
    """Return a doubt, and whether the same response in later runs removes it."""
    n_last = last.n_quads
    if not new.n_quads:
        kind = "a page without statements" if new.is_page else "no statements"
        return kind, new.is_page and last.is_page and not new.is_cut
    if new.is_cut and not (last.is_cut and new.n_quads >= n_last):
        is_near = new.n_quads >= n_last * (1 - _MAX_LOST)
        return (
            f"cut after {counted(new.n_quads, 'statement')}, {n_last:,} before",
            is_near,
        )
    if new.is_page and not last.is_page and n_last:
        return "a page in place of data", True
    if 0 < new.modified_secs < last.modified_secs:
        return "older than the last version", True
    if not new.has_end and are_too_few(new.n_quads, n_last, small=_LEAST - 1):
        return f"{counted(new.n_quads, 'statement')}, {n_last:,} before", True
    return "", False


def doubted(last: LastCopy, new: NewCopy) -> LastCopy:
    """Return the last copy after a response was refused."""
    n_doubts = 1
    if new.digest == last.doubted:
        n_doubts = last.n_doubts + (new.run != last.doubted_in)
    return replace(
        last, doubted=new.digest, doubted_in=new.run, n_doubts=max(1, n_doubts)
    )

"""Whether a response may replace the last good copy of its document.

A response that is cut, empty, a page of HTML in place of data, or much smaller than the
copy shows that a request failed, not that the data are gone. The copy stays, and the
next run requests the document again. What may be true after all, for example a smaller
file, is accepted when a later run gets the same statements.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rdfcrawl.core.messages import counted

SMALL: Final = 20
"""A list of at most so many entries may lose all of them: each is confirmed."""
MAX_MISSING: Final = 0.5
"""Share of the entries of a larger list, or of the statements of a document."""
REDIRECTED: Final = "redirected"
"""Begins doubts whether the target of a redirect replaces the page that leads to it."""
WITHOUT_STATEMENTS: Final = "no statements"
"""The doubt about a response without any, such as a sitemap without entries."""
_MAX_LOST: Final = 0.1  # share of the statements that a cut document may lack
_SAME: Final = 0.1  # by which two numbers of statements may differ
_LEAST: Final = 100  # statements of a copy that is compared by size


def are_too_few(n_found: int, n_known: int, *, small: int = SMALL) -> bool:
    """Return whether a source that had `n_known` things implausibly has `n_found`.

    >>> are_too_few(0, 400), are_too_few(300, 400), are_too_few(0, 5)
    (True, False, False)
    """
    return n_known > small and n_found < n_known * (1 - MAX_MISSING)


def is_plausible(n_now: int, n_before: int, n_doubted: int | None = None) -> bool:
    """Return whether a source may have shrunk to a number of statements.

    A store that is being loaded gives nothing, or a part, without an error. Its last
    good copy stays until a later run finds about the same number again.

    Args:
        n_now: of this run.
        n_before: of the last run that was believed.
        n_doubted: of the previous run, if that was not believed.

    >>> is_plausible(0, 400), is_plausible(390, 400), is_plausible(0, 400, 0)
    (False, True, True)
    """
    is_empty = n_before > 0 and not n_now
    if not (is_empty or are_too_few(n_now, n_before)):
        return True
    return n_doubted is not None and abs(n_now - n_doubted) <= _SAME * n_doubted


class LastCopy(NamedTuple):
    """The stored statements of a document, kept between runs.

    Attributes:
        digest: of the statements; empty if unknown, or some were not read.
        n_quads: number of statements; 0 if unknown.
        is_page: read from HTML.
        is_cut: the document was not read to its end.
        has_end: the document, its format or its packing shows where it ends.
        modified: `Last-Modified`, as `date_number`; 0 if unknown.
        doubted: digest of the statements in a response that was refused.
        doubted_in: the run of that response.
        n_doubts: consecutive runs with that response.
    """

    digest: str = ""
    n_quads: int = 0
    is_page: bool = False
    is_cut: bool = False
    has_end: bool = False
    modified: int = 0
    doubted: str = ""
    doubted_in: str = ""
    n_doubts: int = 0

    def text(self) -> str:
        """Return the text for a table, which is short in the usual case."""
        flags = self.is_page + 2 * self.is_cut + 4 * self.has_end
        text = f"{self.digest} {self.n_quads} {flags} {self.modified}"
        if not self.n_doubts:
            return text
        return f"{text} {self.doubted} {self.n_doubts} {self.doubted_in}"

    @classmethod
    def of_text(cls, text: str) -> LastCopy:
        """Return the copy with a text.

        >>> LastCopy.of_text(LastCopy("a", 5, is_page=True).text()).n_quads
        5
        """
        digest, n_quads, flags, secs, *doubts = text.split(" ", 6)
        page, cut, end = (bool(int(flags) & bit) for bit in (1, 2, 4))
        copy = cls(digest, int(n_quads), page, cut, end, int(secs))
        if not doubts:
            return copy
        doubted, n_doubts, run = doubts
        return copy._replace(doubted=doubted, n_doubts=int(n_doubts), doubted_in=run)


class NewCopy(NamedTuple):
    """The statements of a response that was read.

    Attributes:
        digest: of the statements.
        has_losses: some statements were not read.
        run: in which it was requested.
        detour: kind of page to which sites redirect what they no longer show; or "".
        is_list: a page of a collection, which may be short while it is being loaded.
        The others: see `LastCopy`.
    """

    digest: str
    n_quads: int
    is_page: bool
    is_cut: bool
    has_end: bool
    has_losses: bool
    modified: int
    run: str
    detour: str = ""
    is_list: bool = False

    def kept(self) -> LastCopy:
        """Return the copy after the response was stored."""
        return LastCopy(
            "" if self.has_losses else self.digest,
            self.n_quads,
            self.is_page,
            self.is_cut,
            self.has_end,
            self.modified,
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
        kind = "a page without statements" if new.is_page else WITHOUT_STATEMENTS
        return kind, new.is_page and last.is_page and not new.is_cut
    if new.is_cut and not (last.is_cut and new.n_quads >= n_last):
        is_near = new.n_quads >= n_last * (1 - _MAX_LOST)
        known = f", {n_last:,} before" if n_last else ""
        return f"cut after {counted(new.n_quads, 'statement')}{known}", is_near
    why = ""
    if new.is_page and new.detour:
        why = f"to {new.detour}"
    elif new.is_page and n_last and not last.is_page:
        why = "a page in place of data"
    elif new.is_page and new.n_quads < n_last and last.has_end > new.has_end:
        why = "a page without its end"
    elif 0 < new.modified < last.modified:
        why = "older than the last version"
    elif (new.is_list or not new.has_end) and are_too_few(
        new.n_quads, n_last, small=0 if new.is_list else _LEAST - 1
    ):
        why = f"{counted(new.n_quads, 'statement')}, {n_last:,} before"
    return why, True


_is_login: Final = re.compile(
    r"(?:^|[/?&=_.-])(?:log-?_?in|sign-?_?[io]n|sso|cas)(?=$|[/?&=_.-])", re.IGNORECASE
).search
_is_front: Final = re.compile(r"/*(?:(?:index|home|default)[^/]*)?", re.ASCII).fullmatch


def detour_of(url: str, target: str) -> str:
    """Return whether sites redirect any page to such a target, in words; or "".

    They do so with pages that are gone (soft 404), or for which they want a login.

    >>> detour_of("http://a.example/d/1", "http://a.example/")
    'the front page'
    >>> detour_of("http://a.example/d/1", "https://sso.example/login?to=/d/1")
    'a login'
    >>> detour_of("http://a.example/index.html", "https://www.a.example/")
    ''
    """
    before, after = (x.partition("://")[2].partition("/")[2] for x in (url, target))
    if _is_login(after) and not _is_login(before):
        return "a login"
    is_front = _is_front(after) and not _is_front(before)
    return "the front page" if is_front else ""


_NAMES: Final = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
_MONTHS: Final = {name: n for n, name in enumerate(_NAMES.split(), 1)}


def date_number(date: str) -> int:
    """Return a number that orders dates of HTTP; 0 if it has another form.

    >>> date_number("Sun, 06 Nov 1994 08:49:37 GMT") < date_number(
    ...     "Mon, 07 Nov 1994 08:49:36 GMT"
    ... )
    True
    """
    try:
        day = (int(date[12:16]) * 12 + _MONTHS[date[8:11]]) * 31 + int(date[5:7])
        minute = int(date[17:19]) * 60 + int(date[20:22])
        return (day * 1440 + minute) * 60 + int(date[23:25])
    except (LookupError, ValueError):
        return 0


def doubted(last: LastCopy, new: NewCopy) -> LastCopy:
    """Return the last copy after a response was refused."""
    n_doubts = 1
    if new.digest == last.doubted:
        n_doubts = last.n_doubts + (new.run != last.doubted_in)
    return last._replace(
        doubted=new.digest, doubted_in=new.run, n_doubts=max(1, n_doubts)
    )

"""Classes of the content that sitemaps miss (table 2).

The authors of the paper classified 3,000 URLs by hand. Here each URL belongs to the
first class whose rule it matches.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LEAST_LINK_SHARE: Final = 0.5  # of words within links, in a table of contents
LEAST_CONTAINMENT: Final = 0.9


class MissedClass(StrEnum):
    """A class of URLs that sitemaps miss (table 2)."""

    ERROR = "errors"
    REDIRECT = "redirects"
    PARAMETER = "duplicate content, extra CGI parameter"
    DUPLICATE = "duplicate content, unmatched URLs"
    CONTENTS = "table of contents"
    IMAGES = "image dominated page"
    SUBSET = "subset of another page"
    CONTENT = "missing content"


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedPage:
    """Properties of a missed URL.

    Attributes:
        has_failed: the last fetch failed, for any reason.
        is_error_page: its page says that there is no such page.
        is_redirect: the URL redirects elsewhere.
        duplicates: crawled URLs with the same content that are not in its cluster of
            near-duplicates (`UriFacts.copies`).
        n_images: of a page of few words; otherwise 0.
        n_words: of a page of many links; otherwise 0.
        n_link_words: of these, within links.
        containment: greatest share of its shingles that another page contains.
    """

    url: str
    has_failed: bool = False
    is_error_page: bool = False
    is_redirect: bool = False
    duplicates: tuple[str, ...] = ()
    n_images: int = 0
    n_words: int = 0
    n_link_words: int = 0
    containment: float = 0.0


def classify_missed(page: MissedPage) -> MissedClass:
    """Return the first class of table 2 whose rule a page matches."""
    rules = (
        (MissedClass.ERROR, page.has_failed or page.is_error_page),
        (MissedClass.REDIRECT, page.is_redirect),
        (MissedClass.PARAMETER, _has_parameter_twin(page)),
        (MissedClass.DUPLICATE, bool(page.duplicates)),
        (MissedClass.CONTENTS, _is_table_of_contents(page)),
        (MissedClass.IMAGES, page.n_images > 0),
        (MissedClass.SUBSET, page.containment >= LEAST_CONTAINMENT),
        (MissedClass.CONTENT, True),
    )
    return next(each for each, fits in rules if fits)


def _has_parameter_twin(page: MissedPage) -> bool:
    return any(differ_in_query(page.url, other) for other in page.duplicates)


def differ_in_query(url: str, other: str) -> bool:
    """Return whether two URLs differ only in their queries.

    >>> differ_in_query("http://a/x?p=1&q=2", "http://a/x?p=1")
    True
    """
    return url != other and url.partition("?")[0] == other.partition("?")[0]


def _is_table_of_contents(page: MissedPage) -> bool:
    return page.n_link_words > LEAST_LINK_SHARE * page.n_words

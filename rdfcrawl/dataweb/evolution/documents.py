"""The documents of a site that changes, of one revision: HTML with RDFa, and Turtle."""

from __future__ import annotations

import random
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Final

from rdfcrawl.dataweb.nodes.base import LABEL, SEE_ALSO, to_ntriples

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rdfcrawl.dataweb.evolution.histories import PageHistory, PagePath
    from rdfcrawl.dataweb.nodes.base import Statement

N_WORDS: Final = 240  # of a page: one more leaves 99 % of its shingles equal
N_STATEMENTS: Final = 60  # of a page in Turtle, which do not change
NO_PAGE: Final = (
    b'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
    b"<title>Nothing here</title></head><body><h1>Nothing here</h1>"
    b"<p>We are sorry: the page that you look for is not here, or not any more.</p>"
    b"</body></html>\n"
)
_SYLLABLES: Final = (
    *("ba", "do", "fi", "gu", "ka", "le", "mo", "ni", "pa", "ru", "sa", "to", "vi"),
)


class PageWriter:
    """Writes the documents of the pages of one site.

    Duplicates and mirrors have the same bytes as the page itself; near duplicates
    say more, of their number.

    Args:
        origin: of the site that is no mirror; canonical URLs are there.
        has_canonical: documents declare their canonical URL.
        added: additional words or statements of near duplicates, as a share of those of
            the page; at least one.
    """

    def __init__(self, origin: str, *, has_canonical: bool, added: float = 0.0) -> None:
        self._origin = origin
        self._has_canonical = has_canonical
        self._added = added
        self._name = origin.removeprefix("http://").replace(":", "-")

    def canonical_url(self, page: PageHistory) -> str:
        """Return the URL of a page that stands for all of its duplicates."""
        return self._origin + page.path

    def statements(
        self, page: PageHistory, revision: int, related: Iterable[PageHistory]
    ) -> Iterator[Statement]:
        """Yield the statements of a page; only its label differs between revisions."""
        subject = f"<urn:dataweb:{self._name}:{page.number}>"
        yield subject, LABEL, f'"{_title(page, revision)}"@en'
        if page.is_html:
            return
        for other in related:
            yield subject, SEE_ALSO, f"<{self.canonical_url(other)}>"
        words = _words(f"{self._name}/{page.number}", 2 * N_STATEMENTS)
        for n in range(N_STATEMENTS):
            text = " ".join(words[2 * n : 2 * n + 2])
            yield subject, f"<urn:dataweb:property:{n}>", f'"{text}"@en'

    def write(
        self, path: PagePath, revision: int, related: Iterable[PageHistory]
    ) -> bytes:
        """Return the body at a URL of a page."""
        number = path.path.partition("?session=")[2]
        size = N_WORDS if path.page.is_html else N_STATEMENTS
        more = range(1, round(self._added * size)) if number else ()
        numbers = [number, *(f"{number}-{n}" for n in more)]
        if path.page.is_html:
            said = " ".join(numbers)
            return self._write_html(path.page, revision, related, said)
        body = to_ntriples(self.statements(path.page, revision, related))
        for each in filter(None, numbers):
            body += f'<urn:dataweb:session> {LABEL} "{each}" .\n'.encode()
        return body

    def link_header(self, page: PageHistory) -> dict[str, str]:
        """Return the header that declares the canonical URL of a page in Turtle."""
        if page.is_html or not self._has_canonical:
            return {}
        return {"Link": f'<{self.canonical_url(page)}>; rel="canonical"'}

    def _write_html(
        self,
        page: PageHistory,
        revision: int,
        related: Iterable[PageHistory],
        number: str,
    ) -> bytes:
        title = _title(page, revision)
        words = _words(f"{self._name}/{page.number}", N_WORDS)
        links = "".join(
            f'<li><a href="{other.path}">Page {other.number}</a></li>'
            for other in related
        )
        canonical = ""
        if self._has_canonical:
            canonical = f'<link rel="canonical" href="{self.canonical_url(page)}">'
        return _html(
            title,
            f'<h1 about="urn:dataweb:{self._name}:{page.number}"'
            f' property="{LABEL[1:-1]}">{title}</h1>\n'
            f"<p>{' '.join(words)}</p>\n<ul>{links}</ul>\n<p>{number}</p>",
            head=canonical,
        )


def write_links(
    title: str, urls: Iterable[str], *, subject: str = "", objects: Iterable[str] = ()
) -> bytes:
    """Return an HTML page of links.

    Args:
        title: of the page.
        urls: that it links to.
        subject: IRI of which RDFa says `rdfs:seeAlso`.
        objects: IRIs that RDFa names; they are links, too.
    """
    said = "".join(
        f'<li about="{subject}"><a property="{SEE_ALSO[1:-1]}" href="{escape(url)}">'
        f"{escape(url)}</a></li>\n"
        for url in objects
    )
    items = "".join(f'<li><a href="{url}">{url}</a></li>\n' for url in urls)
    return _html(title, f"<h1>{title}</h1>\n<ul>\n{said}{items}</ul>")


def _title(page: PageHistory, revision: int) -> str:
    return f"Page {page.number}, revision {revision}"


def _html(title: str, body: str, *, head: str = "") -> bytes:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{title}</title>{head}</head>\n<body>{body}</body></html>\n"
    ).encode()


@lru_cache(maxsize=1024)
def _words(key: str, count: int) -> list[str]:
    rng = random.Random(key)
    return ["".join(rng.choices(_SYLLABLES, k=3)) for _ in range(count)]

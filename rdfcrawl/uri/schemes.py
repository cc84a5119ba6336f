"""The schemes that seeds and links of a crawl may have.

A page of the Web may not lead to `file://` or another scheme that the operator has
added, because such files may be private.
"""

from __future__ import annotations

from dataclasses import dataclass

from rdfcrawl.uri.parse import CRAWLED_SCHEMES, BadUri, is_of_web, requestable


@dataclass(frozen=True, slots=True)
class SchemePolicy:
    """The schemes of one crawl."""

    own: frozenset[str] = frozenset()  # schemes of the user, besides `CRAWLED_SCHEMES`
    # schemes in `own` that documents of other schemes may link to
    from_web: frozenset[str] = frozenset()

    @property
    def of_seeds(self) -> frozenset[str]:
        """All schemes: seeds may have any."""
        return CRAWLED_SCHEMES | self.own

    def of_links(self, url: str) -> frozenset[str]:
        """Return the schemes that a document, requested at `url`, may link to."""
        if not self.own:  # the common case
            return CRAWLED_SCHEMES
        if is_of_web(url):
            return CRAWLED_SCHEMES | self.from_web
        return CRAWLED_SCHEMES | self.from_web | (self.own & {scheme_of(url)})


NO_SCHEMES = SchemePolicy()


def scheme_of(url: str) -> str:
    """Return the scheme of a requestable URL."""
    return url.partition(":")[0]


def seed_url(text: str) -> str:
    """Return the URL of a seed of any scheme; `check_scheme` comes later.

    Raises:
        BadUri: `text` is not a URL with an authority, or too long.
    """
    text = text.strip()
    scheme = scheme_of(text).lower()
    return requestable(text, schemes=CRAWLED_SCHEMES | {scheme})


def check_scheme(url: str, schemes: frozenset[str]) -> None:
    """Check that a URL has one of the schemes.

    Raises:
        BadUri: the URL has another scheme.
    """
    if (scheme := scheme_of(url)) not in schemes:
        raise BadUri(f"scheme {scheme[:20]!r} is not crawled")

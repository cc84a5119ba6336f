"""Which schemes a crawl knows, and from where those of the user's are reached.

A page of the Web does not lead to `file://` or another scheme that the operator has
added: what lies there may be nobody else's business.
"""

from __future__ import annotations

from dataclasses import dataclass

from rdfcrawl.uri.parse import CRAWLED_SCHEMES, BadUri, is_of_web, requestable


@dataclass(frozen=True, slots=True)
class SchemePolicy:
    """The schemes of one crawl.

    Attributes:
        own: those of the user's, beside `CRAWLED_SCHEMES`.
        from_web: those of them that documents of other schemes may lead to.
    """

    own: frozenset[str] = frozenset()
    from_web: frozenset[str] = frozenset()

    @property
    def of_seeds(self) -> frozenset[str]:
        """All of them: the operator may name any."""
        return CRAWLED_SCHEMES | self.own

    def of_links(self, url: str) -> frozenset[str]:
        """Return the schemes that a document may lead to.

        Args:
            url: of the document, as it was requested.
        """
        if not self.own:  # as in most crawls
            return CRAWLED_SCHEMES
        if is_of_web(url):
            return CRAWLED_SCHEMES | self.from_web
        return CRAWLED_SCHEMES | self.from_web | (self.own & {scheme_of(url)})


NO_SCHEMES = SchemePolicy()


def scheme_of(url: str) -> str:
    """Return the scheme of a requestable URL."""
    return url.partition(":")[0]


def seed_url(text: str) -> str:
    """Return the URL of a seed, whatever its scheme: who knows those looks at it later.

    Raises:
        BadUri: it is no URL with an authority, or too long.
    """
    text = text.strip()
    scheme = scheme_of(text).lower()
    return requestable(text, schemes=CRAWLED_SCHEMES | {scheme})


def check_scheme(url: str, schemes: frozenset[str]) -> None:
    """See that a URL is of one of these schemes.

    Raises:
        BadUri: it is not.
    """
    if (scheme := scheme_of(url)) not in schemes:
        raise BadUri(f"scheme {scheme[:20]!r} is not crawled")

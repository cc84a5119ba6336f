"""Keep the evaluation context of RDFa, and resolve attribute values in it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rdfcrawl.rdf import terms
from rdfcrawl.rdf.data import read_table
from rdfcrawl.rdf.html.host import HostLanguage, HostMarkup
from rdfcrawl.rdf.iris import escape_url, is_absolute, prefix_pairs, resolve


class OutputOverflow(Exception):
    """The output limit is reached; reading ends."""


class RdfaBudget:
    """Number of characters that may still be written (`n_left`).

    Output can multiply: nested elements repeat their text, long prefixes and bases
    combine with many words, and incomplete predicates with many objects.
    """

    __slots__ = ("n_left",)

    def __init__(self, n_chars: int) -> None:
        self.n_left = n_chars

    def spend(self, n_chars: int) -> None:
        """Reduce the budget; raise `OutputOverflow` if none is left."""
        self.n_left -= n_chars
        if self.n_left < 0:
            raise OutputOverflow


# RDFa Core 1.1 section 7.4.3, over the names of XML 1.0.
_TERM = re.compile(r"[^\W\d][\w.\-/\u00b7]*")
_PREFIX_NAME = re.compile(r"[^\W\d][\w.\-\u00b7]*")
_MAX_KNOWN = 1024  # attribute values cached, unless longer than this
_MAX_KNOWN_CHARS = 1024
_XHTML_TERMS_OF = frozenset({HostLanguage.HTML4, HostLanguage.XHTML1})


@dataclass(frozen=True, slots=True)
class InitialContext:
    """Prefixes and terms (in lower case) that are known without a declaration.

    `xhtml` is the IRI of the vocabulary of XHTML, which is also the default prefix.
    """

    prefixes: Mapping[str, str]
    terms: Mapping[str, str]
    xhtml: str


@lru_cache(maxsize=16)
def initial_context(host: HostMarkup) -> InitialContext:
    """Return the initial context of a host language.

    The link types of HTML 4 belong to the XHTML vocabulary, as in XHTML 1. In RDFa 1.0
    they are reserved words, and no prefix is known.
    """
    known = read_table("rdfa_context")
    xhtml = known["xhtml_vocabulary"]
    is_first = host.rdfa_version == "1.0"
    words = {} if is_first else known["terms"]
    if is_first or host.language in _XHTML_TERMS_OF:
        words = words | {term: xhtml + term for term in known["xhtml_terms"]}
    return InitialContext({} if is_first else known["prefixes"], words, xhtml)


# Predicates without an object: forward, backward, or a list.
Incomplete = list[tuple[str, "bool | list[str]"]]


class RdfaScope:
    """The evaluation context that an element passes to its children.

    Resources are N-Quads terms; `language` and `vocab` may be empty.

    Attributes:
        subject: the parent subject.
        object: the parent object.
        incomplete: predicates without an object or, if backward, without a subject.
        lists: members of lists by predicate; shared while the subject stays the same.

    Source: RDFa Core 1.1 section 7.2.
    """

    __slots__ = (
        *("base", "incomplete", "language", "lists", "object", "subject", "vocab"),
    )

    def __init__(self, base: str, subject: str) -> None:
        self.base = base
        self.subject = self.object = subject
        self.language = self.vocab = ""
        self.incomplete: Incomplete = []
        self.lists: dict[str, list[str]] = {}

    def inner(self) -> RdfaScope:
        """Return a copy of the scope, for a nested element."""
        scope = RdfaScope.__new__(RdfaScope)
        scope.base = self.base
        scope.subject, scope.object = self.subject, self.object
        scope.language, scope.vocab = self.language, self.vocab
        scope.incomplete, scope.lists = self.incomplete, self.lists
        return scope


# Previous values to restore when an element ends: mapping, name, value.
Undo = list[tuple[dict[str, str], str, "str | None"]]


class RdfaNames:
    """Resolver of CURIEs, terms and IRIs.

    `document` is the IRI of the page, regardless of its base. `prefixes` in scope are
    in lower case; the default namespace has the key "" in `namespaces`.

    Source: RDFa Core 1.1 section 7.4.
    """

    def __init__(
        self,
        host: HostMarkup,
        *,
        document: str,
        default_namespace: str,
        budget: RdfaBudget,
    ) -> None:
        self._document = document
        self._budget = budget
        self.spend = budget.spend
        self._initial = initial_context(host)
        self._is_first = host.rdfa_version == "1.0"
        self._n_blank = 0
        # Resolved words with their cost in characters; cleared when a prefix is
        # declared or goes out of scope.
        self._known: dict[tuple[str, str, bool], tuple[list[str], int]] = {}
        self.prefixes: dict[str, str] = {}
        self.namespaces = {"": default_namespace} if default_namespace else {}

    def new_blank(self) -> str:
        """Return a new blank node."""
        self._n_blank += 1
        return terms.blank(f"rdfa{self._n_blank}")

    def declare(self, attributes: Mapping[str, str | None]) -> Undo:
        """Add the prefixes that an element declares; return the values to restore."""
        undo: Undo = []
        declared: dict[str, str] = {}
        for name, value in attributes.items():
            if name[:5] == "xmlns":
                self._set(self.namespaces, name[6:], value or "", undo)
                if name.startswith("xmlns:"):
                    declared[name[6:].lower()] = (value or "").strip()
        if not self._is_first and (pairs := attributes.get("prefix")):
            declared |= prefix_pairs(pairs)
        for prefix, iri in declared.items():
            if prefix != "_" and iri and _PREFIX_NAME.fullmatch(prefix):
                self._set(self.prefixes, prefix, iri, undo)
        return undo

    def undo(self, undo: Undo) -> None:
        """Remove the prefixes that an element declared."""
        self._known.clear()
        for names, name, value in reversed(undo):
            if value is None:
                del names[name]
            else:
                names[name] = value

    def _set(self, names: dict[str, str], name: str, value: str, undo: Undo) -> None:
        undo.append((names, name, names.get(name)))
        names[name] = value
        self._known.clear()

    def curie(self, text: str) -> str:
        """Return the resource of a CURIE, else an empty text."""
        prefix, colon, reference = text.partition(":")
        if not colon:
            return ""
        if prefix == "_":
            return terms.blank("rdfau" + reference)
        if not prefix:
            return terms.iri(self._initial.xhtml + reference)
        if reference.startswith("//"):
            return ""
        prefix = prefix.lower()
        start = self.prefixes.get(prefix) or self._initial.prefixes.get(prefix)
        if not start:
            return ""
        self._budget.spend(len(start))
        # 7.4.4: relative results are resolved against the URL of the document, since
        # the `base` is not part of the output.
        return terms.iri(resolve(start + reference, self._document))

    def resource(self, text: str, scope: RdfaScope) -> str:
        """Return the resource of `about` or `resource`; empty for a bad CURIE."""
        text = text.strip()
        if text.startswith("[") and text.endswith("]"):
            return self.curie(text[1:-1])
        if not self._is_first and (found := self.curie(text)):
            return found
        return self.url(text, scope)

    def url(self, text: str, scope: RdfaScope) -> str:
        """Return the resource of `href` or `src`."""
        self._budget.spend(len(scope.base))
        return terms.iri(resolve(escape_url(text), scope.base))

    def words(
        self, text: str, scope: RdfaScope, *, is_link: bool = False
    ) -> Sequence[str]:
        """Return the resources of `rel`, `rev`, `property` or `typeof`.

        `is_link` is set for `rel` and `rev`: RDFa 1.0 reserves words only there.
        """
        key = (text, scope.vocab, is_link)
        known = self._known.get(key)
        if known is not None:
            self._budget.spend(known[1])
            return known[0]
        before = self._budget.n_left
        found = (self.word(word, scope, is_link=is_link) for word in text.split())
        words = list(dict.fromkeys(one for one in found if one))
        if len(self._known) < _MAX_KNOWN and len(text) <= _MAX_KNOWN_CHARS:
            self._known[key] = words, before - self._budget.n_left
        return words

    def word(self, word: str, scope: RdfaScope, *, is_link: bool = False) -> str:
        """Return the resource of a term, CURIE or absolute IRI, else an empty text."""
        if ":" in word:
            if self._is_first and word.startswith("[") and word.endswith("]"):
                word = word[1:-1]
            found = self.curie(word)
            if found or self._is_first:
                return found
            return terms.iri(word) if is_absolute(word) else ""
        if self._is_first and not is_link:
            return ""
        if not _TERM.fullmatch(word):
            return ""
        if scope.vocab:
            self._budget.spend(len(scope.vocab))
            return terms.iri(scope.vocab + word)
        known = self._initial.terms.get(word.lower())
        return terms.iri(known) if known else ""

"""Select the links of a document: by position, predicate and relation.

`LinkPolicy` finds links in N-Quads bytes with one compiled expression per position,
without an object per statement, and selects links of pages and headers by relation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final, Self

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.formats import Link, Relation
from rdfcrawl.core.namespaces import RDF_TYPE

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document

    _Find = Callable[[bytes], Iterable[bytes]]

_BEGIN_OF_TERM: Final = b" <<( "
_MOST_BRACKETS: Final = 1000  # looked at singly
MAX_NESTED_TERMS: Final = 8  # nested triple terms; deeper ones are ignored

# Invariant: a chunk is N-Quads in canonical form (RDF 1.2 N-Quads, "Canonical Form"):
# one statement per line, single spaces, and no line feed or ">" inside an IRI. So the
# position of a term is known from the start of the line, and the content of literals is
# never searched.
# `re` compares with one character much faster than with two, such as `[^>\n]`.
TERM = rb"(?:<[^>]*+>|_:[^ ]*+)"
_IRI = rb"<([^>]*+)"
# Schemes and fragments are checked once per distinct IRI, not at each occurrence.
_WEB: Final = (b"http://", b"https://")
_SCHEMES: Final = rb"https?|ftps?"
# Statements of one subject are usually adjacent, and are matched in runs of this
# length. Written out: `re` is slower with a repetition of groups.
_RUN_LINES: Final = 6
find_triple_terms = re.compile(rb"\n%s <[^>]*+> <<\( ([^\n]*+)" % TERM).findall
# Beginnings of predicates and classes whose statements can describe data elsewhere.
# A reader of further ones must add them here. Common prefixes are factored out.
_OF_SCHEMA: Final = rb"schema\.org/(?:distribution|contentUrl|encodingFormat)>"
_DESCRIBES: Final = (
    rb"http(?:://(?:www\.w3\.org/(?:ns/|1999/02/22-rdf-syntax-ns#type> <http"
    rb"(?:://www\.w3\.org/ns/|s://w3id\.org/))|rdfs\.org/ns/void#|%s"
    rb"|purl\.org/dc/terms/(?:format|conformsTo)>)|s://(?:w3id\.org/|%s))"
    % (_OF_SCHEMA, _OF_SCHEMA)
)
# Found in any document with one of these, except predicates of Dublin Core. The common
# prefix makes this search three times as fast as separate ones.
find_describing = re.compile(
    rb"://(?:www\.w3\.org/ns/|rdfs\.org/ns/void#|w3id\.org/|%s)" % _OF_SCHEMA
).search
_MARK: Final = b"<"  # stands for a match that is not an IRI
_unescape = re.compile(
    rb"\\u([0-9A-Fa-f]{4})|\\U(000[0-9A-Fa-f]{5}|0010[0-9A-Fa-f]{4})"
).sub


def has_triple_terms(lines: bytes) -> bool:
    """Return whether lines may have triple terms: a lone byte is found much faster."""
    at = lines.find(b"(")
    for _ in range(_MOST_BRACKETS):
        if at < 0 or lines.startswith(_BEGIN_OF_TERM, at - 3):
            return at >= 0
        at = lines.find(b"(", at + 1)
    return lines.find(_BEGIN_OF_TERM, at - 3) >= 0


class LinkPosition(StrEnum):
    """The position of a link in a statement; the graph name is never a link."""

    SUBJECT = "subject"
    PREDICATE = "predicate"
    OBJECT = "object"  # of any predicate but rdf:type
    TYPE = "type"  # object of rdf:type


# The split into facts and vocabulary is that of description logics.
_ABOX = frozenset({LinkPosition.SUBJECT, LinkPosition.OBJECT})
_TBOX = frozenset({LinkPosition.PREDICATE, LinkPosition.TYPE})
_WORDS: dict[str, frozenset[LinkPosition]] = {
    "abox": _ABOX,
    "tbox": _TBOX,
    "all": _ABOX | _TBOX,
    "none": frozenset(),
} | {str(position): frozenset({position}) for position in LinkPosition}
# Links made for data crawlers, and links of scraping rules.
_SIGNPOSTS = frozenset(
    {
        Relation.ALTERNATE,
        Relation.DESCRIBEDBY,
        Relation.LINKSET,
        Relation.NEXT,
        Relation.DATASET,
    }
)
# Data of the document that names it.
_OWN_DATA = frozenset({Relation.DATASET})
_RELATIONS: dict[str, Relation] = {str(relation): relation for relation in Relation}
_is_iri_or_prefix = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\*]*\*?")


@dataclass(frozen=True)
class LinkPolicy:
    """Selects the links in statements.

    Attributes:
        positions: of terms that are links.
        only: if not empty, only objects of these predicates are links.
        skip: objects of these predicates are not links; takes precedence over `only`.
        relations: followed links of pages and headers.
        own_schemes: custom schemes to find in addition to http(s) and ftp(s).

    Predicates are IRIs, or prefixes of IRIs if they end in `*`.
    """

    positions: frozenset[LinkPosition] = _ABOX
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    relations: frozenset[Relation] = _SIGNPOSTS
    own_schemes: tuple[str, ...] = ()

    @cached_property
    def wants_hyperlinks(self) -> bool:
        """Whether the hyperlinks of pages are used."""
        return bool(self.relations & {Relation.HYPERLINK, Relation.NOFOLLOW})

    @cached_property
    def wants_datasets(self) -> bool:
        """Whether described datasets and collections are used."""
        return Relation.DATASET in self.relations

    @cached_property
    def _is_crawled(self) -> Callable[[bytes], object]:
        own = b"".join(b"|" + re.escape(each.encode()) for each in self.own_schemes)
        return re.compile(rb"(?i:%s%s)://" % (_SCHEMES, own)).match

    @cached_property
    def _objects(self) -> bytes:
        has_objects = self.positions & {LinkPosition.OBJECT, LinkPosition.TYPE}
        return rb"%s> %s" % (self.predicates(), _IRI) if has_objects else b""

    @cached_property
    def _finders(self) -> tuple[_Find, ...]:
        patterns = []
        if LinkPosition.PREDICATE in self.positions:
            patterns.append(rb"\n%s %s" % (TERM, _IRI))
        if LinkPosition.SUBJECT in self.positions:
            patterns.append(_subjects_and(self._objects))
        elif self._objects:
            patterns.append(rb"\n%s <%s" % (TERM, self._objects))
        return tuple(map(_finder, patterns))

    def __reduce__(self) -> tuple[object, ...]:
        """Leave out the expressions, which the receiving child compiles."""
        parts = self.positions, self.only, self.skip, self.relations, self.own_schemes
        return LinkPolicy, parts

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the argument `follow`, for example `object,-http://a.example/see*`.

        The grammar is a comma-separated list of

        * positions: `subject`, `predicate`, `object` (except of rdf:type), `type`
          (object of rdf:type), or `abox` = `subject,object`, `tbox` = `predicate,type`,
          `all`; the default is `abox`;
        * relations of links in pages and headers, in addition to `alternate`,
          `describedby`, `linkset`, `next` and `dataset` (dumps, endpoints and pages of
          collections described in statements): `hyperlink`, `nofollow`, `canonical`;
        * `+IRI`: only follow objects of this predicate and of others given with `+`;
        * `-IRI`: do not follow objects of this predicate; `-` and a relation: do not
          follow such links;
        * `none`: no position, and no relation except `dataset` and the given ones.

        An IRI that ends in `*` is a prefix; use one for an IRI with a comma.

        Raises:
            ConfigError: an entry is none of these.
        """
        words: set[str] = set()
        predicates: dict[str, list[str]] = {"+": [], "-": []}
        for entry in map(str.strip, text.split(",")):
            sign, name = entry[:1], entry[1:]
            if sign in predicates and _is_iri_or_prefix.fullmatch(name):
                predicates[sign].append(name)
            elif (
                entry in _WORDS
                or entry in _RELATIONS
                or (sign == "-" and name in _RELATIONS)
            ):
                words.add(entry)
            else:
                raise ConfigError(
                    f"argument follow={text}: {entry!r} must be one of"
                    f" {', '.join((*_WORDS, *_RELATIONS))}, or +IRI, or -IRI,"
                    " or - and a relation"
                )
        return cls(
            _positions(words),
            only=tuple(predicates["+"]),
            skip=tuple(predicates["-"]),
            relations=_relations(words),
        )

    def choose(self, links: Iterable[Link]) -> set[bytes]:
        """Return the URLs of links with a followed relation, in the form of `scan`."""
        return {
            link.url.partition("#")[0].encode("utf-8", "replace")
            for link in links
            if link.relation in self.relations
        }

    def scan(
        self, chunk: bytes, finders: tuple[_Find, ...] | None = None
    ) -> set[bytes]:
        r"""Return the distinct IRIs of crawled schemes at the policy's positions.

        The terms of a triple term count at their own positions within it.

        Args:
            chunk: complete lines of canonical N-Quads, UTF-8.
            finders: replace those of the policy; `_MARK` may appear in their results.

        Returns:
            IRIs without fragment, `\u` escapes decoded, otherwise as written: pass
            them to `uri.requestable`.
        """
        lines = b"\n" + chunk
        iris: set[bytes] = set()
        for _ in range(1 + MAX_NESTED_TERMS):
            for find in finders or self._finders:
                iris.update(find(lines))
            if not has_triple_terms(lines):
                break
            lines = b"\n" + b"\n".join(find_triple_terms(lines))
        iris.discard(b"")  # from groups that did not match
        joined = b"\n" + b"\n".join(iris)
        # Usually all are: counting them takes a fifth of the time of checking each.
        n_web = joined.count(b"\nhttp://") + joined.count(b"\nhttps://")
        are_web = n_web == len(iris)
        if are_web and b"#" not in joined and b"\\" not in joined:
            return iris
        return self._crawled(iris, joined, are_web=are_web)

    def scan_bulk(self, chunk: bytes) -> tuple[set[bytes], bool]:
        """Return the result of `scan`, and whether statements may describe other data.

        A single pass is cheaper for many statements if few describe anything.
        """
        if self._objects:
            iris = self.scan(chunk, (*self._finders[:-1], self._find_describing))
            if _MARK not in iris:
                return iris, False
        return self.scan(chunk), True

    def _crawled(self, iris: set[bytes], joined: bytes, *, are_web: bool) -> set[bytes]:
        r"""Return the IRIs of crawled schemes, without fragments and `\u` escapes.

        Args:
            iris: the matches.
            joined: all of them.
            are_web: all are http(s).
        """
        if b"\\" in joined:  # `\u` is the only escape in an IRI
            iris = {_unescape(_utf8_of_escape, iri) for iri in iris}
            joined, are_web = b"\n".join(iris), False
        if b"#" in joined:
            with_fragment = {iri for iri in iris if b"#" in iri}
            iris -= with_fragment
            iris.update([iri.partition(b"#")[0] for iri in with_fragment])
        if are_web:
            return iris
        is_crawled = self._is_crawled
        return {x for x in iris if x.startswith(_WEB) or is_crawled(x) or x == _MARK}

    def crawled_url(self, iri: bytes) -> bytes:
        """Return an IRI in the form of `scan`; empty if its scheme is not crawled."""
        if b"\\" in iri:
            iri = _unescape(_utf8_of_escape, iri)
        return iri.partition(b"#")[0] if self._is_crawled(iri) else b""

    @cached_property
    def _find_describing(self) -> _Find:
        """The last finder, extended to find `_MARK` in statements that may describe."""
        if LinkPosition.SUBJECT in self.positions:
            return _finder(_subjects_and(self._objects, _DESCRIBES))
        return _finder(rb"\n%s (?:(<)(?:%s)|<%s)" % (TERM, _DESCRIBES, self._objects))

    def predicates(self) -> bytes:
        """Return an expression for the predicates whose objects are links."""
        skip, only = self.skip, self.only
        if LinkPosition.TYPE not in self.positions:
            skip = (*skip, RDF_TYPE)
        elif LinkPosition.OBJECT not in self.positions:
            only = (RDF_TYPE,)
        elif only:
            only = (*only, RDF_TYPE)
        wanted = b"(?:%s)" % _any_iri(only) if only else b"[^>]*+"
        return b"(?!(?:%s)>)%s" % (_any_iri(skip), wanted) if skip else wanted


class EveryLink:
    """The default of `LINK_POLICY_CLASS`: all links selected by `follow`."""

    def choose(self, _document: Document, urls: list[str]) -> Iterable[str]:
        """Return all URLs."""
        return urls


def _positions(words: set[str]) -> frozenset[LinkPosition]:
    named = words & _WORDS.keys()
    return frozenset().union(*(_WORDS[word] for word in named)) if named else _ABOX


def _relations(words: set[str]) -> frozenset[Relation]:
    named = {_RELATIONS[word] for word in words if word in _RELATIONS}
    not_wanted = {_RELATIONS[word[1:]] for word in words if word.startswith("-")}
    default = _OWN_DATA if "none" in words else _SIGNPOSTS
    return (default | named) - not_wanted


@lru_cache(64)
def with_own(policy: LinkPolicy, schemes: frozenset[str]) -> LinkPolicy:
    """Return a policy that also finds IRIs of custom schemes."""
    own = tuple(sorted(schemes))
    return replace(policy, own_schemes=own) if own else policy


def _any_iri(iris: tuple[str, ...]) -> bytes:
    """Return an expression for any of these IRIs or prefixes."""
    return b"|".join(
        re.escape(iri[:-1].encode()) + b"[^>]*+"
        if iri.endswith("*")
        else re.escape(iri.encode())
        for iri in iris
    )


def _subjects_and(objects: bytes, describes: bytes = b"") -> bytes:
    """Return an expression for subjects, and for objects of selected predicates.

    Args:
        objects: expression that begins after `<` of the predicate; empty for none.
        describes: expression for predicates whose statements are left out: each is a
            separate match, with `_MARK` in the last group.
    """
    wanted = rb"(?:<%s|).*+" % objects if objects else rb".*+"
    line = rb" (?!<(?:%s))%s" % (describes, wanted) if describes else rb" " + wanted
    more = b""
    for _ in range(_RUN_LINES - 1):
        more = rb"(?:\n<\1>" + line + more + rb"|)"
    first = line + more
    if describes:
        first = rb"(?:%s| (<))" % first
    return rb"\n(?:<([^>]*+)>|_:[^ ]*+)" + first


def _finder(pattern: bytes) -> _Find:
    """Return a function that returns the matches of all groups of an expression."""
    compiled = re.compile(pattern)
    find = compiled.findall
    if compiled.groups == 1:
        return find
    return lambda lines: chain.from_iterable(find(lines))


def _utf8_of_escape(match: re.Match[bytes]) -> bytes:
    return chr(int(match[1] or match[2], 16)).encode("utf-8", "surrogatepass")

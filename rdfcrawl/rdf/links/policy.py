"""Which links of a document are followed: by position, predicate and relation.

`LinkPolicy` finds links in N-Quads bytes with one compiled expression per position,
without an object per statement, and chooses among the links that are no statements by
their relation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Final, Self

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.link_relations import Link, Relation
from rdfcrawl.core.namespaces import RDF_TYPE

if TYPE_CHECKING:
    from rdfcrawl.core.records import Document

    _Find = Callable[[bytes], Iterable[bytes]]

MAX_NESTED_TERMS: Final = 8  # triple terms within triple terms; deeper ones are left

# Invariant: a chunk is N-Quads in canonical form (RDF 1.2 N-Quads, "Canonical Form"):
# one statement per line, single spaces, and no line feed or ">" inside an IRI. So a
# term's position is known from the start of its line, and what a literal contains is
# never looked at: nothing is searched behind the begin of the object.
TERM = rb"(?:<[^>\n]*+>|_:[^ \n]*+)"
_IRI = rb"<([^>]*+)"
# Schemes and fragments are looked at once for each IRI, not wherever it stands.
_WEB: Final = (b"http://", b"https://")
_SCHEMES: Final = rb"https?|ftps?"
# Statements of one subject mostly stand together, and are matched so many at a time.
# Spelt out: `re` takes longer over a repetition with groups.
_RUN_LINES: Final = 6
find_triple_terms = re.compile(rb"\n%s <[^>\n]*+> <<\( ([^\n]*+)" % TERM).findall
# How predicates begin by which statements tell of data elsewhere, or as what classes:
# whoever looks for more of it has to name it here. Common beginnings are written once.
_TELLING: Final = (
    rb"http(?:://(?:www\.w3\.org/(?:ns/%s)|rdfs\.org/ns/void#|schema\.org/"
    rb"|purl\.org/dc/terms/(?:format|conformsTo)>)|s://(?:w3id|schema)\.org/)"
)
_TELLS: Final = _TELLING % (
    b"|1999/02/22-rdf-syntax-ns#type> <" + _TELLING.replace(b"%s", b"")
)
_MARK: Final = b"<"  # found instead of an IRI
_unescape = re.compile(
    rb"\\u([0-9A-Fa-f]{4})|\\U(000[0-9A-Fa-f]{5}|0010[0-9A-Fa-f]{4})"
).sub


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
# Links that are made for crawlers of data, and those that scraping rules ask for.
_SIGNPOSTS = frozenset(
    {
        Relation.ALTERNATE,
        Relation.DESCRIBEDBY,
        Relation.LINKSET,
        Relation.NEXT,
        Relation.DATASET,
    }
)
# What is data of the document that names it, and not something else.
_OWN_DATA = frozenset({Relation.DATASET})
_RELATIONS: dict[str, Relation] = {str(relation): relation for relation in Relation}
_is_iri_or_prefix = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\*]*\*?")


@dataclass(frozen=True, slots=True)
class LinkPolicy:
    """Which IRIs of a statement are links.

    Attributes:
        positions: where links are looked for.
        only: if not empty, objects are links for these predicates alone.
        skip: objects of these predicates are no links; wins over `only`.
        relations: which links of pages and headers are followed.
        own_schemes: of the user's, whose IRIs are found beside http(s) and ftp(s).
        wants_hyperlinks: the hyperlinks of pages are asked for.
        wants_datasets: datasets and collections are taken that documents describe.

    Predicates are IRIs; with a final `*`, all that begin so.
    """

    positions: frozenset[LinkPosition] = _ABOX
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    relations: frozenset[Relation] = _SIGNPOSTS
    own_schemes: tuple[str, ...] = ()
    _is_crawled: Callable[[bytes], object] = field(
        init=False, repr=False, compare=False
    )
    _finders: tuple[_Find, ...] = field(init=False, repr=False, compare=False)
    _objects: bytes = field(init=False, repr=False, compare=False)
    wants_hyperlinks: bool = field(init=False, compare=False)
    wants_datasets: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Compile the expressions for the places of a statement that are read."""
        objects = b""
        patterns = []
        if LinkPosition.PREDICATE in self.positions:
            patterns.append(rb"\n%s %s" % (TERM, _IRI))
        if self.positions & {LinkPosition.OBJECT, LinkPosition.TYPE}:
            objects = rb"%s> %s" % (self.predicates(), _IRI)
        if LinkPosition.SUBJECT in self.positions:
            patterns.append(_subjects_and(objects))
        elif objects:
            patterns.append(rb"\n%s <%s" % (TERM, objects))
        own = b"".join(b"|" + re.escape(each.encode()) for each in self.own_schemes)
        is_crawled = re.compile(rb"(?i:%s%s)://" % (_SCHEMES, own)).match
        object.__setattr__(self, "_is_crawled", is_crawled)
        object.__setattr__(self, "_finders", tuple(map(_finder, patterns)))
        object.__setattr__(self, "_objects", objects)
        hyperlinks = self.relations & {Relation.HYPERLINK, Relation.NOFOLLOW}
        object.__setattr__(self, "wants_hyperlinks", bool(hyperlinks))
        datasets = Relation.DATASET in self.relations
        object.__setattr__(self, "wants_datasets", datasets)

    def __reduce__(self) -> tuple[object, ...]:
        """Leave out the expressions, which the reading child compiles again."""
        parts = self.positions, self.only, self.skip, self.relations, self.own_schemes
        return LinkPolicy, parts

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the argument `follow`, for example `object,-http://a.example/see*`.

        The grammar is a comma-separated list of

        * positions: `subject`, `predicate`, `object` (but of rdf:type), `type` (object
          of rdf:type), or `abox` = `subject,object`, `tbox` = `predicate,type`, `all`;
          without any of these it is `abox`;
        * relations of links in pages and headers, to follow beside `alternate`,
          `describedby`, `linkset`, `next` and `dataset` (dumps, endpoints and pages of
          collections that statements name): `hyperlink`, `nofollow`, `canonical`;
        * `+IRI`: follow objects of this predicate, and of no other but those so named;
        * `-IRI`: do not follow objects of this predicate; `-` and a relation: do not
          follow such links;
        * `none`: no position and no relation but `dataset` and those that are named.

        An IRI that ends in `*` is a prefix; one with a comma can only be given so.

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
        """Return the URLs of those links whose relation is followed, as `scan` does."""
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
            chunk: whole lines of canonical N-Quads, UTF-8.
            finders: in place of those of the policy; `_MARK` stays in what they find.

        Returns:
            IRIs without fragment, `\u` escapes decoded, otherwise as written: they
            have still to go through `uri.requestable`.
        """
        lines = b"\n" + chunk
        iris: set[bytes] = set()
        for _ in range(1 + MAX_NESTED_TERMS):
            for find in finders or self._finders:
                iris.update(find(lines))
            if b"(" not in lines or b" <<( " not in lines:  # the first is far cheaper
                break
            lines = b"\n" + b"\n".join(find_triple_terms(lines))
        iris.discard(b"")  # of groups that took no part in a match
        joined = b"\n" + b"\n".join(iris)
        # Mostly all are: counting them takes a fifth of one look for each.
        n_web = joined.count(b"\nhttp://") + joined.count(b"\nhttps://")
        are_web = n_web == len(iris)
        if are_web and b"#" not in joined and b"\\" not in joined:
            return iris
        return self._crawled(iris, joined, are_web=are_web)

    def scan_bulk(self, chunk: bytes) -> tuple[set[bytes], bool]:
        """Return what `scan` does, and whether statements may tell of data elsewhere.

        One pass for both is cheaper where there are many statements and few tell of
        anything.
        """
        if self._objects:
            iris = self.scan(chunk, (*self._finders[:-1], self._find_telling))
            if _MARK not in iris:
                return iris, False
        return self.scan(chunk), True

    def _crawled(self, iris: set[bytes], joined: bytes, *, are_web: bool) -> set[bytes]:
        r"""Return the IRIs of crawled schemes, without fragments and `\u` escapes.

        Args:
            iris: as they were found.
            joined: all of them.
            are_web: all of them are of http(s).
        """
        if b"\\" in joined:  # `\u` is all that an IRI may have escaped
            iris = {_unescape(_utf8_of_escape, iri) for iri in iris}
            joined, are_web = b"\n".join(iris), False
        if b"#" in joined:
            iris = {iri.partition(b"#")[0] for iri in iris}
        if are_web:
            return iris
        is_crawled = self._is_crawled
        return {x for x in iris if x.startswith(_WEB) or is_crawled(x) or x == _MARK}

    def crawled_url(self, iri: bytes) -> bytes:
        """Return an IRI as `scan` does; nothing if its scheme is not crawled."""
        if b"\\" in iri:
            iri = _unescape(_utf8_of_escape, iri)
        return iri.partition(b"#")[0] if self._is_crawled(iri) else b""

    @property
    def _find_telling(self) -> _Find:
        """The last finder, which also finds `_MARK` for statements that may tell."""
        if LinkPosition.SUBJECT in self.positions:
            return _compiled(_subjects_and(self._objects, _TELLS))
        return _compiled(rb"\n%s (?:(<)(?:%s)|<%s)" % (TERM, _TELLS, self._objects))

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
    """The default of `LINK_POLICY_CLASS`: all links of `follow`."""

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
    """Return a policy that also finds IRIs of schemes of the user's."""
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


def _subjects_and(objects: bytes, tells: bytes = b"") -> bytes:
    """Return an expression for subjects, and for the objects of wanted predicates.

    Args:
        objects: expression from behind `<` of the predicate on; empty for none.
        tells: expression for predicates whose statements are left out: each is a
            match of its own, with `_MARK` in the last group.
    """
    wanted = rb"(?:<%s|).*+" % objects if objects else rb".*+"
    line = rb" (?!<(?:%s))%s" % (tells, wanted) if tells else rb" " + wanted
    more = b""
    for _ in range(_RUN_LINES - 1):
        more = rb"(?:\n<\1>" + line + more + rb"|)"
    first = line + more
    if tells:
        first = rb"(?:%s| (<))" % first
    return rb"\n(?:<([^>]*+)>|_:[^ \n]*+)" + first


def _finder(pattern: bytes) -> _Find:
    """Return a function that gives what all groups of an expression match."""
    compiled = re.compile(pattern)
    find = compiled.findall
    if compiled.groups == 1:
        return find
    return lambda lines: chain.from_iterable(find(lines))


_compiled = lru_cache(maxsize=64)(_finder)  # most crawls have no bulk data


def _utf8_of_escape(match: re.Match[bytes]) -> bytes:
    return chr(int(match[1] or match[2], 16)).encode("utf-8", "surrogatepass")

"""Parsed rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from pathlib import Path

    from rdfcrawl.core.formats import Relation
    from rdfcrawl.rdf.html.rules.iris import TextTemplate
    from rdfcrawl.rdf.html.rules.selectors import Selector


@dataclass(frozen=True, slots=True)
class RulePlace:
    """File and line, counted from 1."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRule:
    """Source of the texts of a property, and the steps to its values.

    The steps are taken in the order of the attributes.
    """

    # of the texts; if unset, `template` is the only text
    selector: Selector | None = None
    attribute: str = ""  # of the selected elements, instead of their text
    keeps_space: bool = False  # white space is not collapsed
    split: str = ""  # separator of several texts in one, or empty
    # must match in a text; its group or the full match is taken
    pattern: re.Pattern[str] | None = None
    # from text to text; texts without an entry are left out
    mapping: Mapping[str, str] | None = None
    template: TextTemplate | None = None  # filled with the text
    is_iri: bool = False  # an IRI, resolved against the page; else a literal
    datatype: str = ""  # IRI of the datatype of the literals, or empty
    language: str = ""  # of the literals; `auto`: language of the page, empty: none
    is_first: bool = False  # take only the first text
    is_required: bool = False  # drop the resource if there is none

    @property
    def is_plain(self) -> bool:
        """Whether a text becomes the term without further steps."""
        return not (self.split or self.pattern or self.mapping or self.template)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRule:
    """A resource made from the page, its items, or parts of them."""

    # selects the parts that are one resource each; if unset, the enclosing part
    items: Selector | None = None
    subject: ValueRule | None = None  # its IRI; if unset, a blank node
    fields: tuple[tuple[str, ValueRule], ...] = ()  # values for templates, by name
    properties: tuple[RuleProperty, ...] = ()
    is_first: bool = False  # take only the first item
    is_required: bool = False  # drop the enclosing resource if there is none


@dataclass(frozen=True, slots=True)
class RuleProperty:
    """A predicate and the source of its objects."""

    label: str  # the predicate as written; for messages
    predicate: str
    is_inverse: bool  # the resource is the object, not the subject
    source: ValueRule | ResourceRule


@dataclass(frozen=True, slots=True, kw_only=True)
class SquirrelSource:
    """Source of objects in a Squirrel rule."""

    prefix: str = ""  # leading text with `$uri` and `$label`
    # for the text after the prefix; if unset, there is none
    selector: Selector | None = None
    attribute: str = ""  # of the elements, instead of their link or text
    is_numbered: bool = False  # ends with `*`: one object per subject of that name
    is_link: bool = False  # take the link of an element


@dataclass(frozen=True, slots=True)
class SquirrelProperty:
    """A predicate of a Squirrel rule, and the source of its objects.

    `is_numbered` if it ended with `*`: the n-th match belongs to the n-th subject.
    """

    predicate: str
    is_numbered: bool
    source: SquirrelSource


@dataclass(frozen=True, slots=True)
class SquirrelResource:
    """A subject of a Squirrel rule, and its properties.

    The subject is a text with `$uri` and `$label`. If `is_numbered`, the n-th matches
    of its selectors make one subject. If some properties are numbered, the others
    belong to every subject.
    """

    subject: str
    is_numbered: bool
    properties: tuple[SquirrelProperty, ...]


class PagePattern(Protocol):
    """A test of whether a rule applies to a page."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The only hosts that can match; empty: all hosts."""

    def match(self, url: str) -> Mapping[str, str] | None:
        """Return the named parts of a matching URL; None without a match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRule:
    """A rule: statements and links of certain pages."""

    name: str
    place: RulePlace  # file and line of the name
    patterns: tuple[PagePattern, ...]  # URLs of its pages; one must match
    # made from a page; a Squirrel rule has `squirrel` instead
    resource: ResourceRule | None = None
    squirrel: tuple[SquirrelResource, ...] = ()
    cuts_query: bool = False  # the page's IRI ends before `?`
    links: tuple[tuple[Relation, ValueRule], ...] = ()
    # named parts of the matched URL
    captured: Mapping[str, str] = field(default_factory=dict)

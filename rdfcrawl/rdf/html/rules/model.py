"""Rules, once read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from pathlib import Path

    from rdfcrawl.core.link_relations import Relation
    from rdfcrawl.rdf.html.rules.selectors import Selector
    from rdfcrawl.rdf.html.rules.templates import TextTemplate


@dataclass(frozen=True, slots=True)
class RulePlace:
    """File and line, counted from 1."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueRule:
    """Where the texts of a property come from, and the steps to its values.

    The steps are taken in the order of the attributes.
    """

    # of the texts; unset, `template` alone is the one text
    selector: Selector | None = None
    attribute: str = ""  # of the selected elements, instead of their text
    keeps_space: bool = False  # white space is not collapsed
    split: str = ""  # separator of several texts in one, or empty
    # has to match in a text; its group or the whole match is taken
    pattern: re.Pattern[str] | None = None
    # of texts to others; texts without an entry are left out
    mapping: Mapping[str, str] | None = None
    template: TextTemplate | None = None  # that a text is put into
    is_iri: bool = False  # an IRI, resolved against the page; else a literal
    datatype: str = ""  # IRI of the datatype of the literals, or empty
    language: str = ""  # of the literals; `auto` is that of the page, empty is none
    is_first: bool = False  # only the first text is taken
    is_required: bool = False  # without one, there is no resource

    @property
    def is_plain(self) -> bool:
        """Whether a text becomes the term without further steps."""
        return not (self.split or self.pattern or self.mapping or self.template)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRule:
    """A resource to make of the page, of its items, or of parts of these."""

    # selects the parts that are one resource each; unset, the surrounding part
    items: Selector | None = None
    subject: ValueRule | None = None  # its IRI; unset, a blank node
    fields: tuple[tuple[str, ValueRule], ...] = ()  # values for templates, by name
    properties: tuple[RuleProperty, ...] = ()
    is_first: bool = False  # only the first item is taken
    is_required: bool = False  # without one, there is no resource around it


@dataclass(frozen=True, slots=True)
class RuleProperty:
    """A predicate and the source of its objects."""

    label: str  # the predicate as it was written; for messages
    predicate: str
    is_inverse: bool  # the resource is the object, not the subject
    source: ValueRule | ResourceRule


@dataclass(frozen=True, slots=True, kw_only=True)
class SquirrelSource:
    """Where objects come from, in a rule of Squirrel."""

    prefix: str = ""  # text with `$uri` and `$label` that comes first
    # of what follows the prefix; unset, the prefix is all
    selector: Selector | None = None
    attribute: str = ""  # of the elements, instead of their link or text
    is_numbered: bool = False  # ends with `*`: one object for each subject of that name
    is_link: bool = False  # an element's link is wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class SquirrelProperty:
    """A predicate of a rule of Squirrel, and the source of its objects.

    `is_numbered` if it ended with `*`: the n-th match belongs to the n-th subject.
    """

    predicate: str
    is_numbered: bool
    source: SquirrelSource


@dataclass(frozen=True, slots=True, kw_only=True)
class SquirrelResource:
    """A subject of a rule of Squirrel, and its properties.

    The subject is a text with `$uri` and `$label`. If `is_numbered`, the n-th matches
    of its selectors make one subject. If some of the properties are numbered, the
    others belong to each subject.
    """

    subject: str
    is_numbered: bool
    properties: tuple[SquirrelProperty, ...]


class PagePattern(Protocol):
    """A test whether a rule is for a page."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The only hosts that can match; empty are all."""

    def match(self, url: str) -> Mapping[str, str] | None:
        """Return the named parts of a matching URL; None without a match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRule:
    """A rule: statements and links of certain pages."""

    name: str
    place: RulePlace  # file and line of the name
    patterns: tuple[PagePattern, ...]  # URLs of its pages; one has to match
    # to make of a page; for a rule of Squirrel, `squirrel` is instead
    resource: ResourceRule | None = None
    squirrel: tuple[SquirrelResource, ...] = ()
    cuts_query: bool = False  # the page's IRI ends before `?`
    links: tuple[tuple[Relation, ValueRule], ...] = ()
    # named parts of the URL for which the rule was chosen
    captured: Mapping[str, str] = field(default_factory=dict)

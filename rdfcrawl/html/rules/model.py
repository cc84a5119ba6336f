"""Rules, once read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from pathlib import Path

    from rdfcrawl.html.rules.selectors import Selector
    from rdfcrawl.html.rules.templates import TextTemplate
    from rdfcrawl.links.relations import Relation


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

    Attributes:
        selector: of the texts; unset, `template` alone is the one text.
        attribute: of the selected elements, instead of their text.
        keeps_space: white space is not collapsed.
        split: separator of several texts in one, or empty.
        pattern: has to match in a text; its group or the whole match is taken.
        mapping: of texts to others; texts without an entry are left out.
        template: that a text is put into.
        is_iri: an IRI, resolved against the page; else a literal.
        datatype: IRI of the datatype of the literals, or empty.
        language: of the literals; `auto` is that of the page, empty is none.
        is_first: only the first text is taken.
        is_required: without one, there is no resource.
    """

    selector: Selector | None = None
    attribute: str = ""
    keeps_space: bool = False
    split: str = ""
    pattern: re.Pattern[str] | None = None
    mapping: Mapping[str, str] | None = None
    template: TextTemplate | None = None
    is_iri: bool = False
    datatype: str = ""
    language: str = ""
    is_first: bool = False
    is_required: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether a text becomes the term without further steps."""
        return not (self.split or self.pattern or self.mapping or self.template)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRule:
    """A resource to make of the page, of its items, or of parts of these.

    Attributes:
        items: selects the parts that are one resource each; unset, the surrounding
            part.
        subject: its IRI; unset, a blank node.
        fields: values for templates, by name.
        is_first: only the first item is taken.
        is_required: without one, there is no resource around it.
    """

    items: Selector | None = None
    subject: ValueRule | None = None
    fields: tuple[tuple[str, ValueRule], ...] = ()
    properties: tuple[RuleProperty, ...] = ()
    is_first: bool = False
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class RuleProperty:
    """A predicate and the source of its objects.

    Attributes:
        label: the predicate as it was written; for messages.
        is_inverse: the resource is the object, not the subject.
    """

    label: str
    predicate: str
    is_inverse: bool
    source: ValueRule | ResourceRule


@dataclass(frozen=True, slots=True, kw_only=True)
class SquirrelSource:
    """Where objects come from, in a rule of Squirrel.

    Attributes:
        prefix: text with `$uri` and `$label` that comes first.
        selector: of what follows the prefix; unset, the prefix is all.
        attribute: of the elements, instead of their link or text.
        is_numbered: ends with `*`: one object for each subject of that name.
        is_link: an element's link is wanted.
    """

    prefix: str = ""
    selector: Selector | None = None
    attribute: str = ""
    is_numbered: bool = False
    is_link: bool = False


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
    """A rule: statements and links of certain pages.

    Attributes:
        place: file and line of the name.
        patterns: URLs of its pages; one has to match.
        resource: to make of a page; for a rule of Squirrel, `squirrel` is instead.
        cuts_query: the page's IRI ends before `?`.
        captured: named parts of the URL for which the rule was chosen.
    """

    name: str
    place: RulePlace
    patterns: tuple[PagePattern, ...]
    resource: ResourceRule | None = None
    squirrel: tuple[SquirrelResource, ...] = ()
    cuts_query: bool = False
    links: tuple[tuple[Relation, ValueRule], ...] = ()
    captured: Mapping[str, str] = field(default_factory=dict)

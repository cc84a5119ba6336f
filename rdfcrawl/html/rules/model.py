"""What a rule is, once it has been read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

    from rdfcrawl.html.rules.places import RulePlace
    from rdfcrawl.html.rules.selectors import Selector
    from rdfcrawl.html.rules.templates import Template
    from rdfcrawl.records import Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """Where the texts of a property come from, and what is made of them.

    The steps are taken in the order of the attributes.

    Attributes:
        selector: finds them; unset, `template` alone is the one text.
        attribute: of the elements that were found, instead of their text.
        keeps_space: white space stays as it is.
        split: what parts one text into several; empty does not.
        pattern: has to be found in a text; its group or the whole match is taken.
        mapping: what texts become; those that are not in it are left out.
        template: what a text is put into.
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
    template: Template | None = None
    is_iri: bool = False
    datatype: str = ""
    language: str = ""
    is_first: bool = False
    is_required: bool = False

    @property
    def is_plain(self) -> bool:
        """A text becomes the term as it was found."""
        return not (self.split or self.pattern or self.mapping or self.template)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """What has a subject: the page, its items, or what is nested in these.

    Attributes:
        items: finds the parts of the page that are one resource each; unset, the
            surrounding part is one.
        subject: its IRI; unset, it is a blank node.
        fields: values for templates, by name.
        properties: of the resource.
        is_first: only the first item is taken.
        is_required: without one, there is no resource around it.
    """

    items: Selector | None = None
    subject: Value | None = None
    fields: tuple[tuple[str, Value], ...] = ()
    properties: tuple[RuleProperty, ...] = ()
    is_first: bool = False
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class RuleProperty:
    """A predicate with where its objects come from.

    Attributes:
        label: the predicate as it was written; for messages.
        predicate: its IRI.
        is_inverse: the resource is the object, not the subject.
        source: of the objects.
    """

    label: str
    predicate: str
    is_inverse: bool
    source: Value | Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class SquirrelSource:
    """Where objects come from.

    Attributes:
        prefix: text with `$uri` and `$label` that comes first.
        selector: finds what follows it; unset, the prefix is all.
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
    """What is said of a subject.

    Attributes:
        predicate: an IRI.
        is_numbered: ended with `*`: the n-th match is said of the n-th subject.
        source: where its objects come from.
    """

    predicate: str
    is_numbered: bool
    source: SquirrelSource


@dataclass(frozen=True, slots=True, kw_only=True)
class SquirrelResource:
    """A subject, and what is said of it.

    Attributes:
        subject: text with `$uri` and `$label`.
        is_numbered: the n-th matches of its selectors make one subject.
        properties: in the order of the file. If some of them are numbered, the others
            are said of each subject.
    """

    subject: str
    is_numbered: bool
    properties: tuple[SquirrelProperty, ...]

    @property
    def has_numbered_properties(self) -> bool:
        """Some predicates ended with `*`."""
        return any(each.is_numbered for each in self.properties)


class Pattern(Protocol):
    """What says whether a rule is for a page."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The only hosts that can match; empty are all."""

    def match(self, url: str) -> Mapping[str, str] | None:
        """Return the parts of a URL that have names; None if it does not match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is taken from the pages that it is for.

    Attributes:
        name: as in its file.
        place: file and line of the name.
        patterns: URLs of its pages; one has to match.
        resource: what is made of a page; unset for a rule of Squirrel.
        squirrel: the same, for a rule of Squirrel.
        cuts_query: `?` and what follows are no part of the page's IRI.
        links: that are followed, by their relation.
        captured: named parts of the URL that it was chosen for.
    """

    name: str
    place: RulePlace
    patterns: tuple[Pattern, ...]
    resource: Resource | None = None
    squirrel: tuple[SquirrelResource, ...] = ()
    cuts_query: bool = False
    links: tuple[tuple[Relation, Value], ...] = ()
    captured: Mapping[str, str] = field(default_factory=dict)

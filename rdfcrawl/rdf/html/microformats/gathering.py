"""Find the items of a page and build a tree for mf2py of each.

mf2py reads trees of BeautifulSoup. Only items become such trees: converting the full
page costs ten times as much as everything else. Expensive items are left out, or read
in a bounded process: mf2py reads an element once for each enclosing property, and
copies the elements of microformats 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Final, Self

from bs4 import BeautifulSoup
from bs4.element import PageElement, Tag

from rdfcrawl.core.errors import NeedsSandbox, Reason
from rdfcrawl.rdf import terms
from rdfcrawl.rdf.data import read_table
from rdfcrawl.rdf.html.page import walk_node
from rdfcrawl.rdf.html.rdfa.recorder import html_end, html_start, html_text
from rdfcrawl.rdf.iris import resolve
from rdfcrawl.rdf.terms import language_tag

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.html.page import Attributes


class ValueKind(StrEnum):
    """Kind of a value; a value without its form is text."""

    TEXT = "text"
    IRI = "iri"
    ANY = "any"  # an IRI if it is one of http or https
    TIME = "time"
    NUMBER = "number"
    MAIL = "mail"
    TEL = "tel"
    GEO = "geo"


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroformatProperty:
    """The mapping of a property."""

    term: str
    kind: ValueKind
    item: str  # the predicate if the value is an item
    # predicate and class of a node between the item and the value
    via: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemType:
    """The mapping of a type; `children` is the predicate of items without one."""

    kind: str
    children: str
    properties: Mapping[str, MicroformatProperty]


@cache
def classic_roots() -> Mapping[str, Mapping[str, str]]:
    """Return the microformats 2 names of property classes, by root class."""
    roots: dict[str, dict[str, str]] = read_table("microformats_classic")["roots"]
    return roots


@cache
def item_types() -> Mapping[str, ItemType]:
    """Return the known types by their names of microformats 2 ("h-card")."""
    table = read_table("microformats")
    prefixes = table["prefixes"]

    def term(name: str) -> str:
        prefix, _, local = name.partition(":")
        return terms.iri(prefixes[prefix] + local)

    return {
        name: ItemType(
            kind=term(entry["class"]),
            children=term(entry["children"]),
            properties={
                key: MicroformatProperty(
                    term=term(spec["term"]),
                    kind=ValueKind(spec["kind"]),
                    item=term(spec.get("item", spec["term"])),
                    via=tuple(map(term, spec["via"])) if "via" in spec else None,
                )
                for key, spec in entry["properties"].items()
            },
        )
        for name, entry in table["types"].items()
    }


# Roots of microformats 1, by their names in microformats 2.
CLASSIC: Final = frozenset(
    (
        *("adr", "geo", "hentry", "hfeed", "hproduct", "hrecipe", "hresume"),
        *("hreview", "hreview-aggregate", "vcard", "vevent"),
    )
)
# A draft that mf2py does not know, and that became a type of microformats 2.
_LISTING: Final = "hlisting"
# Other drafts of microformats 1: their content does not describe the enclosing item.
DRAFTS: Final = frozenset(("haudio", "hmedia", "vjournal", "vtodo", "xfolkentry"))
# Classes of style sheets (Tailwind, Tachyons) that look like roots.
STYLES: Final = frozenset(
    f"h-{name}"
    for name in (
        *("auto", "fit", "full", "inherit", "initial", "max", "min", "px", "screen"),
        *("dvh", "dvw", "lh", "lvh", "lvw", "svh", "svw"),
    )
)
UNKNOWN_LANGUAGE: Final = "und"  # of an item nested in one with a known language
MAX_DEPTH: Final = 120  # of elements in an item: mf2py recurses


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemLimits:
    """Limits of the items of one page.

    Attributes:
        work: elements that mf2py reads, some microseconds each.
        chars: copied by mf2py.
        joined: bytes: mf2py joins texts piece by piece.
        is_bounded: of the process; else, a page beyond the limits needs such a one.
    """

    work: int
    chars: int
    joined: int
    is_bounded: bool


BOUNDED: Final = ItemLimits(
    work=500_000, chars=32 * 2**20, joined=10**10, is_bounded=True
)
# In a process without bounds: this takes less than 0.3 s.
INLINE: Final = ItemLimits(
    work=12_000, chars=2 * 2**20, joined=2 * 10**8, is_bounded=False
)
_ROOT_COST: Final = 20
_PROPERTY_COST: Final = 3
MARKUP: Final = " markup"  # cannot collide: attributes of HTML contain no space

_ROOTS: Final = CLASSIC | item_types().keys() | {_LISTING}
_SELECTOR: Final = ",".join(f".{name}" for name in sorted(_ROOTS))
_NONE: Final[Mapping[str, str]] = {}

# Properties of microformats 1 with values that are markup or times.
_CLASSIC_MARKUP: Final = frozenset(("entry-content", "instructions"))
_CLASSIC_TIMES: Final = frozenset(
    ("bday", "dtend", "dtreviewed", "dtstart", "duration", "published", "updated")
)
_RELATIONS: Final = frozenset(("bookmark", "self", "tag"))  # in rules of mf2py
_ROOT = re.compile(r"h-(?:[a-z0-9]+-)?[a-z]+(?:-[a-z]+)*")
_PROPERTY = re.compile(r"(?:p|u|dt|e)-(?:[a-z0-9]+-)?[a-z]+(?:-[a-z]+)*")


class _Frame:
    """An open element.

    Attributes:
        fed: its name in mf2py's tree.
        classic: microformats 2 names of the property classes within.
        weight: number of times that mf2py will read its content.
        began: pieces and characters of text before it.
        markup: number of its content in `ContentRecorder`, if it is a value.
        is_dated: has a time property.
    """

    __slots__ = (
        *("began", "classic", "fed", "is_dated", "is_property", "is_root"),
        *("language", "markup", "name", "root_language", "weight"),
    )

    def __init__(self, name: str, outer: _Frame | None) -> None:
        self.name = self.fed = name
        self.language: str = outer.language if outer else ""
        self.root_language: str = outer.root_language if outer else ""
        self.weight: int = outer.weight if outer else 0
        self.classic: Mapping[str, str] = outer.classic if outer else _NONE
        self.is_root = self.is_property = self.is_dated = False
        self.markup: int | None = None
        self.began: tuple[int, int] | None = None


class _ItemElement(Tag):
    """An element of an item, which avoids copies that mf2py makes.

    mf2py keeps a copy of each element of microformats 1, once for each of its rules, as
    the original markup of `e-*` properties. `ContentRecorder` has that markup. It also
    copies a root with its content, to change it.
    """

    is_outermost = False  # read once, so that it may change

    @property
    def original(self) -> _ItemElement:
        """The element itself; its text is that of the original."""
        return self

    def __copy__(self) -> Self:
        return self if self.is_outermost else super().__copy__()


_ELEMENTS: Final[dict[type[PageElement], type[PageElement]]] = {Tag: _ItemElement}


class ItemGatherer:
    """Handler that builds a tree of each outermost item of a page.

    `authored` has the original markup of `e-*` properties.
    """

    def __init__(
        self, language: str, base: str, log: FaultLog, limits: ItemLimits = BOUNDED
    ) -> None:
        self.items: list[BeautifulSoup] = []
        self.authored = ContentRecorder(base, limits.chars)
        self._log, self._limits = log, limits
        self._page_language = language_tag(language)
        self._frames: list[_Frame] = []
        self._soup: BeautifulSoup | None = None
        self._n_depth = self._n_muted = 0
        self._n_work = self._n_chars = self._n_pieces = self._n_joined = 0

    def gather(self, tree: LexborHTMLParser) -> None:
        """Build the trees of all items of a page.

        Raises:
            NeedsSandbox: the items exceed the limits of a process without bounds.
        """
        for root, language in _outermost(tree, self._page_language):
            self._frames = [_Frame("", None)]
            self._frames[0].language = language
            walk_node(root, self)

    def start(self, name: str, attributes: Attributes) -> None:
        """Handle the start of an element."""
        frame = _Frame(name, self._frames[-1])
        self._frames.append(frame)
        if "lang" in attributes:
            frame.language = language_tag(attributes["lang"] or "")
        self.authored.start(name, attributes)
        if self._n_muted:
            self._n_muted += 1
            return
        classes = self._weigh(frame, (attributes.get("class") or "").split())
        if self._is_refused(frame):
            self._n_muted = 1
            return
        self._feed(frame, attributes, classes)

    def end(self) -> None:
        """Handle the end of the innermost element."""
        frame = self._frames.pop()
        if frame.markup is not None and not self.authored.end(frame.markup):
            self._refuse(Reason.TOO_LARGE, "markup within markup of a microformat")
        self.authored.stop(frame.name)
        if self._n_muted:
            self._n_muted -= 1
            return
        if self._soup is None:
            return
        if frame.began:
            n_pieces = self._n_pieces - frame.began[0]
            n_chars = self._n_chars - frame.began[1]
            self._n_joined += frame.weight * n_pieces * (n_chars + 8 * n_pieces)
        self._soup.handle_endtag(frame.fed)
        self._n_depth -= 1
        if not self._n_depth:
            self._finish()

    def text(self, text: str) -> None:
        """Handle text."""
        self.authored.text(text, self._frames[-1].name)
        if self._soup and not self._n_muted:
            self._n_chars += len(text) * self._frames[-1].weight
            self._n_pieces += 1
            self._soup.handle_data(text)

    def comment(self, text: str) -> None:
        """Handle a comment, for recorded markup."""
        self.authored.comment(text)

    def _weigh(self, frame: _Frame, classes: list[str]) -> list[str]:
        """Set the weight of an element; return its classes for mf2py.

        mf2py parses a root once per enclosing property, and copies roots of
        microformats 1 first.
        """
        if not classes:
            return classes
        known = [each for each in classes if not _is_style(each)]
        if _ROOTS.isdisjoint(classes):
            known += [f"h-x-{each}" for each in classes if each in DRAFTS]
        if _LISTING in classes:
            known.append("h-listing")
        # mf2py loses these for nested roots of microformats 1.
        known += [frame.classic[each] for each in classes if each in frame.classic]
        n_properties = sum(_PROPERTY.fullmatch(each) is not None for each in known)
        is_modern = any(map(_ROOT.fullmatch, known))
        n_classic = 0 if is_modern else len(CLASSIC.intersection(classes))
        frame.is_root = is_modern or n_classic > 0
        frame.is_property = n_properties > 0
        frame.is_dated = any(each.startswith("dt-") for each in known)
        frame.is_dated |= not _CLASSIC_TIMES.isdisjoint(classes)
        if any(each.startswith("e-") or each in _CLASSIC_MARKUP for each in known):
            frame.markup = self.authored.begin()
        if frame.is_root:
            frame.weight = max(1, frame.weight) * max(1, n_properties) + n_classic
            frame.classic = _NONE
            for each in classes if n_classic or _LISTING in classes else ():
                frame.classic = {**frame.classic, **classic_roots().get(each, _NONE)}
        elif n_properties:
            frame.weight += 1
        return list(dict.fromkeys(known))

    def _is_refused(self, frame: _Frame) -> bool:
        """Return whether an element and its content are left out."""
        if frame.name == "base":  # mf2py would use it as the page's
            return True
        if self._n_depth >= MAX_DEPTH:
            self._refuse(Reason.TOO_DEEP, "elements in a microformat")
            return True
        cost = _ROOT_COST if frame.is_root else 1 + _PROPERTY_COST * frame.is_property
        self._n_work += cost * frame.weight
        limits = self._limits
        if self._n_work > limits.work or self._n_chars > limits.chars:
            self._refuse(Reason.TOO_LARGE, "microformats within one another")
            return True
        return False

    def _refuse(self, reason: Reason, detail: str) -> None:
        """Note that something is left out, or have the page read elsewhere."""
        if not self._limits.is_bounded:
            raise NeedsSandbox(detail)
        self._log.note(reason, detail)

    def _feed(self, frame: _Frame, attributes: Attributes, classes: list[str]) -> None:
        """Put an element into the tree of its item."""
        if self._soup is None:
            self._soup = BeautifulSoup("", "html.parser", element_classes=_ELEMENTS)
        if frame.is_root or frame.is_property:
            frame.began = self._n_pieces, self._n_chars
        own = {key: value or "" for key, value in attributes.items()}
        name = frame.name
        if "rel" in own:  # mf2py compares each with all others
            own["rel"] = " ".join(_RELATIONS.intersection(own["rel"].split()))
        if "class" in own:
            if "value-title" in classes and self._frames[-2].is_dated:
                # mf2py reads the title of the wrong element for times.
                name, own["value"] = "data", own.get("title", "")
                classes = ["value"]
            own["class"] = " ".join(classes)
        if frame.markup is not None:
            own[MARKUP] = str(frame.markup)
        if frame.is_root:
            if frame.language != frame.root_language or not self._n_depth:
                own["lang"] = frame.language or UNKNOWN_LANGUAGE
            frame.root_language = frame.language
        self._n_chars += sum(map(len, own.values())) * frame.weight
        frame.fed = name
        element = self._soup.handle_starttag(name, None, None, own)
        if isinstance(element, _ItemElement):
            element.is_outermost = not self._n_depth
        self._n_depth += 1

    def _finish(self) -> None:
        soup, self._soup = self._soup, None
        if soup is None:
            return
        if self._n_joined > self._limits.joined:
            self._refuse(Reason.TOO_LARGE, "text of a microformat in many pieces")
            self._n_joined = 0
            return
        soup.endData()
        self.items.append(soup)


def _outermost(
    tree: LexborHTMLParser, page_language: str
) -> Iterator[tuple[LexborNode, str]]:
    """Yield the roots of a page that are in no other one, and the language around each.

    They come in document order.
    """
    # By `mem_id`: the language of an element, or None if it is an item or in one.
    known: dict[int, str | None] = {}
    for root in tree.css(_SELECTOR):  # an element once per matching class
        above: list[LexborNode] = []
        at: LexborNode | None = root
        while at is not None and at.mem_id not in known:
            above.append(at)
            at = at.parent
        around = language = page_language if at is None else known[at.mem_id]
        for node in reversed(above):
            around = language
            attributes = node.attributes if node.is_element_node else {}
            if language is not None and "lang" in attributes:
                language = language_tag(attributes["lang"] or "")
            known[node.mem_id] = language
        # Selectors of a page in quirks mode ignore the case of classes.
        classes = (root.attributes.get("class") or "").split()
        if above and around is not None and not _ROOTS.isdisjoint(classes):
            known[root.mem_id] = None
            yield root, around


def _is_style(name: str) -> bool:
    """Return whether a class only looks like a root, even to mf2py's laxer pattern."""
    return name in STYLES or (name.startswith("h-") and _ROOT.fullmatch(name) is None)


# Resolved as by mf2py: a literal has no base.
_URLS: Final = frozenset(("cite", "data", "href", "poster", "src"))


class ContentRecorder:
    """Recorder of the content of elements, which may nest.

    URLs in the markup are resolved against `base`; at most `max_chars` are kept.
    """

    def __init__(self, base: str, max_chars: int) -> None:
        self._base = base
        self._n_left = max_chars
        self._open: list[int] = []
        self._pieces: list[str] = []
        self._contents: list[str | None] = []

    def begin(self) -> int:
        """Start a recording; return its number for `content`."""
        self._open.append(len(self._pieces))
        self._contents.append(None)
        return len(self._contents) - 1

    def end(self, number: int) -> bool:
        """End the innermost recording; return whether the limit was kept."""
        pieces = self._pieces[self._open.pop() :]
        self._n_left -= sum(map(len, pieces))
        has_room = self._n_left >= 0
        if has_room:
            self._contents[number] = "".join(pieces).strip()
        if not self._open:
            self._pieces.clear()
        return has_room

    def content(self, number: int) -> str | None:
        """Return the recorded markup; None beyond the limit."""
        return self._contents[number]

    def start(self, name: str, attributes: Attributes) -> None:
        """Record a start tag."""
        if self._open:
            written = {
                key: resolve(value.strip(), self._base)
                if value is not None and key in _URLS
                else value
                for key, value in attributes.items()
            }
            self._pieces.append(html_start(name, written))

    def stop(self, name: str) -> None:
        """Record an end tag."""
        if self._open:
            self._pieces.append(html_end(name))

    def text(self, text: str, parent: str) -> None:
        """Record text."""
        if self._open:
            self._pieces.append(html_text(text, parent))

    def comment(self, text: str) -> None:
        """Record a comment."""
        if self._open:
            self._pieces.append(f"<!--{text}-->")

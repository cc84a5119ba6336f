"""Read the elements of a list one at a time.

The root and containers are never in memory; of their children, only the current one is,
with all its content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.sources.sitemaps.markup import ClosingTag, Event, OpeningTag

MAX_PARTS: Final = 20_000  # elements within one element
MAX_CHARS: Final = 4 * 2**20  # total of their texts


class Element:
    """An element with its content.

    Attributes:
        name: with its prefix; `local` is without.
        namespace: declared for its prefix, or empty.
        attributes: by name with prefix.
        text: directly in it, without that of its children; not stripped.
        is_complete: its end was read, and no parts of it were skipped.
    """

    __slots__ = (
        *(
            "attributes",
            "children",
            "is_complete",
            "local",
            "name",
            "namespace",
            "text",
        ),
    )

    def __init__(self, start: OpeningTag) -> None:
        self.name, self.namespace, self.attributes = start
        self.local = start[0].rpartition(":")[2]
        self.text = ""
        self.children: list[Element] = []
        self.is_complete = False

    def __repr__(self) -> str:
        return f"<{self.name} {dict(self.attributes)} {self.text!r} {self.children}>"

    def all(self, *locals_: str) -> Iterator[Element]:
        """Yield the children of these names, ignoring case."""
        return (child for child in self.children if child.local.lower() in locals_)

    def attribute(self, local: str) -> str | None:
        """Return the value of an attribute by its local name, ignoring case, or None.

        An attribute without a prefix takes precedence.
        """
        value = self.attributes.get(local)
        if value is not None or not self.attributes:
            return value
        for name, other in self.attributes.items():
            if name.rpartition(":")[2].lower() == local:
                return other
        return None


def iter_elements(  # noqa: C901  # the loop over all elements
    events: Iterable[Event], *, containers: frozenset[str] = frozenset(), log: FaultLog
) -> Iterator[OpeningTag | Element]:
    """Yield the start of the root and of each container, and each complete element.

    `containers` are local names, in lower case, of elements that are containers if
    their parents are. `log` receives `TOO_LARGE` for an element with too much content.

    Elements cut by the end of the document come last, with `is_complete` False. An
    element closed by its parent's end tag or the next element is complete.
    """
    n_containers, open_ = 0, list[Element]()
    n_parts = n_chars = 0
    top: Element | None = None
    for event in events:
        kind = event.__class__
        if kind is str:
            n_chars += len(event)
            if top is not None and n_chars <= MAX_CHARS:
                top.text += event  # type: ignore[operator]
        elif kind is ClosingTag:
            if top is None:
                n_containers -= 1
                continue
            done = open_.pop()
            done.is_complete = n_parts <= MAX_PARTS and n_chars <= MAX_CHARS
            top = open_[-1] if open_ else None
            if top is None:
                if not done.is_complete:
                    log.note(
                        Reason.TOO_LARGE, f"{done.name}: its last parts are skipped"
                    )
                n_parts = n_chars = 0
                yield done
        elif top is None and (
            not n_containers or event[0].rpartition(":")[2].lower() in containers
        ):
            n_containers += 1
            n_chars = 0
            yield event  # type: ignore[misc]
        else:
            n_parts += 1
            element = Element(event)  # type: ignore[arg-type]
            if top is None:
                n_chars = 0
            elif n_parts <= MAX_PARTS:
                top.children.append(element)
            open_.append(element)
            top = element
    if open_:
        yield open_[0]

"""Keep the markup of `e-*` properties as the page has it.

mf2py changes its tree, and would serialize other markup than the author wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rdfcrawl.html.rdfa.iris import resolve
from rdfcrawl.html.rdfa.recorder import html_end, html_start, html_text

if TYPE_CHECKING:
    from rdfcrawl.html.walking import Attributes

# As mf2py does: a literal has no base that they could be resolved against later.
_URLS: Final = frozenset(("cite", "data", "href", "poster", "src"))


class ContentRecorder:
    """Recorder of the content of elements, which may nest, while a page passes by.

    URLs in the markup are resolved against `base`; at most `max_chars` are kept in all.
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
        """End the innermost recording; return whether there was room for the markup."""
        pieces = self._pieces[self._open.pop() :]
        self._n_left -= sum(map(len, pieces))
        has_room = self._n_left >= 0
        if has_room:
            self._contents[number] = "".join(pieces).strip()
        if not self._open:
            self._pieces.clear()
        return has_room

    def content(self, number: int) -> str | None:
        """Return the recorded markup; None if there was no room to keep the text."""
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

"""Read TriX that is not well-formed XML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from rdfcrawl.core.errors import Reason
from rdfcrawl.rdf.markup import NO_TEXT, CommentText, MarkupScanner, StartTag
from rdfcrawl.rdf.trix import TrixReader, split_name

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog
    from rdfcrawl.rdf.environment import ParseLimits


class MendedTrixReader:
    """Reader of one document, in UTF-8; `is_partial` if it ends within an element.

    An error costs its triple.
    """

    def __init__(self, base: str, *, limits: ParseLimits, log: FaultLog) -> None:
        self._log = log
        self._reader = TrixReader(base, limits=limits, log=log)
        self._open: list[bool] = []  # whether each open element was ended early
        self.is_partial = False

    def read(self, file: BinaryIO) -> Iterator[str]:
        """Yield the statements, unchecked, in the order of `trix.read_trix`.

        Raises:
            SourceFault: see `trix.read_trix`.
        """
        markup = MarkupScanner(file, self._log)
        self._reader.place = markup.place
        for event in markup.events():
            self._feed(event)
            yield from self._reader.take()
        self.is_partial = markup.is_cut

    def _feed(self, event: str | StartTag | bool) -> None:
        reader = self._reader
        if isinstance(event, CommentText):
            if event.startswith("<!"):
                reader.comment(event[4:-3])
            else:
                target, _, data = event[2:-2].partition(" ")
                reader.instruction(target, data.strip())
        elif isinstance(event, str):
            self._check(event)
            reader.characters(event.replace(NO_TEXT, ""))
        elif isinstance(event, StartTag):
            while reader.lacks_end(split_name(event.qualified)[1]):
                self._end(is_closed=False)
                n_ended = self._open[::-1].index(False)
                self._open[-1 - n_ended] = True
            self._open.append(False)
            reader.start(event.qualified, event.qualified_attributes)
            self._check("".join(event.qualified_attributes.values()))
        elif not self._open.pop():
            self._end(is_closed=event)

    def _end(self, *, is_closed: bool) -> None:
        if not is_closed:
            self._reader.leave_out("the end of an element is missing")
        self._reader.end()

    def _check(self, text: str) -> None:
        if NO_TEXT in text:
            self._reader.leave_out("an entity that is not declared", Reason.BAD_TERM)

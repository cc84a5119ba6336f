"""Tokenize the XML of the web: tolerant, streaming, bounded.

The tokenizer reads XML the way publishers intend it, and never alters a text: a text is
one event, after the next tag; a text cut by the end of the document is dropped.

Source: XML 1.0 (fifth edition), Namespaces in XML 1.0.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from rdfcrawl.core.content import ByteSource
from rdfcrawl.core.errors import FaultLog, Reason
from rdfcrawl.core.messages import counted
from rdfcrawl.core.namespaces import XML
from rdfcrawl.sources.sitemaps.text import EntityDecoder, TextBuffer, iter_text


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkupLimits:
    """Limits of an XML document; further content is skipped.

    `tag_chars` is for a tag or a DOCTYPE, `n_strays` counts `<` without a tag,
    `text_chars` is for the text between two tags. The protocol allows 50 MiB
    uncompressed.
    """

    n_bytes: int = 50 * 2**20
    text_chars: int = 2**20
    tag_chars: int = 2**16
    n_attributes: int = 64
    depth: int = 64
    n_strays: int = 100_000
    parse_secs: float = 10.0


_MAX_KNOWN_NAMES = 1024

_NAME = r"[A-Za-z_:\x80-\U0010ffff][A-Za-z0-9_:.\-\x80-\U0010ffff]*+"
# Text and the next tag, or the text at the end; a lone `<` for anything else.
# Values have no `<` (XML 1.0 2.3), so an unclosed quote swallows little.
_TAG = re.compile(
    rf"([^<]*+)(?:<(?:({_NAME})((?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+)>"
    rf"|/({_NAME})(?:\s[^<>]*+)?+(?:>|(?=<))"
    r"|())|\Z())"
)
_ATTRIBUTE = re.compile(
    r"(?<![^\s=<>\"'/])([^\s=<>\"'/]++)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'<>]++))"
)
_DOCTYPE_END = re.compile(r"[\[>]")
_SUBSET_END = re.compile(r"\]\s*>")
_SPACES = str.maketrans("\t\n\r", "   ")
_SECTIONS = {"<!--": "-->", "<![CDATA[": "]]>"}
_INSTRUCTION = re.compile(r"<\?(?:[^?<]++|\?(?!>))*+\?>").match
_MAY_BE_MARKUP = re.compile(rf"<(?:\Z|!|/(?:\Z|{_NAME})|{_NAME})").match


class OpeningTag(NamedTuple):
    """A start tag: its name with prefix, its namespace or "", and its attributes."""

    name: str
    namespace: str
    attributes: Mapping[str, str]

    @property
    def local(self) -> str:
        """The name without prefix."""
        return self.name.rpartition(":")[2]


class ClosingTag(NamedTuple):
    """The end of the innermost open element."""

    name: str


Event: TypeAlias = OpeningTag | ClosingTag | str
"""A string is the text between two tags, unless it is only white space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementStructure:
    """The structure of a vocabulary, to find the end of unclosed elements.

    All are local names in lower case; `others` are further elements.

    Attributes:
        records: never nested in one of the same name; the earlier one is closed.
        leaves: contain only text; closed by any element named here.
    """

    records: frozenset[str] = frozenset()
    leaves: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()


DEFAULT_LIMITS: Final = MarkupLimits()
NO_STRUCTURE: Final = ElementStructure()


def iter_events(
    source: ByteSource,
    *,
    log: FaultLog,
    charset: str = "",
    limits: MarkupLimits = DEFAULT_LIMITS,
    structure: ElementStructure = NO_STRUCTURE,
) -> Iterator[Event]:
    """Yield the events of an uncompressed document, which is read once, in pieces.

    Each end has its start; elements open at the end of the document get no end.
    `charset` is from the Content-Type; `log` receives the faults: `SYNTAX` for skipped
    markup, `REPAIRED` for repairs, `INCOMPLETE` for a document that ends within an
    element, `TOO_LARGE`, `LITERAL_TOO_LONG`, `TOO_DEEP`, `ENTITY_EXPANSION`,
    `PARSE_SECS`, `BAD_CHARSET`, and faults of the source.
    """
    tokenizer = MarkupTokenizer(log, limits=limits, structure=structure)
    for text in iter_text(source, log=log, charset=charset, n_bytes=limits.n_bytes):
        yield from tokenizer.feed(text)
    tokenizer.close()


class MarkupTokenizer:
    """Tokenizer of text in arbitrary pieces.

    `limits.n_bytes` is not checked here; see `iter_events`.
    """

    def __init__(
        self,
        log: FaultLog,
        *,
        limits: MarkupLimits = DEFAULT_LIMITS,
        structure: ElementStructure = NO_STRUCTURE,
    ) -> None:
        self._log, self._limits, self._structure = log, limits, structure
        self._entities = EntityDecoder(log)
        self._text = TextBuffer(self._entities, log, limits.text_chars)
        self._rest = ""  # incomplete markup from a `<`
        self._skipping = ""  # end of the current comment, section or instruction
        self._is_data = False  # within a CDATA section
        self._open: list[str] = []
        self._n_too_deep = 0  # open elements missing in `_open`
        self._scopes: list[tuple[int, dict[str, str]]] = [(0, {"xml": XML})]
        self._starts: dict[
            str, OpeningTag
        ] = {}  # known in this scope, without attributes
        self._ends: dict[str, ClosingTag] = {}
        self._leaves: set[str] = set()  # names with prefix
        self._records: set[str] = set()
        self._has_root = False
        self._spent_secs = 0.0
        self._n_strays = 0
        self._has_given_up = False

    def feed(self, text: str) -> list[Event]:
        """Return the events that are now complete."""
        if self._has_given_up:
            return []
        began = time.thread_time()
        events = self._feed(text)
        self._spent_secs += time.thread_time() - began
        if self._spent_secs > self._limits.parse_secs:
            self._give_up(f"more than {self._limits.parse_secs:g} s of CPU")
        return events

    def _give_up(self, why: str) -> None:
        if not self._has_given_up:
            self._has_given_up = True
            self._log.note(Reason.PARSE_SECS, why)

    def _feed(self, text: str) -> list[Event]:
        out: list[Event] = []
        buffer, self._rest = self._rest + text, ""
        at = 0
        while at < len(buffer):
            read = self._skip if self._skipping else self._tags
            at = read(buffer, at, out)
        return out

    def close(self) -> None:
        """Log the end of the document; text without a following tag is dropped."""
        if self._open or self._rest or self._skipping:
            name = self._open[-1] if self._open else "a tag"
            self._log.note(Reason.INCOMPLETE, f"the document ends within {name}")
        elif not self._has_root:
            self._log.note(Reason.EMPTY, "no element in the document")

    def _tags(  # noqa: C901  # the loop over all tags
        self, buffer: str, at: int, out: list[Event]
    ) -> int:
        """Read up to markup other than a tag; return the next position.

        All tags of a document pass here, so unusual ones are left to other methods.
        """
        stack, waiting, max_depth = self._open, self._text, self._limits.depth
        starts, leaves, records = self._starts, self._leaves, self._records
        ends, replace = self._ends, self._entities.replace
        max_chars = self._limits.text_chars
        text = ""
        for found in _TAG.finditer(buffer, at):
            text, start, attributes, end, special, rest = found.groups()
            at = found.end()
            if rest is not None:
                break
            if special is not None:
                waiting.add(text)
                return self._special(buffer, at - 1)
            if waiting.is_used or len(text) > max_chars or "\r" in text:
                waiting.add(text)
                text = waiting.take()
            elif "&" in text:
                text = replace(text)
            if text and stack and not self._n_too_deep and not text.isspace():
                out.append(text)
            if start is None:
                if stack and stack[-1] == end and not self._n_too_deep:
                    out.append(ends.get(end) or ClosingTag(end))
                    stack.pop()
                    if self._scopes[-1][0] > len(stack):
                        self._leave_scope()
                else:
                    self._end(end, out)
                continue
            event = starts.get(start)
            if (
                attributes
                or event is None
                or not stack
                or stack[-1] in leaves
                or len(stack) >= max_depth
                or (start in records and start in stack)
            ):
                self._start(start, attributes, out)
            else:
                out.append(event)
                stack.append(start)
        waiting.add(text)
        return len(buffer)

    def _start(self, name: str, attributes: str, out: list[Event]) -> None:
        is_empty = attributes.endswith("/")
        if self._n_too_deep or len(self._open) >= self._limits.depth:
            self._log.note(Reason.TOO_DEEP, f"deeper than {self._limits.depth}")
            self._n_too_deep += not is_empty
            return
        self._close_unclosed(name, out)
        self._has_root = True
        values = self._attributes(attributes)
        self._enter_scope(values)
        event = OpeningTag(name, self._namespace(name), values)
        self._know(event)
        out.append(event)
        self._open.append(name)
        if is_empty:
            self._end_through(len(self._open) - 1, out)

    def _know(self, event: OpeningTag) -> None:
        """Remember a name, so that further tags take the fast path."""
        if len(self._starts) >= _MAX_KNOWN_NAMES:
            return
        local = event.local.lower()
        if local in self._structure.leaves:
            self._leaves.add(event.name)
        if local in self._structure.records:
            self._records.add(event.name)
        self._starts[event.name] = OpeningTag(event.name, event.namespace, {})
        self._ends[event.name] = ClosingTag(event.name)

    def _close_unclosed(self, name: str, out: list[Event]) -> None:
        """Close the elements that a start tag implies to be closed."""
        known, stack = self._structure, self._open
        local = _local(name)
        is_record = local in known.records
        depth = len(stack)
        if is_record:
            same = (at for at, open_ in enumerate(stack) if _local(open_) == local)
            depth = next(same, depth)
        if depth == len(stack) and (
            is_record or local in known.leaves or local in known.others
        ):
            while depth and _local(stack[depth - 1]) in known.leaves:
                depth -= 1
        if depth < len(stack):
            self._log.note(Reason.REPAIRED, f"{stack[-1]} is not closed")
            self._end_through(depth, out)

    def _end(self, name: str, out: list[Event]) -> None:
        """Close the innermost element of this name with its descendants."""
        if self._n_too_deep:
            self._n_too_deep -= 1
            return
        stack, local = self._open, _local(name)
        depth = len(stack) - 1
        while depth >= 0 and stack[depth] != name and _local(stack[depth]) != local:
            depth -= 1
        if depth < 0:
            self._log.note(Reason.REPAIRED, f"nothing to close: </{name}>")
            if out and isinstance(out[-1], str):
                # It separates the text before and after, for lack of information.
                out += OpeningTag(name, self._namespace(name), {}), ClosingTag(name)
            return
        if depth != len(stack) - 1 or stack[depth] != name:
            self._log.note(Reason.REPAIRED, f"{stack[-1]} is closed by </{name}>")
        self._end_through(depth, out)

    def _end_through(self, depth: int, out: list[Event]) -> None:
        while len(self._open) > depth:
            out.append(ClosingTag(self._open.pop()))
            if self._scopes[-1][0] > len(self._open):
                self._leave_scope()

    def _attributes(self, text: str) -> dict[str, str]:
        values: dict[str, str] = {}
        for found in _ATTRIBUTE.finditer(text):
            name, *quoted = found.groups()
            if len(values) >= self._limits.n_attributes:
                self._log.note(Reason.SYNTAX, "too many attributes of a tag")
                break
            value = next((x for x in quoted if x is not None), "").translate(_SPACES)
            if "&" in value:
                value = self._entities.replace(value)
            values.setdefault(name, value)
        return values

    def _enter_scope(self, attributes: Mapping[str, str]) -> None:
        declared = {
            name[6:]: value.strip()
            for name, value in attributes.items()
            if name == "xmlns" or name.startswith("xmlns:")
        }
        if declared:
            scope = {**self._scopes[-1][1], **declared}
            self._scopes.append((len(self._open) + 1, scope))
            self._starts.clear()

    def _leave_scope(self) -> None:
        self._scopes.pop()
        self._starts.clear()

    def _namespace(self, name: str) -> str:
        return self._scopes[-1][1].get(name.rpartition(":")[0], "")

    def _special(self, buffer: str, at: int) -> int:
        """Read markup other than a tag; return the next position."""
        head = buffer[at : at + 9].upper()
        if head == "<!DOCTYPE":
            return self._doctype(buffer, at)
        if head.startswith("<?"):
            self._text.separate()
            return self._instruction(buffer, at)
        section = next((x for x in _SECTIONS if head.startswith(x)), "")
        if section:
            self._text.separate()
            self._skipping = _SECTIONS[section]
            self._is_data = section == "<![CDATA["
            return at + len(section)
        if self._may_continue(buffer, at):
            self._rest = buffer[at:]
            return len(buffer)
        self._log.note(Reason.SYNTAX, f"not a tag: {buffer[at : at + 40]}")
        self._text.add("<")
        self._n_strays += 1
        if self._n_strays > self._limits.n_strays:
            self._give_up(
                f"`<` without a tag more than {counted(self._limits.n_strays, 'time')}"
            )
            return len(buffer)
        return at + 1

    def _may_continue(self, buffer: str, at: int) -> bool:
        """Return whether a `<` may begin incomplete markup."""
        if len(buffer) - at > self._limits.tag_chars or buffer.find("<", at + 1) >= 0:
            return False
        return _MAY_BE_MARKUP(buffer, at) is not None

    def _skip(self, buffer: str, at: int, out: list[Event]) -> int:  # noqa: ARG002
        """Skip to the end of a comment, an instruction or a section."""
        until = self._skipping
        end = buffer.find(until, at)
        is_over = end >= 0
        if not is_over:  # its end may be incomplete
            end = max(len(buffer) - len(until) + 1, at)
            self._rest = buffer[end:]
        if self._is_data:
            self._text.add(buffer[at:end], is_data=True)
        if not is_over:
            return len(buffer)
        self._skipping, self._is_data = "", False
        return end + len(until)

    def _instruction(self, buffer: str, at: int) -> int:
        """Skip an instruction; if it has a tag in it, it may end with only `>`."""
        found = _INSTRUCTION(buffer, at)
        if found is not None:
            return found.end()
        next_tag = buffer.find("<", at + 1)
        if next_tag < 0 and len(buffer) - at <= self._limits.tag_chars:
            self._rest = buffer[at:]
            return len(buffer)
        end = buffer.find(">", at, next_tag)
        if next_tag >= 0 and end >= 0:
            self._log.note(Reason.REPAIRED, "an instruction is not closed")
            return end + 1
        self._skipping = "?>"
        return at + 2

    def _doctype(self, buffer: str, at: int) -> int:
        end = _DOCTYPE_END.search(buffer, at)
        subset = end
        if end is not None and end[0] == "[":
            end = _SUBSET_END.search(buffer, end.end())
        if end is None and len(buffer) - at <= self._limits.tag_chars:
            self._rest = buffer[at:]
            return len(buffer)
        if end is None:
            detail = (
                f"a DOCTYPE of more than {counted(self._limits.tag_chars, 'character')}"
            )
            self._log.note(Reason.ENTITY_EXPANSION, detail)
            self._skipping = "]>" if subset is not None else ">"
            return len(buffer)
        self._entities.declare(buffer[at : end.end()])
        return end.end()


def _local(name: str) -> str:
    return name.rpartition(":")[2].lower()

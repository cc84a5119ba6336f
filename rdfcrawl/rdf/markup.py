"""Tags and text of XML, also if it is not well-formed, with resolved names.

The text is scanned once, as a stream. An error in a tag or reference is mended
(`REPAIRED`) or left out (`SYNTAX`); it has no effect behind the tag.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections.abc import Iterator, Sequence
from html.entities import html5
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.core.namespaces import XML
from rdfcrawl.rdf.text import BLOCK_BYTES
from rdfcrawl.rdf.usual_prefixes import usual_prefixes

if TYPE_CHECKING:
    from rdfcrawl.core.errors import FaultLog

# In place of an entity that is not declared: a surrogate, which no text has.
NO_TEXT: Final = "\udfff"
_NAME: Final = r"[^\W\d][^\s<>/=\"'&]*+"
_OTHER = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[(?P<text>.*?)\]\]>"
    r"|<!(?!--|\[)(?P<declared>(?>[^\[\]<>\"']++|\"[^\"]*+\"|'[^']*+')*+"
    r"(?:\[(?>[^\]\"'<]++|<!--(?>.*?-->|.*+)|<\?(?>.*?\?>|.*+)|\"[^\"]*+\"|'[^']*+'|<)*+\])?+"
    r"[^<>]*+)>",
    re.DOTALL,
)
_TAG = re.compile(
    rf"<(?P<end>/?+)(?P<name>{_NAME})(?P<attributes>"
    r"(?>[^<>\"'/]++|\"[^\"<]*+\"|'[^'<]*+'|/(?!>))*+)(?P<empty>/?+)>"
)
# Attribute values with `<`, and quotation marks that are missing or too many; one after
# an equals sign does not end a value.
_BAD_TAG = re.compile(
    rf"<(?P<end>(?:/\s*+)?+)(?P<name>{_NAME})(?P<attributes>"
    r"(?>[^<>\"'/=]++|=\s*+(?:\"[^\"\n]*+(?<!=)\"|'[^'\n]*+(?<!=)')?+|[\"']|/(?!>))*+)"
    r"(?P<empty>/?+)>"
)
_NO_TAG = re.compile(r"<(?![^\W\d]|[/!?])(?=.)|<\Z", re.DOTALL)
_PLAIN_ATTRIBUTES = re.compile(rf"(?:\s++{_NAME}=\"[^\"&\t\n\r]*+\")*+\s*+")
_PLAIN_ATTRIBUTE = re.compile(rf"\s({_NAME})=\"([^\"]*+)\"")
_ATTRIBUTE = re.compile(
    rf"\s*+(?P<name>{_NAME})\s*+(?:(?P<equals>=)\s*+|(?=[\"']))"
    r"(?:\"\"(?P<doubled>[^\"\s<>]++)\"\"|\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|[“”„″](?P<curly>[^“”„″\"'<>]*+)[“”″]"
    r"|[\"']?+(?P<bare>[^\s\"'<>]++))"
)
_REFERENCE = re.compile(
    r"&(?:#(\d{1,9}|[xX][0-9A-Fa-f]{1,8});|([^\s&;<>\"'#]{1,64});)?"
)
# A character as two halves of UTF-16, as old writers of Java have it
_HALVES = re.compile(
    r"&#(5[56]\d{3}|x[dD][89abAB][0-9A-Fa-f]{2});"
    r"&#(5[67]\d{3}|x[dD][c-fC-F][0-9A-Fa-f]{2});"
)
_SPACE: Final = str.maketrans("\t\n\r", "   ")
_XML_NAMES: Final = {"lt": "<", "gt": ">", "amp": "&", "apos": "'", "quot": '"'}
_ENTITY = re.compile(r"<!ENTITY\s+(?P<name>\S+)\s+\"(?P<value>[^\"]*+)\"")
_DEFAULTS = re.compile(r"<!ATTLIST\s+(?P<element>[^\s>]++)(?P<attributes>[^<>]*+)>")
_TEXT_WITH_BRACKET = re.compile(r"<[^<>=\"'/!?]{0,200}(?=</)")
_DEFAULT = re.compile(
    r"\s(?P<name>[^\s\"'()|]++)\s+(?:[A-Z]++|\([^()]*+\))\s+(?:#FIXED\s+)?"
    r"(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)')"
)
_NOT_PLAIN = re.compile(rf"[&<\"{NO_TEXT}]").search  # of entities and namespaces
_MAX_TAG_CHARS: Final = 4 * 2**20
_AHEAD_CHARS: Final = 2**20  # known before a tag is taken for a bad one
_SURROGATES: Final = (0xD800, 0xDFFF)
_MAX_ENTITY_DEPTH: Final = 8
# Of the text of entities: many times their references in ontologies.
_MAX_GROWTH: Final = 16
_MIN_GROWTH_CHARS: Final = 2**20


class CommentText(str):
    """A comment or processing instruction, with its delimiters."""

    __slots__ = ()


class StartTag(NamedTuple):
    """A start tag.

    `name` joins namespace and local name; `qualified` is as in `trix.XmlContent`, and
    `attributes` are namespace, local name and value. Of two attributes of one name,
    `qualified_attributes` has the first.
    """

    name: str
    qualified: str
    has_namespace: bool
    attributes: list[tuple[str, str, str]]
    qualified_attributes: dict[str, str]


class MarkupScanner:
    """Scanner of a document in UTF-8; `is_cut` if it ends within an element."""

    def __init__(self, file: BinaryIO, log: FaultLog) -> None:
        self._file, self._log = file, log
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._buffer = ""
        self._at = self._n_lines_at = 0
        self._line = 1
        self._is_last = False
        self._open: list[tuple[str, dict[str, str] | None]] = []
        self._namespaces = {"xml": XML}
        self._names: dict[str, tuple[str, str, str]] = {}
        self._entities: dict[str, str] = {}
        self._defaults: dict[str, dict[str, str]] = {}  # of the attributes of elements
        self._entity_depth = self._n_chars = self._n_expanded = 0
        self._is_leaf = False  # the last tag was a start tag
        self._is_in_tag = False
        self.is_cut = False
        self.unbound: set[str] = set()  # names without a namespace

    def place(self) -> str:
        """Return the current line, for details of faults."""
        self._count_lines()
        return f"line {self._line}: "

    @property
    def position(self) -> int:
        """Characters read so far."""
        return self._n_chars - len(self._buffer) + self._at

    @property
    def root_name(self) -> bytes:
        """Name of the root if it is the only open element, as written; else empty."""
        return self._open[0][0].encode() if len(self._open) == 1 else b""

    def ahead(self, n_chars: int) -> str:
        """Return the next characters, which are not read yet; fewer at the end."""
        while len(self._buffer) - self._at < n_chars and self._fill():
            pass
        return self._buffer[self._at : self._at + n_chars]

    def skip(self, n_chars: int) -> None:
        """Leave out characters: complete elements in the one that is open."""
        self._at += n_chars
        self._is_leaf = False

    def declarations(self) -> tuple[str, str] | None:
        """Return a DTD and attributes that declare the same entities and namespaces.

        None if others are necessary.
        """
        values = (*self._entities.values(), *self._namespaces.values())
        if self._defaults or any(map(_NOT_PLAIN, values)):
            return None
        entities = "".join(
            f'<!ENTITY {name} "{value}">' for name, value in self._entities.items()
        )
        names = "".join(
            f' xmlns{":" * bool(prefix)}{prefix}="{uri}"'
            for prefix, uri in self._namespaces.items()
            if uri != XML
        )
        return f"<!DOCTYPE RDF [{entities}]>" if entities else "", names

    def events(self) -> Iterator[str | StartTag | bool]:
        """Yield text, start tags, and for each end whether it is in the text.

        Raises:
            SourceFault: `ENTITY_EXPANSION` or `LITERAL_TOO_LONG`.
        """
        while self._at < len(self._buffer) or self._fill():
            begin = self._at
            end = self._buffer.find("<", begin)
            if end < 0:
                end = len(self._buffer)
                # A reference may continue in the next block.
                if "&" in self._buffer[max(begin, end - 70) :] and self._fill():
                    continue
            if end > begin:
                self._at = end
                text = self._buffer[begin:end]
                yield self._expanded(text) if "&" in text else text
                continue
            if begin < len(self._buffer):
                yield from self._markup()
        if self._open:
            self.is_cut = True
            self._log.note(Reason.SYNTAX, f"{self.place()}the document is cut")

    def _markup(self) -> Sequence[str | StartTag | bool]:
        buffer, at = self._buffer, self._at
        if found := _TAG.match(buffer, at):
            return self._tag(found)
        if found := _OTHER.match(buffer, at):
            return self._other(found)
        if len(buffer) - at < _AHEAD_CHARS and self._fill():
            return ()
        is_text = self._is_leaf and _TEXT_WITH_BRACKET.match(buffer, at)
        if is_text or _NO_TAG.match(buffer, at):
            self._note(Reason.REPAIRED, "< in text")
            self._at += 1
            return "<"
        if found := _BAD_TAG.match(buffer, at):
            self._note(Reason.REPAIRED, f"tag {found[0][:100]}")
            return self._tag(found)
        is_leaf, is_declared = self._is_leaf, buffer.startswith("<!", at)
        self._skip_tag()
        is_last = self._at == len(self._buffer)
        return (NO_TEXT,) if is_leaf and (is_declared or not is_last) else ()

    def _other(self, found: re.Match[str]) -> Sequence[str]:
        self._at = found.end()
        if found["text"]:
            return (found["text"],)
        if found["declared"]:
            self._declare(found["declared"])
        elif found[0][2] != "[":
            return (CommentText(found[0]),)
        return ()

    def _skip_tag(self) -> None:
        """Leave out a tag that cannot be read; a comment without end is the last."""
        buffer, at = self._buffer, self._at
        is_comment = buffer.startswith("<!--", at)
        if is_comment and self._fill():
            return
        next_tag = -1 if is_comment else buffer.find("<", at + 1)
        if next_tag > 0 or not self._open:
            self.is_cut = next_tag < 0
            self._note(Reason.SYNTAX, f"not a tag: {buffer[at : at + 100]}")
        self._at = next_tag if next_tag > 0 else len(buffer)

    def _fill(self) -> bool:
        """Read on, at least as much as is held, for linear time."""
        if self._is_last:
            return False
        self._count_lines()
        rest = self._buffer[self._at :]
        if len(rest) > _MAX_TAG_CHARS:
            raise SourceFault(Reason.LITERAL_TOO_LONG, "a tag or comment")
        data = self._file.read(max(BLOCK_BYTES, len(rest)))
        self._is_last = not data
        text = self._decoder.decode(data, self._is_last)
        self._n_chars += len(text)
        self._buffer, self._at, self._n_lines_at = rest + text, 0, 0
        return True

    def _count_lines(self) -> None:
        self._line += self._buffer.count("\n", self._n_lines_at, self._at)
        self._n_lines_at = self._at

    def _note(self, reason: Reason, detail: str) -> None:
        self._log.note(reason, f"{self.place()}{detail.replace(NO_TEXT, '?')}")

    # -- tags ----------------------------------------------------------------------

    def _tag(self, found: re.Match[str]) -> Sequence[StartTag | bool]:
        self._at = found.end()
        is_end, name, text, is_empty = found.groups()
        if is_end:
            if self._open and self._open[-1][0] == name:
                self._is_leaf = False
                self._restore(self._open.pop()[1])
                return (True,)
            return self._end_tag(name)
        pairs = self._attributes(text) if "=" in text or text.strip() else {}
        if name in self._defaults:
            pairs = self._defaults[name] | pairs
            text += "xmlns"
        before = None
        if "xmlns" in text:
            declared = [x for x in pairs if x == "xmlns" or x.startswith("xmlns:")]
            before = self._namespaces
            self._namespaces = dict(before)
            for each in declared:
                self._bind(each[6:], pairs.pop(each))
            self._names = {}
        event = self._start_tag(name, pairs)
        if is_empty:
            self._restore(before)
            self._is_leaf = False
            return event, True
        self._open.append((name, before))
        self._is_leaf = True
        return (event,)

    def _bind(self, prefix: str, namespace: str) -> None:
        if prefix in ("xml", "xmlns") or (prefix and not namespace):
            if namespace != XML:
                self._note(Reason.REPAIRED, f"declaration of prefix {prefix}")
            return
        self._namespaces[prefix] = namespace

    def _start_tag(self, name: str, pairs: dict[str, str]) -> StartTag:
        namespace, local, qualified = self._resolved(name, is_attribute=False)
        attributes: list[tuple[str, str, str]] = []
        all_qualified: dict[str, str] = {}
        names: set[tuple[str, str]] = set()
        for each, value in pairs.items():
            its_namespace, its_local, its_qualified = self._resolved(
                each, is_attribute=True
            )
            if (its_namespace, its_local) in names:
                self._note(Reason.REPAIRED, f"{each} twice, with two prefixes")
                if its_namespace == XML:
                    continue
            else:
                all_qualified[its_qualified] = value
            names.add((its_namespace, its_local))
            attributes.append((its_namespace, its_local, value))
        has_namespace = bool(namespace)
        return StartTag(
            namespace + local, qualified, has_namespace, attributes, all_qualified
        )

    def _end_tag(self, name: str) -> Sequence[bool]:
        names = [each[0] for each in reversed(self._open)]
        is_leaf, self._is_leaf = self._is_leaf, False
        if name not in names and names and names[0].lower() == name.lower():
            self._note(Reason.REPAIRED, f"</{name}> instead of </{names[0]}>")
            self._restore(self._open.pop()[1])
            return (True,)
        if name not in names and not is_leaf:
            self._note(Reason.SYNTAX, f"end tag without start: {name}")
            return ()
        self._note(Reason.SYNTAX, f"</{name}> instead of </{names[0]}>")
        # A leaf has a wrong end; otherwise, elements inside have none.
        depth = names.index(name) if name in names else 0
        for _ in range(depth + 1):
            self._restore(self._open.pop()[1])
        return (False,) * depth + (depth > 0,)

    def _restore(self, namespaces: dict[str, str] | None) -> None:
        if namespaces is not None:
            self._namespaces, self._names = namespaces, {}

    def _resolved(self, name: str, *, is_attribute: bool) -> tuple[str, str, str]:
        """Return namespace, local name and both with the prefix, for `XmlContent`."""
        key = f"@{name}" if is_attribute else name
        if known := self._names.get(key):
            return known
        prefix, colon, local = name.rpartition(":")
        namespace = ""
        if colon or not is_attribute:
            namespace = self._namespaces.get(prefix, "")
            if not namespace and prefix:
                namespace = usual_prefixes().get(prefix, "")
                reason = Reason.REPAIRED if namespace else Reason.SYNTAX
                self._note(reason, f"prefix {prefix} is not declared")
        if namespace and prefix:
            qualified = f"{namespace} {local} {prefix}"
        else:
            qualified = f"{namespace} {local}" if namespace else name
        if not namespace:
            self.unbound.add(name)
            local = name
        found = self._names[key] = namespace, local, qualified
        return found

    def _attributes(self, text: str) -> dict[str, str]:
        if _PLAIN_ATTRIBUTES.fullmatch(text):
            found_pairs = _PLAIN_ATTRIBUTE.findall(text)
            pairs = dict(found_pairs)
            if len(pairs) == len(found_pairs):
                return pairs
        pairs = {}
        at = 0
        self._is_in_tag = True
        while found := _ATTRIBUTE.match(text, at):
            at = found.end()
            name = found["name"]
            if not found["equals"]:
                self._note(Reason.REPAIRED, f"{name} without an equals sign")
            value = found["double"]
            if value is None:
                value = found["single"]
            if value is None:
                value = found["bare"] or found["curly"] or found["doubled"] or ""
                self._note(Reason.REPAIRED, f"{name} without quotation marks")
            if name in pairs:
                self._note(Reason.REPAIRED, f"{name} twice")
                continue
            value = value.translate(_SPACE)
            pairs[name] = self._expanded(value) if "&" in value else value
        self._is_in_tag = False
        if not text[at:].isspace() and text[at:]:
            self._note(Reason.SYNTAX, f"not an attribute: {text[at:].strip()[:100]}")
        return pairs

    # -- entities ------------------------------------------------------------------

    def _declare(self, text: str) -> None:
        for found in _ENTITY.finditer(text):
            self._entities.setdefault(found["name"], found["value"])
        for found in _DEFAULTS.finditer(text):
            known = self._defaults.setdefault(found["element"], {})
            for each in _DEFAULT.finditer(found["attributes"]):
                known.setdefault(each["name"], each["double"] or each["single"] or "")

    def _expanded(self, text: str) -> str:
        if self._entity_depth > _MAX_ENTITY_DEPTH:
            self._note(Reason.ENTITY_EXPANSION, "entities made of each other")
            return NO_TEXT
        self._entity_depth += 1
        if "&#" in text:
            text = _HALVES.sub(self._joined, text)
        expanded = _REFERENCE.sub(self._expand, text)
        self._entity_depth -= 1
        return expanded

    def _joined(self, found: re.Match[str]) -> str:
        codes = [int(f"0{each}" if "x" in each else each, 0) for each in found.groups()]
        halves = "".join(map(chr, codes)).encode("utf-16", "surrogatepass")
        text = halves.decode("utf-16", "replace")
        if len(text) > 1:  # no halves
            return found[0]
        self._note(Reason.REPAIRED, f"{found[0]} as one character")
        return text

    def _expand(self, found: re.Match[str]) -> str:
        number, name = found[1], found[2]
        if number:
            code = int(number[1:], 16) if number[0] in "xX" else int(number)
            if number[0] == "X":
                self._note(Reason.REPAIRED, f"{found[0]} with an X")
            if 0 < code < _SURROGATES[0] or _SURROGATES[1] < code <= sys.maxunicode:
                return chr(code)
        elif name in _XML_NAMES:
            return _XML_NAMES[name]
        elif name in self._entities:
            value = self._entities[name]
            self._n_expanded += len(value)
            if self._n_expanded > _MIN_GROWTH_CHARS + _MAX_GROWTH * self._n_chars:
                raise SourceFault(Reason.ENTITY_EXPANSION, "entities that grow")
            return self._expanded(value) if "&" in value else value
        elif name:
            usual = html5.get(f"{name};")
            if usual is None and self._is_in_tag:  # a namespace begins an IRI
                usual = usual_prefixes().get(name)
            if usual:
                self._note(Reason.REPAIRED, f"entity {name} is not declared")
            return usual or NO_TEXT
        self._note(Reason.REPAIRED, f"{found[0][:100]} in text")
        is_half = number and _SURROGATES[0] <= code <= _SURROGATES[1]
        return "\ufffd" if is_half else found[0]

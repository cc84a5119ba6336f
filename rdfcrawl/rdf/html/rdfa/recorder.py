"""Record the content of elements, as text or as markup."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdfcrawl.rdf.html.rdfa.scope import RdfaBudget

_XML_NAME = re.compile(r"[^\W\d][\w.\-\u00b7]*(?::[^\W\d][\w.\-\u00b7]*)?")
_FOREIGN = {
    "svg": "http://www.w3.org/2000/svg",
    "math": "http://www.w3.org/1998/Math/MathML",
}
# HTML Standard 13.3: elements without end tag, and elements with unescaped text.
_VOID = frozenset(
    (
        *("area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr"),
        *("img", "input", "keygen", "link", "meta", "param", "source", "track", "wbr"),
    )
)
_RAW = {"iframe", "noembed", "noframes", "plaintext", "script", "style", "xmp"}
_ESCAPES = {"&": "&amp;", "<": "&lt;"}
_SPACE_ESCAPES = {"\t": "&#x9;", "\n": "&#xA;", "\r": "&#xD;"}
_TEXT_ESCAPES = str.maketrans(_ESCAPES | {">": "&gt;"})
_XML_TEXT_ESCAPES = str.maketrans(_ESCAPES | {">": "&gt;", "\r": "&#xD;"})
_HTML_ATTRIBUTE_ESCAPES = str.maketrans(
    _ESCAPES | {">": "&gt;", '"': "&quot;", "\xa0": "&nbsp;"}
)
_XML_ATTRIBUTE_ESCAPES = str.maketrans(_ESCAPES | _SPACE_ESCAPES | {'"': "&quot;"})


class KeptContent(StrEnum):
    """Form of recorded content."""

    TEXT = "text"
    XML = "xml"
    HTML = "html"


class _Shared:
    """Nested recordings of one form, with shared chunks."""

    def __init__(self) -> None:
        self.chunks: list[str] = []
        self.n_chars = 0
        self.n_open = 0

    def write(self, chunk: str) -> None:
        if self.n_open:
            self.chunks.append(chunk)
            self.n_chars += len(chunk)


class _XmlRecording:
    """Markup as XML; its outermost elements declare the namespaces."""

    def __init__(self, namespaces: Mapping[str, str]) -> None:
        self.chunks: list[str] = []
        self.depth = 0
        self.namespaces = namespaces


Mark = tuple[int, int] | _XmlRecording


class LiteralRecorder:
    """Recorder of the content between `begin` and `end` of elements, which may nest.

    `budget` limits content that is recorded more than once.
    """

    def __init__(self, budget: RdfaBudget) -> None:
        self._spend = budget.spend
        self._text = _Shared()
        self._html = _Shared()
        self._xml: list[_XmlRecording] = []
        self.n_open = 0

    def begin(self, form: KeptContent, namespaces: Mapping[str, str]) -> Mark:
        """Return a mark for `end`; recordings end in the reverse order."""
        self.n_open += 1
        if form is KeptContent.XML:
            recording = _XmlRecording(namespaces)
            self._spend(sum(map(len, namespaces.values())))
            self._xml.append(recording)
            return recording
        shared = self._text if form is KeptContent.TEXT else self._html
        shared.n_open += 1
        return len(shared.chunks), shared.n_chars

    def end(self, form: KeptContent, mark: Mark) -> str:
        """Return the content since the mark; may raise `OutputOverflow`."""
        self.n_open -= 1
        if isinstance(mark, _XmlRecording):
            self._xml.pop()
            return "".join(mark.chunks)
        shared = self._text if form is KeptContent.TEXT else self._html
        shared.n_open -= 1
        self._spend(shared.n_chars - mark[1])
        text = "".join(shared.chunks[mark[0] :])
        if not shared.n_open:
            shared.chunks.clear()
            shared.n_chars = 0
        return text

    def start(self, name: str, attributes: Mapping[str, str | None]) -> None:
        """Record a start tag."""
        if self._html.n_open:
            self._html.write(html_start(name, attributes))
        for recording in self._xml:
            spaces = {} if recording.depth else recording.namespaces
            recording.depth += 1
            self._write_xml(recording, xml_start(name, attributes, spaces))

    def stop(self, name: str) -> None:
        """Record an end tag."""
        if self._html.n_open:
            self._html.write(html_end(name))
        for recording in self._xml:
            recording.depth -= 1
            end = f"</{name}>" if _XML_NAME.fullmatch(name) else ""
            self._write_xml(recording, end)

    def text(self, text: str, parent: str) -> None:
        """Record text."""
        self._text.write(text)
        if self._html.n_open:
            self._html.write(html_text(text, parent))
        for recording in self._xml:
            self._write_xml(recording, text.translate(_XML_TEXT_ESCAPES))

    def comment(self, text: str) -> None:
        """Record a comment in markup."""
        self._html.write(f"<!--{text}-->")
        is_xml = "--" not in text and not text.endswith("-")
        for recording in self._xml:
            self._write_xml(recording, f"<!--{text}-->" if is_xml else "")

    def _write_xml(self, recording: _XmlRecording, chunk: str) -> None:
        self._spend(len(chunk) + 1)
        recording.chunks.append(chunk)


def html_start(name: str, attributes: Mapping[str, str | None]) -> str:
    """Return a start tag serialized by the HTML Standard (13.3)."""
    return _start(name, attributes, _HTML_ATTRIBUTE_ESCAPES)


def _start(
    name: str, attributes: Mapping[str, str | None], escapes: Mapping[int, str]
) -> str:
    written = "".join(
        f' {key}="{(value or "").translate(escapes)}"'
        for key, value in attributes.items()
    )
    return f"<{name}{written}>"


def html_end(name: str) -> str:
    """Return an end tag, if the element has one."""
    return "" if name in _VOID else f"</{name}>"


def html_text(text: str, parent: str) -> str:
    """Return text as content of an element."""
    if parent in _RAW:
        return text
    return text.translate(_TEXT_ESCAPES).replace("\xa0", "&nbsp;")


def xml_start(
    name: str,
    attributes: Mapping[str, str | None],
    namespaces: Mapping[str, str],
) -> str:
    """Return an XML start tag, without attributes with invalid names.

    `namespaces` are declared unless the element declares them; key "": the default.
    """
    if not _XML_NAME.fullmatch(name):
        return ""
    own = {key: value for key, value in attributes.items() if _XML_NAME.fullmatch(key)}
    spaces = dict(namespaces)
    if name in _FOREIGN:
        spaces[""] = _FOREIGN[name]
    for prefix in sorted(spaces):
        own.setdefault(f"xmlns:{prefix}" if prefix else "xmlns", spaces[prefix])
    return _start(name, own, _XML_ATTRIBUTE_ESCAPES)

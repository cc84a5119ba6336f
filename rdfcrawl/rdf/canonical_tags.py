"""Tags of XML literals in exclusive canonical XML, without a parser of XML.

Few literals differ in their tags, so tags that were seen before are not read again.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

from rdfcrawl.core.namespaces import XML
from rdfcrawl.rdf.trix import SEPARATOR, XmlContent

PLAIN_TEXT: Final = rb"[^<>&\x00-\x08\x0b\x0c\x0e-\x1f\xef]++"
"""Pattern of text that is canonical."""
PLAIN_TAG: Final = rb"[^<>&!?\x00-\x1f\xef]++"
"""Pattern of a tag without references, and without its brackets."""
_PLAIN = re.compile(rb"(?>%b|&(?:amp|lt|gt);|<%b>)*+" % (PLAIN_TEXT, PLAIN_TAG))
_TAG = re.compile(rb"(<[^<>]++>)")
_PARTS = re.compile(
    rb"<(?P<end>/?)(?P<name>[A-Za-z][\w.-]*+(?::[A-Za-z][\w.-]*+)?+)"
    rb"(?P<attributes>(?: ++[A-Za-z][\w.-]*+(?::[A-Za-z][\w.-]*+)?+"
    rb"=(?:\"[^\"]*+\"|'[^']*+'))*+)"
    rb" *+(?P<empty>/?)>"
)
_ATTRIBUTE = re.compile(r" ([\w.:-]++)=(?:\"([^\"]*+)\"|'([^']*+)')")
# A value that makes no difference for the form of its tag, and its place
_VALUE = re.compile(rb"( (?!xmlns)[A-Za-z][\w.:-]*+=\")([^\"]*+)(?=\")")
_PLACE: Final = b"\x01"  # no content has one
_PLACES = re.compile(rb"\x01([0-9]+)\x02")
_BETWEEN: Final = "\n"  # no tag has one
_BETWEEN_BYTES: Final = _BETWEEN.encode()
_MAX_KEPT_BYTES: Final = 4096
Namespaces = tuple[tuple[str, str], ...]
"""Prefixes and namespaces in scope."""


def canonical_content(content: bytes, namespaces: Namespaces) -> bytes | None:
    """Return the canonical form of the content of a literal; None if not known.

    It is escaped, as the text of an element.

    Source: Exclusive XML Canonicalization 1.0, with comments.
    """
    return plain_content(content, namespaces) if _PLAIN.fullmatch(content) else None


def plain_content(content: bytes, namespaces: Namespaces) -> bytes | None:
    """Return the same for content of plain text and tags."""
    if b"&" in content:
        content = content.replace(b"&", b"&amp;")
    if b"<" not in content:
        return content
    pieces = _TAG.split(content)  # each second one is a tag
    tags = b"".join(pieces[1::2])
    values: list[bytes] = []
    if b'="' in tags:
        parts = _VALUE.split(tags)  # each third one is a value
        if values := parts[2::3]:
            parts[2::3] = [_PLACE] * len(values)
            tags = b"".join(parts)
    is_kept = len(tags) <= _MAX_KEPT_BYTES
    read = _canonical_tags if is_kept else _canonical_tags.__wrapped__
    if (new := read(tags, namespaces)) is None:
        return None
    if not values:
        pieces[1::2] = new.parts
        return b"".join(pieces)
    if new.order is not None:
        values = [values[n] for n in new.order]
    pieces[1::2] = (new.form % tuple(values)).split(_BETWEEN_BYTES)
    return b"".join(pieces)


class _Tags(NamedTuple):
    """Escaped tags in canonical form.

    Attributes:
        form: joined, with `%b` for each value.
        order: numbers of the values in their source; None if they are in order.
        parts: of a form without values.
    """

    form: bytes
    order: list[int] | None
    parts: list[bytes]


@lru_cache(maxsize=1024)
def _canonical_tags(tags: bytes, namespaces: Namespaces) -> _Tags | None:
    """Return escaped tags in canonical form; None if it is not known."""
    before, *after = tags.split(_PLACE)
    tags = before + b"".join(b"\x01%d\x02%b" % pair for pair in enumerate(after))
    content = XmlContent()
    opened: list[tuple[bytes, dict[str, str]]] = [(b"", dict(namespaces))]
    for tag in _TAG.findall(tags):
        if not _write(tag, content, opened):
            return None
        content.text(_BETWEEN)
    if len(opened) > 1:
        return None
    text = escape(content.markup().removesuffix(_BETWEEN)).encode()
    order = [int(each) for each in _PLACES.findall(text)]
    return _Tags(
        form=_PLACES.sub(b"%b", text.replace(b"%", b"%%")),
        order=None if order == [*range(len(order))] else order,
        parts=text.split(_BETWEEN_BYTES),
    )


def _write(
    tag: bytes, content: XmlContent, opened: list[tuple[bytes, dict[str, str]]]
) -> bool:
    """Write a tag; return whether it is well-formed.

    `opened` has the name and the namespaces of each open element.
    """
    found = _PARTS.fullmatch(tag)
    if found is None or (found["end"] and (found["attributes"] or found["empty"])):
        return False
    if not found["end"]:
        started = _start(found, opened[-1][1])
        if started is None:
            return False
        content.start(started[0], started[1])
        opened.append((found["name"], started[2]))
    if found["end"] or found["empty"]:
        if opened[-1][0] != found["name"]:
            return False
        opened.pop()
        content.end()
    return True


def _start(
    found: re.Match[bytes], scope: dict[str, str]
) -> tuple[str, dict[str, str], dict[str, str]] | None:
    """Return a name and attributes for `XmlContent`, and the new scope."""
    pairs = [
        (name, double or single)
        for name, double, single in _ATTRIBUTE.findall(found["attributes"].decode())
    ]
    declared = {
        name[len("xmlns:") :]: value
        for name, value in pairs
        if name == "xmlns" or name.startswith("xmlns:")
    }
    if not all(_is_allowed(*pair) for pair in declared.items()):
        return None
    known = scope | declared
    attributes = {
        _qualified(name, known, is_attribute=True): value
        for name, value in pairs
        if not name.startswith("xmlns")
    }
    unique = {name.rpartition(SEPARATOR)[0] or name for name in attributes}
    name = _qualified(found["name"].decode(), known)
    if not name or "" in attributes or len(declared) + len(unique) < len(pairs):
        return None
    return name, attributes, known


def _is_allowed(prefix: str, namespace: str) -> bool:
    is_bound = bool(namespace) or not prefix
    return is_bound and SEPARATOR not in namespace and not prefix.startswith("xml")


def _qualified(name: str, known: dict[str, str], *, is_attribute: bool = False) -> str:
    """Return a name as of expat, with its namespace; empty if there is none."""
    prefix, colon, local = name.rpartition(":")
    if not colon:
        namespace = "" if is_attribute else known.get("", "")
        return SEPARATOR.join((namespace, local)) if namespace else local
    namespace = XML if prefix == "xml" else known.get(prefix, "")
    return SEPARATOR.join((namespace, local, prefix)) if namespace else ""

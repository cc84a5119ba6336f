"""Tags of XML literals in exclusive canonical XML, without a parser of XML.

Few literals differ in their tags, so tags that were seen before are not read again.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from itertools import chain
from typing import Final

from rdfcrawl.core.namespaces import XML
from rdfcrawl.rdf.trix import SEPARATOR, XmlContent

# Text that is canonical, and tags without references
_PLAIN = re.compile(
    rb"(?>[^<>&\x00-\x08\x0b\x0c\x0e-\x1f\xef]++|&(?:amp|lt|gt);"
    rb"|<[^<>&!?\x00-\x1f\xef]++>)*+"
)
_TAG = re.compile(rb"<[^<>]++>")
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
_BETWEEN: Final = "\n"  # likewise
_MAX_KEPT_BYTES: Final = 4096
Template = tuple[bytes | int, ...]
"""A tag in parts: text, and numbers of values in its source."""
Namespaces = tuple[tuple[str, str], ...]
"""Prefixes and namespaces in scope."""


def canonical_content(content: bytes, namespaces: Namespaces) -> bytes | None:
    """Return the canonical form of the content of a literal; None if not known.

    Source: Exclusive XML Canonicalization 1.0, with comments.
    """
    if not _PLAIN.fullmatch(content):
        return None
    tags = _TAG.findall(content)
    if not tags:
        return content
    values: list[bytes] = []
    joined = b"".join(tags)
    if b'="' in joined:
        joined = _VALUE.sub(partial(_put_aside, values), joined)
    is_kept = len(joined) <= _MAX_KEPT_BYTES
    read = _canonical_tags if is_kept else _canonical_tags.__wrapped__
    if not (new := read(joined, namespaces)):
        return content if new is not None else None
    filled = [
        b"".join([values[each] if isinstance(each, int) else each for each in template])
        for template in new
    ]
    texts = _TAG.split(content)
    return b"".join(chain.from_iterable(zip(texts, (*filled, b""), strict=True)))


def _put_aside(values: list[bytes], found: re.Match[bytes]) -> bytes:
    values.append(found[2])
    return found[1] + _PLACE


@lru_cache(maxsize=1024)
def _canonical_tags(tags: bytes, namespaces: Namespaces) -> tuple[Template, ...] | None:
    """Return tags in canonical form; none if they are so, None if it is not known."""
    before, *after = tags.split(_PLACE)
    tags = before + b"".join(b"\x01%d\x02%b" % pair for pair in enumerate(after))
    all_tags = _TAG.findall(tags)
    content = XmlContent()
    opened: list[tuple[bytes, dict[str, str]]] = [(b"", dict(namespaces))]
    for tag in all_tags:
        if not _write(tag, content, opened):
            return None
        content.text(_BETWEEN)
    if len(opened) > 1:
        return None
    new = [part.encode() for part in content.markup().split(_BETWEEN)[:-1]]
    return () if new == all_tags else tuple(map(_template, new))


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


def _template(tag: bytes) -> Template:
    parts: list[bytes | int] = [*_PLACES.split(tag)]
    parts[1::2] = [int(each) for each in parts[1::2]]
    return tuple(parts)


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

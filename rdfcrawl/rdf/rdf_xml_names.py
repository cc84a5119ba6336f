"""Find attributes of one name with two prefixes, which the strict parser does not."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.namespaces import XML
from rdfcrawl.rdf.rdf_xml_literals import MendingNeeded
from rdfcrawl.rdf.xml_screen import without_comments

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_DECLARED = re.compile(rb"xmlns:([^\s:=\"'<>/]++)\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')")
_TAGS = re.compile(rb"<(?![!?/])((?>[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+)>")
_ATTRIBUTE = re.compile(rb"\s([^\s:=\"'<>/]++):([^\s:=\"'<>/]++)\s*+=")
_REFERENCE = re.compile(rb"&([^\s&;#<>\"']+);")
_XML: Final = XML.encode()


class NameScreen:
    """Screen of one document for attributes of one name, with two prefixes, in a tag.

    Source: Namespaces in XML 1.0, sections 3 and 6.3.
    """

    def __init__(self) -> None:
        self._namespaces: dict[bytes, set[bytes]] = {b"xml": {_XML}}  # by prefix
        self._has_aliases = False  # a namespace has several prefixes

    def check(self, block: bytes, n_root: int, values: Mapping[bytes, bytes]) -> None:
        """Check a part of the document.

        Args:
            block: tags are not cut.
            n_root: bytes up to the end of the tag of the root; 0 behind it.
            values: of the entities.

        Raises:
            MendingNeeded: two attributes have one name, or a declaration is none.
        """
        if n_root:
            self._declare(_declared_in(block[:n_root]), values)
        if block.find(b"xmlns:", n_root) >= 0:
            self._declare(frozenset(_DECLARED.findall(block, n_root)), values)
        if self._has_aliases:
            for tag in _TAGS.findall(without_comments(block)):
                if tag.count(b"=") > 1:
                    self._check_tag(tag)

    def _declare(
        self, found: Iterable[tuple[bytes, bytes, bytes]], values: Mapping[bytes, bytes]
    ) -> None:
        for prefix, one, two in found:
            namespace = one or two
            if b"&" in namespace:
                namespace = _REFERENCE.sub(
                    lambda found: values.get(found[1], found[0]), namespace
                )
            is_xml = prefix in (b"xml", b"xmlns") and namespace != _XML
            if is_xml or not namespace:
                raise MendingNeeded
            self._namespaces.setdefault(prefix, set()).add(namespace)
        all_ = [each for known in self._namespaces.values() for each in known]
        self._has_aliases = len(set(all_)) < len(all_)

    def _check_tag(self, tag: bytes) -> None:
        seen: set[tuple[bytes, bytes]] = set()
        for prefix, local in set(_ATTRIBUTE.findall(tag)):
            names = {(each, local) for each in self._namespaces.get(prefix, ())}
            if names & seen:
                raise MendingNeeded
            seen |= names


@lru_cache(maxsize=256)
def _declared_in(root: bytes) -> frozenset[tuple[bytes, bytes, bytes]]:
    return frozenset(_DECLARED.findall(root))

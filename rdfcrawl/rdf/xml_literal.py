"""Write XML in a term as the lexical form of an `rdf:XMLLiteral`.

Source: Exclusive XML Canonicalization 1.0, with comments and without inclusive
prefixes, as in RDF/XML section 7.2.17; Canonical XML 1.0 section 2.3.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from rdfcrawl.core.namespaces import XML

SEPARATOR: Final = " "  # in expat's names, between namespace, name and prefix
_TEXT: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"})
_VALUE: Final = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&quot;"}
    | {"\t": "&#x9;", "\n": "&#xA;", "\r": "&#xD;"}
)


class XmlContent:
    """Writer of the content of an element from the events of a parser.

    Names are those of expat with `namespace_prefixes`: `name`, `namespace name` or
    `namespace name prefix`. `n_chars` is about the length so far.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._texts: list[str] = []
        self._open: list[tuple[str, tuple[str, ...]]] = []  # name, prefixes it declares
        # Declarations in scope at the current position, the innermost last.
        self._declared: defaultdict[str, list[str]] = defaultdict(list)
        self._has_elements = False
        self.n_chars = 0

    @property
    def depth(self) -> int:
        """Number of open elements."""
        return len(self._open)

    def value(self) -> str:
        """Return the lexical form: markup, or the text if there is no element."""
        return "".join(self._parts if self._has_elements else self._texts)

    def text(self, text: str) -> None:
        """Write characters."""
        self._texts.append(text)
        self._write(text.translate(_TEXT))

    def comment(self, text: str) -> None:
        """Write a comment."""
        self._write(f"<!--{text}-->")

    def instruction(self, target: str, data: str) -> None:
        """Write a processing instruction."""
        self._write(f"<?{target} {data}?>" if data else f"<?{target}?>")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Write a start tag."""
        self._has_elements = True
        namespace, local, prefix = split_name(name)
        used = {prefix: namespace}
        rows: list[tuple[str, str, str, str]] = []
        for each, value in attributes.items():
            uri, attribute, its_prefix = split_name(each)
            if its_prefix:
                used[its_prefix] = uri
            rows.append((uri, attribute, _qualified(its_prefix, attribute), value))
        declared = self._declare(used)
        tag = _qualified(prefix, local)
        self._open.append((tag, tuple(declared)))
        pairs = [(_declaration(each), uri) for each, uri in sorted(declared.items())]
        pairs += [(full, value) for _, _, full, value in sorted(rows)]
        written = (f' {full}="{value.translate(_VALUE)}"' for full, value in pairs)
        self._write(f"<{tag}{''.join(written)}>")

    def end(self) -> None:
        """Write an end tag."""
        tag, declared = self._open.pop()
        for prefix in declared:
            self._declared[prefix].pop()
        self._write(f"</{tag}>")

    def _declare(self, used: dict[str, str]) -> dict[str, str]:
        """Return the namespaces of an element that its ancestors do not declare."""
        new: dict[str, str] = {}
        for prefix, namespace in used.items():
            if namespace == XML:
                continue
            around = self._declared[prefix]
            if (around[-1] if around else "") != namespace:
                new[prefix] = namespace
                around.append(namespace)
        return new

    def _write(self, text: str) -> None:
        self._parts.append(text)
        self.n_chars += len(text)


def split_name(name: str) -> tuple[str, str, str]:
    """Return namespace, local name and prefix of an expat name."""
    parts = name.split(SEPARATOR)
    if len(parts) == 1:
        return "", name, ""
    return parts[0], parts[1], parts[2] if len(parts) > 2 else ""


def _qualified(prefix: str, local: str) -> str:
    return f"{prefix}:{local}" if prefix else local


def _declaration(prefix: str) -> str:
    return f"xmlns:{prefix}" if prefix else "xmlns"

"""Parse YAML into nodes of a rule file; bounded and untyped.

Scalars stay text: `no` is a language and `1.10` a version.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import yaml

from rdfcrawl.rdf.html.rules.nodes import (
    Node,
    RuleError,
    SequenceNode,
    TableNode,
    TextNode,
)

MAX_NODES: Final = 100_000  # of one file; an alias counts at each use
MAX_DEPTH: Final = 40

_TAG = "tag:yaml.org,2002:"
_TAGS = frozenset(
    _TAG + name
    for name in ("str", "int", "float", "bool", "null", "timestamp", "value", "merge")
)


def read_yaml(content: bytes) -> Node:
    """Return the root node of a file; an empty table for an empty file.

    Raises `RuleError` for a file that is not YAML, is too large or too deep, or has
    custom tags.
    """
    loader = yaml.SafeLoader(_decoded(content))
    try:
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = f"not YAML: {error.problem or error.context}"
        raise RuleError(mark.line + 1 if mark else 1, reason) from error
    except (yaml.YAMLError, ValueError) as error:
        raise RuleError(1, f"not YAML: {' '.join(str(error).split())}") from error
    except RecursionError as error:
        raise RuleError(1, "nested too deeply") from error
    finally:
        loader.dispose()
    return TableNode(1, ()) if root is None else _Conversion().convert(root, 0)


def _decoded(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise RuleError(line, "not UTF-8") from error
    found = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        raise RuleError(line, f"not YAML: character U+{ord(found[0]):04X}")
    return text


class _Conversion:
    """Converter that counts nodes: aliases could multiply without bound."""

    def __init__(self) -> None:
        self._n_nodes = 0

    def convert(self, node: yaml.Node, depth: int) -> Node:
        line = node.start_mark.line + 1
        self._n_nodes += 1
        if self._n_nodes > MAX_NODES:
            raise RuleError(line, f"more than {MAX_NODES} values, aliases included")
        if depth > MAX_DEPTH:
            raise RuleError(line, f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(node, yaml.ScalarNode) and node.tag in _TAGS:
            return TextNode(line, node.value)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            members = tuple(self.convert(x, depth + 1) for x in node.value)
            return SequenceNode(line, members)
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return TableNode(line, tuple(self._pairs(node, depth + 1)))
        raise RuleError(line, f"tags have no meaning here: {node.tag}")

    def _pairs(
        self, node: yaml.MappingNode, depth: int
    ) -> Iterator[tuple[TextNode, Node]]:
        """Yield keys and values; those of `<<` unless overridden."""
        merged: list[tuple[TextNode, Node]] = []
        own: set[str] = set()
        for key_node, value_node in node.value:
            key = self.convert(key_node, depth)
            value = self.convert(value_node, depth)
            if not isinstance(key, TextNode):
                reason = "a key must be text; quote keys that begin with { or ["
                raise RuleError(key.line, reason)
            if key_node.tag == _TAG + "merge":
                merged += _merged(value)
            else:
                own.add(key.text)
                yield key, value
        for key, value in merged:
            if key.text not in own:
                own.add(key.text)
                yield key, value


def _merged(value: Node) -> Iterator[tuple[TextNode, Node]]:
    for table in value.members if isinstance(value, SequenceNode) else (value,):
        if not isinstance(table, TableNode):
            raise RuleError(value.line, "<< takes a mapping or a list of mappings")
        yield from table.pairs

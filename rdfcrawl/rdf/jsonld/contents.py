"""Content of a JSON-LD document, and keywords where they have no meaning."""

from __future__ import annotations

import json
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from math import copysign, isfinite
from typing import Any, Final

from rdfcrawl.core.errors import FaultLog, Reason, SourceFault
from rdfcrawl.rdf.nesting import MAX_DEPTH, TOO_DEEP

_LARGEST_PLAIN: Final = 2**53  # larger integers may lose digits as doubles
OF_VALUES: Final = frozenset(
    {"@value", "@type", "@language", "@direction", "@index", "@context"}
)
_encode: Final = json.JSONEncoder().encode
_MAX_PLACE: Final = 200  # characters in a fault
# Of contexts and frames: meaningless in each object of a document
_OF_CONTEXTS: Final = frozenset(
    {
        *("@base", "@container", "@import", "@json", "@prefix", "@propagate"),
        *("@protected", "@version", "@vocab"),
        *("@default", "@embed", "@explicit", "@omitDefault", "@preserve"),
        "@requireAll",
    }
)
_OF_TEXTS: Final = frozenset({"@direction", "@language"})
_OF_LISTS: Final = frozenset({"@context", "@index", "@list", "@set"})
_UNCLEAR: Final = ('"@context": ', '"@value": ', '"@list": ')  # in a context
# Of values, lists and maps: meaningless in a node object
_MISPLACED: Final = _OF_CONTEXTS | _OF_TEXTS | {"@list", "@none", "@set"}


@dataclass(slots=True)
class JsonContents:
    """Content of a JSON value."""

    # keys and indexes of objects and arrays
    holders: set[Any] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    strings: set[str] = field(default_factory=set)  # keys and values
    nodes: list[dict[str, Any]] = field(default_factory=list)  # objects with a context
    lists: list[dict[str, Any]] = field(default_factory=list)  # objects with `@list`
    n_keys: int = 0  # of all objects
    n_languages: int = 0  # value objects with `@language`
    has_floats: bool = False
    has_odd_lists: bool = False  # or `@set`, or a list that libraries read differently
    is_plain: bool = True  # libraries agree on the numbers and value objects


def walk(value: Any) -> JsonContents:
    """Return the content of a JSON value, including contexts.

    Raises:
        SourceFault: `TOO_DEEP`.
    """
    found = JsonContents()
    level = [value]
    for _ in range(MAX_DEPTH):
        level = _add_level(level, found)
        if not level:
            may_be_map = "@graph" in found.strings  # pyoxigraph panics at lists in it
            found.has_odd_lists = "@set" in found.keys or (
                bool(found.lists)
                and (may_be_map or not all(map(_is_plain_list, found.lists)))
            )
            found.strings |= found.keys
            return found
    raise SourceFault(Reason.TOO_DEEP, f"JSON {TOO_DEEP}")


def _is_plain_list(node: dict[str, Any]) -> bool:
    """Return whether no rule drops a member of a list."""
    members = node["@list"]
    is_alone = len(node) == 1 and type(members) is list and len(members) > 0
    return is_alone and all(map(_is_plain_member, members))


def _is_plain_member(value: Any) -> bool:
    if type(value) is dict:
        if "@value" in value:
            return type(value["@value"]) is str
        return bool(value) and type(value.get("@id", "")) is str
    return value is not None and type(value) is not list


def _add_level(level: list[Any], found: JsonContents) -> list[Any]:
    """Add objects and arrays; return those that they contain."""
    strings, holders, keys = found.strings, found.holders, found.keys
    deeper: list[Any] = []
    for node in level:
        if type(node) is dict:
            keys.update(node)
            found.n_keys += len(node)
            if "@context" in node:
                found.nodes.append(node)
            if "@value" in node or "@list" in node:
                _add_value_or_list(node, found)
            entries: Any = node.items()
        else:
            entries = enumerate(node)
        for key, entry in entries:
            kind = type(entry)
            if kind is str:
                strings.add(entry)
            elif kind is dict or kind is list:
                deeper.append(entry)
                holders.add(key)
            elif kind is float:
                found.has_floats = True
                found.is_plain &= _is_plain(entry)
            elif kind is int:
                found.is_plain &= -_LARGEST_PLAIN < entry < _LARGEST_PLAIN
    return deeper


def _add_value_or_list(node: dict[str, Any], found: JsonContents) -> None:
    if "@value" in node:
        found.n_languages += "@language" in node
        # Of others, pyoxigraph reads one entry or another.
        found.is_plain &= node.keys() <= OF_VALUES
    if "@list" in node:
        found.lists.append(node)


def iter_objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects of a JSON value, including contexts."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)


def has_free_values(value: Any) -> bool:
    """Return whether a document or its outermost graphs have values without a property.

    The standard drops them.
    """
    nodes = value if isinstance(value, list) else [value]
    if any(map(_is_free_value, nodes)):
        return True
    graphs = (node["@graph"] for node in nodes if "@graph" in node)
    return any(
        _is_free_value(node)
        for graph in graphs
        for node in (graph if type(graph) is list else [graph])
    )


def _is_free_value(node: Any) -> bool:
    return type(node) is not dict or "@value" in node or "@list" in node


def _is_plain(number: float) -> bool:
    """Return whether a number has a fraction, or is not too large an integer."""
    if number == 0:
        return copysign(1, number) > 0
    return isfinite(number) and (
        not number.is_integer() or abs(number) < _LARGEST_PLAIN
    )


def names_in(strings: set[str]) -> set[str]:
    """Return the possible terms among strings, including parts before a colon."""
    return strings | {text[: text.index(":")] for text in strings if ":" in text}


def remove_misplaced(
    value: Any, found: JsonContents, log: FaultLog, text: str = ""
) -> bool:
    """Remove the keywords that objects of a document cannot have; log each.

    JSON-LD 1.1 API, section 5.1.2 ignores some, and refuses an object with others.
    A document with JSON literals stays unchanged: only its contexts tell them apart.

    Args:
        value: the document, nested at most `nesting.MAX_DEPTH` levels.
        found: its content.
        log: takes a `BAD_TERM` for each keyword.
        text: of the document, to save time; or empty.

    Returns:
        whether there were any.
    """
    has_literals = "@json" in found.strings and "@json" not in found.keys
    names = _MISPLACED & found.keys
    if has_literals or not names or _are_of_contexts(names, found, text):
        return False
    nodes: list[Any] = [value]
    others: list[Any] = []
    n_removed = 0
    while nodes or others:
        is_node = bool(nodes)
        node = nodes.pop() if is_node else others.pop()
        if type(node) is list:
            (nodes if is_node else others).extend(filter(_is_container, node))
            continue
        if not _MISPLACED.isdisjoint(node):
            n_removed += _remove(node, log, is_node=is_node)
        for key, entry in node.items():
            kind = type(entry)
            if (kind is dict or kind is list) and key != "@context":
                (nodes if key == "@graph" else others).append(entry)
    return n_removed > 0


def _are_of_contexts(names: AbstractSet[str], found: JsonContents, text: str) -> bool:
    """Return whether all such names in a text are in place, if that is clear.

    They are in contexts, and in value objects and lists outside of contexts.
    """
    contexts = _encode([node["@context"] for node in found.nodes])
    if not text or "\\u0040" in text or any(x in contexts for x in _UNCLEAR):
        return False
    n_lists = sum(len(node) == 1 for node in found.lists)
    in_place = {"@language": found.n_languages, "@list": n_lists}
    return all(
        text.count(f'"{x}"') == contexts.count(f'"{x}"') + in_place.get(x, 0)
        for x in names
    )


def _is_container(value: Any) -> bool:
    return type(value) is dict or type(value) is list


def _remove(node: dict[str, Any], log: FaultLog, *, is_node: bool) -> int:
    """Remove the keywords that an object cannot have; return their number."""
    if node.keys() <= _OF_TEXTS:  # the standard drops it
        log.note(Reason.BAD_TERM, "a value object without a value")
        return 0
    if "@value" in node or node.keys() <= _OF_LISTS:
        return 0
    is_node = is_node or "@id" in node or "@context" in node
    wrong = sorted((_MISPLACED if is_node else _OF_CONTEXTS) & node.keys())
    place = str(node.get("@id", "a node"))[:_MAX_PLACE]
    for key in wrong:
        del node[key]
        # the standard ignores the others
        reason = Reason.SYNTAX if key in _OF_LISTS else Reason.BAD_TERM
        log.note(reason, f"JSON-LD: keyword {key} in {place}")
    return len(wrong)

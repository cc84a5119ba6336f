"""Keywords where JSON-LD gives them no meaning."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rdfcrawl.core.errors import FaultLog, Reason

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from rdfcrawl.rdf.jsonld.contexts import JsonContents

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

"""Read JSON-LD with errors through PyLD: an error costs a key or a node.

Each node is mended before it is expanded; where it still fails, the keys that fail are
found one by one, and left out. Terms that a context defines wrongly are undefined.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from pyld import jsonld

from rdfcrawl.core.errors import NeedsSandbox, Reason, SourceFault
from rdfcrawl.rdf.jsonld.contents import OF_VALUES
from rdfcrawl.rdf.jsonld.context_entries import (
    OF_CONTEXTS,
    can_take_key,
    has_several_values,
    is_context,
    is_direction,
    is_text,
    without_wrong_part,
)
from rdfcrawl.rdf.jsonld.contexts import (
    STAND_IN,
    UNKNOWN,
    has_unknown_prefix,
    is_unknown_keyword,
)
from rdfcrawl.rdf.jsonld.pyld_processor import Processor, code_of, note_unknown
from rdfcrawl.rdf.terms import has_forbidden, mended_iri, note_mended

if TYPE_CHECKING:
    from rdfcrawl.rdf.jsonld.contexts import ContextLoader

# PyLD also fails with other exceptions on bad input.
_ERRORS: Final = (
    *(jsonld.JsonLdError, ArithmeticError, AttributeError),
    *(LookupError, TypeError, ValueError),
)
_MAX_PLACE: Final = 200  # characters in a fault
_MAX_TRIES: Final = 8  # for one definition of a term
_IRI_TYPES: Final = ("@id", "@vocab")
_OF_LISTS: Final = frozenset({"@list", "@set", "@index", "@context"})
_NODE_KEYS: Final = frozenset({"@id", "@value", "@list", "@set", "@context"})
_REPEATED: Final = frozenset({"@included", "@type"})


class MendingProcessor(Processor):
    """Processor that leaves out what is wrong; see the module."""

    def __init__(self, loader: ContextLoader) -> None:
        super().__init__(loader)
        self._mended: dict[str, str] = {}  # IRIs
        self._place = ""  # of the node that is expanded

    def _note(self, error: Exception | str, *, is_lost: bool = False) -> None:
        if self._loader.failure is not None:  # the context is missing, not wrong
            raise self._loader.failure
        if isinstance(error, NeedsSandbox | SourceFault):
            raise error
        detail = error if isinstance(error, str) else code_of(error)
        if is_lost:
            self.log.note(Reason.SYNTAX, f"JSON-LD: {detail}{self._place}")
        else:
            self.log.note(Reason.REPAIRED, f"JSON-LD: {detail}", apart=True)

    def _expand_iri(self, active_ctx: Any, value: Any, *args: Any, **kw: Any) -> Any:
        if isinstance(value, str) and value[:1] == "<" and value[-1] == ">":
            self._note("brackets around an IRI")
            value = value[1:-1]
        iri = super()._expand_iri(active_ctx, value, *args, **kw)
        if not isinstance(iri, str) or ":" not in iri:
            return iri
        if UNKNOWN in active_ctx["mappings"] and has_unknown_prefix(iri):
            return UNKNOWN + iri
        if not has_forbidden(iri):
            return iri
        if iri not in self._mended:
            try:
                self._mended[iri] = mended_iri(iri)
                note_mended(self.log, iri)
            except ValueError:
                self._mended[iri] = iri
        return self._mended[iri]

    # -- nodes and values ------------------------------------------------------------

    def _expand(
        self, active_ctx: Any, active_property: Any, element: Any, *args: Any, **kw: Any
    ) -> Any:
        if has_several_values(element):
            self._note("several values in one object")
            element = [{**element, "@value": each} for each in element["@value"]]
        outer = self._place
        if isinstance(element, dict):
            name = element.get("@id", element.get("id"))
            if isinstance(name, str):
                self._place = f" in {name[:_MAX_PLACE]}"
            elif active_property is not None:
                self._place = f" in {active_property}{outer}"[: _MAX_PLACE + 4]
        try:
            found = super()._expand(active_ctx, active_property, element, *args, **kw)
        except _ERRORS as error:
            if not isinstance(element, dict):
                raise
            self._note(error, is_lost=True)
            return None
        else:
            if found is None:
                self._note_value(active_ctx, active_property, element)
            return found
        finally:
            self._place = outer

    def _prepare_nested_context(
        self, active_ctx: Any, element: Any, options: Any
    ) -> Any:
        if "@context" in element:
            element["@context"] = self.mended_context(element["@context"])
        return super()._prepare_nested_context(active_ctx, element, options)

    def _expand_object(
        self,
        active_ctx: Any,
        active_property: Any,
        expanded_active_property: Any,
        element: Any,
        expanded_parent: Any,
        *args: Any,
        **kw: Any,
    ) -> None:
        self._mend_keywords(active_ctx, element)

        def expand(part: dict[str, Any], parent: dict[str, Any]) -> None:
            super(MendingProcessor, self)._expand_object(
                *(active_ctx, active_property, expanded_active_property),
                *(part, parent, *args),
                **kw,
            )

        before = {
            key: [*value] if isinstance(value, list) else value
            for key, value in expanded_parent.items()
        }

        def restore() -> None:
            expanded_parent.clear()
            expanded_parent.update(before)

        try:
            expand(element, expanded_parent)
        except _ERRORS:
            for key in list(element):
                self._mend_entry(element, key, _of_key(key, lambda x: expand(x, {})))
            restore()
            try:
                expand(element, expanded_parent)
            except _ERRORS as error:
                self._remove_nests(active_ctx, element, error)
                restore()
                expand(element, expanded_parent)

    def _remove_nests(self, active_ctx: Any, element: Any, error: Exception) -> None:
        """Remove `@nest` keys, whose entries do not fit to those outside."""
        iris = {key: self._expand_iri(active_ctx, key, vocab=True) for key in element}
        nests = [key for key, iri in iris.items() if iri == "@nest"]
        if not nests:
            raise error
        self._note(error, is_lost=True)
        for key in nests:
            del element[key]

    def _mend_entry(
        self, element: dict[str, Any], key: str, expand: Callable[[Any], None]
    ) -> None:
        """Leave out the parts of an entry that cannot be expanded."""
        try:
            expand(element[key])
        except _ERRORS:
            # a value object without its value or datatype is another one
            if "@value" in element and key in ("@value", "@type"):
                raise
            element[key] = self._good_part(element[key], expand)
            if element[key] is not None:
                try:
                    expand(element[key])  # the array itself may be wrong
                except _ERRORS as error:
                    self._note(error, is_lost=True)
                    element[key] = None
            if element[key] is None:
                del element[key]

    def _good_part(self, value: Any, expand: Callable[[Any], None]) -> Any:
        """Return the parts of a value that can be expanded; None if there are none."""
        try:
            expand(value)
        except _ERRORS as error:
            if isinstance(value, list) and len(value) > 1:
                parts = (self._good_part(part, expand) for part in value)
                return [part for part in parts if part is not None] or None
            if isinstance(value, dict) and value.keys().isdisjoint(_NODE_KEYS):
                members = {
                    key: self._good_part(part, _of_key(key, expand))
                    for key, part in value.items()
                    if part is not None
                }
                return {
                    x: members[x] for x in members if members[x] is not None
                } or None
            self._note(error, is_lost=True)
            return None
        return value

    def _mend_keywords(self, active_ctx: Any, element: dict[str, Any]) -> None:
        names: dict[str, str] = {}
        for key in sorted(element):
            keyword = self._expand_iri(active_ctx, key, vocab=True)
            if not isinstance(keyword, str) or not keyword.startswith("@"):
                continue
            if keyword in names and keyword not in _REPEATED:
                self._note("colliding keywords", is_lost=True)
                del element[key]
            else:
                names[keyword] = key
        if "@value" in names and element.get(names.get("@type", "")) in _IRI_TYPES:
            self._note("an IRI in a value object")
            iri = element[names["@value"]]
            element.clear()
            element["@id"] = iri
        elif "@value" in names:
            self._mend_value(element, names)
            self._keep(active_ctx, element, OF_VALUES, "invalid value object")
        elif "@list" in names or "@set" in names:
            self._keep(active_ctx, element, _OF_LISTS, "invalid set or list object")
        else:
            self._mend_node(element, names)
            self._drop_keywords(element, names)

    def _drop_keywords(self, element: dict[str, Any], names: dict[str, str]) -> None:
        """Remove names and types in the form of keywords, but no references.

        Also keywords of values.
        """
        for name in names.keys() & {"@language", "@direction"}:
            self._note(f"{name} without a value", is_lost=True)
            del element[names[name]]
        for name in names.keys() & {"@id", "@type"}:
            key = names[name]
            values = element.get(key, [])
            listed = values if isinstance(values, list) else [values]
            kept = [each for each in listed if not is_unknown_keyword(each)]
            is_reference = name == "@id" and len(element) == 1
            if len(kept) == len(listed) or is_reference:
                continue
            for each in filter(is_unknown_keyword, listed):
                self._note_keyword(each)
            element[key] = kept
            if not kept:
                del element[key]

    def _keep(
        self, active_ctx: Any, element: dict[str, Any], kept: frozenset[str], code: str
    ) -> None:
        for key in list(element):
            name = self._expand_iri(active_ctx, key, vocab=True)
            is_mapped = isinstance(name, str) and (":" in name or name[:1] == "@")
            if is_mapped and name not in kept:
                self._note(code, is_lost=True)
                del element[key]

    def _mend_value(self, element: dict[str, Any], names: dict[str, str]) -> None:
        value = element[names["@value"]]
        if isinstance(value, dict) and "@value" in value:
            self._note("value object in a value object")
            inner = {key: x for key, x in value.items() if key[:1] == "@"}
            del element[names["@value"]]
            element.update(inner)
            self._mend_value(element, {**names, **{key: key for key in inner}})
            return
        language, direction = names.get("@language"), names.get("@direction")
        if direction is not None and element[direction] is None:
            del element[direction]  # PyLD refuses it
            direction = None
        kind = element.get(names.get("@type", ""))
        if isinstance(kind, list) and len(kind) == 1:
            element[names["@type"]] = kind[0]
            self._note("invalid typed value")
        for key, is_right in ((language, is_text), (direction, is_direction)):
            if key is not None and (
                not is_right(element[key])
                or kind is not None
                or not isinstance(value, str | None)
            ):
                self._note("invalid language-tagged value")
                del element[key]

    def _mend_node(self, element: dict[str, Any], names: dict[str, str]) -> None:
        if (key := names.get("@id")) and not isinstance(element[key], str):
            value = element[key]
            if isinstance(value, dict):
                value = value.get("@id", value.get("@value"))
            elif isinstance(value, list) and len(value) == 1:
                value = value[0]
            element[key] = value
            if not isinstance(value, str):
                if len(element) == 1:  # a reference
                    raise ValueError("invalid @id value")
                del element[key]
            self._note("invalid @id value")
        if key := names.get("@type"):
            types = element[key]
            types = types if isinstance(types, list) else [types]
            listed = [*chain.from_iterable(map(_types_in, types))]
            kept = [each for each in listed if isinstance(each, str)]
            if kept != types:
                is_lost = any(each not in kept and each is not None for each in listed)
                self._note("invalid type value", is_lost=is_lost)
                element[key] = kept
                if not kept:
                    del element[key]

    def _expand_language_map(
        self, active_ctx: Any, language_map: dict[str, Any], direction: Any
    ) -> Any:
        texts: dict[str, list[str]] = {}
        for key, values in language_map.items():
            listed = values if isinstance(values, list) else [values]
            unwrapped = [
                each.get("@value") if isinstance(each, dict) else each
                for each in listed
            ]
            if unwrapped != listed:
                self._note("a value object in a language map")
            texts[key] = [each for each in unwrapped if isinstance(each, str)]
            if any(not is_text(each) for each in unwrapped):
                self._note("invalid language map value", is_lost=True)
        return super()._expand_language_map(active_ctx, texts, direction)

    def _expand_index_map(
        self, active_ctx: Any, active_property: Any, value: Any, key: Any, *args: Any
    ) -> Any:
        known: dict[str, list[Any]] = {}
        literals: list[Any] = []
        for name, entry in value.items():
            is_unknown = self._expand_iri(active_ctx, name, vocab=True) is None
            index = "@none" if is_unknown else name
            listed = jsonld.JsonLdProcessor.arrayify(entry)
            nodes = [each for each in listed if can_take_key(each, key)]
            literals += (x for x in listed if x not in nodes)
            known.setdefault(index, []).extend(nodes)
        place = active_ctx, active_property
        found = super()._expand_index_map(*place, known, key, *args)
        if literals:
            self._note(f"a literal in a map by {key}")
            found += super()._expand(*place, literals, args[-1], inside_index=True)
        return found

    def _object_to_rdf(self, item: Any, issuer: Any, *args: Any) -> Any:
        if isinstance(item, dict):
            for name in (item.get("@id"), item.get("@type")):
                if isinstance(name, str) and name.startswith(UNKNOWN):
                    note_unknown(self.log, name)
                    return None
        try:
            return super()._object_to_rdf(item, issuer, *args)
        except _ERRORS as error:  # a JSON literal with a number that JSON lacks
            self._note(error, is_lost=True)
            return None

    def _remove_unknown(self, graph: dict[str, Any]) -> None:
        """Remove names that only missing contexts could define."""
        for place, node in graph.items():
            is_unknown = isinstance(place, str) and place.startswith(UNKNOWN)
            for key in sorted(node.keys() - {"@id"}):
                values = node[key]
                names = values if key == "@type" else [key] * len(values)
                lost = [x for x in names if is_unknown or x.startswith(UNKNOWN)]
                if not lost:
                    continue
                name, inside = (place, "") if is_unknown else (lost[0], place)
                note_unknown(self.log, name, inside, len(lost))
                node[key] = [x for x in values if key == "@type" and x not in lost]

    def _graph_to_rdf(self, graph: Any, issuer: Any, options: Any) -> Any:
        self._remove_unknown(graph)
        try:
            return super()._graph_to_rdf(graph, issuer, options)
        except _ERRORS:
            triples = []
            for name in sorted(graph):
                node = {name: graph[name]}
                try:
                    triples += super()._graph_to_rdf(node, issuer, options)
                except _ERRORS as error:
                    self._note(error, is_lost=True)
            return triples

    def _create_node_map(self, input_: Any, *args: Any, **kw: Any) -> None:
        # Indexes have no meaning in RDF, and may be in conflict.
        if isinstance(input_, dict) and "@index" in input_:
            input_ = {key: input_[key] for key in input_ if key != "@index"}
        super()._create_node_map(input_, *args, **kw)

    # -- contexts --------------------------------------------------------------------

    def _process_context(
        self, active_ctx: Any, local_ctx: Any, *args: Any, **kw: Any
    ) -> Any:
        context = self.mended_context(local_ctx)
        try:
            return super()._process_context(active_ctx, context, *args, **kw)
        except _ERRORS as error:
            if isinstance(context, list) and len(context) > 1:
                for each in context:
                    active_ctx = self._process_context(active_ctx, each, *args, **kw)
                return active_ctx
            self._note(error, is_lost=True)
            own: dict[str, Any] = {}
            if isinstance(context, dict) and "@import" in context:
                own = {key: context[key] for key in context if key != "@import"}
            context = [STAND_IN["@context"], own]
            return super()._process_context(active_ctx, context, *args, **kw)

    def mended_context(self, context: Any) -> Any:
        """Return a context without wrong entries; itself if there are none."""
        if isinstance(context, list):
            kept = [each for each in context if is_context(each)]
            if len(kept) < len(context):
                self._note("invalid local context", is_lost=True)
            mended = [self.mended_context(each) for each in kept]
            return context if mended == context else mended
        if not isinstance(context, dict):
            if not is_context(context):
                self._note("invalid local context", is_lost=True)
                return []
            return context
        if "@context" in context:
            self._note("keyword redefinition")
            return self.mended_context(context["@context"])
        bad = [
            key
            for key in OF_CONTEXTS.keys() & context.keys()
            if not OF_CONTEXTS[key](context[key])
        ]
        for key in bad:
            self._note(f"invalid {key} in a context")
        return {x: context[x] for x in context if x not in bad} if bad else context

    def _create_term_definition(
        self,
        active_ctx: Any,
        local_ctx: Any,
        term: str,
        defined: Any,
        *args: Any,
        **kw: Any,
    ) -> None:
        previous = active_ctx["mappings"].get(term)
        context = local_ctx
        for _ in range(_MAX_TRIES):
            try:
                super()._create_term_definition(
                    active_ctx, context, term, defined, *args, **kw
                )
            except _ERRORS as error:
                if defined.get(term):
                    raise
                definition = without_wrong_part(context.get(term), code_of(error))
                self._note(error, is_lost=definition is None)
                if definition is None:
                    break
                context = {**context, term: definition}
                defined.pop(term, None)
            else:
                return
        defined[term] = True
        active_ctx["mappings"].pop(term, None)
        if previous is not None:
            active_ctx["mappings"][term] = previous


def _of_key(key: str, expand: Callable[[Any], None]) -> Callable[[Any], None]:
    return lambda value: expand({key: value})


def _types_in(value: Any) -> list[Any]:
    """Return the types in a value of `@type` that may be an object or array."""
    if isinstance(value, dict):
        name = value.get("@id", value.get("@value"))
        return [name] if name is not None or not value else [value]
    return value if isinstance(value, list) else [value]

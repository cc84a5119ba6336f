"""The registry of Microdata vocabularies: their prefixes, and entailed properties.

Source: Microdata to RDF, Second Edition (W3C Note, 2014), section 4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class VocabularyRegistry:
    """A parsed registry.

    `prefixes` has pairs of type prefix and vocabulary, the longest prefix first;
    `entailed` has IRIs of entailed properties by property.
    """

    prefixes: tuple[tuple[str, str], ...]
    entailed: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, registry: Mapping[str, Mapping[str, Any]]) -> Self:
        """Parse a registry in the form of section 4."""
        prefixes = {
            uri: uri if uri.endswith(("/", "#")) else uri + "#" for uri in registry
        }
        entailed = {}
        for uri, entry in registry.items():
            for name, rules in entry.get("properties", {}).items():
                found: list[str] = []
                for rule in ("subPropertyOf", "equivalentProperty"):
                    named = rules.get(rule, ())
                    found += [named] if isinstance(named, str) else named
                if found:
                    entailed[prefixes[uri] + name] = tuple(found)
        by_length = sorted(prefixes.items(), key=lambda item: -len(item[0]))
        return cls(prefixes=tuple(by_length), entailed=entailed)

    def of_type(self, item_type: str) -> str:
        """Return the vocabulary of a type: the prefix of property names."""
        for prefix, vocabulary in self.prefixes:
            if item_type.startswith(prefix):
                return vocabulary
        head, sign, _ = item_type.partition("#")
        return head + sign if sign else item_type[: item_type.rfind("/") + 1]


@cache
def default_registry() -> Mapping[str, Mapping[str, Any]]:
    """Return the registry that comes with the package, in the form of section 4."""
    path = files("rdfcrawl.rdf.data").joinpath("microdata_registry.json")
    registry: dict[str, dict[str, Any]] = json.loads(path.read_bytes())
    return registry


@cache
def default_vocabularies() -> VocabularyRegistry:
    """Return the registry that comes with the package."""
    return VocabularyRegistry.of(default_registry())

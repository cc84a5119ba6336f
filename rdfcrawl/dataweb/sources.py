"""The options of nodes of the extended profile in a generated web."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.config import NodeKind
from rdfcrawl.dataweb.evolution.node import EvolvingOptions
from rdfcrawl.dataweb.evolution.parameters import (
    DiscoveryWay,
    IndexLastmod,
    LastmodBehaviour,
    SitemapLayout,
    ValidatorBehaviour,
    VanishedAs,
)
from rdfcrawl.dataweb.nodes.catalog import CatalogOptions, DatasetOffer
from rdfcrawl.dataweb.nodes.endpoint import EndpointOptions
from rdfcrawl.dataweb.nodes.ftp import FtpOptions
from rdfcrawl.dataweb.nodes.paged import PagedOptions, PagingStyle
from rdfcrawl.dataweb.nodes.portal import PortalOptions
from rdfcrawl.dataweb.nodes.resourcesync import ResourceSyncOptions
from rdfcrawl.dataweb.nodes.semantic import DatasetWay, DumpKind, SemanticOptions
from rdfcrawl.dataweb.nodes.semantic_sitemap import DatasetNames
from rdfcrawl.dataweb.nodes.sitemap import SitemapOptions
from rdfcrawl.dataweb.nodes.sitemap_formats import SitemapSyntax, UrlsetDamage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rdfcrawl.dataweb.config import WebConfig
    from rdfcrawl.dataweb.nodes.site import SiteOptions

# Kind of node, the option that is its size, and about how many triples one unit has.
_KINDS: dict[NodeKind, tuple[type[SiteOptions[Any]], str, int]] = {
    NodeKind.SITEMAP: (SitemapOptions, "n_pages", 2),
    NodeKind.SEMANTIC: (SemanticOptions, "n_uris", 4),
    NodeKind.RESOURCESYNC: (ResourceSyncOptions, "n_resources", 1),
    NodeKind.PORTAL: (PortalOptions, "n_datasets", 8),
    NodeKind.ENDPOINT: (EndpointOptions, "n_triples", 1),
    NodeKind.FTP: (FtpOptions, "n_triples", 6),
    NodeKind.CATALOG: (CatalogOptions, "n_resources", 20),
    NodeKind.PAGED: (PagedOptions, "n_members", 6),
    NodeKind.EVOLVING: (EvolvingOptions, "n_pages", 16),
}
_ENUMS: dict[str, Any] = {
    "formats": SitemapSyntax,
    "damages": UrlsetDamage,
    "ways": DatasetWay,
    "broken": DatasetWay,
    "names": DatasetNames,
    "dump": DumpKind,
    "offers": DatasetOffer,
    "styles": PagingStyle,
    "rates": float,
    "vanished_as": VanishedAs,
    "discovery": DiscoveryWay,
    "lastmods": LastmodBehaviour,
    "layouts": SitemapLayout,
    "index_lastmods": IndexLastmod,
    "validators": ValidatorBehaviour,
}
_OF_PYTHON = frozenset(
    {"mirrors_of", "mirrors", "endpoint_mirrors", "clock", "begin", "mirror_of"}
)


def options_of(config: WebConfig, kind: NodeKind, index: int) -> SiteOptions[Any]:
    """Return the options of a node of a generated web.

    Args:
        config: of the web; `sources` may set any option of a kind.
        kind: none of ORCA's.
        index: of the node; it is the seed of data that have one.

    Raises:
        ConfigError: an option is not known, or has no such value.
    """
    made_of, size, n_triples = _KINDS[kind]
    values: dict[str, Any] = {size: max(config.triples // n_triples, 1)}
    known = {one.name for one in fields(made_of)}  # type: ignore[arg-type]
    if "seed" in known:
        values["seed"] = config.seed + index
    given = config.sources.get(kind, {})
    for name, value in given.items():
        if name not in known or name in _OF_PYTHON:
            raise ConfigError(f"{kind} nodes have no option {name!r}")
        values[name] = _convert(kind, name, value)
    return made_of(**values)


def parse_sources(texts: list[str]) -> dict[NodeKind, dict[str, Any]]:
    """Read `portal.n_datasets=20000` and the like; lists have commas.

    Raises:
        ConfigError: not of this form, or an unknown kind.
    """
    sources: dict[NodeKind, dict[str, Any]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        kind, dot, option = name.partition(".")
        if not (equals and dot and option) or kind not in _KINDS:
            raise ConfigError(
                f"source {text!r} is not KIND.OPTION=VALUE with KIND one of"
                f" {', '.join(_KINDS)}"
            )
        sources.setdefault(NodeKind(kind), {})[option] = value
    return sources


def _convert(kind: NodeKind, name: str, value: Any) -> Any:
    """Convert a text or JSON to the type of the option's default."""
    made_of = _KINDS[kind][0]
    defaults: Mapping[str, Any] = {
        one.name: one.default
        for one in fields(made_of)  # type: ignore[arg-type]
    }
    default = defaults[name]
    try:
        if isinstance(default, tuple):
            items = value.split(",") if isinstance(value, str) else list(value)
            convert = _ENUMS.get(name, str)
            return tuple(convert(one) for one in items if one != "")
        if isinstance(default, bool):
            return {"true": True, "false": False}[str(value).lower()]
        if name in _ENUMS:
            return _ENUMS[name](value)
        return type(default)(value) if default is not None else int(value)
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{kind}.{name} cannot be {value!r}") from error

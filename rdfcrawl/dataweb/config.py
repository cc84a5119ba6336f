"""Configuration of a synthetic Data Web: size, mix of nodes, behaviour."""

from __future__ import annotations

import ipaddress
import json
import math
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.messages import counted

MAX_NODES = 60_000  # a /16 of loopback without .0 and .255
MAX_TRIPLES_PER_NODE = 1_000_000
MAX_GENERATION = 1_000
MAX_SPEED = 1e6  # a year in half a minute
MAX_HORIZON_DAYS = 36_600.0


class NodeKind(StrEnum):
    """The ways in which a node publishes RDF, in the order of their ids."""

    DEREFERENCING = "deref"
    CKAN = "ckan"
    SPARQL = "sparql"
    DUMP = "dump"
    RDFA = "rdfa"
    # The others occur in the extended profile only.
    SITEMAP = "sitemap"
    SEMANTIC = "semantic"
    RESOURCESYNC = "resourcesync"
    PORTAL = "portal"
    ENDPOINT = "endpoint"
    FTP = "ftp"
    CATALOG = "catalog"
    PAGED = "paged"
    EVOLVING = "evolving"


ORCA_KINDS = tuple(NodeKind)[:5]
"""The kinds of node that ORCA has."""


class DumpProfile(StrEnum):
    """Which serializations and compressions dumps have."""

    ORCA_2020 = "2020"  # of the published runs
    ORCA_2021 = "2021"  # of later versions
    EXTENDED = "extended"  # all that rdfcrawl reads


def _equal_weights() -> dict[NodeKind, float]:
    return dict.fromkeys(ORCA_KINDS, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebConfig:
    """Parameters of one web; equal parameters give an identical web.

    Attributes:
        n_nodes: hosts.
        degree: mean number of links (in and out) of a node.
        triples: wanted number of triples of one node's graph.
        rdf_degree: mean number of triples in which a resource occurs.
        weights: share of each kind; a kind with weight 0 does not occur.
        seed: of all random choices.
        generation: 0 is the web as it is made; from each to the next a tenth of the
            resources of dereferencing, dump and SPARQL nodes change, a twentieth are
            gone, and a twentieth come.
        port: the same for all hosts; 0 lets the server choose.
        first_address: loopback address of node 0; the others follow it.
        delay_secs: `Crawl-delay` of dereferencing nodes; 0 states none.
        disallowed: ratio of disallowed to all resources of a dereferencing node.
        compressed: probability that a dump is compressed.
        profile: serializations and compressions of dumps.
        rdfa_dir: unpacked RDFa test suite whose pages RDFa nodes serve; empty for
            the pages of this package.
        latency_ms: delay of every response.
        speed: seconds that pass for evolving nodes in one of ours; with 0, their time
            is only moved on by hand.
        begin: date at the beginning of their time, in ISO 8601; without an offset, it
            is in UTC.
        horizon_days: the history up to this day is written beforehand.
        n_mirrors: number of evolving nodes, the last ones, that mirror the first ones.
        sources: options of the kinds that only the extended profile has, as
            `{NodeKind.PORTAL: {"n_datasets": 20_000}}`; see `nodes`.

    Raises:
        ConfigError: a parameter is out of its range; the message names it.
    """

    n_nodes: int = 20
    degree: int = 5
    triples: int = 100
    rdf_degree: int = 5
    weights: dict[NodeKind, float] = field(default_factory=_equal_weights)
    seed: int = 20200318
    generation: int = 0
    port: int = 8085
    first_address: str = "127.42.0.1"
    delay_secs: float = 0.0
    disallowed: float = 0.0
    compressed: float = 0.5
    profile: DumpProfile = DumpProfile.ORCA_2020
    rdfa_dir: str = ""
    latency_ms: float = 0.0
    speed: float = 0.0
    begin: str = "2024-05-01T00:00:00+00:00"
    horizon_days: float = 30.0
    n_mirrors: int = 0
    sources: dict[NodeKind, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_range("nodes", self.n_nodes, 1, MAX_NODES)
        _check_range("triples", self.triples, 1, MAX_TRIPLES_PER_NODE)
        _check_range("generation", self.generation, 0, MAX_GENERATION)
        _check_range("port", self.port, 0, 65535)
        _check_range("delay", self.delay_secs, 0, 3600)
        _check_range("disallowed", self.disallowed, 0, 0.9)
        _check_range("compressed", self.compressed, 0, 1)
        _check_range("latency-ms", self.latency_ms, 0, 60_000)
        _check_range("speed", self.speed, 0, MAX_SPEED)
        _check_range("horizon", self.horizon_days, 0, MAX_HORIZON_DAYS)
        _check_range("mirrors", self.n_mirrors, 0, self.n_nodes // 2)
        _check_begin(self.begin)
        object.__setattr__(self, "profile", _profile(self.profile))
        self._check_address()
        self._check_weights()
        _check_degree("degree", self.degree, self.n_nodes)
        _check_range("rdf-degree", self.rdf_degree, 1, self.triples)
        _check_degree("rdf-degree", self.rdf_degree, self.n_resources)

    def _check_address(self) -> None:
        try:
            address = ipaddress.IPv4Address(self.first_address)
        except ValueError as error:
            raise ConfigError(
                f"address {self.first_address!r} is no IPv4 address"
            ) from error
        if not address.is_loopback:
            raise ConfigError(f"address {address} is not in 127.0.0.0/8")

    def _check_weights(self) -> None:
        if any(not 0 <= weight < math.inf for weight in self.weights.values()):
            raise ConfigError("weights must be finite and at least 0")
        if not self.kinds:
            raise ConfigError("weights must have one that is above 0")
        others = [kind for kind in self.kinds if kind not in ORCA_KINDS]
        if others and self.profile is not DumpProfile.EXTENDED:
            raise ConfigError(f"{others[0]} nodes are of the extended profile only")
        if len(self.kinds) > self.n_nodes:
            raise ConfigError(
                f"nodes is {self.n_nodes}, but weights name"
                f" {counted(len(self.kinds), 'kind')}"
            )

    @property
    def kinds(self) -> tuple[NodeKind, ...]:
        """The kinds of node that occur, in the order of their ids."""
        return tuple(kind for kind in NodeKind if self.weights.get(kind, 0) > 0)

    @property
    def begin_date(self) -> datetime:
        """The date at the beginning of the time of evolving nodes."""
        date = datetime.fromisoformat(self.begin)
        return date if date.tzinfo else date.replace(tzinfo=UTC)

    @property
    def n_resources(self) -> int:
        """Resources of one node's graph (ORCA: ceil(2T/d))."""
        return math.ceil(2 * self.triples / self.rdf_degree)

    @property
    def n_disallowed(self) -> int:
        """Disallowed resources of a dereferencing node, besides `n_resources`."""
        if not self.disallowed:
            return 0
        return max(int(self.n_resources * self.disallowed / (1 - self.disallowed)), 1)

    def to_json(self) -> str:
        """Return the parameters as one line of JSON."""
        return json.dumps(asdict(self))


def parse_config(text: str) -> WebConfig:
    """Read the output of `WebConfig.to_json`.

    Raises:
        ConfigError: not JSON, an unknown parameter, or one out of range.
    """
    try:
        members: dict[str, Any] = json.loads(text)
        members["sources"] = {
            NodeKind(kind): options
            for kind, options in members.get("sources", {}).items()
        }
        members["weights"] = {
            NodeKind(kind): float(weight) for kind, weight in members["weights"].items()
        }
        unknown = members.keys() - {one.name for one in fields(WebConfig)}
        if unknown:
            raise ConfigError(f"unknown parameters: {', '.join(sorted(unknown))}")
        return WebConfig(**members)
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ConfigError(f"not the parameters of a web: {error}") from error


def parse_weights(text: str) -> dict[NodeKind, float]:
    """Read `deref=21,ckan=5`; kinds that are not named have weight 0.

    Raises:
        ConfigError: an unknown kind, or a weight that is no number.
    """
    weights = dict.fromkeys(NodeKind, 0.0)
    for part in text.split(","):
        name, _, number = part.partition("=")
        try:
            weights[NodeKind(name.strip())] = float(number)
        except ValueError as error:
            raise ConfigError(
                f"weight {part!r} is not KIND=NUMBER with KIND one of"
                f" {', '.join(NodeKind)}"
            ) from error
    return weights


# Parameters of the two experiments of the Squirrel paper (ISWC 2020, section 5).
EXPERIMENTS: dict[int, dict[str, Any]] = {
    1: {
        "n_nodes": 100,
        "degree": 20,
        "triples": 1000,
        "rdf_degree": 9,
        "weights": parse_weights("deref=21,ckan=5,sparql=30,dump=40,rdfa=4"),
        "compressed": 0.3,
    },
    2: {
        "n_nodes": 200,
        "degree": 20,
        "triples": 1000,
        "rdf_degree": 9,
        "weights": parse_weights("deref=1"),
        "compressed": 0.0,
    },
}


def _profile(name: str) -> DumpProfile:
    try:
        return DumpProfile(str(name))
    except ValueError:
        raise ConfigError(
            f"profile is {name}, allowed are {', '.join(DumpProfile)}"
        ) from None


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ConfigError(f"{name} is {value}, allowed are {low} to {high}")


def _check_begin(text: str) -> None:
    try:
        year = datetime.fromisoformat(text).year
    except ValueError as error:
        raise ConfigError(f"begin is {text!r}, and no date of ISO 8601") from error
    _check_range("year of begin", year, 1970, 9000)


def _check_degree(name: str, degree: int, n: int) -> None:
    """Return ORCA's bounds: enough edges to connect the graph, none twice."""
    if not 2 - 2 / n <= degree <= max(n - 1, 0):
        raise ConfigError(
            f"{name} is {degree}, allowed for {n} are {math.ceil(2 - 2 / n)} to {n - 1}"
        )

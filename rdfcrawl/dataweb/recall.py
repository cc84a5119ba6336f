"""Recall of a crawl: share of the truth among the stored statements.

ORCA's rule: each statement of the truth is one `ASK` over the union of all graphs; its
blank nodes are free, each on its own, and so is an `xsd:time` object. Statements beyond
the truth are counted too (ORCA does not).
"""

from __future__ import annotations

import bz2
import glob
import gzip
import lzma
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

import pyoxigraph as ox

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.core.namespaces import XSD
from rdfcrawl.dataweb.web import GRAPH_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_SURPLUS = 2_000_000  # different statements that are remembered
MAX_SAMPLES = 20

_XSD_TIME = f"{XSD}time"
_SUFFIXES = (".nq", ".nt")
_PACKED = (".gz", ".bz2", ".xz")

Key = tuple[object, ...]  # the terms of a pattern that are bound
Mask = tuple[bool, bool, bool]  # which of subject, predicate, object are bound


@dataclass(slots=True)
class NodeRecall:
    """Statements of one node: how many are expected, how many were found."""

    kind: str
    n_expected: int = 0
    n_found: int = 0


@dataclass(slots=True)
class RecallReport:
    """Recall of a crawl.

    Attributes:
        nodes: by graph of the truth, without those that have no statements.
        missing: a sample of the statements that were not found.
        n_surplus: different statements that match nothing in the truth.
        surplus: a sample of them.
        n_read: statements in the crawler's output, repeats included.
        is_surplus_exact: False if there are more than `n_surplus`.
    """

    nodes: dict[str, NodeRecall]
    missing: list[str] = field(default_factory=list)
    n_surplus: int = 0
    surplus: list[str] = field(default_factory=list)
    n_read: int = 0
    is_surplus_exact: bool = True

    @property
    def n_expected(self) -> int:
        """Statements of the truth."""
        return sum(node.n_expected for node in self.nodes.values())

    @property
    def n_found(self) -> int:
        """Statements of the truth that were found."""
        return sum(node.n_found for node in self.nodes.values())

    @property
    def micro(self) -> float:
        """Found / expected over all statements."""
        return self.n_found / self.n_expected

    @property
    def macro(self) -> float:
        """Mean of the nodes' recalls."""
        return _mean(self.nodes.values())

    def kinds(self) -> dict[str, tuple[int, int, float]]:
        """Return found, expected and macro recall by kind of node."""
        groups: dict[str, list[NodeRecall]] = defaultdict(list)
        for node in self.nodes.values():
            groups[node.kind].append(node)
        return {
            kind: (
                sum(node.n_found for node in nodes),
                sum(node.n_expected for node in nodes),
                _mean(nodes),
            )
            for kind, nodes in groups.items()
        }


class _Truth:
    """The patterns of the truth, indexed by the positions that are bound."""

    def __init__(self, quads: Iterable[ox.Quad]) -> None:
        self._patterns: list[tuple[ox.Quad, str]] = []
        self._index: dict[Mask, dict[Key, list[int]]] = defaultdict(dict)
        for quad in quads:
            mask, key = _pattern(quad)
            positions = self._index[mask].setdefault(key, [])
            positions.append(len(self._patterns))
            graph = quad.graph_name
            name = graph.value if isinstance(graph, ox.NamedNode) else ""
            self._patterns.append((quad, name))
        self._open = {mask: set(keys) for mask, keys in self._index.items()}

    def match(self, quad: ox.Quad) -> bool:
        """Mark the patterns that a statement fulfils; return whether there are any."""
        terms = (quad.subject, quad.predicate, _comparable(quad.object))
        is_known = False
        for mask, keys in self._index.items():
            key = tuple(term for term, bound in zip(terms, mask, strict=True) if bound)
            if key in keys:
                self._open[mask].discard(key)
                is_known = True
        return is_known

    def report(self) -> RecallReport:
        """Count found and missing statements."""
        report = RecallReport({})
        missing = {
            position
            for mask, keys in self._open.items()
            for key in keys
            for position in self._index[mask][key]
        }
        for position, (_quad, name) in enumerate(self._patterns):
            node = report.nodes.setdefault(name, NodeRecall(_kind(name)))
            node.n_expected += 1
            node.n_found += position not in missing
        report.missing = [
            str(self._patterns[position][0].triple)
            for position in sorted(missing)[:MAX_SAMPLES]
        ]
        return report


def judge(truth: Path, outputs: Iterable[str]) -> RecallReport:
    """Compare the output of a crawler with the truth.

    Args:
        truth: N-Quads of `DataWeb.write_truth`; other N-Triples or N-Quads have
            one node per graph.
        outputs: files, folders and glob patterns of N-Quads and N-Triples, also
            packed (`.gz`, `.bz2`, `.xz`).

    Raises:
        ConfigError: a file cannot be read, or the truth is empty.
    """
    patterns = _Truth(_iter_quads(truth))
    surplus: set[tuple[object, ...]] = set()
    samples: list[str] = []
    n_read, is_exact = 0, True
    for path in list_outputs(outputs):
        for quad in _iter_quads(path):
            n_read += 1
            if patterns.match(quad):
                continue
            key = (quad.subject, quad.predicate, quad.object)
            if len(surplus) >= MAX_SURPLUS:
                is_exact = is_exact and key in surplus
                continue
            if key not in surplus and len(samples) < MAX_SAMPLES:
                samples.append(str(quad))
            surplus.add(key)
    report = patterns.report()
    if not report.nodes:
        raise ConfigError(f"{truth} has no statements")
    report.n_read, report.n_surplus = n_read, len(surplus)
    report.surplus, report.is_surplus_exact = samples, is_exact
    return report


def list_outputs(names: Iterable[str]) -> list[Path]:
    """Resolve files, folders (all N-Quads and N-Triples below) and glob patterns.

    Raises:
        ConfigError: a name matches nothing.
    """
    paths: dict[Path, None] = {}
    for name in names:
        matches = [
            Path(one)
            for one in sorted(glob.glob(name, recursive=True))  # noqa: PTH207
        ]  # Path.glob takes no absolute pattern
        if Path(name).exists():
            matches = [Path(name)]
        if not matches:
            raise ConfigError(f"{name} does not exist")
        for match in matches:
            below = sorted(match.rglob("*")) if match.is_dir() else [match]
            paths.update(
                (path, None)
                for path in below
                if path.is_file() and (path == match or _is_output(path))
            )
    return list(paths)


def _is_output(path: Path) -> bool:
    suffixes = path.suffixes
    if suffixes and suffixes[-1] in _PACKED:
        suffixes = suffixes[:-1]
    return bool(suffixes) and suffixes[-1] in _SUFFIXES


def _iter_quads(path: Path) -> Iterator[ox.Quad]:
    """Parse a file as N-Quads, of which N-Triples is a subset.

    Blank nodes are renamed, so that those of two files stay apart.
    """
    try:
        with _open(path) as stream:
            yield from ox.parse(
                stream,
                format=ox.RdfFormat.N_QUADS,
                lenient=True,
                rename_blank_nodes=True,
            )
    except (OSError, EOFError, SyntaxError, ValueError, lzma.LZMAError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error


def _open(path: Path) -> IO[bytes]:
    match path.suffix:
        case ".gz":
            return cast("IO[bytes]", gzip.open(path, "rb"))
        case ".bz2":
            return bz2.open(path, "rb")
        case ".xz":
            return lzma.open(path, "rb")
    return path.open("rb")


def _pattern(quad: ox.Quad) -> tuple[Mask, Key]:
    mask = (
        not isinstance(quad.subject, ox.BlankNode),
        True,
        not _is_free(quad.object),
    )
    terms = (quad.subject, quad.predicate, _comparable(quad.object))
    return mask, tuple(term for term, bound in zip(terms, mask, strict=True) if bound)


def _is_free(term: object) -> bool:
    if isinstance(term, ox.Literal):
        return term.datatype.value == _XSD_TIME
    return isinstance(term, ox.BlankNode)


def _comparable(term: object) -> object:
    """Return a term as compared: its language without case (RDF 1.1 Concepts, 3.3)."""
    if isinstance(term, ox.Literal) and term.language:
        return ox.Literal(term.value, language=term.language.lower())
    return term


def _kind(name: str) -> str:
    return name.removeprefix(GRAPH_PREFIX).partition(":")[0] or "all"


def _mean(nodes: Iterable[NodeRecall]) -> float:
    recalls = [node.n_found / node.n_expected for node in nodes]
    return sum(recalls) / len(recalls)

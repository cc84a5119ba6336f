"""Summary of figures 3 to 5 over many domains, in numbers (section 5.1.3)."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from math import log
from statistics import StatisticsError, correlation
from typing import TYPE_CHECKING

from rdfcrawl.analysis.measures.ratio import MeasuredRatio

if TYPE_CHECKING:
    from rdfcrawl.analysis.measures.coverage import DomainCoverage


@dataclass(slots=True)
class CoverageSummary:
    """Summary of figures 3 to 5; each added domain takes 16 bytes.

    Attributes:
        n_half: domains whose UniqueCoverage is above 0.5; the paper found 46 %.
        n_most: above 0.9; the paper found 12 %.
        n_above: above the diagonal of figure 5(b): IndexCoverage is above
            UniqueCoverage.
        n_compared: domains that have both.
    """

    n_half: int = 0
    n_most: int = 0
    n_above: int = 0
    n_compared: int = 0
    _log_sizes: array[float] = field(default_factory=lambda: array("d"))
    _coverages: array[float] = field(default_factory=lambda: array("d"))

    def add(self, domain: DomainCoverage) -> None:
        """Count one domain; domains without UniqueCoverage are ignored."""
        unique = domain.unique_coverage.value
        if unique is None:
            return
        self._log_sizes.append(log(domain.both.seen))
        self._coverages.append(unique)
        self.n_half += unique > 0.5
        self.n_most += unique > 0.9
        indexed = domain.index_coverage.value
        if indexed is not None:
            self.n_compared += 1
            self.n_above += indexed > unique

    @property
    def half_share(self) -> MeasuredRatio:
        """The share of domains with UniqueCoverage above 0.5."""
        return MeasuredRatio(self.n_half, len(self._coverages))

    @property
    def most_share(self) -> MeasuredRatio:
        """The share of domains with UniqueCoverage above 0.9."""
        return MeasuredRatio(self.n_most, len(self._coverages))

    @property
    def above_share(self) -> MeasuredRatio:
        """The share of domains above the diagonal of figure 5(b)."""
        return MeasuredRatio(self.n_above, self.n_compared)

    @property
    def size_correlation(self) -> float | None:
        """Pearson's r of log DomainSize and UniqueCoverage; None if undefined."""
        try:
            return correlation(self._log_sizes, self._coverages)
        except StatisticsError:  # fewer than two domains, or all equal
            return None

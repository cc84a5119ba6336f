"""Table of the content that is on several registered domains."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.report.content import MAX_ROWS, ReportSection, ReportTable
from rdfcrawl.core.counting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.analysis.urldb.mirrors import MirrorCluster, MirrorSearch

_N_NAMED: Final = 3  # domains


def mirror_section(
    search: MirrorSearch, site: str | None = None
) -> ReportSection | None:
    """Return the section about mirrors; None if there are none.

    Args:
        search: that is run once.
        site: registered domain whose content is reported; None: all.

    Raises:
        OSError: a disk is full, or cannot be read.
    """
    counts = _MirrorCounts()
    most = nlargest(
        MAX_ROWS,
        counts.counted(each for each in search.find(site) if each.is_of_site),
        key=lambda each: (each.n_domains, len(each.numbers), each.url),
    )
    if not most:
        return None
    contents = counted(counts.n_clusters, "content is", "contents are")
    told = (
        f"{contents} on several sites, under {counted(counts.n_urls, 'URL')}. Each"
        " counts in all its sites, as all other measures are of one site."
    )
    if search.n_left_out:
        told += (
            f" Too common to compare all contents with it:"
            f" {counted(search.n_crowded, 'part')}; a content was left out"
            f" {counted(search.n_left_out, 'time')}."
        )
    table = ReportTable(
        key="mirrors",
        title="Mirrors",
        sentence="Content that is the same, or nearly so, on several sites, by the URL"
        " that represents it.",
        columns=("URL", "URLs", "sites", "the first sites"),
        rows=tuple(
            (
                *(each.url, len(each.numbers), each.n_domains),
                ", ".join(each.domains[:_N_NAMED]),
            )
            for each in most
        ),
        n_left_out=counts.n_clusters - len(most),
    )
    return ReportSection("mirrors", "Mirrors", told, (table,))


class _MirrorCounts:
    """How many clusters went by, and how many URLs they have."""

    def __init__(self) -> None:
        self.n_clusters = self.n_urls = 0

    def counted(self, clusters: Iterator[MirrorCluster]) -> Iterator[MirrorCluster]:
        """Yield the clusters."""
        for each in clusters:
            self.n_clusters += 1
            self.n_urls += len(each.numbers)
            yield each

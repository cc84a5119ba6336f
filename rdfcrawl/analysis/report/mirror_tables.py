"""Table of content that several registered domains have in common."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, Final

from rdfcrawl.analysis.report.content import MAX_ROWS, ReportSection, ReportTable
from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rdfcrawl.analysis.urldb.mirrors import MirrorCluster, MirrorSearch

_N_NAMED: Final = 3  # domains


def mirror_section(
    search: MirrorSearch, site: str | None = None
) -> ReportSection | None:
    """Return the section about mirrors; None if there are none.

    Args:
        search: is run once.
        site: registered domain to report; None: all.

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
    text = (
        f"{contents} on several sites, under {counted(counts.n_urls, 'URL')}. Each"
        " counts in all its sites, since all other measures concern single sites."
    )
    if search.n_left_out:
        text += (
            f" {counted(search.n_crowded, 'part')} of pages are too common for a"
            " complete comparison; a content was left out"
            f" {counted(search.n_left_out, 'time')}."
        )
    table = ReportTable(
        key="mirrors",
        title="Mirrors",
        sentence="Equal or nearly equal content on several sites, by its"
        " representative URL.",
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
    return ReportSection("mirrors", "Mirrors", text, (table,))


class _MirrorCounts:
    """Count clusters and their URLs while they pass."""

    def __init__(self) -> None:
        self.n_clusters = self.n_urls = 0

    def counted(self, clusters: Iterator[MirrorCluster]) -> Iterator[MirrorCluster]:
        """Yield the clusters."""
        for each in clusters:
            self.n_clusters += 1
            self.n_urls += len(each.numbers)
            yield each

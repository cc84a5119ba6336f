"""Results of scraping rules on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.core.errors import FaultLog
from rdfcrawl.rdf.checking import iter_checked
from rdfcrawl.rdf.html.rules import scrape

if TYPE_CHECKING:
    from rdfcrawl.core.errors import Reason
    from rdfcrawl.rdf.html.page import ParsedPage
    from rdfcrawl.rdf.html.rules import RuleSet

EX = "https://e.example/"


class ScrapedPage:
    """Result of rules on a page."""

    def __init__(self, rules: RuleSet, page: ParsedPage) -> None:
        self.page = page
        self.log = FaultLog()
        lines = scrape(page, rules.matching(page.url), self.log)
        self.n_quads = b"".join(iter_checked(lines, self.log))

    @property
    def lines(self) -> list[str]:
        """The statements with `ex:` for IRIs, without the dots."""
        text = self.n_quads.decode().replace(f"<{EX}", "<")
        return [line.removesuffix(" .") for line in text.splitlines()]

    @property
    def reasons(self) -> dict[Reason, int]:
        """Number of each kind of fault."""
        return {fault.reason: fault.count for fault in self.log.all()}

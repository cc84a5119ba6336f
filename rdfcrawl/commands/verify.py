"""`scrapy verify`: compare the stored documents of sites with the sites."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.console import fail, number, switch, warn, write_lines
from rdfcrawl.core.messages import counted
from rdfcrawl.launch.private_crawls import PrivateCrawlCommand

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from rdfcrawl.analysis.verifications import SiteVerification

_SAMPLE: Final = 100
_SHOWN: Final = 20  # documents of each source, in the table


class Command(PrivateCrawlCommand):
    """Compare the documents of a crawl with their sites; 0: all are equal, 1: not."""

    synopsis = "[options] SITE..."
    summary = "Compare the stored documents of sites with the sites"
    options = (
        number(
            "--sample",
            "N",
            f"pages of each source to request (default {_SAMPLE})",
            least=1,
            default=_SAMPLE,
        ),
        switch("--all", "request all pages"),
        number("--seed", "N", "choose another sample (default 0)", least=0, default=0),
        switch("--json", "write JSON"),
    )

    def act(
        self, settings: BaseSettings, args: list[str], opts: argparse.Namespace
    ) -> int:
        """Verify; return 0 if all documents are known to be equal, else 1."""
        from rdfcrawl.launch.verifying.running import verify
        from rdfcrawl.stores.crawl_folder import find_crawl
        from rdfcrawl.uri import host_of
        from rdfcrawl.uri.parse import named_url

        hosts = list(dict.fromkeys(host_of(named_url(each)) for each in args))
        if not hosts or self.crawler_process is None:
            fail("verify: give at least one site: a host, or a URL of it")
        root = find_crawl(settings)
        with tempfile.TemporaryDirectory(prefix="verify-") as folder:
            found = verify(
                self.crawler_process,
                settings,
                root,
                hosts,
                folder=Path(folder),
                n_sampled=None if opts.all else opts.sample,
                seed=opts.seed,
            )
        for each in found:
            try:
                each.keep(root)
            except OSError as error:
                warn(f"verify: result not kept: {error}")
            if opts.json:
                sys.stdout.write(f"{json.dumps(each.as_json())}\n")
            else:
                write_lines(*_lines(each))
        return 0 if all(each.is_equal for each in found) else 1


def _lines(found: SiteVerification) -> list[str]:
    """Return a table of the sources, and the first documents that are not equal."""
    from rdfcrawl.analysis.verifications import NUMBERS, MatchVerdict

    lines = ["".join(f"{name:>10}" for name in NUMBERS) + "  source"]
    n_checked = 0
    for source, report in found.sources.items():
        row = "".join(f"{n:>10,}" for n in report.numbers().values())
        lines.append(f"{row}  {source.kind} {source.name}")
        n_checked += sum(report.counts[verdict] for verdict in MatchVerdict)
    for report in found.sources.values():
        documents = sorted(report.documents)
        lines += [f"{x.verdict}: {x.url} ({x.detail})" for x in documents[:_SHOWN]]
        if len(documents) > _SHOWN:
            lines.append(f"{len(documents) - _SHOWN:,} more; --json lists all")
    requests = counted(found.n_requests, "request")
    documents_ = counted(n_checked, "document")
    return [*lines, f"{found.site}: {documents_} compared by {requests}"]

"""`scrapy verify`: compare the stored documents of a site with the site."""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rdfcrawl.core.console import QuietCommand, add_number, fail, write_lines
from rdfcrawl.core.messages import counted

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from rdfcrawl.launch.verifying.running import SiteVerification

_BELOW_CMDLINE: Final = 39  # priority of a setting that `-L` and `-s` replace
_SAMPLE: Final = 100
_SHOWN: Final = 20  # documents of each source, in the table


class Command(QuietCommand):
    """Compare what a crawl has of a site with the site; 0: all is equal, 1: not."""

    requires_crawler_process = True
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": True}
    synopsis = "[options] SITE"
    summary = "Compare the stored documents of a site with the site"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Declare the options."""
        super().add_options(parser)
        add_number(
            parser,
            "--sample",
            least=1,
            metavar="N",
            default=_SAMPLE,
            help=f"pages of each source to request (default {_SAMPLE})",
        )
        parser.add_argument("--all", action="store_true", help="request all pages")
        add_number(
            parser,
            "--seed",
            least=0,
            metavar="N",
            default=0,
            help="choose another sample (default 0)",
        )
        parser.add_argument("--json", action="store_true", help="write JSON")

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Apply the options, and prepare the process for a crawl."""
        super().process_options(args, opts)
        if self.settings is not None:
            from rdfcrawl.launch.crawls import prepare_process

            prepare_process(self.settings)
            self.settings.set("LOG_LEVEL", "ERROR", _BELOW_CMDLINE)

    def act(
        self, settings: BaseSettings, args: list[str], opts: argparse.Namespace
    ) -> int:
        """Verify; return 0 if all documents are known to be equal, else 1."""
        from rdfcrawl.launch.verifying.running import verify
        from rdfcrawl.stores.crawl_folder import find_crawl
        from rdfcrawl.uri import host_of

        if len(args) != 1 or self.crawler_process is None:
            fail("verify: give one site: a host, or a URL of it")
        host = host_of(args[0]) if "://" in args[0] else args[0].lower()
        root = find_crawl(settings)
        with tempfile.TemporaryDirectory(prefix="verify-") as folder:
            found = verify(
                self.crawler_process,
                settings,
                root,
                host,
                folder=Path(folder),
                n_sampled=None if opts.all else opts.sample,
                seed=opts.seed,
            )
        if opts.json:
            sys.stdout.write(f"{json.dumps(_as_json(host, found))}\n")
        else:
            write_lines(*_lines(found))
        is_equal = not any(each.documents for each in found.sources.values())
        return 0 if is_equal else 1


def _as_json(host: str, found: SiteVerification) -> dict[str, Any]:
    from rdfcrawl.launch.verifying.values import MatchVerdict

    return {
        "site": host,
        "requests": found.n_requests,
        "sources": [
            {
                "kind": source.kind,
                "name": source.name,
                **{verdict: report.counts[verdict] for verdict in MatchVerdict},
                "unsampled": report.n_unsampled,
                "requests": report.n_requests,
                "documents": [
                    {"url": x.url, "verdict": x.verdict, "detail": x.detail}
                    for x in sorted(report.documents)
                ],
            }
            for source, report in found.sources.items()
        ],
    }


def _lines(found: SiteVerification) -> list[str]:
    """Return a table of the sources, and the first documents that are not equal."""
    from rdfcrawl.launch.verifying.values import MatchVerdict

    names = [*MatchVerdict, "unsampled", "requests"]
    lines = ["".join(f"{name:>10}" for name in names) + "  source"]
    total: Counter[str] = Counter()
    for source, report in found.sources.items():
        counts = Counter({str(x): n for x, n in report.counts.items()})
        counts["unsampled"], counts["requests"] = report.n_unsampled, report.n_requests
        total += counts
        row = "".join(f"{counts[name]:>10,}" for name in names)
        lines.append(f"{row}  {source.kind} {source.name}")
    for report in found.sources.values():
        documents = sorted(report.documents)
        lines += [f"{x.verdict}: {x.url} ({x.detail})" for x in documents[:_SHOWN]]
        if len(documents) > _SHOWN:
            lines.append(f"{len(documents) - _SHOWN:,} more; --json lists all")
    n_checked = sum(total[verdict] for verdict in MatchVerdict)
    requests = counted(found.n_requests, "request")
    return [*lines, f"{counted(n_checked, 'document')} compared by {requests}"]

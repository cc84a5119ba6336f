"""`scrapy explain`: why a URI was fetched or not."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict

from scrapy.settings import BaseSettings

from rdfcrawl.core.console import QuietCommand, fail, switch


class Command(QuietCommand):
    """Show all that is known of one URI: frontier, provenance, decisions, rules."""

    synopsis = "[options] URI"
    summary = "Explain why a URI was fetched or not"
    options = (
        switch("--json", "write JSON"),
        switch("--offline", "read logs and settings alone, not the frontier"),
    )

    def act(
        self, settings: BaseSettings, args: list[str], opts: argparse.Namespace
    ) -> int:
        """Explain; return 1 if nothing is known."""
        if len(args) != 1:
            fail("explain: give one URI: explain URI")
        from rdfcrawl.monitor.explaining.explanation import explain
        from rdfcrawl.monitor.explaining.text import explanation_lines
        from rdfcrawl.monitor.explaining.values import Verdict

        found = asyncio.run(explain(settings, args[0], with_frontier=not opts.offline))
        if opts.json:
            sys.stdout.write(f"{json.dumps(asdict(found))}\n")
        else:
            for line in explanation_lines(found):
                # Names from the web may contain control characters of terminals.
                shown = line if line.isprintable() else ascii(line)[1:-1]
                sys.stdout.write(f"{shown}\n")
        return int(found.verdict in (Verdict.NEVER_SEEN, Verdict.NO_URI))

"""`scrapy explain`: why a URI was fetched or not."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict

from rdfcrawl.core.console import QuietCommand, fail, switch, warn
from rdfcrawl.core.errors import ConfigError


class Command(QuietCommand):
    """Show all that is known of one URI: frontier, provenance, decisions, rules."""

    synopsis = "[options] URI"
    summary = "Explain why a URI was fetched or not"
    options = (
        switch("--json", "write JSON"),
        switch("--offline", "read logs and settings alone, not the frontier"),
    )

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Explain; exit with 1 if nothing is known, with 2 on wrong usage."""
        if self.settings is None:
            return
        if len(args) != 1:
            fail("explain: give one URI: explain URI")
        from rdfcrawl.monitor.explaining.explanation import explain
        from rdfcrawl.monitor.explaining.text import explanation_lines
        from rdfcrawl.monitor.explaining.values import Verdict

        try:
            found = asyncio.run(
                explain(self.settings, args[0], with_frontier=not opts.offline)
            )
        except ConfigError as error:
            fail(f"explain: {error}")
        except OSError as error:
            warn(f"explain: {error}")
            self.exitcode = 1
            return
        if opts.json:
            sys.stdout.write(f"{json.dumps(asdict(found))}\n")
        else:
            for line in explanation_lines(found):
                # Names from the web may contain control characters of terminals.
                shown = line if line.isprintable() else ascii(line)[1:-1]
                sys.stdout.write(f"{shown}\n")
        self.exitcode = int(found.verdict in (Verdict.NEVER_SEEN, Verdict.NO_URI))

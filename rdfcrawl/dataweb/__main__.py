"""`python -m rdfcrawl.dataweb CONFIG DIR`: the child process of `run_dataweb`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.dataweb.config import parse_config
from rdfcrawl.dataweb.process import serve_until_stopped, write_line

if TYPE_CHECKING:
    from rdfcrawl.dataweb.server import ServedHere


def main(arguments: list[str]) -> int:
    """Serve the web of the arguments; return 0 at its end, 2 if they are wrong."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m rdfcrawl.dataweb CONFIG DIR\n")
        return 2
    try:
        log = serve_until_stopped(
            parse_config(arguments[0]),
            Path(arguments[1]),
            on_start=_report_start,
            read_commands=True,
        )
    except ConfigError as error:
        write_line({"error": str(error)})
        return 2
    write_line(log.to_json())
    return 0


def _report_start(served: ServedHere) -> None:
    web = served.web
    write_line({"port": web.config.port, "seeds": web.seeds})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

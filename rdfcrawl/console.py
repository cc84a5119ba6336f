"""Messages of commands to the operator, and their failures."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import TracebackType

logger = logging.getLogger(__name__)


def program() -> str:
    """Return the name of the command that was called: `rdfcrawl`, or else `scrapy`."""
    path = Path(sys.argv[0])
    name = path.parent.name if path.stem == "__main__" else path.stem
    return "rdfcrawl" if name == "rdfcrawl" else "scrapy"


def has_log_file() -> bool:
    """Return whether log lines go into a file, which may be all that is ever read."""
    handlers = logging.getLogger().handlers
    return any(isinstance(one, logging.FileHandler) for one in handlers)


def fail(message: str) -> NoReturn:
    """Print and log what is wrong, and exit with 2.

    Under scrapyd, nobody reads standard error: only the log file tells.
    """
    if has_log_file():
        logger.error("%s", message)
    sys.stderr.write(f"{program()}: {message}\n")
    sys.exit(2)


def tell_interrupts() -> None:
    """Report a Ctrl-C that nobody handles in one line, in place of a traceback."""
    tell_others = sys.excepthook

    def tell(
        kind: type[BaseException],
        error: BaseException,
        traceback: TracebackType | None,
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.stderr.write(f"{program()}: interrupted before it had begun\n")
        else:
            tell_others(kind, error, traceback)

    sys.excepthook = tell

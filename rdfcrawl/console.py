"""Messages of commands to the operator, and their failures."""

from __future__ import annotations

import logging
import sys
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    import argparse
    from types import TracebackType

logger = logging.getLogger(__name__)

_LARGEST: Final = 2**53


class QuietCommand(ScrapyCommand):
    """Base of commands of ours that start no crawl in this process, and log nothing.

    Attributes:
        synopsis: what comes after the command's name.
        summary: one line for `scrapy -h`.
    """

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}
    synopsis: ClassVar[str] = ""
    summary: ClassVar[str] = ""

    def syntax(self) -> str:
        """Return the synopsis."""
        return self.synopsis

    def short_desc(self) -> str:
        """Return the summary."""
        return self.summary

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of Scrapy."""
        tell_interrupts()
        super().add_options(parser)


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


def add_number(
    parser: argparse._ActionsContainer,
    *names: str,
    least: float = -_LARGEST,
    most: float = _LARGEST,
    is_whole: bool = True,
    **options: Any,
) -> None:
    """Declare an option with a number; exit with 2 and one line if it is none.

    Args:
        parser: that takes the option.
        names: of the option.
        least: the smallest number that is allowed.
        most: the largest one.
        is_whole: it has no fraction.
        options: as those of `argparse`.
    """
    read = partial(_number, names[0], least=least, most=most, is_whole=is_whole)
    parser.add_argument(*names, type=read, **options)


def _number(
    name: str, text: str, *, least: float, most: float, is_whole: bool
) -> float:
    try:
        value = int(text) if is_whole else float(text)
    except ValueError:
        fail(f"{name} {text}: must be a {'whole ' if is_whole else ''}number")
    if not isfinite(value):
        fail(f"{name} {text}: must be a finite number")
    if not least <= value <= most:
        bounds = f"{least:g} or more"
        if most < _LARGEST:
            bounds = f"{least:.15g} to {most:.15g}"
        fail(f"{name} {text}: must be {bounds}")
    return value


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

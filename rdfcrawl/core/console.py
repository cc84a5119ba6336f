"""Messages and errors of commands."""

from __future__ import annotations

import argparse
import asyncio
import atexit
import logging
import os
import select
import signal
import sys
from contextlib import suppress
from functools import partial
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final, NoReturn

from scrapy.commands import ScrapyCommand
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import ConfigError, hide_logins
from rdfcrawl.core.messages import safe_file

logger = logging.getLogger(__name__)

LOOPBACK: Final = "127.0.0.1"
"""Default address on which commands listen."""
_LARGEST: Final = 2**53


class QuietCommand(ScrapyCommand):
    """Base of our commands that run no crawl in this process, and do not log.

    Attributes:
        synopsis: arguments after the command's name.
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
        report_interrupts()
        super().add_options(parser)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Read the options of Scrapy; then escape control characters on terminals."""
        super().process_options(args, opts)
        for name in ("stdout", "stderr"):
            with suppress(AttributeError, ValueError):  # the file is closed
                setattr(sys, name, safe_file(getattr(sys, name)))

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Act; exit with 2 on errors of the operator, with 1 on those of a disk."""
        if self.settings is None:
            return
        try:
            self.exitcode = self.act(self.settings, args, opts)
        except ConfigError as error:
            fail(str(error))
        except BrokenPipeError:
            if _has_reader():
                raise
        except OSError as error:
            name = type(self).__module__.rpartition(".")[2]
            sys.stderr.write(f"{program()}: {name}: {error}\n")
            self.exitcode = 1

    def act(
        self, settings: BaseSettings, args: list[str], opts: argparse.Namespace
    ) -> int:
        """Do what the command does; return the exit code."""
        raise NotImplementedError


def program() -> str:
    """Return the name of the program: `rdfcrawl` or `scrapy`."""
    path = Path(sys.argv[0])
    name = path.parent.name if path.stem == "__main__" else path.stem
    return "rdfcrawl" if name == "rdfcrawl" else "scrapy"


def has_log_file() -> bool:
    """Return whether the log goes to a file."""
    handlers = logging.getLogger().handlers
    return any(isinstance(one, logging.FileHandler) for one in handlers)


def fail(message: str) -> NoReturn:
    """Print and log an error, and exit with 2.

    It is logged too, since scrapyd keeps only the log file. Logins in URLs are hidden.
    If the reader of standard output has ended, then there is no error: exit with 0.
    """
    if isinstance(sys.exception(), BrokenPipeError) and not _has_reader():
        sys.exit(0)
    message = hide_logins(message)
    if has_log_file():
        logger.error("%s", message)
    sys.stderr.write(f"{program()}: {message}\n")
    sys.exit(2)


def write_lines(*lines: str) -> None:
    """Write lines to standard output, where a reader sees them now."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def add_number(
    parser: argparse._ActionsContainer,
    *names: str,
    least: float = -_LARGEST,
    most: float = _LARGEST,
    is_whole: bool = True,
    **options: Any,
) -> None:
    """Declare an option with a number; exit with 2 and one line if it is invalid.

    Args:
        parser: for the option.
        names: of the option.
        least: smallest allowed number.
        most: largest allowed number.
        is_whole: it must be an integer.
        options: for `add_argument`.
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


def add_listening(
    parser: argparse._ActionsContainer,
    port: int,
    *,
    action: str = "",
    on_address: str = "",
    on_port: str = "",
) -> None:
    """Declare `--address` and `--port` of a server; None if not given.

    Args:
        parser: for the options.
        port: default port.
        action: of the command that runs the server; empty: the command itself.
        on_address: further help for the address.
        on_port: further help for the port.
    """
    what = f"of {action}: listen on it" if action else "listen on it"
    parser.add_argument(
        "--address",
        metavar="ADDRESS",
        help=f"{what} ({LOOPBACK}: only this machine){on_address}",
    )
    add_number(
        parser,
        "--port",
        least=0,
        most=65_535,
        metavar="PORT",
        help=f"{what} ({port}{on_port}); 0: a free port",
    )


def stop_event() -> asyncio.Event:
    """Return an event of the running loop that Ctrl-C sets."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    return stopped


def close_output() -> None:
    """Redirect standard output to nowhere, to avoid an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _has_reader() -> bool:
    """Return whether standard output can be read; if not, write to nowhere from now on.

    Of a pipe without a reader, a poll has `POLLERR`, also after a failed write.
    """
    try:
        descriptor = sys.stdout.fileno()
        polled = select.poll()
        polled.register(descriptor, select.POLLOUT)
        if not any(event & select.POLLERR for _, event in polled.poll(0)):
            return True
    except (OSError, ValueError, AttributeError):  # closed, or no file
        return True
    close_output()
    return False


def report_interrupts() -> None:
    """Report an unhandled Ctrl-C in one line instead of a traceback.

    If the reader of the output has closed its pipe, such as `head`, report nothing.
    """
    report_other = sys.excepthook
    atexit.register(_has_reader)

    def report(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.stderr.write(f"{program()}: interrupted before it had begun\n")
        elif not issubclass(kind, BrokenPipeError) or _has_reader():
            report_other(kind, error, traceback)

    sys.excepthook = report

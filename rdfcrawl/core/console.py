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
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final, NoReturn, TypeAlias

from scrapy.commands import ScrapyCommand
from scrapy.settings import BaseSettings

from rdfcrawl.core.errors import RdfcrawlError, hide_logins
from rdfcrawl.core.messages import safe_file
from rdfcrawl.core.options.scrapy_settings import unknown_settings

logger = logging.getLogger(__name__)

LOOPBACK: Final = "127.0.0.1"
"""Default address on which commands listen."""
_LARGEST: Final = 2**53


Declare: TypeAlias = Callable[[argparse._ActionsContainer], object]  # noqa: SLF001
"""Declares an option of a command to its parser."""


def switch(name: str, text: str) -> Declare:
    """Return the declaration of an option without a value."""
    return lambda parser: parser.add_argument(name, action="store_true", help=text)


def option(names: str, metavar: str | None, text: str, **more: Any) -> Declare:
    """Return the declaration of an option with a value.

    Args:
        names: of the option, separated by spaces.
        metavar: stands for the value in the help; None: its choices do.
        text: the help.
        more: for `add_argument`.
    """
    more |= {"metavar": metavar, "help": text}
    return lambda parser: parser.add_argument(*names.split(), **more)


def number(
    name: str,
    metavar: str | None,
    text: str,
    *,
    least: float = -_LARGEST,
    most: float = _LARGEST,
    is_whole: bool = True,
    **more: Any,
) -> Declare:
    """Return the declaration of an option with a number, within bounds.

    The command exits with 2 and one line if the number is invalid.

    Args:
        name: of the option.
        metavar: stands for the value in the help; None: its choices do.
        text: the help.
        least: smallest allowed number.
        most: largest allowed number.
        is_whole: it must be an integer.
        more: for `add_argument`.
    """
    read = partial(_number, name, least=least, most=most, is_whole=is_whole)
    return option(name, metavar, text, type=read, **more)


def listening(
    port: int, *, action: str = "", on_address: str = "", on_port: str = ""
) -> tuple[Declare, Declare]:
    """Return the declarations of `--address` and `--port` of a server.

    Args:
        port: default port.
        action: of the command that runs the server; empty: the command itself.
        on_address: further help for the address.
        on_port: further help for the port.
    """
    what = f"of {action}: listen on it" if action else "listen on it"
    on_this = f"{what} ({LOOPBACK}: only this machine){on_address}"
    at_port = f"{what} ({port}{on_port}); 0: a free port"
    return (
        option("--address", "ADDRESS", on_this),
        number("--port", "PORT", at_port, least=0, most=65_535),
    )


class QuietCommand(ScrapyCommand):
    """Base of our commands that run no crawl in this process, and do not log.

    Attributes:
        synopsis: arguments after the command's name.
        summary: one line for `scrapy -h`.
        options: of the command, in addition to those of Scrapy.
    """

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}
    synopsis: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    options: ClassVar[Sequence[Declare]] = ()

    def syntax(self) -> str:
        """Return the synopsis."""
        return self.synopsis

    def short_desc(self) -> str:
        """Return the summary."""
        return self.summary

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the options of Scrapy, and those of the command."""
        report_interrupts()
        super().add_options(parser)
        for declare in self.options:
            declare(parser)

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
        except RdfcrawlError as error:
            fail(str(error))
        except BrokenPipeError:
            if _has_reader():
                raise
        except OSError as error:
            warn(f"{type(self).__module__.rpartition('.')[2]}: {error}")
            self.exitcode = 1
        finally:
            warn(*unknown_settings(self.settings))

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
    warn(message)
    sys.exit(2)


def warn(*lines: object) -> None:
    """Write lines to standard error, each after the name of the program."""
    sys.stderr.write("".join(f"{program()}: {line}\n" for line in lines))


def write_lines(*lines: str) -> None:
    """Write lines to standard output, where a reader sees them now."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


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
            warn("interrupted before it had begun")
        elif not issubclass(kind, BrokenPipeError) or _has_reader():
            report_other(kind, error, traceback)

    sys.excepthook = report

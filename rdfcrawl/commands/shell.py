"""`scrapy shell`, with `extract` and `await`."""

from __future__ import annotations

import argparse
import ast
import sys
from code import InteractiveConsole
from collections.abc import Callable
from functools import partial
from inspect import CO_COROUTINE
from types import CodeType
from typing import Any, Final

from scrapy.commands.shell import Command as ScrapyShellCommand
from scrapy.utils.console import DEFAULT_PYTHON_SHELLS
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.threads import blockingCallFromThread

_RUN: Final = "_run_code"


class Command(ScrapyShellCommand):
    """Look at a page in a console; `await extract(response)` returns its RDF.

    `await` works in code of `-c` and in the standard console of Python; IPython has its
    own.
    """

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """Run the shell."""
        self._code = opts.code
        if opts.code:
            opts.code = f"{_RUN}()"
        standard = DEFAULT_PYTHON_SHELLS["python"]
        DEFAULT_PYTHON_SHELLS["python"] = partial(_console_after, standard)
        try:
            super().run(args, opts)
        finally:
            DEFAULT_PYTHON_SHELLS["python"] = standard

    def update_vars(self, vars: dict[str, Any]) -> None:  # noqa: A002
        """Add `extract`, with the settings of the shell, and the code of `-c`."""
        from rdfcrawl.pipelines.callbacks.extract_response import extract

        vars["extract"] = partial(extract, settings=vars["settings"])
        if self._code:
            vars[_RUN] = partial(_evaluate, self._code, vars)


def _evaluate(text: str, names: dict[str, Any]) -> Any:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    return _run(compile(text, "<string>", "eval", flags=flags), names)


def _run(code: CodeType, names: dict[str, Any]) -> Any:
    """Run code; wait for a coroutine, which runs in the thread of the reactor."""
    result = eval(code, names)  # noqa: S307 (typed by the user)
    if not code.co_flags & CO_COROUTINE:
        return result
    if not names["settings"].getbool("TWISTED_REACTOR_ENABLED"):
        result.close()
        raise RuntimeError("await: set TWISTED_REACTOR_ENABLED=True")
    from twisted.internet import reactor

    return blockingCallFromThread(reactor, deferred_from_coro, result)


def _console_after(standard: Callable[..., Any]) -> Callable[..., None]:
    """Return a function that starts the console; `standard` sets up readline."""
    standard()

    def start(namespace: dict[str, Any], banner: str = "") -> None:
        _AwaitingConsole(namespace).interact(banner=banner, exitmsg="")

    return start


class _AwaitingConsole(InteractiveConsole):
    """The standard console, with `await`."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__(names)
        self.compile.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self._names = names

    def runcode(self, code: CodeType) -> None:
        """Run a statement, as the base class does."""
        try:
            _run(code, self._names)
        except SystemExit:
            raise
        except BaseException:
            self.showtraceback()
        else:
            sys.stdout.flush()

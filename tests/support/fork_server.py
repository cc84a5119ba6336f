"""The process that commands are forked from: `python fork_server.py SOCKET`.

It also runs in environments without the modules of the tests.
"""

from __future__ import annotations

import atexit
import copy
import gc
import importlib.metadata
import json
import os
import runpy
import select
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from contextlib import suppress
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from pkgutil import iter_modules, walk_packages
from types import ModuleType
from typing import TYPE_CHECKING, Any

from scrapy.settings import SettingsAttribute

from rdfcrawl.core.errors import ConfigError
from rdfcrawl.frontier.redis.embedded import find_server
from rdfcrawl.launch.forks import LOADED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SCRIPTED_NAMES = Path(__file__).resolve().parent / "scripted_names"
# In addition to the imports of workers; none of it starts anything.
_MORE = (
    *("scrapy.cmdline", "scrapy.crawler", "scrapy.shell", "scrapy.contracts"),
    *("scrapy.downloadermiddlewares.robotstxt", "encodings.utf_8_sig", "tarfile"),
    *("twisted.internet.asyncioreactor", "twisted.web.client"),
    *("pyoxigraph", "lxml.html", "ada_url", "protego", "rdfcrawl.settings"),
    *("isal.isal_zlib", "inflate64", "lz4.frame"),
)
_COMMANDS_AND_SPIDERS = "scrapy.commands", "rdfcrawl.commands", "rdfcrawl.spiders"
# Imports of a command when it meets a page, a source or an archive, or reads its logs:
# as much CPU as the rest of a small crawl.
_ROOMS = tuple(
    f"rdfcrawl.{name}"
    for name in (
        *("analysis.description", "analysis.duplicates", "analysis.measures"),
        *("analysis.ranking", "analysis.refresh", "analysis.report", "analysis.urldb"),
        *("core", "downloader", "frontier", "launch", "middlewares"),
        *("monitor.explaining", "monitor.operating", "monitor.refreshing"),
        *("pipelines", "rdf.extraction", "rdf.html", "rdf.jsonld", "rdf.links"),
        *("rdf.unpack", "sources", "stores", "uri.guard"),
    )
)
_OF_PAGES = "tldextract", "selectolax.lexbor"
_END_SECS = 10.0  # for a command to end well
MOST_BYTES = 1 << 17
NUMBER = struct.Struct("i")


def main() -> None:
    """Fork a command for each request that comes over a connection."""
    del sys.path[0]  # the folder of this file
    for name in ("entry_points", "version"):
        setattr(importlib.metadata, name, cache(getattr(importlib.metadata, name)))
    for name in (*LOADED, *_MORE):
        import_module(name)
    for name in _COMMANDS_AND_SPIDERS:
        package = import_module(name)
        for module in iter_modules(package.__path__, f"{name}."):
            import_module(module.name)
    for name in (*_modules_of_rooms(), *_OF_PAGES):
        with suppress(ImportError):  # an extra that is not installed
            import_module(name)
    if "twisted.internet.reactor" in sys.modules:
        raise RuntimeError("an import has begun what commands begin")
    _look_for_what_is_installed()
    _compile_what_crawls_begin_with()
    # A shell has background processes ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.freeze()
    with _accepted(sys.argv.pop()) as requests:
        command = _Commands(requests).fork()
    if command is not None:
        _run(*command)


def _accepted(place: str) -> socket.socket:
    """Fork this process for each connection; return there with it."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen()
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                connection.sendall(json.dumps(dict(os.environ)).encode() + b"\n")
                return connection
            connection.close()


def _modules_of_rooms() -> Iterator[str]:
    for room in _ROOMS:
        package = import_module(room)
        for module in walk_packages(package.__path__, f"{room}.", onerror=_pass_over):
            if not module.name.endswith("__main__"):
                yield module.name


def _pass_over(name: str) -> None:
    """Leave out a package that cannot be imported here."""


def _look_for_what_is_installed() -> None:
    """Do the look-ups of each command once; the results stay valid."""
    importlib.metadata.entry_points(group="scrapy.commands")
    import_module("scrapy.utils.versions").get_versions()
    import_module("redis.utils").get_lib_version()
    with suppress(ConfigError):
        find_server()
    with suppress(ImportError):
        # The list of public suffixes becomes a tree of 17,000 nodes.
        import_module("rdfcrawl.uri.hosts").registered_domain("example.org")


def _compile_what_crawls_begin_with() -> None:
    """Do the work that crawls with default settings repeat; a third of a small one.

    The results are kept by the caches of `re` and of the functions.
    """
    scripts = import_module("rdfcrawl.frontier.redis.operations")
    for name in scripts.OPERATIONS:
        scripts.script_source(name)
    import_module("rdfcrawl.uri").NormalForm()
    follow = import_module("rdfcrawl.rdf.links.policy").LinkPolicy()
    import_module("rdfcrawl.rdf.links.outlinks").OutlinkOptions(follow, 1)
    setattr(SettingsAttribute, "__deepcopy__", _copy_of_setting)  # noqa: B010


def _copy_of_setting(setting: SettingsAttribute, memo: dict[int, Any]) -> Any:
    """Return the same as `copy.deepcopy` otherwise, for a fifth of the CPU.

    All settings are copied four times before a crawl begins.
    """
    copied = SettingsAttribute.__new__(SettingsAttribute)
    copied.value = copy.deepcopy(setting.value, memo)
    copied.priority = setting.priority
    return copied


class _Commands:
    """The running commands, and the threads that wait for their ends."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._status_fds: dict[int, int] = {}  # of each process that runs
        self._woken, self._waker = socket.socketpair()
        for each in (self._woken, self._waker):
            each.setblocking(False)

    def fork(self) -> tuple[bytes, list[int]] | None:
        """Fork a command for each request; return there with it, else at the end."""
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        while True:
            ready = select.select([self._requests, self._woken], [], [])[0]
            if self._woken in ready:
                self._woken.recv(MOST_BYTES)
                self._tell_ends()
            if self._requests in ready:
                request, fds = self._receive()
                if not request:  # also of a run of the tests that was killed
                    self._end_all()
                    return None
                if pid := os.fork():
                    self._note_start(pid, fds)
                else:
                    return request, self._leave_alone(fds)

    def _end_all(self) -> None:
        # Finally with their children, such as workers.
        for end, how in ((os.kill, signal.SIGTERM), (os.killpg, signal.SIGKILL)):
            for pid in self._status_fds:
                with suppress(ProcessLookupError):
                    end(pid, how)
            deadline = time.monotonic() + _END_SECS
            while self._status_fds and time.monotonic() < deadline:
                self._tell_ends()
                time.sleep(0.02)

    def _receive(self) -> tuple[bytes, list[int]]:
        request, fds, *_ = socket.recv_fds(self._requests, MOST_BYTES, 4)
        while not request.endswith(b"\n"):
            more = self._requests.recv(MOST_BYTES)
            if not more:
                return b"", []
            request += more
        return request, fds

    def _note_start(self, pid: int, fds: list[int]) -> None:
        *streams, status_fd = fds
        for fd in streams:
            os.close(fd)
        self._status_fds[pid] = status_fd
        os.write(status_fd, NUMBER.pack(pid))

    def _tell_ends(self) -> None:
        with suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                status_fd = self._status_fds.pop(found[0])
                with suppress(BrokenPipeError):
                    code = os.waitstatus_to_exitcode(found[1])
                    os.write(status_fd, NUMBER.pack(code))
                os.close(status_fd)

    def _leave_alone(self, fds: list[int]) -> list[int]:
        """Close the files that a command does not use, and return its streams."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._woken.close()
        self._waker.close()
        os.setpgid(0, 0)
        *streams, status_fd = fds
        for fd in (status_fd, *self._status_fds.values()):
            os.close(fd)
        return streams


def _run(request: bytes, streams: Sequence[int]) -> None:
    words, folder, changes = json.loads(request)
    for stream, fd in enumerate(streams):
        os.dup2(fd, stream)
    for fd in streams:
        os.close(fd)
    os.chdir(folder)
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if "PYTHONUNBUFFERED" in os.environ and isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [folder, *filter(None, entries)]
    if "SCRIPTED_NAMES" in os.environ:  # as each new process of Python does
        runpy.run_path(str(SCRIPTED_NAMES / "sitecustomize.py"))
    try:
        _go_on_as_python(*words)
        code = 0
    except SystemExit as end:
        code = _code_of(end)
    except Exception:
        traceback.print_exc()
        code = 1
    # As Python ends, but without tearing down the imported modules: this is most of the
    # CPU of a short command.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for file in (sys.stdout, sys.stderr):
        with suppress(OSError):
            file.flush()
    os._exit(code)


def _code_of(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1


def _go_on_as_python(first: str, *others: str) -> None:
    if first == "-m":
        sys.argv[1:] = others[1:]
        runpy.run_module(others[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        sys.argv[:] = ["-c", *others[1:]]
        module = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(others[0], "<string>", "exec"), module.__dict__)
    else:
        sys.argv[:] = [first, *others]
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    main()
